// Package server puts a frontend together: replicated state, SQL, gRPC services,
// the leader's duties, and their orderly end.
//
// A Server is opened on its data folder, registers its gRPC services, and Run
// then serves until its context ends. What only a leader does runs under one
// context for each leadership, after the barrier. Run owns every goroutine
// beside those of Raft, which Close ends.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/reflection"

	"shoal/fe/backend"
	"shoal/fe/coord"
	"shoal/fe/credentials"
	"shoal/fe/download"
	"shoal/fe/forward"
	"shoal/fe/kafka"
	"shoal/fe/lease"
	"shoal/fe/membership"
	"shoal/fe/preview"
	"shoal/fe/raftstore"
	"shoal/fe/routineload"
	"shoal/fe/rpc"
	"shoal/fe/seal"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/cluster"
	"shoal/fe/stmt"
	"shoal/fe/txn"
	"shoal/fe/wire"
	"shoal/internal/diskspace"
	"shoal/internal/engine"
	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	"shoal/internal/warehouse"
	adminv1 "shoal/proto/admin/v1"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// queryMemory bounds a query that is answered here: information_schema.
	queryMemory = 256 << 20
	// reserve is what stays free on the disk of the log: for its next segment of 64 MiB,
	// a snapshot, and what has to be written whatever happens, such as terms.
	// A frontend with less commits no txns.
	reserve = 256 << 20
	// warehouseLimit is how long a frontend that starts waits for the warehouse's
	// answer: no backend hears of it meanwhile if it leads.
	warehouseLimit = 3 * time.Second
	// yieldEvery is how often a leader looks whether another one should lead.
	yieldEvery = 5 * time.Second
)

// Config is what a frontend needs.
type Config struct {
	DataDir string
	// Warehouse is the cluster's URI, optional: it must agree with the cluster's
	// own where there is one, and a new cluster gets NewWarehouse without it.
	Warehouse, NewWarehouse string
	TrashExpire             time.Duration // how long a file that nobody needs is left
	Bootstrap               bool          // make a new cluster if the data folder holds none
	Join                    []string      // rpc addresses of frontends of the cluster to join if the data folder holds none
	Host                    string        // how others reach this frontend
	MySQLPort               uint32
	HTTPPort                uint32
	RPCPort                 uint32
	TLS                     *nodetls.Credentials // of connections to backends and frontends, nil for those in clear
	Token                   nodetls.Token        // the cluster's, for other nodes to let this one in
	Raft                    net.Listener         // for the other frontends; the Server owns it
	Version                 string
	Logger                  *slog.Logger
	// AfterCommit is called between a commit and its answer, see rpc.Frontend.
	AfterCommit func()
}

// Server is one frontend.
type Server struct {
	cfg       Config
	identity  self
	started   time.Time
	store     *store
	disk      *diskspace.Reserve // of the log
	sealer    *seal.Sealer
	members   *membership.Members
	leases    lease.Leases
	secrets   *credentials.Keeper
	registry  *backend.Registry
	readers   *backend.Pool
	cluster   *forward.Cluster
	jobs      *routineload.Manager
	txns      *txn.Committer
	processes *session.Processes
	globals   *session.Globals
	stmts     *stmt.Executor
	nodes     *nodes
	yielded   atomic.Bool     // the leadership was given away for want of room
	serving   context.Context // ends when statements are carried out
	serve     context.CancelFunc
}

