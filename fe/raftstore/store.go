// Package raftstore agrees with the other frontends on the order of commands
// and keeps the state that follows from it. It is the only importer of
// hashicorp/raft.
//
// A Store holds the log (raft-wal), snapshots (files) and the one state.State
// of this frontend. Changes go through Propose, which returns once the command
// is durable on a majority and applied here; reads go through View. One voter
// is a cluster like any other: there is no path around the log.
//
// Who is a member is said by PutServer and RemoveServer (fe/membership does); a
// frontend is known by its id, and an address is only where it is looked for.
//
// What the leader has to do runs in RunLeader, under a context that lives as
// long as the leadership; it watches the state by Changed or Wait. Apply never
// calls anybody.
//
// Open starts raft's goroutines and Close ends them; all methods in between
// may be called concurrently. View holds a lock that Apply needs: what runs in
// it is short, and never calls the Store.
package raftstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"golang.org/x/sync/semaphore"

	"shoal/fe/state"
	"shoal/internal/nodetls"
)

const (
	// electionTimeout is how long voters wait for a leader before they stand, at
	// most twice as long. docs/decisions/raft.md says why so long.
	electionTimeout = time.Second
	// leaseTimeout is how long a leader goes on that hears of no majority: a
	// moment less than those wait who would elect another.
	leaseTimeout = electionTimeout - time.Millisecond
	// maxAsking is how many ReadIndex may ask the members at a time.
	maxAsking = 1 << 20
	// maxBatch is how many proposals share an fsync at most.
	maxBatch = 256
	// snapshotInterval is how often it is looked whether a snapshot is due.
	snapshotInterval = 30 * time.Second
	// retained is how many snapshots are kept: the last, and one in reserve.
	retained = 2
	// rpcTimeout bounds raft's network operations.
	rpcTimeout = 10 * time.Second
)

// Config is what Open needs. All fields are required unless said otherwise.
type Config struct {
	// Dir is this frontend's folder for raft; it is made if it is missing.
	Dir string
	// ID names this frontend for ever.
	ID string
	// Listener is where the other frontends reach this one. The Store owns it,
	// also when Open fails.
	Listener net.Listener
	// Advertise is the host:port that others use, optional: without it the
	// Listener's own address. It may change from start to start.
	Advertise string
	// Dial connects to another frontend, optional: without it by TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// TLS is what connections show and accept, nil for connections in clear.
	TLS *nodetls.Credentials
	// Token is the cluster's, for the others to let this one in.
	Token nodetls.Token
	// Bootstrap makes an empty folder a cluster of one voter. An empty folder
	// without it waits to be added to a cluster.
	Bootstrap bool
	// Begun says that the folder has held a log. An empty one is then refused:
	// what ID once promised to the others is lost.
	Begun  bool
	Logger *slog.Logger
}

var (
	// ErrInUse says that another process works in the folder.
	ErrInUse = errors.New("folder is in use by another process")
	// ErrLogLost says that the log of a frontend is gone that had one.
	ErrLogLost = errors.New("the log is gone, and with it what this frontend promised to the others")
)

// A Store is this frontend's share in the agreement.
type Store struct {
	id        raft.ServerID
	fsm       *fsm
	raft      *raft.Raft
	transport transport
	log       *strictLog
	meta      metadb.BoltMetaDB // of log, which leaves closing it to us
	lock      *flock.Flock
	logger    *slog.Logger

	// settledTerm is the last term in which a barrier passed here.
	settledTerm atomic.Uint64
	// changing is had by each ReadIndex that asks the members, and wholly by who
	// changes them: raft waits for ever for the answer of one that has left.
	changing *semaphore.Weighted
	// waits are goroutines that wait for raft's answers. None begins once
	// closing is set: raft forgets what it is asked while it shuts down.
	waits   sync.WaitGroup
	mu      sync.RWMutex
	closing bool
}

