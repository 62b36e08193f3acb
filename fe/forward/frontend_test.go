package forward_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"shoal/fe/coord"
	"shoal/fe/errno"
	"shoal/fe/forward"
	"shoal/fe/lease"
	"shoal/fe/literal"
	"shoal/fe/raftstore"
	"shoal/fe/result"
	"shoal/fe/rpc"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/stmt"
	"shoal/internal/engine"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A frontend is one of three, with everything real that a statement passes
// through but MySQL's protocol. It has no backends.
type frontend struct {
	t       *testing.T
	id      string
	dir     string
	network *network
	number  uint32

	store    *store
	cluster  *forward.Cluster
	stmts    *stmt.Executor
	jobs     *jobs
	globals  *session.Globals
	server   *grpc.Server
	released []func() error
}

// store is raft's, as fe/server wires it.
type store struct{ *raftstore.Store }

func (s *store) Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error) {
	applied, err := s.Store.Propose(ctx, cmd)
	if _, elsewhere := elsewhere(err); !elsewhere {
		forward.Proposed(ctx)
	}
	return applied, err
}

func (s *store) LeaderID() string {
	id, _ := s.Leader()
	return id
}

func elsewhere(err error) (addr string, is bool) {
	var notLeader *raftstore.NotLeaderError
	return "", errors.As(err, &notLeader)
}

func (f *frontend) raftAddr() string { return fmt.Sprintf("127.0.0.1:901%d", f.number) }
func (f *frontend) rpcAddr() string  { return fmt.Sprintf("127.0.0.1:902%d", f.number) }

// open starts the frontend on its folder.
func (f *frontend) open() {
	f.t.Helper()
	raft, err := raftstore.Open(raftstore.Config{Dir: f.dir, ID: f.id, Listener: f.network.listen(f.id, f.raftAddr()), Advertise: f.raftAddr(),
		Dial: f.network.dialer(f.id), Bootstrap: f.number == 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Fatal(err)
	}
	f.store = &store{raft}
	leases := new(lease.Leases)
	told := session.DefaultServer()
	told.Hostname = f.id
	f.globals = session.NewGlobals(told)
	f.cluster = forward.New(forward.Config{
		ID: f.id, Store: f.store, Elsewhere: elsewhere, LiveBackends: func() []uint64 { return []uint64{7} }, Full: func() error { return nil }, Leases: leases, Globals: f.globals,
		Logger: slog.New(slog.DiscardHandler), Started: time.Now(), Version: "test",
		Dial: []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(f.network.dialer(f.id))},
	})
	f.jobs = &jobs{frontend: f, entered: make(chan struct{}, 1)}
	queries := coord.New(coord.Config{
		Store: f.store, Leases: leases, Processes: session.NewProcesses(), RoutineLoads: f.jobs.Rows, Engine: engine.New(engine.Config{Threads: 1, MemoryLimit: 64 << 20}),
	})
	f.stmts = stmt.New(stmt.Config{Store: f.store, Queries: queries, RoutineLoads: f.jobs, Cluster: f.cluster, Processes: session.NewProcesses(), Started: time.Now()})
	f.serve(f.network.listen(f.id, f.rpcAddr()))
}

func (f *frontend) serve(lis net.Listener) {
	f.server = grpc.NewServer()
	frontendv1.RegisterFrontendServiceServer(f.server, &rpc.Frontend{Store: f.store, Leader: elsewhere, Others: &forward.Service{Cluster: f.cluster, Statements: f.stmts}})
	served, led := make(chan error, 1), make(chan error, 1)
	leading, cancel := context.WithCancel(f.t.Context())
	go func() { served <- f.server.Serve(lis) }()
	go func() { led <- f.store.RunLeader(leading, f.duties) }()
	f.released = []func() error{
		func() error { f.server.Stop(); return <-served },
		func() error { cancel(); <-led; return nil },
		func() error { f.cluster.Close(); return f.store.Close() },
	}
}

// duties makes the cluster, once.
func (f *frontend) duties(ctx context.Context, _ uint64) error {
	var made bool
	f.store.View(func(st *state.State) { made = st.ClusterInfo() != nil })
	if made {
		return nil
	}
	_, err := f.store.Propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
	return err
}

// close ends the frontend, as a process that dies: its connections break.
func (f *frontend) close() {
	f.t.Helper()
	for _, release := range f.released {
		if err := release(); err != nil {
			f.t.Error(err)
		}
	}
	f.released = nil
}

