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

// identity is what a frontend remembers of itself in its data folder. The
// cluster's id is chosen before the cluster is bootstrapped, so that a crash
// in the middle goes on with the same one.
type identity struct {
	FrontendID string `json:"frontend_id"`
	ClusterID  string `json:"cluster_id"`
}

const identityFile = "frontend.json"

// loadIdentity reads the identity. Where there is none it makes one if the
// cluster is to be bootstrapped, and says how to start otherwise.
func loadIdentity(dataDir string, bootstrap bool) (identity, error) {
	path := filepath.Join(dataDir, identityFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !bootstrap {
			return identity{}, fmt.Errorf("%s holds no frontend yet: start the first one of a cluster with --bootstrap", dataDir)
		}
		id := identity{FrontendID: "fe-" + rand.Text()[:8], ClusterID: rand.Text()[:12]}
		return id, id.save(path)
	}
	if err != nil {
		return identity{}, fmt.Errorf("the frontend's identity: %w", err)
	}
	var id identity
	err = json.Unmarshal(content, &id)
	if err == nil && (id.FrontendID == "" || id.ClusterID == "") {
		err = errors.New("frontend_id or cluster_id is missing")
	}
	if err != nil {
		return identity{}, fmt.Errorf("%s is not a frontend's identity (%w): restore it from a copy of the data folder", path, err)
	}
	return id, nil
}

func (id identity) save(path string) error {
	content, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, content)
}
