// Package forward lets any frontend take any statement: it reaches the one that
// leads, for what this one cannot answer by itself.
//
// What reads the replicated state is answered here, once the state here is as
// new as all that was answered to anybody before (Sync: a read index, asked of
// the leader). What changes the state, or shows what only the leader knows, is
// carried out by the leader (AtLeader, Call): its rows, warnings, errors come
// back unchanged, and it ends with its client.
//
// While nobody leads, statements wait, up to Patience. One is tried again only
// if it surely was not carried out: the leader could not be reached, or said
// that it does not lead before anything was proposed on the statement's behalf
// (Attempt), and no part of the result has gone out. Where the outcome is not
// known, the error says so. A statement is forwarded once: one that meets a
// frontend which does not lead comes back.
//
// Frontends agree on nothing here: whether one leads, its ReadIndex proves. A
// Cluster is safe for concurrent use; it starts no goroutines beyond those of
// its connections, which Close ends, and one for the length of each forwarded
// call.
package forward

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	"shoal/fe/errno"
	"shoal/fe/lease"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
)

const (
	// Patience is how long a statement waits for a leader: several elections.
	Patience = 10 * time.Second
	// brief is how long one waits for a leader that can be answered without.
	brief = 2 * time.Second
	// pause lies between two tries.
	pause = 100 * time.Millisecond
	// askTimeout bounds a question that has no effect, and a connection.
	askTimeout = 2 * time.Second
	// grace is how long a frontend that does not lead any more may take to
	// answer what it was asked as leader.
	grace = time.Second
)

// Store is the replicated state and the agreement on it.
type Store interface {
	View(read func(*state.State))
	// Wait returns nil once holds says so of the state.
	Wait(ctx context.Context, holds func(*state.State) bool) error
	// ReadIndex makes sure that this frontend leads and has applied all that was
	// answered before. Nothing was done if it fails.
	ReadIndex(ctx context.Context) error
	// LeaderID is who leads, empty while nobody is known to.
	LeaderID() string
}

// Config is what a Cluster needs.
type Config struct {
	ID    string // of this frontend
	Store Store
	// Elsewhere tells whether an error of the Store means that it did nothing,
	// since this frontend does not lead, and who does: its rpc address, empty
	// when it is not known.
	Elsewhere func(err error) (addr string, is bool)
	// LiveBackends are those that may be asked, at the leader.
	LiveBackends func() []uint64
	// Full says why nothing more should be written here; nil while there is room.
	Full    func() error
	Leases  *lease.Leases // of the versions that are read here
	Globals *session.Globals
	Logger  *slog.Logger
	Dial    []grpc.DialOption // of connections to frontends
	Version string
	Started time.Time
}

// Cluster is the way to the other frontends.
type Cluster struct {
	cfg Config

	conns *rpcconn.Conns

	mu   sync.Mutex
	live []uint64 // backends, of the last answer of a leader
}

// New returns the way to the others. It connects to nobody yet.
func New(cfg Config) *Cluster {
	return &Cluster{cfg: cfg, conns: rpcconn.NewConns(append([]grpc.DialOption{rpcconn.Reconnect(askTimeout)}, cfg.Dial...)...)}
}

// Leads tells whether this frontend leads, as far as it knows.
func (c *Cluster) Leads() bool { return c.cfg.Store.LeaderID() == c.cfg.ID }

