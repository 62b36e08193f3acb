package raftstore

import (
	"context"
	"errors"

	"github.com/hashicorp/raft"
)

// ErrNoSuccessor says that nobody could take over the leadership.
var ErrNoSuccessor = errors.New("no other frontend could take over the leadership")

// A Server is a member as Raft's configuration has it, which may not be
// committed yet.
type Server struct {
	ID    string
	Addr  string // host:port
	Voter bool
}

// Servers are the members, in no order.
func (s *Store) Servers() ([]Server, error) {
	configuration := s.raft.GetConfiguration()
	if err := configuration.Error(); err != nil {
		return nil, err
	}
	var all []Server
	for _, server := range configuration.Configuration().Servers {
		all = append(all, Server{ID: string(server.ID), Addr: string(server.Address), Voter: server.Suffrage == raft.Voter})
	}
	return all, nil
}

// PutServer adds a member, changes its address, or gives it a vote; it takes no
// vote away. It returns once that is durable on a majority. An address that
// another member has is refused. Errors are those of Propose.
func (s *Store) PutServer(ctx context.Context, server Server) error {
	id, addr := raft.ServerID(server.ID), raft.ServerAddress(server.Addr)
	return s.change(ctx, func() error {
		if server.Voter {
			return s.raft.AddVoter(id, addr, 0, 0).Error()
		}
		return s.raft.AddNonvoter(id, addr, 0, 0).Error()
	})
}

// RemoveServer takes a member away, which may be this one: it then stops
// leading. Errors are those of Propose.
func (s *Store) RemoveServer(ctx context.Context, id string) error {
	return s.change(ctx, func() error { return s.raft.RemoveServer(raft.ServerID(id), 0, 0).Error() })
}

// change waits for those that ask the members, and keeps others from it.
func (s *Store) change(ctx context.Context, change func() error) error {
	return s.await(ctx, func() error {
		if err := s.changing.Acquire(ctx, maxAsking); err != nil {
			return err
		}
		defer s.changing.Release(maxAsking)
		return change()
	})
}

// Abdicate gives the leadership to another voter, so that nobody has to find
// out that this one is gone. It returns nil where this frontend does not lead
// or is alone, and otherwise once another one is about to lead.
func (s *Store) Abdicate(ctx context.Context) error {
	if s.raft.State() != raft.Leader {
		return nil
	}
	servers, err := s.Servers()
	if err != nil {
		return err
	}
	tried := 0
	for _, server := range servers {
		if !server.Voter || server.ID == string(s.id) {
			continue
		}
		tried++
		err := s.await(ctx, func() error {
			return s.raft.LeadershipTransferToServer(raft.ServerID(server.ID), raft.ServerAddress(server.Addr)).Error()
		})
		if err == nil || ctx.Err() != nil || s.raft.State() != raft.Leader {
			return ctx.Err()
		}
		s.logger.Info("a frontend cannot take over the leadership", "frontend_id", server.ID, "err", err)
	}
	if tried > 0 {
		return ErrNoSuccessor
	}
	return nil
}
