package removal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shoal/fe/lease"
	"shoal/fe/state"
	"shoal/internal/rowsetname"
	"shoal/internal/tests3"
	"shoal/internal/warehouse"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const grace = time.Hour

var errCrash = errors.New("the process died here")

// A bench is a cluster with a real warehouse. Before each thing that a Remover
// does to one of them, at is called.
type bench struct {
	*warehouse.Warehouse
	t      *testing.T
	leases lease.Leases
	others map[string]*frontendv1.FrontendStatusResponse // by rpc address
	at     func() error
	// together has a batch removed at once.
	together bool

	mu    sync.Mutex
	model *model

	kept, dropped, job uint64
	stays              map[string]bool // what must be there, whatever happens
	goes               map[string]bool // what must go in the end
}

func (b *bench) View(read func(*state.State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	read(b.model.State)
}

func (b *bench) Propose(_ context.Context, cmd *raftlogv1.Command) (state.Result, error) {
	if err := b.at(); err != nil {
		return state.Result{}, err
	}
	b.mu.Lock()
	r := b.model.apply(cmd)
	b.mu.Unlock()
	return r, b.at()
}

func (b *bench) ReadIndex(context.Context) error { return b.at() }

func (b *bench) Verify(ctx context.Context, clusterID string) error {
	return errors.Join(b.at(), b.Warehouse.Verify(ctx, clusterID))
}

func (b *bench) List(ctx context.Context, each func([]warehouse.Found) error) error {
	return b.Warehouse.List(ctx, func(page []warehouse.Found) error { return errors.Join(b.at(), each(page)) })
}

func (b *bench) ListUploads(ctx context.Context, each func([]warehouse.Upload) error) error {
	return b.Warehouse.ListUploads(ctx, func(page []warehouse.Upload) error { return errors.Join(b.at(), each(page)) })
}

// Remove removes one file after the other, or all at once.
func (b *bench) Remove(ctx context.Context, rels ...string) error {
	if b.together {
		return b.Warehouse.Remove(ctx, rels...)
	}
	for _, rel := range rels {
		if err := errors.Join(b.at(), b.Warehouse.Remove(ctx, rel)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) Ask(_ context.Context, addr string) (*frontendv1.FrontendStatusResponse, error) {
	if a := b.others[addr]; a != nil {
		return a, nil
	}
	return nil, errors.New("no answer")
}

// remover is a new leader's.
func (b *bench) remover(now time.Time) *Remover {
	return New(Config{Store: b, Warehouse: b, Frontend: "fe1", Leases: &b.leases, Ask: b.Ask, Grace: grace, Logger: slog.New(slog.DiscardHandler)}, now)
}

func (b *bench) write(path string) {
	b.t.Helper()
	f, err := b.Create(path)
	if err == nil {
		err = os.WriteFile(f.LocalPath(), []byte(path), 0o644)
	}
	if err == nil {
		_, err = f.Commit(b.t.Context())
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// load writes the files of a task's txn and asks to commit it, with rows at an
// offset, below 0 for new ones.
func (b *bench) load(number uint64, offset int, want frontendv1.Outcome) (rows, bad string) {
	b.t.Helper()
	job := b.model.JobByID(b.job)
	req := b.model.txn(job, job.Tasks[0], number, offset)
	b.write(req.Rowset.Path)
	b.write(req.ErrorRowset.Path)
	if a := b.model.commit(req); a.Outcome != want {
		b.t.Fatalf("txn %d: %v", number, a)
	}
	return req.Rowset.Path, req.ErrorRowset.Path
}

// name is a name of a file of the job's task.
func (b *bench) name(epoch, number uint64) string {
	return rowsetname.Name{Table: b.kept, Incarnation: 1, Job: b.job, Task: b.model.JobByID(b.job).Tasks[0].Id, Epoch: epoch, Number: number}.String()
}

// newBench is a cluster that has files of all kinds.
func newBench(t *testing.T, uri string) *bench {
	t.Helper()
	wh, err := warehouse.Open(uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wh.Close)
	if err := errors.Join(wh.UseFolder(t.TempDir(), 1<<20), wh.Bootstrap(t.Context(), "c1")); err != nil {
		t.Fatal(err)
	}
	b := &bench{Warehouse: wh, t: t, model: newModel(t), stays: map[string]bool{}, goes: map[string]bool{}, at: func() error { return nil }}
	m := b.model
	m.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{Frontend: &raftlogv1.Frontend{Id: "fe1", Host: "a", RpcPort: 1, RaftPort: 1}}}})
	b.kept, b.dropped = m.createTable(t), m.createTable(t)

	const committed, conflict = frontendv1.Outcome_OUTCOME_COMMITTED, frontendv1.Outcome_OUTCOME_CONFLICT
	b.job = m.createJob(t, b.dropped)
	m.schedule(b.job, 1)
	rows, bad := b.load(1, -1, committed)
	b.goes[rows], b.goes[bad] = true, true
	m.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: b.dropped}}})
	m.changeJob(b.job, raftlogv1.JobState_JOB_STATE_STOPPED)
	m.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_RemoveJob{RemoveJob: &raftlogv1.RemoveJob{JobId: b.job}}})

	b.job = m.createJob(t, b.kept)
	m.schedule(b.job, 1)
	before := m.JobByID(b.job).Tasks[0].Epoch
	b.dies(b.name(before, 1)) // in the middle of a txn
	m.schedule(b.job, 0)
	epoch := m.JobByID(b.job).Tasks[0].Epoch
	rows, bad = b.load(1, -1, committed)
	b.stays[rows], b.stays[bad] = true, true
	rows, bad = b.load(2, m.offset-1, conflict)
	b.goes[rows], b.goes[bad] = true, true
	b.dies(b.name(epoch, 3)) // wrote it anew under the next number
	rows, bad = b.load(4, -1, committed)
	b.stays[rows], b.stays[bad] = true, true
	for _, path := range []string{b.name(epoch, 5), b.name(epoch, 6), b.name(m.LastID()+1000, 1), fmt.Sprintf("%d/mine.parquet", b.kept)} {
		b.write(path)
		b.stays[path] = true
	}
	b.check(b.all())
	return b
}

