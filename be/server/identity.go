package server

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"shoal/internal/atomicfile"
)

// identity is what a backend remembers of itself in its data folder.
type identity struct {
	NodeUUID  string `json:"node_uuid"`
	ClusterID string `json:"cluster_id,omitempty"`
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
func loadIdentity(dataDir string) (identity, error) {
	path := filepath.Join(dataDir, identityFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		id := identity{NodeUUID: rand.Text()}
		return id, id.save(dataDir)
	}
	if err != nil {
		return identity{}, fmt.Errorf("the backend's identity: %w", err)
	}
	var id identity
	err = json.Unmarshal(content, &id)
	if err == nil && id.NodeUUID == "" {
		err = errors.New("node_uuid is missing")
	}
	if err != nil {
		return identity{}, fmt.Errorf("%s is not a backend's identity (%w): restore it, or empty the folder to join as a new backend", path, err)
	}
	return id, nil
}

func (id identity) save(dataDir string) error {
	content, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dataDir, identityFile), content)
}