// Open recovers what is in the folder and takes part in the cluster. Errors
// name the file or setting at fault.
func Open(cfg Config) (*Store, error) {
	s := &Store{id: raft.ServerID(cfg.ID), fsm: newFSM(), changing: semaphore.NewWeighted(maxAsking), logger: cfg.Logger}
	s.transport = newTransport(cfg)
	if err := s.open(cfg); err != nil {
		return nil, fmt.Errorf("open raft in %s: %w", cfg.Dir, errors.Join(err, s.release()))
	}
	return s, nil
}

func (s *Store) open(cfg Config) error {
	logs := filepath.Join(cfg.Dir, "log")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(cfg.Dir, "LOCK"))
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return err
	case !locked:
		return ErrInUse
	}
	s.lock = lock
	log, err := wal.Open(logs, wal.WithMetaStore(&s.meta), wal.WithLogger(hclogger(cfg.Logger)))
	if err != nil {
		return err
	}
	s.log = newStrictLog(log)
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(cfg.Dir, retained, hclogger(cfg.Logger))
	if err != nil {
		return err
	}
	if cfg.Begun {
		switch exists, err := raft.HasExistingState(s.log, s.log, snapshots); {
		case err != nil:
			return err
		case !exists:
			return ErrLogLost
		}
	}
	conf := raftConfig(cfg)
	if cfg.Bootstrap {
		first := raft.Configuration{Servers: []raft.Server{{ID: s.id, Address: s.transport.LocalAddr()}}}
		if err := raft.BootstrapCluster(conf, s.log, s.log, snapshots, s.transport, first); err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
			return err
		}
	}
	s.raft, err = raft.NewRaft(conf, s.fsm, s.log, s.log, snapshots, s.transport)
	if err != nil {
		return err
	}
	return s.hurry()
}

func raftConfig(cfg Config) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(cfg.ID)
	conf.Logger = hclogger(cfg.Logger)
	conf.HeartbeatTimeout, conf.ElectionTimeout = electionTimeout, electionTimeout
	conf.LeaderLeaseTimeout = leaseTimeout
	conf.MaxAppendEntries = maxBatch
	conf.SnapshotInterval = snapshotInterval
	conf.NoLegacyTelemetry = true
	conf.ShutdownOnRemove = false // who opened the Store closes it
	return conf
}

// hurry lets a lone voter stand for election at once: a timeout that gets
// shorter, by however little, ends the wait for a leader. Others wait whether
// one is there.
func (s *Store) hurry() error {
	servers := s.raft.GetConfiguration()
	if err := servers.Error(); err != nil {
		return err
	}
	if all := servers.Configuration().Servers; len(all) != 1 || all[0].ID != s.id {
		return nil
	}
	reload := s.raft.ReloadableConfig()
	reload.HeartbeatTimeout = leaseTimeout
	return s.raft.ReloadConfig(reload)
}

// Close leaves the cluster's work. What was proposed before is still answered,
// which takes as long as a leader without followers needs to notice; what
// comes later is refused with ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.waits.Wait()
	return errors.Join(s.raft.Shutdown().Error(), s.release())
}

// release ends what open opened.
func (s *Store) release() error {
	errs := []error{s.transport.Close()}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	errs = append(errs, s.meta.Close())
	if s.lock != nil {
		errs = append(errs, s.lock.Unlock())
	}
	return errors.Join(errs...)
}

// View calls read with the state as of now. What it gets out of it may be
// kept, and not changed (see package state).
func (s *Store) View(read func(*state.State)) { s.fsm.view(read) }

// AppliedIndex is the log index of the last command that is applied here.
func (s *Store) AppliedIndex() (index uint64) {
	s.View(func(st *state.State) { index = st.Applied() })
	return index
}

// Changed is closed when the state changes after this call. Taken before View,
// it misses nothing that View did not show.
func (s *Store) Changed() <-chan struct{} { return s.fsm.change() }

// Wait returns nil once holds says so of the state, or the context's error.
func (s *Store) Wait(ctx context.Context, holds func(*state.State) bool) error {
	for {
		changed, ok := s.Changed(), false
		s.View(func(st *state.State) { ok = holds(st) })
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
