package raftstore

import (
	"context"
	"errors"
	"time"
)

// Term is raft's current term here; 0 before the first.
func (s *Store) Term() uint64 { return s.raft.CurrentTerm() }

// Leader is who leads, by frontend id and raft address; empty while nobody is
// known to.
func (s *Store) Leader() (id, addr string) {
	a, i := s.raft.LeaderWithID()
	return string(i), string(a)
}

// RunLeader calls duties each time this frontend becomes the leader, once
// everything that earlier leaders committed is applied here. The context that
// duties get ends with the leadership, whose term is given, or with ctx; they
// are waited for before anything else. Duties may end early with nil, or with
// an error of Propose that says that the leadership is lost; another error of
// theirs ends RunLeader with it, except after their context's end. So does
// a log that cannot be written (ErrLog), whoever leads. It returns ctx's error when that
// ends. It may be called once.
func (s *Store) RunLeader(ctx context.Context, duties func(ctx context.Context, term uint64) error) error {
	leading := false
	for {
		var err error
		if leading {
			leading, err = s.lead(ctx, duties)
		} else {
			leading, err = s.nextRole(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// nextRole waits until raft says that this frontend leads, or does not any
// more. Raft keeps only its last word: true after true means that a leadership
// was lost in between.
func (s *Store) nextRole(ctx context.Context) (leading bool, err error) {
	select {
	case leading = <-s.raft.LeaderCh():
		return leading, nil
	case err = <-s.log.failed:
		return false, err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// lead runs duties for one leadership and tells whether another has begun.
func (s *Store) lead(ctx context.Context, duties func(ctx context.Context, term uint64) error) (leading bool, err error) {
	own, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.serve(own, duties); err != nil && own.Err() == nil {
			failed <- err
		}
	}()
	defer func() {
		cancel()
		<-done
	}()
	select {
	case leading = <-s.raft.LeaderCh():
		return leading, nil
	case err = <-failed:
		return false, err
	case err = <-s.log.failed:
		return false, err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// lost tells whether an error says that the leadership is lost.
func lost(err error) bool {
	var notLeader *NotLeaderError
	return errors.As(err, &notLeader) || errors.Is(err, ErrFateUnknown)
}

// serve settles the leadership and runs duties.
func (s *Store) serve(ctx context.Context, duties func(ctx context.Context, term uint64) error) error {
	term := s.Term()
	if err := s.Barrier(ctx); err != nil || s.Term() != term {
		return nil // the leadership is lost already, as raft is about to say
	}
	for {
		if err := duties(ctx, term); !lost(err) {
			return err
		}
		select { // raft is about to say so; if not, it was not lost
		case <-ctx.Done():
			return nil
		case <-time.After(electionTimeout):
		}
	}
}
