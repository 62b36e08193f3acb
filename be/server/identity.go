package server

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"shoal/internal/identity"
)

// self is what a backend remembers of itself in its data folder.
type self struct {
	NodeUUID  string `json:"node_uuid"`
	ClusterID string `json:"cluster_id,omitempty"`
}

// Missing implements identity.Identity.
func (s self) Missing() string {
	if s.NodeUUID == "" {
		return "node_uuid"
	}
	return ""
}

const (
	identityFile = "backend.json"
	lockFile     = "LOCK"
)

// lockFolder takes the data folder for this process: as one identity, two would
// be one backend to the cluster.
func lockFolder(dataDir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dataDir, lockFile))
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return nil, err
	case !locked:
		return nil, fmt.Errorf("%s is in use by another process: give each backend its own --data-dir", dataDir)
	}
	return lock, nil
}

// loadIdentity reads the identity, or makes one on the first start.
func loadIdentity(dataDir string) (self, error) {
	path := filepath.Join(dataDir, identityFile)
	id, found, err := identity.Read[self](path)
	if err != nil {
		return self{}, fmt.Errorf("%w: restore it, or empty the folder to join as a new backend", err)
	}
	if found {
		return id, nil
	}
	id = self{NodeUUID: rand.Text()}
	return id, id.save(dataDir)
}

func (s self) save(dataDir string) error {
	return identity.Write(filepath.Join(dataDir, identityFile), s)
}