// startThree makes a cluster of three, which the first leads.
func startThree(t *testing.T) []*frontend {
	t.Helper()
	n := newNetwork()
	var all []*frontend
	for i := range uint32(3) {
		f := &frontend{t: t, id: fmt.Sprintf("fe%d", i+1), number: i + 1, dir: t.TempDir(), network: n}
		f.open()
		t.Cleanup(f.close)
		all = append(all, f)
	}
	first := all[0]
	if err := first.store.Wait(t.Context(), func(st *state.State) bool { return st.ClusterInfo() != nil }); err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		_, err := first.store.Propose(t.Context(), &raftlogv1.Command{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{
			Frontend: &raftlogv1.Frontend{Id: f.id, Host: "127.0.0.1", RaftPort: 9010 + f.number, RpcPort: 9020 + f.number}}}})
		if err == nil {
			err = first.store.PutServer(t.Context(), raftstore.Server{ID: f.id, Addr: f.raftAddr(), Voter: true})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// leader is the frontend that leads, waiting until there is one among these.
func leader(t *testing.T, among ...*frontend) *frontend {
	t.Helper()
	for range 600 {
		for _, f := range among {
			if f.store.LeaderID() == f.id && f.store.ReadIndex(t.Context()) == nil {
				return f
			}
		}
		time.Sleep(100 * time.Millisecond) // virtual
	}
	t.Fatal("nobody leads within a minute")
	return nil
}

func (f *frontend) connect() *session.Session { return session.New(42, "root", "10.0.0.9", f.globals) }

// run carries out a statement of a session and returns its rows.
func (f *frontend) run(ctx context.Context, s *session.Session, text string, args ...literal.Value) (*printed, error) {
	p := &printed{}
	err := f.stmts.Execute(ctx, s, text, args, p)
	return p, err
}

// must is run for a statement that succeeds.
func (f *frontend) must(text string) *printed {
	f.t.Helper()
	p, err := f.run(f.t.Context(), f.connect(), text)
	if err != nil {
		f.t.Fatalf("%s at %s: %v", text, f.id, err)
	}
	return p
}

// jobs are the routine loads as a frontend has them that says who it is.
type jobs struct {
	stmt.RoutineLoads
	frontend *frontend
	entered  chan struct{} // has room for one call of CheckLedger
	ended    error         // why the last one ended
}

func (j *jobs) Show(_ context.Context, s *session.Session, _ *ast.ShowRoutineLoad) (*result.Table, error) {
	return &result.Table{Columns: result.Texts("Leader", "User", "Db", "Zone"),
		Rows: [][]result.Cell{{result.Text(j.frontend.id), result.Text(s.User), result.Text(s.DB), result.Text(s.Location().String())}}}, nil
}

// manyRows is how many rows ShowTasks has, each of a kilobyte.
const manyRows = 1000

func (j *jobs) ShowTasks(context.Context, *session.Session, *ast.ShowRoutineLoadTask) (*result.Table, error) {
	t := &result.Table{Columns: result.Texts("N", "Text")}
	for i := range manyRows {
		t.Rows = append(t.Rows, []result.Cell{result.Text(strconv.Itoa(i)), result.Text(strings.Repeat("x", 1024))})
	}
	return t, nil
}

// CheckLedger lasts until it is told to end.
func (j *jobs) CheckLedger(ctx context.Context, _ *session.Session, _ *ast.CheckRoutineLoadLedger, progress func(string)) (*result.Table, error) {
	progress("read 1 of 2 files")
	j.entered <- struct{}{}
	<-ctx.Done()
	j.ended = context.Cause(ctx)
	return nil, j.ended
}

// Pause proposes twice, as CREATE ROUTINE LOAD does, and gives the leadership
// away in between.
func (j *jobs) Pause(ctx context.Context, s *session.Session, stmt *ast.PauseRoutineLoad) error {
	if err := j.create(ctx, stmt.Job.Name+"_1"); err != nil {
		return err
	}
	if err := j.frontend.store.Abdicate(ctx); err != nil {
		return err
	}
	return j.create(ctx, stmt.Job.Name+"_2")
}

// Resume gives the leadership away before it proposes.
func (j *jobs) Resume(ctx context.Context, _ *session.Session, stmt *ast.ResumeRoutineLoad) error {
	if j.frontend.id == "fe1" {
		if err := j.frontend.store.Abdicate(ctx); err != nil {
			return err
		}
	}
	return j.create(ctx, stmt.Job.Name)
}

func (j *jobs) create(ctx context.Context, name string) error {
	applied, err := j.frontend.store.Propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: name}}})
	if err != nil {
		return errno.Wrap(errno.OutcomeUnknown, err, "look whether it took place")
	}
	return applied.Err
}

// Rows is a job of information_schema.
func (j *jobs) Rows(*session.Session) [][]result.Cell {
	job := make([]result.Cell, 22)
	job[0], job[1], job[18], job[19] = result.Text("12"), result.Text(j.frontend.id), result.Text("0"), result.Text("1")
	return [][]result.Cell{job}
}

// printed is a Writer that keeps an answer as text.
type printed struct {
	columns []result.Column
	rows    [][]string
}

func (p *printed) Columns(columns []result.Column) error { p.columns = columns; return nil }

func (p *printed) Row(cells [][]byte) error {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = string(c)
		if c == nil {
			row[i] = "NULL"
		}
	}
	p.rows = append(p.rows, row)
	return nil
}

func (p *printed) EncodedRow(row []byte) error { return encodedRow(row, p) }

func (p *printed) Flush() error { return nil }

func (p *printed) OK(uint64, string) {}
