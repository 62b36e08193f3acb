package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"shoal/fe/membership"
	"shoal/fe/raftstore"
	"shoal/fe/seal"
	"shoal/fe/state"
	"shoal/fe/state/cluster"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// lostAfter is how long a frontend is without a leader before it asks the
	// others whether it is a member still.
	lostAfter = 10 * time.Second
	// handOver bounds giving away the leadership at the end.
	handOver = 5 * time.Second
)

// enter is who this frontend is: as its folder says, or as a new one that makes
// the cluster or is taken into one.
func enter(ctx context.Context, cfg Config, sealer *seal.Sealer) (self, error) {
	id, _, err := readIdentity(cfg.DataDir)
	if err != nil {
		return self{}, err
	}
	if member, err := isMember(cfg, id); err != nil || member {
		return id, err
	}
	switch {
	case cfg.Bootstrap && id.Making:
		return id, nil
	case !cfg.Bootstrap && len(cfg.Join) == 0:
		return self{}, fmt.Errorf("%s holds no frontend of a cluster yet: start the first one of a cluster with --bootstrap, others with --join host:port of one that runs", cfg.DataDir)
	}
	// What a log has that never came to a cluster is in the way of another one. No
	// vote is lost with it: one that joins has none before it has begun.
	if id.ClusterID != "" {
		if err := os.RemoveAll(filepath.Join(cfg.DataDir, raftFolder)); err != nil {
			return self{}, err
		}
	}
	id = self{FrontendID: cmp.Or(id.FrontendID, newFrontendID())}
	if cfg.Bootstrap {
		id.ClusterID, id.Making = rand.Text()[:12], true
	} else if id.ClusterID, err = join(ctx, cfg, sealer, id); err != nil {
		return self{}, fmt.Errorf("joining the cluster: %w", err)
	}
	return id, writeIdentity(cfg.DataDir, id)
}

// isMember tells whether a frontend is one of a cluster. One that was to make or to
// join it need not be: the warehouse was refused, or the process died before.
func isMember(cfg Config, id self) (bool, error) {
	if id.ClusterID == "" || id.Begun {
		return id.Begun, nil
	}
	st, err := raftstore.Read(filepath.Join(cfg.DataDir, raftFolder), cfg.Logger)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && st.ClusterInfo() != nil, err
}

// join has a new frontend taken into a cluster, whose id it returns. The
// frontend's own is kept before: one that does not come to its end, and is tried
// again and again, must not be another member each time.
func join(ctx context.Context, cfg Config, sealer *seal.Sealer, id self) (clusterID string, err error) {
	if err := writeIdentity(cfg.DataDir, id); err != nil {
		return "", err
	}
	cfg.Logger.Info("a new frontend joins", "frontend_id", id.FrontendID, "frontends", cfg.Join)
	resp, err := joiner(cfg, func() []string { return cfg.Join }).Ask(ctx, joinRequest(cfg, id))
	if err != nil {
		return "", err
	}
	return resp.ClusterId, sealer.Take(resp.ClusterKey)
}

func joiner(cfg Config, frontends func() []string) *membership.Joiner {
	return &membership.Joiner{Frontends: frontends, Dial: rpcconn.DialOptions(cfg.TLS, cfg.Token), Logger: cfg.Logger}
}

func joinRequest(cfg Config, id self) *frontendv1.JoinFrontendRequest {
	return &frontendv1.JoinFrontendRequest{FrontendId: id.FrontendID, ClusterId: id.ClusterID, Host: cfg.Host, RaftPort: portOf(cfg.Raft),
		RpcPort: cfg.RPCPort, MysqlPort: cfg.MySQLPort, HttpPort: cfg.HTTPPort, Version: cfg.Version, Warehouse: cfg.Warehouse}
}

// enlist makes this frontend one that serves, as a follower if not as a leader:
// known to the leader at the addresses that it has now, with a state as new as
// all that was answered before, and with its vote. It ends with an error when
// the frontend is refused, or turns out to be no member any more.
func (s *Server) enlist(ctx context.Context) error {
	if err := s.follow(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	tick := time.NewTicker(lostAfter)
	defer tick.Stop()
	for {
		changed, dropped := s.store.Changed(), false
		s.store.View(func(st *state.State) { dropped = st.FrontendDropped(s.identity.FrontendID) })
		if dropped {
			return fmt.Errorf(`%w: after ALTER SYSTEM ADD FOLLOWER (or OBSERVER) "%s" it may join again, with an empty data folder`, cluster.ErrFrontendDropped, cluster.Address(s.cfg.Host, portOf(s.cfg.Raft)))
		}
		select {
		case <-changed:
		case <-tick.C:
			// Who is dropped may not have heard of it.
			if s.store.LeaderID() != "" {
				continue
			}
			if _, err := s.announce(ctx, true); err != nil {
				return unlessEnded(ctx, err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// follow waits until this frontend serves: because it leads, or is told that it
// may and has what it then needs.
func (s *Server) follow(ctx context.Context) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.serving, cancel)()
	resp, err := s.announce(asking, false)
	if err == nil {
		err = s.catchUp(asking, resp)
	}
	if err == nil {
		_, err = s.announce(asking, true)
	}
	if asking.Err() != nil {
		return nil // it leads, or ends
	}
	if err == nil {
		s.serve()
	}
	return err
}

// announce tells the leader that this frontend is there, and where.
func (s *Server) announce(ctx context.Context, caughtUp bool) (*frontendv1.JoinFrontendResponse, error) {
	req := joinRequest(s.cfg, s.identity)
	req.CaughtUp, req.StartedMs = caughtUp, s.started.UnixMilli()
	return joiner(s.cfg, s.others).Ask(ctx, req)
}

// others are the rpc addresses of the other frontends, the leader's first.
func (s *Server) others() []string {
	leader := s.store.LeaderID()
	var addrs []string
	s.store.View(func(st *state.State) {
		for _, f := range st.Frontends() {
			switch addr := cluster.Address(f.Host, f.RpcPort); f.Id {
			case s.identity.FrontendID:
			case leader:
				addrs = slices.Insert(addrs, 0, addr)
			default:
				addrs = append(addrs, addr)
			}
		}
	})
	return append(addrs, s.cfg.Join...)
}

// catchUp waits until this frontend has what the leader had when it answered.
func (s *Server) catchUp(ctx context.Context, resp *frontendv1.JoinFrontendResponse) error {
	if err := s.sealer.Take(resp.ClusterKey); err != nil {
		return err
	}
	if err := s.store.Wait(ctx, func(st *state.State) bool { return st.Applied() >= resp.ReadIndex }); err != nil {
		return err
	}
	if err := s.checkWarehouse(ctx, &raftlogv1.Cluster{ClusterId: resp.ClusterId, Warehouse: resp.Warehouse}); err != nil {
		return err
	}
	if err := s.secrets.Unlock(); err != nil {
		return err
	}
	return s.begin()
}

// begin remembers that the log is there, before anybody counts on it.
func (s *Server) begin() error {
	if s.identity.Begun {
		return nil
	}
	id := s.identity
	id.Begun, id.Making = true, false
	return writeIdentity(s.cfg.DataDir, id)
}

// abdicate gives the leadership away at the end, if this frontend has it.
func (s *Server) abdicate(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, handOver)
	defer cancel()
	if err := s.store.Abdicate(ctx); err != nil {
		s.cfg.Logger.Warn("the leadership was not handed over", "err", err)
	}
}
