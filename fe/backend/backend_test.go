package backend_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"shoal/fe/backend"
	"shoal/fe/kafka"
	"shoal/fe/schedule"
	"shoal/fe/state"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestMain has one processor for all: timers of a bubble that fire on two at
// the same instant crash the race detector (golang/go#78156).
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}

// node is a backend that runs nothing but keeps the books of the protocol.
type node struct {
	backendv1.UnimplementedBackendServiceServer
	mu      sync.Mutex
	runs    map[schedule.Ref]*backendv1.TaskStatus
	specs   []*backendv1.TaskSpec
	last    *backendv1.HeartbeatRequest
	refuse  codes.Code // of SubmitTask; OK takes all
	refused int
	lost    int // calls of ReadFooters that fail from now on
	delay   time.Duration
}

// slow delays answers to heartbeats from now on.
func (n *node) slow(delay time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = delay
}

// ReadFooters answers what it is asked for.
func (n *node) ReadFooters(req *backendv1.ReadFootersRequest, stream grpc.ServerStreamingServer[backendv1.ReadFootersResponse]) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, path := range req.Paths {
		if err := stream.Send(&backendv1.ReadFootersResponse{Path: path}); err != nil {
			return err
		}
	}
	if n.lost > 0 {
		n.lost--
		return status.Error(codes.Unavailable, "going down")
	}
	return nil
}

func (n *node) Heartbeat(_ context.Context, req *backendv1.HeartbeatRequest) (*backendv1.HeartbeatResponse, error) {
	n.mu.Lock()
	delay := n.delay
	n.mu.Unlock()
	resp := n.answer(req)
	time.Sleep(delay)
	return resp, nil
}

func (n *node) answer(req *backendv1.HeartbeatRequest) *backendv1.HeartbeatResponse {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = req
	resp := &backendv1.HeartbeatResponse{Slots: 16, Version: "v1", StartTimeMs: 1}
	for _, ref := range req.Tasks {
		if run := n.runs[schedule.Ref{TaskID: ref.TaskId, Epoch: ref.Epoch}]; run != nil {
			resp.Tasks = append(resp.Tasks, run)
		} else {
			resp.Lacking = append(resp.Lacking, ref)
		}
	}
	return resp
}

func (n *node) SubmitTask(_ context.Context, req *backendv1.SubmitTaskRequest) (*backendv1.SubmitTaskResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuse != codes.OK {
		n.refused++
		return nil, status.Error(n.refuse, "no, thank you")
	}
	ref := &backendv1.TaskRef{TaskId: req.Task.TaskId, Epoch: req.Task.Epoch}
	n.specs = append(n.specs, req.Task)
	n.runs[schedule.Ref{TaskID: ref.TaskId, Epoch: ref.Epoch}] = &backendv1.TaskStatus{Task: ref, JobId: req.Task.JobId}
	return &backendv1.SubmitTaskResponse{}, nil
}

// restart is kill -9 and a new process: it runs nothing.
func (n *node) restart() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.runs)
}

// submissions are the tasks taken so far.
func (n *node) submissions() []*backendv1.TaskSpec {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.specs)
}

// heard is the last heartbeat.
func (n *node) heard() *backendv1.HeartbeatRequest {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

func (n *node) refusals() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refused
}

// refusing makes the node refuse tasks.
func (n *node) refusing(code codes.Code) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuse = code
}

// pass lets virtual time go by and everything that it set off come to rest.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// cluster is a replicated state with one table, one job and two backends, of
// which the first is up, and a registry that runs.
type cluster struct {
	t        *testing.T
	mu       sync.Mutex
	state    *state.State
	index    uint64
	node     *node
	server   *grpc.Server
	listener *bufconn.Listener
	registry *backend.Registry
	cut      *atomic.Bool // what the leader sends to the first backend
	open     kafka.Open
	stop     func()

	jobID    uint64
	backends []uint64
}