// Open reads the frontend's identity, or joins the cluster for one, which takes
// until a leader answers or ctx ends. It opens the log; Raft runs from then on.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	sealer := seal.New(cfg.DataDir)
	id, err := enter(ctx, cfg, sealer)
	if err != nil {
		return nil, errors.Join(err, cfg.Raft.Close())
	}
	raft, err := raftstore.Open(raftstore.Config{
		Dir: filepath.Join(cfg.DataDir, raftFolder), ID: id.FrontendID, Listener: cfg.Raft, Advertise: cluster.Address(cfg.Host, portOf(cfg.Raft)), TLS: cfg.TLS, Token: cfg.Token,
		Bootstrap: cfg.Bootstrap, Begun: id.Begun, Logger: cfg.Logger,
	})
	if errors.Is(err, raftstore.ErrLogLost) {
		err = fmt.Errorf("%w: with an empty data folder it can join the others as a new one, by --join", err)
	}
	if err != nil {
		return nil, fmt.Errorf("the replicated log: %w", err)
	}
	s := &Server{cfg: cfg, identity: id, store: &store{Store: raft}, disk: diskspace.New(cfg.DataDir, reserve), sealer: sealer}
	s.serving, s.serve = context.WithCancel(context.Background())
	s.assemble()
	return s, nil
}

// assemble connects the parts; nothing runs yet.
func (s *Server) assemble() {
	s.started = time.Now()
	told := session.DefaultServer()
	told.VersionComment, told.Hostname, told.Port = "Shoal "+s.cfg.Version, s.cfg.Host, uint16(s.cfg.MySQLPort)
	s.processes, s.globals = session.NewProcesses(), session.NewGlobals(told)
	s.secrets = credentials.New(s.store, s.sealer)
	s.registry = backend.New(s.store, s.secrets.Open, s.cfg.Logger, backend.TCP, rpcconn.DialOptions(s.cfg.TLS, s.cfg.Token)...)
	s.cluster = forward.New(forward.Config{
		ID: s.identity.FrontendID, Store: s.store, Elsewhere: s.store.elsewhere, LiveBackends: s.liveBackends, Full: s.disk.Check, Leases: &s.leases, Globals: s.globals,
		Logger: s.cfg.Logger, Dial: rpcconn.DialOptions(s.cfg.TLS, s.cfg.Token), Version: s.cfg.Version, Started: s.started,
	})
	s.members = &membership.Members{Store: s.store, Self: s.identity.FrontendID, Key: s.sealer.Key, Answers: s.answers, Logger: s.cfg.Logger}
	s.readers = backend.NewPool(s.store, s.cluster.LiveBackends, rpcconn.DialOptions(s.cfg.TLS, s.cfg.Token)...)
	brokers := kafka.NewPool(s.cfg.Logger, s.secrets.Open)
	s.jobs = routineload.New(routineload.Config{Store: s.store, Backends: s.registry, Kafka: brokers, Leases: &s.leases, Secrets: s.secrets, Logger: s.cfg.Logger})
	s.txns = txn.New(s.store)
	s.nodes = &nodes{store: s.store, registry: s.registry, cluster: s.cluster, id: s.identity.FrontendID, started: s.started}
	queries := coord.New(coord.Config{
		Store: s.store, Leases: &s.leases, Backends: s.readers, Processes: s.processes, RoutineLoads: s.jobs.Rows, Version: told.Version,
		Engine: engine.New(engine.Config{Threads: 1, MemoryLimit: queryMemory}),
		Topics: &preview.Reader{Kafka: brokers, Secrets: s.secrets, Backends: s.registry},
	})
	s.stmts = stmt.New(stmt.Config{
		Store: s.store, Queries: queries, RoutineLoads: s.jobs, Secrets: s.secrets, Download: download.Get, Nodes: s.nodes, Frontends: s.members, Cluster: s.cluster, Processes: s.processes, Started: s.started,
	})
}

// Register offers the frontend's gRPC services on r, and reflection of them.
func (s *Server) Register(r reflection.GRPCServer) {
	frontendv1.RegisterFrontendServiceServer(r, &rpc.Frontend{Store: s.store, Txns: s.txns, Leader: s.store.elsewhere, Full: s.full, Closed: raftstore.ErrClosed, Members: s.members, AfterCommit: s.cfg.AfterCommit,
		Others: &forward.Service{Cluster: s.cluster, Statements: s.stmts}})
	adminv1.RegisterAdminServiceServer(r, &rpc.Admin{
		Statements: s.stmts, Jobs: s.jobs, Nodes: s.nodes.List, Cluster: s.cluster, Snapshot: s.snapshot,
		Session: func() *session.Session { return session.New(0, "root", "rpc", s.globals) },
	})
	reflection.Register(r)
}

