// Package server puts a backend together: identity, registration, executor,
// pipes, queries, and their orderly end.
//
// A Server registers its gRPC service before it knows its cluster; Run joins
// the cluster, opens the warehouse and then answers. When Run's context ends it
// drains: tasks settle or release what they hold and leave their groups.
//
// Run owns every goroutine of the backend.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"shoal/be/deadletter"
	"shoal/be/dryrun"
	"shoal/be/executor"
	"shoal/be/feclient"
	"shoal/be/memory"
	"shoal/be/pipe"
	"shoal/be/rpc"
	"shoal/internal/engine"
	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
)

const (
	// drainLimit is how long tasks may take to settle or release what they hold
	// at the end: longer than the longest lock, since a txn whose CommitTxn was
	// sent is asked for that long.
	drainLimit = 90 * time.Second
	joinPause  = time.Second
)

// Config is what a backend needs.
type Config struct {
	DataDir   string
	Frontends []string             // rpc addresses, host:port
	TLS       *nodetls.Credentials // nil for connections in clear
	Token     nodetls.Token        // the cluster's, for frontends to let this backend in
	Warehouse string               // URI, "" for whatever the cluster has
	// MemoryLimit is what the process may take, as memory.Limit reads it.
	MemoryLimit string
	// CacheBytes bounds the copies of files of a warehouse on S3.
	CacheBytes int64
	// How frontends reach this backend.
	Host     string
	RPCPort  uint32
	HTTPPort uint32
	Slots    int
	Threads  int // as many as there are processors: files written at a time, and threads of a query
	Version  string
	Logger   *slog.Logger
	// AfterCommit is called when a txn was committed and before it is
	// acknowledged, for tests that need a process to die there; nil normally.
	AfterCommit func(label string)
	// AfterDelivery, too: see deadletter.Deliverer.
	AfterDelivery func()
}

// Server is one backend.
type Server struct {
	cfg      Config
	lock     *flock.Flock // of the data folder
	identity self
	memory   int64 // bytes that the process may take
	fe       *feclient.Client
	service  rpc.Server
	started  time.Time
	applied  atomic.Uint64 // the leader's log index of the last heartbeat
}

// New takes the data folder, which Run gives back, and reads the backend's
// identity. It starts nothing.
func New(cfg Config) (*Server, error) {
	limit, err := memory.Limit(cfg.MemoryLimit)
	if err != nil {
		return nil, fmt.Errorf("--mem-limit: %w", err)
	}
	fe, err := feclient.New(cfg.Frontends, cfg.TLS, cfg.Token)
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	id, err := loadIdentity(cfg.DataDir)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return &Server{cfg: cfg, lock: lock, identity: id, memory: limit, fe: fe, started: time.Now()}, nil
}

// Register offers the backend's gRPC service on r.
func (s *Server) Register(r grpc.ServiceRegistrar) { s.service.Register(r) }

// Run joins the cluster and serves it until ctx ends, then drains. ready is
// called once the backend serves. rpcs to the frontends must be possible until
// Run returns. It may be called once.
func (s *Server) Run(ctx context.Context, ready func()) (err error) {
	defer func() { err = errors.Join(err, s.lock.Unlock()) }()
	defer s.fe.Close()
	joined, err := s.join(ctx)
	if ctx.Err() != nil {
		return nil // told to end before there was anything to drain
	}
	if err != nil {
		return err
	}
	wh, err := s.openWarehouse(ctx, joined)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // as above
	case err != nil:
		return err
	}
	defer wh.Close()
	pipeSpill, querySpill, err := s.makeSpill()
	if err != nil {
		return err
	}
	pipes, err := pipe.OpenEngine(context.WithoutCancel(ctx), pipe.EngineConfig{MemoryBytes: memory.PipeBytes, Writers: s.cfg.Threads, SpillDir: pipeSpill})
	if err != nil {
		return err
	}
	budget := memory.New(s.memory, memory.SetCollector)
	queries := &querier{warehouse: wh, engine: engine.New(engine.Config{Threads: s.cfg.Threads, MemoryLimit: budget.QueryBytes(), TempDir: querySpill, Take: budget.Take})}
	// Tasks outlive ctx while they drain.
	exec := executor.New(context.WithoutCancel(ctx), executor.Config{
		Slots: s.cfg.Slots, Logger: s.cfg.Logger,
		Start: (&starter{server: s, warehouse: wh, pipes: pipes, memory: budget, gate: &gate{warehouse: wh}}).start,
	})
	s.service.Attach(&rpc.Backend{
		ID: joined.BackendId, ClusterID: joined.ClusterId, Tasks: exec, Queries: queries, Probes: prober{}, Reads: previewer{s.cfg.Logger},
		DryRuns: dryRunner{&dryrun.Runner{Pipes: pipes, Queries: queries.engine, Dir: pipeSpill, Logger: s.cfg.Logger}, s.cfg.Logger},
		Letters: &deadletter.Deliverer{Warehouse: wh, Engine: queries.engine, AfterDelivery: s.cfg.AfterDelivery},
		Footers: footerReader{wh, pipes},
		Version: s.cfg.Version, StartedMS: s.started.UnixMilli(),
		Learn: s.learn, WarehouseError: wh.Trouble,
	})
	s.cfg.Logger.Info("backend joined", "backend_id", joined.BackendId, "cluster_id", joined.ClusterId)
	ready()
	// What drains still writes, so the warehouse is watched meanwhile.
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watch errgroup.Group
	watch.Go(func() error { wh.Watch(watching, joined.ClusterId); return nil })
	watch.Go(func() error { s.explainSilence(ctx, exec); return nil })
	exec.Watch(ctx)
	err = s.drain(ctx, exec)
	stop()
	return errors.Join(err, watch.Wait(), pipes.Close())
}