func (c *cluster) View(read func(*state.State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	read(c.state)
}

func (c *cluster) apply(cmd *raftlogv1.Command) uint64 {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index++
	result := c.state.Apply(c.index, cmd)
	if result.Err != nil {
		c.t.Fatalf("%v: %v", cmd, result.Err)
	}
	return result.ID
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, state: state.New(), open: kafka.Plain, cut: new(atomic.Bool), node: &node{runs: map[schedule.Ref]*backendv1.TaskStatus{}}}
	c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
	db := c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "d"}}})
	table := c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
		DatabaseId: db, Name: "t", DuplicateKeys: []string{"k"}, Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "k", Type: "int"}}}},
	}}}})
	for i := range 2 {
		c.backends = append(c.backends, c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{
			Backend: &raftlogv1.Backend{NodeUuid: fmt.Sprint(i), Host: "127.0.0.1", RpcPort: uint32(i + 1), Slots: 16},
		}}}))
	}
	c.jobID = c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
		GroupPrefix: "shoal-", Job: &raftlogv1.Job{DatabaseId: db, Name: "j", TableId: table, Load: &typesv1.RoutineLoad{Topic: "orders", MaxBatchRows: 1}},
	}}})
	c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{JobId: c.jobID, LockDurationMs: 30_000}}})
	c.registry = backend.New(c, func(databaseID uint64, load *typesv1.RoutineLoad) (map[string]string, map[string][]byte, error) {
		return c.open(databaseID, load)
	}, slog.New(slog.DiscardHandler), c.dial, grpc.WithTransportCredentials(insecure.NewCredentials()))
	c.up()
	return c
}

// dial reaches the first backend while it is up. A second one never answers, and
// nobody listens anywhere else.
func (c *cluster) dial(ctx context.Context, addr string) (net.Conn, error) {
	c.mu.Lock()
	listener, cut := c.listener, c.cut
	c.mu.Unlock()
	switch {
	case addr == "127.0.0.1:2":
		<-ctx.Done()
		return nil, ctx.Err()
	case addr != "127.0.0.1:1" || listener == nil:
		return nil, syscall.ECONNREFUSED
	}
	conn, err := listener.DialContext(ctx)
	return cable{conn, cut}, err
}

// A cable loses what is sent while it is cut, without a sign.
type cable struct {
	net.Conn
	cut *atomic.Bool
}

func (c cable) Write(p []byte) (int, error) {
	if c.cut.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// up starts the first backend's server.
func (c *cluster) up() {
	listener, server := bufconn.Listen(1<<20), grpc.NewServer()
	backendv1.RegisterBackendServiceServer(server, c.node)
	c.mu.Lock()
	c.listener, c.server = listener, server
	c.mu.Unlock()
	go server.Serve(listener)
}

// down ends it.
func (c *cluster) down() {
	c.mu.Lock()
	c.listener = nil
	c.mu.Unlock()
	c.server.Stop()
}

// lead runs the registry until stop.
func (c *cluster) lead(term uint64) {
	ctx, cancel := context.WithCancel(c.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.registry.Run(ctx, &backendv1.Leadership{Incarnation: 1, Term: term, Frontend: "fe1"}, "127.0.0.1:9020")
	}()
	c.stop = func() { cancel(); <-done }
}

// assign gives tasks to the first backend and returns their refs; 0 makes one.
func (c *cluster) assign(taskID uint64) schedule.Ref {
	c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{
		JobId: c.jobID, Assignments: []*raftlogv1.TaskAssignment{{TaskId: taskID, BackendId: c.backends[0], MemberId: "m"}},
	}}})
	var ref schedule.Ref
	c.View(func(s *state.State) {
		tasks := s.JobByID(c.jobID).Tasks
		ref = schedule.Ref{TaskID: tasks[len(tasks)-1].Id, Epoch: tasks[len(tasks)-1].Epoch}
	})
	return ref
}

// inCluster runs a test in a bubble of its own time.
func inCluster(t *testing.T, test func(t *testing.T, c *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.lead(1)
		test(t, c)
		c.stop()
		c.down()
	})
}

