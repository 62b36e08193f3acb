package raftstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
)

var (
	// ErrFateUnknown says that leadership was lost while a command was under
	// way: it may have been carried out, or be carried out yet.
	ErrFateUnknown = errors.New("leadership was lost before the outcome was known")
	// ErrClosed says that the Store is closed, so nothing was done.
	ErrClosed = errors.New("the frontend is shutting down")
	// ErrTooLarge says in a Result that a command was not carried out and never
	// will be.
	ErrTooLarge = errors.New("the change is too large for the replicated log")
)

// maxCommand bounds a command. raft-wal writes entries of any size, and takes those
// of more than 64 MiB for damage when it reads them.
const maxCommand = 16 << 20

// A NotLeaderError says that this frontend does not lead, so nothing was done.
// Who leads is empty while nobody is known to.
type NotLeaderError struct {
	LeaderID string
	Addr     string // of the leader's raft listener
}

// Error names the leader.
func (e *NotLeaderError) Error() string {
	if e.LeaderID == "" {
		return "this frontend does not lead, and no leader is known"
	}
	return fmt.Sprintf("this frontend does not lead, frontend %s at %s does", e.LeaderID, e.Addr)
}

// Propose carries out a command, and returns once it is durable on a majority
// and applied here. The error is a NotLeaderError, ErrClosed, ErrFateUnknown or
// the context's; after the last two the command may have been carried out.
// What the command itself came to is in the Result. It is stamped with the time
// if it has none, and belongs to the Store from then on. Concurrent proposals
// share fsyncs.
func (s *Store) Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error) {
	if cmd.AtMs == 0 {
		cmd.AtMs = time.Now().UnixMilli()
	}
	cmd.Rules = state.Rules
	if change := cmd.GetChangeJobState(); change != nil {
		// It quotes brokers and files, and a log entry holds nothing but text.
		change.Reason = strings.ToValidUTF8(change.Reason, "\uFFFD")
	}
	data, err := proto.Marshal(cmd)
	if err != nil {
		return state.Result{}, fmt.Errorf("encode command: %w", err)
	}
	if len(data) > maxCommand {
		return state.Result{Err: fmt.Errorf("%w: it has %d MiB, and at most %d are taken", ErrTooLarge, len(data)>>20, maxCommand>>20)}, nil
	}
	var result state.Result
	err = s.await(ctx, func() error {
		future := s.raft.Apply(data, 0)
		if err := future.Error(); err != nil {
			return err
		}
		result = future.Response().(state.Result)
		return nil
	})
	if err != nil {
		return state.Result{}, err
	}
	return result, nil
}

// Barrier returns once everything that was committed before it, by whatever
// leader, is applied here. Errors are those of Propose.
func (s *Store) Barrier(ctx context.Context) error {
	term := s.Term()
	err := s.await(ctx, func() error { return s.raft.Barrier(0).Error() })
	if err == nil && s.Term() == term {
		s.settledTerm.Store(term)
	}
	return err
}

// ReadIndex makes sure that this frontend leads and that View shows everything
// that was answered to anybody before the call. It asks the other voters, but
// writes nothing once the leader is settled, except where members have no vote:
// raft would take their word too. Errors are those of Propose.
func (s *Store) ReadIndex(ctx context.Context) error {
	servers, err := s.Servers()
	if err != nil {
		return s.explain(err)
	}
	if s.settledTerm.Load() != s.Term() || slices.ContainsFunc(servers, func(server Server) bool { return !server.Voter }) {
		return s.Barrier(ctx)
	}
	err = s.await(ctx, func() error {
		if err := s.changing.Acquire(ctx, 1); err != nil {
			return err
		}
		defer s.changing.Release(1)
		return s.raft.VerifyLeader().Error()
	})
	if err == nil && s.settledTerm.Load() != s.Term() {
		return s.Barrier(ctx) // the leadership was lost and won again meanwhile
	}
	return err
}

// await waits for raft as long as the context lives. Raft itself answers
// everything, at the latest when it loses its leadership.
func (s *Store) await(ctx context.Context, answer func() error) error {
	done := make(chan error, 1)
	s.mu.RLock()
	if s.closing {
		s.mu.RUnlock()
		return ErrClosed
	}
	s.waits.Go(func() { done <- answer() })
	s.mu.RUnlock()
	select {
	case err := <-done:
		return s.explain(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// explain turns raft's errors into ours.
func (s *Store) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		id, addr := s.Leader()
		if id == string(s.id) { // which is giving it to another, or has just lost it
			id, addr = "", ""
		}
		return &NotLeaderError{LeaderID: id, Addr: addr}
	}
	return fmt.Errorf("%w: %w", ErrFateUnknown, err)
}