// full says why a leader commits no txns; a follower has none to commit.
func (s *Server) full() error {
	if s.store.LeaderID() != s.identity.FrontendID {
		return nil
	}
	return s.disk.Check()
}

// liveBackends are those that queries may be sent to: that answer this leader
// or, before any has, that may.
func (s *Server) liveBackends() []uint64 {
	var alive, unheard []uint64
	for _, b := range s.registry.Backends() {
		switch {
		case b.Alive:
			alive = append(alive, b.ID)
		case b.Unheard:
			unheard = append(unheard, b.ID)
		}
	}
	if len(alive) == 0 {
		return unheard
	}
	return alive
}

// answers is what the frontend at an rpc address says of itself, nil if none
// answers.
func (s *Server) answers(ctx context.Context, addr string) *frontendv1.FrontendStatusResponse {
	answer, err := s.cluster.Ask(ctx, addr)
	if err != nil {
		return nil
	}
	return answer
}

// snapshot is the state as it is now. It must be called where it is known that
// this frontend leads, and does not change any more.
func (s *Server) snapshot() (taken *state.State) {
	s.store.View(func(st *state.State) { taken = st.Clone() })
	return taken
}

// Close ends Raft and closes the log. It is called after Run.
func (s *Server) Close() error {
	s.cluster.Close()
	s.readers.Close()
	return s.store.Close()
}

// Run serves MySQL clients on lis and does the leader's duties whenever this
// frontend leads, until ctx ends; then another one is to lead. ready is called
// once the cluster exists, its warehouse has been found, and statements are
// carried out. The error says also why a frontend is no member any more.
func (s *Server) Run(ctx context.Context, lis net.Listener, ready func()) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return unlessEnded(ctx, s.store.RunLeader(ctx, s.lead)) })
	g.Go(func() error { return unlessEnded(ctx, s.txns.Run(ctx)) })
	g.Go(func() error { return s.enlist(ctx) })
	g.Go(func() error {
		server := wire.New(wire.Config{Handler: s.stmts, Accounts: accounts{}, Globals: s.globals, Processes: s.processes, Log: s.cfg.Logger})
		return server.Run(ctx, lis)
	})
	g.Go(func() error {
		select {
		case <-s.serving.Done():
			ready()
			<-ctx.Done()
		case <-ctx.Done():
		}
		s.abdicate(context.WithoutCancel(ctx))
		return nil
	})
	return g.Wait()
}

// unlessEnded is err unless ctx ended: then it is how the end shows.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lead does what only a leader does, for one leadership.
func (s *Server) lead(ctx context.Context, term uint64) error {
	if err := s.bootstrap(ctx); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	s.serve()
	var incarnation uint64
	s.store.View(func(st *state.State) { incarnation = st.ClusterInfo().Incarnation })
	leadership := &backendv1.Leadership{Incarnation: incarnation, Term: term, Frontend: s.identity.FrontendID}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		s.registry.Run(ctx, leadership, cluster.Address(s.cfg.Host, s.cfg.RPCPort))
		return nil
	})
	g.Go(func() error { return s.members.Run(ctx) })
	g.Go(func() error { return s.jobs.RunLeader(ctx) })
	g.Go(func() error { return s.removeFiles(ctx) })
	g.Go(func() error { s.yieldWhenFull(ctx); return nil })
	return g.Wait()
}

