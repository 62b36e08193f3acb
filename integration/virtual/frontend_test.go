package virtual

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	feregistry "shoal/fe/backend"
	"shoal/fe/credentials"
	"shoal/fe/kafka"
	"shoal/fe/lease"
	"shoal/fe/raftstore"
	"shoal/fe/result"
	"shoal/fe/routineload"
	"shoal/fe/rpc"
	"shoal/fe/seal"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/stmt"
	"shoal/fe/txn"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	frontendHost = "frontend"
	frontendRPC  = "127.0.0.1:9020"
	frontendRaft = "127.0.0.1:9010"
)

// A frontend is what fe/server puts together, without listeners on TCP.
type frontend struct {
	w        *world
	store    *raftstore.Store
	registry *feregistry.Registry
	brokers  *kafka.Pool
	jobs     *routineload.Manager
	stmts    *stmt.Executor
	session  *session.Session
	server   *grpc.Server
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// startFrontend opens the frontend on its folder, and returns once it leads.
func (w *world) startFrontend() *frontend {
	w.t.Helper()
	host := w.network.host(frontendHost)
	store, err := raftstore.Open(raftstore.Config{Dir: w.dir, ID: "fe1", Listener: w.listen(host, frontendRaft), Dial: host.grpc, Bootstrap: true, Logger: w.log})
	if err != nil {
		w.t.Fatal(err)
	}
	secrets := credentials.New(store, seal.New(w.dir))
	if err := secrets.Unlock(); err != nil {
		w.t.Fatal(err)
	}
	f := &frontend{w: w, store: store, brokers: kafka.NewPool(w.log, secrets.Open, kgo.Dialer(host.dial)), server: grpc.NewServer()}
	f.registry = feregistry.New(store, secrets.Open, w.log, host.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	f.jobs = routineload.New(routineload.Config{Store: store, Leases: new(lease.Leases), Backends: f.registry, Kafka: f.brokers, Secrets: secrets, Logger: w.log})
	f.stmts = stmt.New(stmt.Config{Store: store, RoutineLoads: f.jobs, Cluster: alone{}, Processes: session.NewProcesses(), Started: time.Now()})
	f.session = session.New(1, "root", "client", session.NewGlobals(session.DefaultServer()))
	txns := txn.New(store)
	frontendv1.RegisterFrontendServiceServer(f.server, &rpc.Frontend{Store: store, Txns: txns, Leader: notLeading, Full: w.faults.full})

	var ctx context.Context
	ctx, f.cancel = context.WithCancel(context.Background())
	lis := w.listen(host, frontendRPC)
	f.running.Go(func() { f.server.Serve(lis) })
	f.running.Go(func() { txns.Run(ctx) })
	f.running.Go(func() {
		if err := store.RunLeader(ctx, f.lead); ctx.Err() == nil {
			w.t.Errorf("the frontend ended: %v", err)
		}
	})
	if err := store.Wait(ctx, func(st *state.State) bool { return len(st.Frontends()) > 0 }); err != nil {
		w.t.Fatal(err)
	}
	return f
}

func (w *world) listen(h host, addr string) net.Listener {
	w.t.Helper()
	lis, err := h.listen("virtual", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	return lis
}

// notLeading is how a frontend sees that another one leads.
func notLeading(err error) (addr string, elsewhere bool) {
	var not *raftstore.NotLeaderError
	return "", errors.As(err, &not)
}

// lead is a leader's duties.
func (f *frontend) lead(ctx context.Context, term uint64) error {
	var bootstrapped bool
	f.store.View(func(st *state.State) { bootstrapped = st.ClusterInfo() != nil })
	if !bootstrapped {
		f.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
	}
	f.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{
		Frontend: &raftlogv1.Frontend{Id: "fe1", Host: "127.0.0.1", RpcPort: 9020}}}})
	leadership := &backendv1.Leadership{Term: term, Frontend: "fe1"}
	f.store.View(func(st *state.State) { leadership.Incarnation = st.ClusterInfo().GetIncarnation() })
	var duties sync.WaitGroup
	duties.Go(func() { f.registry.Run(ctx, leadership, frontendRPC) })
	err := f.jobs.RunLeader(ctx)
	duties.Wait()
	return err
}

func (f *frontend) propose(ctx context.Context, cmd *raftlogv1.Command) {
	result, err := f.store.Propose(ctx, cmd)
	if err := errors.Join(err, result.Err); err != nil && ctx.Err() == nil {
		f.w.t.Errorf("%v: %v", cmd, err)
	}
}

// stop ends the frontend; what it has answered is on its disk.
func (f *frontend) stop() {
	f.server.Stop()
	f.cancel()
	f.running.Wait()
	f.brokers.Close()
	if err := f.store.Close(); err != nil {
		f.w.t.Error(err)
	}
}

// alone is the way to the leader of a frontend that has no other.
type alone struct{}

func (alone) Led(context.Context) bool { return true }

func (alone) Sync(context.Context) error { return nil }

func (alone) AtLeader(ctx context.Context, _ *session.Session, _ string, _ bool, w result.Writer, here func(context.Context, result.Writer) error) error {
	return here(ctx, w)
}