// makeSpill makes folders that DuckDB may spill to, and removes what a process
// that died had left there.
func (s *Server) makeSpill() (pipes, queries string, err error) {
	root := filepath.Join(s.cfg.DataDir, "spill")
	if err := os.RemoveAll(root); err != nil {
		return "", "", err
	}
	pipes, queries = filepath.Join(root, "pipes"), filepath.Join(root, "queries")
	return pipes, queries, errors.Join(os.MkdirAll(pipes, 0o755), os.MkdirAll(queries, 0o755))
}

func (s *Server) drain(ctx context.Context, exec *executor.Executor) error {
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
	defer cancel()
	return exec.Drain(draining)
}

// learn takes over what a valid heartbeat says.
func (s *Server) learn(req *backendv1.HeartbeatRequest) {
	s.fe.Learn(req.FrontendRpcAddr, req.Frontends)
	s.applied.Store(req.AppliedIndex)
}

// join registers the backend, as often as it takes; a refusal is final, of its own
// cluster if it has one.
func (s *Server) join(ctx context.Context) (*frontendv1.RegisterBackendResponse, error) {
	req := &frontendv1.RegisterBackendRequest{
		NodeUuid: s.identity.NodeUUID, ClusterId: s.identity.ClusterID, Host: s.cfg.Host, RpcPort: s.cfg.RPCPort,
		HttpPort: s.cfg.HTTPPort, Slots: uint32(s.cfg.Slots), Version: s.cfg.Version, Warehouse: s.cfg.Warehouse,
	}
	for told := false; ; told = true {
		resp, err := s.fe.Register(ctx, req)
		switch {
		case err == nil:
			return resp, s.remember(resp.ClusterId)
		case rpcconn.Refused(err, req.ClusterId != ""):
			return nil, fmt.Errorf("the cluster refuses this backend: %w", err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !told:
			s.cfg.Logger.Warn("waiting for a frontend to join", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(joinPause):
		}
	}
}

// remember keeps the id of the cluster, once it is known.
func (s *Server) remember(clusterID string) error {
	if s.identity.ClusterID == clusterID {
		return nil
	}
	s.identity.ClusterID = clusterID
	return s.identity.save(s.cfg.DataDir)
}

// openWarehouse opens the cluster's warehouse after checking that it is there
// and the cluster's own. One that does not answer is waited for: until it has
// been checked nothing is written.
func (s *Server) openWarehouse(ctx context.Context, joined *frontendv1.RegisterBackendResponse) (*warehouse.Warehouse, error) {
	wh, err := warehouse.Open(joined.Warehouse)
	if err != nil {
		return nil, err
	}
	err = wh.UseFolder(filepath.Join(s.cfg.DataDir, "warehouse"), s.cfg.CacheBytes)
	if err == nil {
		err = wh.Verify(ctx, joined.ClusterId)
	}
	if errors.Is(err, warehouse.ErrUnavailable) {
		s.cfg.Logger.Warn("the warehouse is not available yet", "err", err)
		err = nil
	}
	if err != nil {
		wh.Close()
		return nil, err
	}
	return wh, nil
}
