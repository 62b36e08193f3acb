package server

import (
	"crypto/rand"
	"fmt"
	"path/filepath"

	"shoal/internal/identity"
)

// self is what a frontend remembers of itself in its data folder. The
// cluster's id is chosen before the cluster is bootstrapped, so that a crash
// in the middle goes on with the same one.
type self struct {
	FrontendID string `json:"frontend_id"`
	ClusterID  string `json:"cluster_id"`
}

// Missing implements identity.Identity.
func (s self) Missing() string {
	if s.FrontendID == "" || s.ClusterID == "" {
		return "frontend_id or cluster_id"
	}
	return ""
}

const identityFile = "frontend.json"

// loadIdentity reads the identity. Where there is none it makes one if the
// cluster is to be bootstrapped, and says how to start otherwise.
func loadIdentity(dataDir string, bootstrap bool) (self, error) {
	path := filepath.Join(dataDir, identityFile)
	id, found, err := identity.Read[self](path)
	switch {
	case err != nil:
		return self{}, fmt.Errorf("%w: restore it from a copy of the data folder", err)
	case found:
		return id, nil
	case !bootstrap:
		return self{}, fmt.Errorf("%s holds no frontend yet: start the first one of a cluster with --bootstrap", dataDir)
	}
	id = self{FrontendID: "fe-" + rand.Text()[:8], ClusterID: rand.Text()[:12]}
	return id, identity.Write(path, id)
}