// yieldWhenFull gives the leadership to another frontend when this one's disk has
// become full: once, or frontends that are all full would pass it round.
func (s *Server) yieldWhenFull(ctx context.Context) {
	ticker := time.NewTicker(yieldEvery)
	defer ticker.Stop()
	for {
		why := s.disk.Check()
		if why != nil && !s.yielded.Swap(true) {
			s.cfg.Logger.Warn("another frontend should lead", "reason", why)
			if err := s.store.Abdicate(ctx); err != nil && ctx.Err() == nil {
				s.cfg.Logger.Warn("no other frontend can lead", "err", err)
			}
		}
		if why == nil {
			s.yielded.Store(false)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// bootstrap makes the cluster if there is none, checks its key and, if this
// frontend starts, its warehouse, and registers this frontend.
func (s *Server) bootstrap(ctx context.Context) error {
	var info *raftlogv1.Cluster
	s.store.View(func(st *state.State) { info = st.ClusterInfo() })
	if info == nil {
		if err := s.makeCluster(ctx); err != nil {
			return err
		}
	} else if s.serving.Err() == nil {
		// One that serves leads also while the warehouse is away: it has no need of
		// it, and all would end one after the other.
		if err := s.checkWarehouse(ctx, info); err != nil {
			return err
		}
	}
	if err := s.secrets.Unlock(); err != nil {
		return err
	}
	_, err := s.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{
		Frontend: &raftlogv1.Frontend{Id: s.identity.FrontendID, Host: s.cfg.Host, MysqlPort: s.cfg.MySQLPort, HttpPort: s.cfg.HTTPPort,
			RpcPort: s.cfg.RPCPort, RaftPort: portOf(s.cfg.Raft), Version: s.cfg.Version}}}})
	return err
}

// makeCluster marks the warehouse as the new cluster's and makes the cluster.
func (s *Server) makeCluster(ctx context.Context) error {
	uri := cmp.Or(s.cfg.Warehouse, s.cfg.NewWarehouse)
	wh, err := warehouse.Open(uri)
	if err != nil {
		return err
	}
	defer wh.Close()
	if err := wh.Bootstrap(ctx, s.identity.ClusterID); err != nil {
		return fmt.Errorf("no cluster is made: %w; a frontend of a cluster that is there is started with --join, and a new one needs a --warehouse of its own", err)
	}
	s.cfg.Logger.Info("a new cluster is made", "cluster_id", s.identity.ClusterID, "warehouse", uri)
	_, err = s.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{
		Bootstrap: &raftlogv1.Bootstrap{ClusterId: s.identity.ClusterID, Warehouse: uri}}})
	return err
}

// checkWarehouse refuses to go on with another warehouse than the cluster's,
// or with one that is not there. One that does not answer is no reason.
func (s *Server) checkWarehouse(ctx context.Context, info *raftlogv1.Cluster) error {
	if err := agreeOnWarehouse(s.cfg, info.Warehouse); err != nil {
		return err
	}
	wh, err := warehouse.Open(info.Warehouse)
	if err != nil {
		return err
	}
	defer wh.Close()
	ctx, cancel := context.WithTimeout(ctx, warehouseLimit)
	defer cancel()
	err = wh.Verify(ctx, info.ClusterId)
	if errors.Is(err, warehouse.ErrUnavailable) {
		// Backends say what is wrong.
		s.cfg.Logger.Warn("the warehouse is not available", "err", err)
		return nil
	}
	return err
}

func agreeOnWarehouse(cfg Config, clusters string) error {
	if cfg.Warehouse != "" && cfg.Warehouse != clusters {
		return fmt.Errorf("the cluster's warehouse is %s, and this frontend was given %s: it is fixed at bootstrap, leave --warehouse away", clusters, cfg.Warehouse)
	}
	return nil
}

func (s *Server) propose(ctx context.Context, cmd *raftlogv1.Command) (uint64, error) {
	cmd.AtMs = time.Now().UnixMilli()
	applied, err := s.store.Propose(ctx, cmd)
	return applied.ID, errors.Join(err, applied.Err)
}

// accounts knows the one account there is so far: root without a password.
type accounts struct{}

// Account implements wire.Authenticator.
func (accounts) Account(user, _ string) (wire.Account, bool) { return wire.Account{}, user == "root" }
