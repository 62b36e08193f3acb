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
	// ClusterID is empty while the frontend joins for the first time.
	ClusterID string `json:"cluster_id"`
	// Begun says that the folder has held a log: without it, this id has no
	// vote any more.
	Begun bool `json:"begun,omitempty"`
	// Making says that ClusterID is of the cluster that this frontend is to make.
	Making bool `json:"making,omitempty"`
}

// Missing implements identity.Identity.
func (s self) Missing() string {
	if s.FrontendID == "" {
		return "frontend_id"
	}
	return ""
}

// The identity and the log in the data folder.
const (
	identityFile = "frontend.json"
	raftFolder   = "raft"
)

// newFrontendID is never one that another frontend has or had.
func newFrontendID() string { return "fe-" + rand.Text()[:8] }

// readIdentity reads the identity, if there is one.
func readIdentity(dataDir string) (id self, found bool, err error) {
	id, found, err = identity.Read[self](filepath.Join(dataDir, identityFile))
	if err != nil {
		err = fmt.Errorf("%w: restore it from a copy of the data folder", err)
	}
	return id, found, err
}

func writeIdentity(dataDir string, id self) error {
	return identity.Write(filepath.Join(dataDir, identityFile), id)
}
