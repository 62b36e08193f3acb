package server

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"shoal/internal/atomicfile"
)

// identity is what a backend remembers of itself in its data folder.
type identity struct {
	NodeUUID  string `json:"node_uuid"`
	ClusterID string `json:"cluster_id,omitempty"`
}

const identityFile = "backend.json"

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
