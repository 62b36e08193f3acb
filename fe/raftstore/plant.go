package raftstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"shoal/fe/state"
)

// Plant makes a new folder for the frontend with an id, whose log begins after a
// state: it is the only voter of a cluster that goes on from there. addr is where
// others will reach it; it may have another one when it starts. Nothing may be
// in the folder yet.
func Plant(dir, id, addr string, s *state.State, logger *slog.Logger) error {
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is there already (%w): a cluster is restored into a folder that holds nothing", dir, errors.Join(os.ErrExist, err))
	}
	// The log's own folder comes first, as Open makes it.
	if err := os.MkdirAll(filepath.Join(dir, "log"), 0o755); err != nil {
		return err
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, retained, hclogger(logger))
	if err != nil {
		return err
	}
	voter := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(id), Address: raft.ServerAddress(addr)}}}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(addr)) // writes addresses as strings
	const firstTerm = 1
	sink, err := snapshots.Create(raft.SnapshotVersionMax, s.Applied(), firstTerm, voter, s.Applied(), transport)
	if err != nil {
		return err
	}
	return snapshot{s}.Persist(sink)
}