func (c *cluster) status(i int) backend.Status { return c.registry.Backends()[i] }

func TestLiveness(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		pass(2 * backend.Interval)
		if s := c.status(0); !s.Alive || s.Slots != 16 || s.Version != "v1" {
			t.Errorf("after an answer: %+v", s)
		}
		if s := c.status(1); s.Alive || !s.Unheard {
			t.Errorf("the one that is silent, at first: %+v", s)
		}
		pass(backend.DeadAfter)
		if s := c.status(1); s.Alive || s.Unheard || s.Err == "" {
			t.Errorf("the one that is silent, later: %+v, want dead", s)
		}
		c.down()
		pass(backend.Interval)
		if s := c.status(0); s.Alive || s.Unheard {
			t.Errorf("after its process ended: %+v, want dead at once", s)
		}
		if _, err := c.registry.Pick(t.Context()); err == nil {
			t.Error("a dead backend is offered for calls")
		}
		c.up()
		if _, err := c.registry.Pick(t.Context()); err != nil {
			t.Errorf("a call does not wait for a backend that has just started: %v", err)
		}
		pass(time.Second) // gRPC's pause between two tries
		if s := c.status(0); !s.Alive {
			t.Errorf("back again: %+v", s)
		}
		for len(c.registry.Changed()) > 0 {
			<-c.registry.Changed()
		}
		c.cut.Store(true)
		cut := time.Now()
		<-c.registry.Changed()
		if took := time.Since(cut); took < backend.DeadAfter-backend.Interval || took > 3*time.Second {
			t.Errorf("a backend that fell silent was dead after %v", took)
		}
		if s := c.status(0); s.Alive {
			t.Errorf("after silence: %+v, want dead", s)
		}
	})
}

// TestSlowIsNotDead: answers that come two seconds late, as of a machine that has
// other things to do, are answers all the same.
func TestSlowIsNotDead(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		pass(backend.Interval)
		c.node.slow(2 * time.Second)
		for range 100 {
			pass(backend.Interval / 5)
			if s := c.status(0); !s.Alive {
				t.Fatalf("slow, not dead: %+v", s)
			}
		}
		ref := c.assign(0)
		pass(10 * time.Second)
		if n := len(c.node.submissions()); n != 1 || c.registry.Ended()[ref] {
			t.Errorf("%d submissions, ended %v", n, c.registry.Ended())
		}
		c.node.slow(0)
		pass(3 * time.Second)
	})
}

func TestSubmitsWhatIsLacking(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		ref := c.assign(0)
		pass(2 * backend.Interval)
		if len(c.node.submissions()) != 1 {
			t.Fatalf("%d submissions, want one", len(c.node.submissions()))
		}
		spec := c.node.submissions()[0]
		if spec.TaskId != ref.TaskID || spec.Epoch != ref.Epoch || spec.TableName != "t" || spec.DbName != "d" || spec.MemberId != "m" ||
			spec.LockDurationMs != 30_000 || spec.Load.GetTopic() != "orders" || len(spec.Schema.GetColumns()) != 1 || spec.Generation != 1 {
			t.Errorf("spec = %v", spec)
		}
		pass(backend.Interval)
		if tasks := c.registry.Tasks(c.jobID); len(tasks) != 1 || len(c.registry.Ended()) != 0 {
			t.Errorf("Tasks = %v, Ended = %v", tasks, c.registry.Ended())
		}
		if h := c.node.heard(); h.FrontendRpcAddr != "127.0.0.1:9020" || h.ClusterId != "c1" || h.AppliedIndex != c.index || h.Leadership.GetTerm() != 1 {
			t.Errorf("heartbeat = %v", h)
		}
	})
}

