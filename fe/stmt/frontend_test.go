package stmt_test

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shoal/fe/coord"
	"shoal/fe/credentials"
	"shoal/fe/download"
	"shoal/fe/lease"
	"shoal/fe/loaddef"
	"shoal/fe/result"
	"shoal/fe/seal"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/stmt"
	"shoal/internal/engine"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/rewrite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// frontend is one with everything real but the log, which is in memory, the
// backend, which only answers queries, and the jobs, which are only recorded.
type frontend struct {
	*stmt.Executor
	store     *memoryStore
	queries   *coord.Coordinator
	backend   *localBackend
	jobs      *recordedJobs
	secrets   *credentials.Keeper
	processes *session.Processes
	globals   *session.Globals
}

func newFrontend(t testing.TB) *frontend {
	t.Helper()
	f := &frontend{
		store:     &memoryStore{state: state.New()},
		backend:   startBackend(t),
		jobs:      &recordedJobs{},
		processes: session.NewProcesses(),
		globals:   session.NewGlobals(session.DefaultServer()),
	}
	f.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
	var leases lease.Leases
	t.Cleanup(func() {
		f.store.View(func(st *state.State) {
			if oldest := leases.Oldest(st); oldest != st.Applied() {
				t.Errorf("a query of version %d did not give back its lease", oldest)
			}
		})
	})
	f.queries = coord.New(coord.Config{
		Store: f.store, Leases: &leases, Backends: f.backend, Processes: f.processes, RoutineLoads: f.jobs.Rows, Version: f.globals.Server().Version,
		Engine: engine.New(engine.Config{Threads: 1, MemoryLimit: 256 << 20}),
		Topics: oneTopic{},
	})
	f.secrets = credentials.New(f.store, seal.New(t.TempDir()))
	if err := f.secrets.Unlock(); err != nil {
		t.Fatal(err)
	}
	f.Executor = stmt.New(stmt.Config{
		Store: f.store, Queries: f.queries, RoutineLoads: f.jobs, Secrets: f.secrets, Download: fromLoopback, Nodes: nodes{}, Frontends: members{f.store}, Cluster: alone{}, Processes: f.processes,
		Started: time.Now(),
	})
	return f
}

// fromLoopback downloads from this machine only: a fuzz target makes up
// addresses.
func fromLoopback(ctx context.Context, address string, limit int64) ([]byte, error) {
	if u, err := url.Parse(address); err == nil && u.Host != "" && u.Hostname() != "127.0.0.1" {
		return nil, errors.New("not from here")
	}
	return download.Get(ctx, address, limit)
}

// connect makes a session as a connection would have it.
func (f *frontend) connect() *session.Session {
	process := f.processes.Add("127.0.0.1", func(error) {})
	process.Identify("root")
	process.Sleep("")
	return session.New(process.ID(), "root", "127.0.0.1", f.globals)
}

// oneTopic is a broker's topic of two records. (The way to a real one is tested
// by integration.)
type oneTopic struct{}

func (oneTopic) Read(_ context.Context, _ uint64, topic *rewrite.Topic, zone *time.Location) ([][]*string, error) {
	if _, err := loaddef.ReadTopic(topic.Properties, zone); err != nil {
		return nil, err
	}
	cell := func(s string) *string { return &s }
	rows := [][]*string{
		{cell("t"), cell("0"), cell("7"), cell("2026-01-31 12:00:00.000"), cell("k"), cell(`{"id":1}`), cell(`{"trace":"t-1"}`)},
		{cell("t"), cell("1"), cell("0"), cell("2026-01-31 12:00:01.500"), nil, nil, cell("{}")},
	}
	return rows[:min(topic.Records, len(rows))], nil
}

// memoryStore is the state with a log that is only counted.
type memoryStore struct {
	mu    sync.RWMutex
	state *state.State
	index uint64
}

func (s *memoryStore) View(f func(*state.State)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f(s.state)
}

func (s *memoryStore) Propose(_ context.Context, cmd *raftlogv1.Command) (state.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index++
	cmd.Rules = state.Rules
	return s.state.Apply(s.index, cmd), nil
}

// apply applies a command of the test's own, which must succeed.
func (s *memoryStore) apply(t testing.TB, cmd *raftlogv1.Command) state.Result {
	t.Helper()
	cmd.AtMs = time.Now().UnixMilli()
	applied, _ := s.Propose(t.Context(), cmd)
	if applied.Err != nil {
		t.Fatalf("Apply(%v) = %v", cmd, applied.Err)
	}
	return applied
}

// nodes is a cluster of one frontend and one backend.
type nodes struct{}

func (nodes) Frontends(context.Context, bool) *result.Table {
	return &result.Table{Columns: result.Texts("Name", "Host", "Alive"), Rows: [][]result.Cell{{result.Text("fe1"), result.Text("127.0.0.1"), result.Text("true")}}}
}

func (nodes) Backends(bool) *result.Table {
	return &result.Table{Columns: result.Texts("BackendId", "Host", "Alive"), Rows: [][]result.Cell{{result.Text("1"), result.Text("127.0.0.1"), result.Text("true")}}}
}

// alone is a cluster of one frontend.
type alone struct{}

func (alone) Sync(context.Context) error { return nil }

func (alone) Led(context.Context) bool { return true }

func (alone) AtLeader(ctx context.Context, _ *session.Session, _ string, _ bool, w result.Writer, here func(context.Context, result.Writer) error) error {
	return here(ctx, w)
}