func (b *bench) dies(path string) {
	b.t.Helper()
	b.write(path)
	b.goes[path] = true
}

func (b *bench) all() map[string]bool {
	all := maps.Clone(b.stays)
	maps.Copy(all, b.goes)
	return all
}

func (b *bench) files() map[string]bool {
	b.t.Helper()
	files := map[string]bool{}
	err := b.Warehouse.List(b.t.Context(), func(page []warehouse.Found) error {
		for _, f := range page {
			files[f.Path] = true
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	delete(files, "shoal-warehouse.json")
	return files
}

// check compares the files that there are.
func (b *bench) check(want map[string]bool) {
	b.t.Helper()
	if got := b.files(); !maps.Equal(got, want) {
		b.t.Fatalf("there are\n%q, want\n%q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// checkStays wants nothing to be gone that is needed.
func (b *bench) checkStays() {
	b.t.Helper()
	got := b.files()
	for path := range b.stays {
		if !got[path] {
			b.t.Fatalf("%s is gone", path)
		}
	}
}

// restart has a snapshot of the state read, as another process does.
func (b *bench) restart() {
	b.t.Helper()
	var snapshot bytes.Buffer
	err := b.model.WriteSnapshot(&snapshot)
	if err == nil {
		b.model.State, err = state.ReadSnapshot(&snapshot)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.leases = lease.Leases{}
}

// later is when the grace time of all that there is is over, as the model's
// commands were made shortly after 1970.
func later() time.Time { return time.Now().Add(grace + time.Minute) }

// lead has a new leader do all that there is to do.
func (b *bench) lead() {
	b.t.Helper()
	now := later()
	r := b.remover(now)
	b.step(r, now)
	b.step(r, now.Add(grace))
	b.check(b.stays)
	if left := b.model.Trash(); len(left) > 0 {
		b.t.Errorf("left in the trash is %v", left)
	}
}

// uris are warehouses of both kinds, a new one each time.
func uris(t *testing.T, test func(t *testing.T, newURI func() string)) {
	t.Run("folder", func(t *testing.T) {
		dir, n := t.TempDir(), 0
		test(t, func() string { n++; return "file://" + filepath.Join(dir, fmt.Sprint(n)) })
	})
	t.Run("bucket", func(t *testing.T) {
		s, n := tests3.Start(t), 0
		tests3.Setenv(t)
		test(t, func() string { n++; return s.Bucket(fmt.Sprintf("bucket-%d", n), s.URL) })
	})
}

// A leader dies before each thing that it does, and the next one, which has the
// state from a snapshot, ends what it began. Nothing that is needed goes.
func TestCrashAtEachStep(t *testing.T) {
	uris(t, func(t *testing.T, newURI func() string) {
		for steps := 0; ; steps++ {
			b := newBench(t, newURI())
			left, died := steps, false
			b.at = func() error {
				if left--; left < 0 {
					died = true
					return errCrash
				}
				return nil
			}
			now := later()
			r := b.remover(now)
			err := r.Step(t.Context(), now)
			if err == nil {
				err = r.Step(t.Context(), now.Add(grace))
			}
			if died != errors.Is(err, errCrash) {
				t.Fatalf("after %d steps: %v", steps, err)
			}
			b.at = func() error { return nil }
			b.checkStays()
			b.restart()
			b.lead()
			if !died {
				if steps < 10 {
					t.Errorf("there were only %d steps to die at", steps)
				}
				return
			}
		}
	})
}

// A leader is paused before each thing that it does, also where it has asked
// already whether it leads. Meanwhile the next one removes all there is, tasks
// move and commit, and a table goes. The old one then does what it was about to.
func TestPausedLeader(t *testing.T) {
	uris(t, func(t *testing.T, newURI func() string) {
		for steps := 0; ; steps++ {
			b := newBench(t, newURI())
			left, paused := steps, false
			b.at = func() error {
				if left--; left >= 0 || paused {
					return nil
				}
				paused = true
				b.lead()
				b.moveOn()
				return nil
			}
			now := later()
			r := b.remover(now)
			b.step(r, now)
			b.step(r, now.Add(grace))
			b.checkStays()
			if !paused {
				return
			}
			b.lead()
		}
	})
}

// moveOn is what happens while a leader is paused.
func (b *bench) moveOn() {
	b.t.Helper()
	task := b.model.JobByID(b.job).Tasks[0]
	for _, open := range []string{b.name(task.Epoch, 5), b.name(task.Epoch, 6)} {
		delete(b.stays, open)
		b.goes[open] = true
	}
	b.model.schedule(b.job, 0)
	epoch := b.model.JobByID(b.job).Tasks[0].Epoch
	rows, bad := b.load(1, -1, frontendv1.Outcome_OUTCOME_COMMITTED)
	open := b.name(epoch, 2)
	b.write(open)
	b.stays[rows], b.stays[bad], b.stays[open] = true, true, true
}

func (b *bench) step(r *Remover, now time.Time) {
	b.t.Helper()
	if err := r.Step(b.t.Context(), now); err != nil {
		b.t.Fatal(err)
	}
}

func TestGrace(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	b := newBench(t, "file://"+root)
	now := time.Now()
	for _, f := range b.model.Trash() { // let go long ago
		delete(b.goes, f.Path)
	}
	b.model.now = now.UnixMilli()
	b.model.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: b.kept}}})

	r := b.remover(now)
	b.step(r, now.Add(grace-time.Second))
	b.check(b.all())
	var young string
	for path := range b.goes { // of a txn that never committed
		young = path
		if err := os.Chtimes(filepath.Join(root, path), time.Time{}, now.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		break
	}
	r = b.remover(now.Add(time.Second)) // a new leader counts its own time before it sweeps
	b.step(r, now.Add(grace))
	for _, r := range b.model.Rowsets(b.kept) {
		t.Errorf("truncated, and has %v", r)
	}
	for path := range b.stays { // what TRUNCATE let go: now its time is over
		if Judge(b.model.State, []string{path})[0] == Unneeded {
			delete(b.stays, path)
		}
	}
	b.check(b.all())
	b.step(r, now.Add(grace+time.Second))
	b.goes = map[string]bool{young: true}
	b.check(b.all())
	b.step(r, now.Add(2*grace)) // between two sweeps lies the grace time
	b.check(b.all())
	b.step(r, now.Add(2*grace+2*time.Second))
	b.check(b.stays)
}

// What a leader let go whose clock was ahead, waits no longer than the grace time
// of the next one.
func TestGraceByAnotherClock(t *testing.T) {
	b := newBench(t, "file://"+filepath.Join(t.TempDir(), "w"))
	now := time.Now()
	b.model.now = now.Add(365 * 24 * time.Hour).UnixMilli()
	b.model.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: b.kept}}})
	r := b.remover(now)
	b.step(r, now.Add(grace-time.Second))
	if len(b.model.Trash()) == 0 {
		t.Error("it is gone before")
	}
	b.step(r, now.Add(grace))
	for _, f := range b.model.Trash() {
		t.Errorf("%v is there still", f)
	}
}

