package raftstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"

	"shoal/fe/state"
)

// Read is the state that a frontend's folder holds while nobody works in it: its
// last snapshot and all of its log behind that. Entries that no majority had are
// part of it, and what a majority had and this frontend not is missing: it is for
// when that majority is lost.
func Read(dir string, logger *slog.Logger) (s *state.State, err error) {
	if _, err := os.Stat(filepath.Join(dir, "log")); err != nil {
		return nil, fmt.Errorf("%s holds no log of a frontend: %w", dir, err)
	}
	lock := flock.New(filepath.Join(dir, "LOCK"))
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return nil, err
	case !locked:
		return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	s, through, err := lastSnapshot(dir, logger)
	if err != nil {
		return nil, err
	}
	var meta metadb.BoltMetaDB
	defer func() { err = errors.Join(err, meta.Close()) }()
	log, err := wal.Open(filepath.Join(dir, "log"), wal.WithMetaStore(&meta), wal.WithLogger(hclogger(logger)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	f := &fsm{state: s}
	last, err := log.LastIndex()
	for index := through + 1; err == nil && index <= last; index++ {
		var entry raft.Log
		if err = log.GetLog(index, &entry); err == nil {
			f.Apply(&entry)
		}
	}
	return f.state, err
}

// lastSnapshot is the newest one in a folder, or the state before any entry. through
// is the last entry in it, which need be no command; the log may begin behind it.
func lastSnapshot(dir string, logger *slog.Logger) (s *state.State, through uint64, err error) {
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, retained, hclogger(logger))
	if err != nil {
		return nil, 0, err
	}
	list, err := snapshots.List()
	if err != nil || len(list) == 0 {
		return state.New(), 0, err
	}
	_, content, err := snapshots.Open(list[0].ID)
	if err != nil {
		return nil, 0, err
	}
	defer content.Close()
	s, err = state.ReadSnapshot(content)
	return s, list[0].Index, err
}