// LiveBackends are those that the leader says may be asked: now, at the leader,
// and as of the last Sync elsewhere.
func (c *Cluster) LiveBackends() []uint64 {
	if c.Leads() {
		return c.cfg.LiveBackends()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

// Sync returns once the state here shows everything that any frontend answered
// to anybody before the call.
func (c *Cluster) Sync(ctx context.Context) error {
	return c.patiently(ctx, func(waiting context.Context, leader string) error {
		if leader == c.cfg.ID {
			return retry(c.cfg.Store.ReadIndex(waiting))
		}
		conn, err := c.reach(waiting, leader)
		if err != nil {
			return retry(err)
		}
		asking, cancel := context.WithTimeout(waiting, askTimeout)
		defer cancel()
		answer, err := frontendv1.NewFrontendServiceClient(conn).ReadIndex(asking, &frontendv1.ReadIndexRequest{})
		if err != nil {
			return retry(err)
		}
		c.mu.Lock()
		c.live = answer.LiveBackends
		c.mu.Unlock()
		return retry(c.catchUp(waiting, answer.AppliedIndex))
	})
}

// Led tells whether a frontend leads: it is Sync for what is also answered while
// none does, and waits for 2 s at most.
func (c *Cluster) Led(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, brief)
	defer cancel()
	return c.Sync(ctx) == nil
}

// catchUp returns once the state here shows what was applied up to index.
func (c *Cluster) catchUp(ctx context.Context, index uint64) error {
	return c.cfg.Store.Wait(ctx, func(st *state.State) bool { return st.Applied() >= index })
}

// AtLeader has a statement carried out by whoever leads: by here, if that is
// this frontend, which may be called again after a try that did nothing. text is
// the statement with values in its placeholders; effects tells whether it may
// change anything.
func (c *Cluster) AtLeader(ctx context.Context, s *session.Session, text string, effects bool, w result.Writer, here func(context.Context, result.Writer) error) error {
	return c.patiently(ctx, func(waiting context.Context, leader string) error {
		out := &tracked{Writer: w}
		if leader == c.cfg.ID {
			if err := c.cfg.Store.ReadIndex(waiting); err != nil {
				return retry(err)
			}
			ctx, attempt := begin(ctx)
			err := here(ctx, out)
			if _, elsewhere := c.cfg.Elsewhere(err); elsewhere && !attempt.proposed.Load() && !out.began {
				return retry(err)
			}
			return err
		}
		conn, err := c.reach(waiting, leader)
		if err != nil {
			return retry(err)
		}
		return c.forward(ctx, frontendv1.NewFrontendServiceClient(conn), leader, &frontendv1.ForwardRequest{Sql: text, Session: encode(s)}, s, effects, out)
	})
}

// Call has a call that changes nothing carried out by whoever leads: by here if
// that is this frontend, else by there over a connection to it. Errors of theirs
// that say nothing of who leads come back as they are.
func (c *Cluster) Call(ctx context.Context, here func(context.Context) error, there func(context.Context, grpc.ClientConnInterface) error) error {
	if forwarded(ctx) {
		if err := c.cfg.Store.ReadIndex(ctx); err != nil {
			return c.notLeading(err)
		}
		return here(ctx)
	}
	return c.patiently(ctx, func(waiting context.Context, leader string) error {
		if leader == c.cfg.ID {
			if err := c.cfg.Store.ReadIndex(waiting); err != nil {
				return retry(err)
			}
			return here(ctx)
		}
		conn, err := c.reach(waiting, leader)
		if err != nil {
			return retry(err)
		}
		calling, stop := c.whileLeads(ctx, leader)
		defer stop()
		if err = there(markForwarded(calling), conn); ctx.Err() == nil && (calling.Err() != nil || lost(err)) {
			return retry(err)
		}
		return err
	})
}

// retryable is why a try surely did nothing.
type retryable struct{ error }

// retry marks an error as one after which the same may be tried again.
func retry(err error) error {
	if err == nil {
		return nil
	}
	return retryable{err}
}

// patiently tries, and tries again, while attempts say that they did nothing.
// What has no effect is done under the context that attempts get: it ends with
// the patience, which begins anew after a try that was under way for longer.
func (c *Cluster) patiently(ctx context.Context, attempt func(waiting context.Context, leader string) error) error {
	deadline := time.Now().Add(Patience)
	for {
		began := time.Now()
		err := c.try(ctx, deadline, attempt)
		again, is := errors.AsType[retryable](err)
		if !is {
			return err
		}
		if time.Since(began) > Patience {
			deadline = time.Now().Add(Patience)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		if time.Now().After(deadline) {
			return errno.Wrap(errno.NotAvailable, again.error, "Server isn't available: for %v no frontend that leads could be reached, and the statement was not carried out; "+
				"most of the FOLLOWERs must be up and reach each other (last: %v)", Patience, again.error)
		}
	}
}

func (c *Cluster) try(ctx context.Context, deadline time.Time, attempt func(waiting context.Context, leader string) error) error {
	leader := c.cfg.Store.LeaderID()
	if leader == "" {
		return retry(errNoLeader)
	}
	waiting, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	return attempt(waiting, leader)
}

var errNoLeader = errors.New("no frontend leads")