// Nothing goes that some frontend may read.
func TestReaders(t *testing.T) {
	b := newBench(t, "file://"+filepath.Join(t.TempDir(), "w"))
	now := later()
	r := b.remover(now)
	run := func(now time.Time) error {
		var err error
		for range 2 {
			err = errors.Join(err, r.Step(t.Context(), now))
		}
		return err
	}
	release := b.leases.Hold(b.model.State)
	rows, _ := b.load(7, -1, frontendv1.Outcome_OUTCOME_COMMITTED)
	old := b.name(b.model.JobByID(b.job).Tasks[0].Epoch, 5)
	b.model.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: b.kept}}})
	if err := run(now.Add(grace)); err != nil {
		t.Fatal(err)
	}
	if got := b.files(); !got[rows] || !got[old] {
		t.Fatalf("what a query reads is gone: %v", got)
	}
	release()

	other := &raftlogv1.Frontend{Id: "fe2", Host: "b", RpcPort: 2, RaftPort: 2}
	b.model.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{Frontend: other}}})
	b.others = map[string]*frontendv1.FrontendStatusResponse{}
	for _, answer := range []*frontendv1.FrontendStatusResponse{nil, {FrontendId: "fe3", OldestIndex: 1 << 60}, {FrontendId: "fe2"}, {FrontendId: "fe2", OldestIndex: 3}} {
		b.others["b:2"] = answer
		err := run(now.Add(2 * grace))
		if silent := answer.GetFrontendId() != "fe2"; silent != (err != nil) {
			t.Errorf("with the answer %v: %v", answer, err)
		}
		if got := b.files(); !got[rows] || !got[old] {
			t.Fatalf("what another frontend may read is gone, with the answer %v", answer)
		}
	}
	b.model.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_DropFrontend{DropFrontend: &raftlogv1.DropFrontend{Host: "b", RaftPort: 2, Role: raftlogv1.FrontendRole_FRONTEND_ROLE_FOLLOWER}}})
	if err := run(now.Add(3 * grace)); err != nil {
		t.Fatal(err)
	}
	if got := b.files(); got[rows] || got[old] {
		t.Errorf("nobody reads any more, and there is still %v", got)
	}
}
