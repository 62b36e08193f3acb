package raftstore

import (
	"errors"

	"github.com/hashicorp/raft"
)

// TakeSnapshot makes raft write a snapshot now, and remove its log but for the
// last entries.
func (s *Store) TakeSnapshot(keep uint64) error {
	reload := s.raft.ReloadableConfig()
	reload.TrailingLogs = keep
	return errors.Join(s.raft.ReloadConfig(reload), s.raft.Snapshot().Error())
}

// FirstIndex is that of the oldest entry in the log.
func (s *Store) FirstIndex() (uint64, error) { return s.log.FirstIndex() }

// BreakLog makes every write of the log fail from now on.
func (s *Store) BreakLog() error { return s.log.WAL.Close() }

// RawApply is raft's own Apply, to compare Propose with.
func (s *Store) RawApply(data []byte) error { return s.raft.Apply(data, 0).Error() }

// Guard is how heartbeats are handled by a transport, and close ends it.
func Guard(handle func(raft.RPC)) (guarded func(raft.RPC), close func()) {
	g := new(gate)
	return g.guard(handle), g.close
}
