package raftstore

import "github.com/hashicorp/raft"

// SetVoter adds a voter to the cluster.
var SetVoter = (*Store).setVoter

// TakeSnapshot makes raft write a snapshot now.
func (s *Store) TakeSnapshot() error { return s.raft.Snapshot().Error() }

// VoterAddress is the address that the cluster knows of this frontend.
func (s *Store) VoterAddress() raft.ServerAddress {
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		if server.ID == s.id {
			return server.Address
		}
	}
	return ""
}

// RawApply is raft's own Apply, to compare Propose with.
func (s *Store) RawApply(data []byte) error { return s.raft.Apply(data, 0).Error() }