// A process that came back may have a commit of its former life on its way, so
// its tasks do not go on at their epoch.
func TestRestartedBackendNeedsNewEpochs(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		ref := c.assign(0)
		pass(3 * backend.Interval)
		c.node.restart()
		pass(3 * backend.Interval)
		if !c.registry.Ended()[ref] || len(c.node.submissions()) != 1 {
			t.Fatalf("Ended = %v after %d submissions, want %v and one", c.registry.Ended(), len(c.node.submissions()), ref)
		}
		next := c.assign(ref.TaskID)
		pass(3 * backend.Interval)
		if len(c.registry.Ended()) != 0 || len(c.node.submissions()) != 2 || c.node.submissions()[1].Epoch != next.Epoch {
			t.Errorf("Ended = %v, submissions %d; want a second one at epoch %d", c.registry.Ended(), len(c.node.submissions()), next.Epoch)
		}
	})
}

// A new leader takes over tasks that run, and submits none of them again.
func TestNewLeader(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		c.assign(0)
		pass(3 * backend.Interval)
		c.stop()
		if s := c.status(0); s.Alive || !s.Unheard {
			t.Errorf("without a leader: %+v, want not alive and not dead: a plan in the making must not move its tasks", s)
		}
		c.lead(2)
		pass(3 * backend.Interval)
		if len(c.node.submissions()) != 1 || len(c.registry.Ended()) != 0 || c.node.heard().Leadership.Term != 2 {
			t.Errorf("submissions %d, Ended %v, term %d", len(c.node.submissions()), c.registry.Ended(), c.node.heard().Leadership.Term)
		}
	})
}

// TestReadFooters: who fails in the middle is not believed, and is asked again.
func TestReadFooters(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		paths := []string{"7/a.parquet", "7/b.parquet"}
		if _, err := c.registry.ReadFooters(t.Context(), paths); err != nil {
			t.Errorf("before a heartbeat was answered, which is waited for: %v", err)
		}
		for _, lost := range []int{0, 2, 3} {
			c.node.mu.Lock()
			c.node.lost = lost
			c.node.mu.Unlock()
			got, err := c.registry.ReadFooters(t.Context(), paths)
			if failed := lost == 3; failed != (status.Code(err) == codes.Unavailable) || !failed && (len(got) != 2 || got[1].Path != paths[1]) {
				t.Errorf("after %d failures: %v, %v", lost, got, err)
			}
		}
	})
}

func TestRefusedTask(t *testing.T) {
	for _, tt := range []struct {
		code  codes.Code
		ended bool
	}{{codes.ResourceExhausted, true}, {codes.FailedPrecondition, true}, {codes.Internal, false}} {
		inCluster(t, func(t *testing.T, c *cluster) {
			c.node.refusing(tt.code)
			ref := c.assign(0)
			pass(4 * backend.Interval)
			if got := c.registry.Ended()[ref]; got != tt.ended || c.registry.Refused()[ref] != "no, thank you" {
				t.Errorf("%v: ended %v, refused %v", tt.code, got, c.registry.Refused())
			}
			if tt.ended != (c.node.refusals() == 1) {
				t.Errorf("%v: asked %d times", tt.code, c.node.refusals())
			}
		})
	}
}

func TestDroppedBackend(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		pass(2 * backend.Interval)
		c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_DropBackend{DropBackend: &raftlogv1.DropBackend{BackendId: c.backends[0]}}})
		pass(2 * backend.Interval)
		if ids := c.registry.Backends(); slices.ContainsFunc(ids, func(s backend.Status) bool { return s.ID == c.backends[0] }) {
			t.Errorf("a dropped backend is still there: %v", ids)
		}
		if _, err := c.registry.Pick(t.Context()); err == nil {
			t.Error("a dropped backend is offered for calls")
		}
		c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_AddBackend{AddBackend: &raftlogv1.AddBackend{Host: "127.0.0.1", RpcPort: 1}}})
		before := c.node.heard().Number
		pass(2 * backend.Interval)
		if now := c.node.heard().Number; now <= before {
			t.Errorf("the heartbeats of a backend that was added again go on at %d after %d", now, before)
		}
	})
}
