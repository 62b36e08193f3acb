package linear

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"

	"shoal/fe/raftstore"
	"shoal/fe/state"
	"shoal/fe/txn"
	"shoal/internal/rowsetname"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestMain has one processor for all: timers of a bubble that fire on two at
// the same instant crash the race detector (golang/go#78156).
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}

// A frontend is what of one takes commits.
type frontend struct {
	*raftstore.Store
	txns *txn.Committer
	stop func()
}

// A world is three frontends with their clients.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	dir     string
	network *network
	began   time.Time
	job     *raftlogv1.Job
	// read is how clients read at a frontend.
	read func(ctx context.Context, f *frontend) error

	mu        sync.Mutex
	frontends map[string]*frontend // that run
	history   []porcupine.Operation
}

var ids = []string{"fe1", "fe2", "fe3"}

func (w *world) start(id string) {
	store, err := raftstore.Open(raftstore.Config{Dir: filepath.Join(w.dir, id), ID: id, Listener: w.network.listen(id), Advertise: address(id),
		Dial: w.network.dialer(id), Bootstrap: id == ids[0], Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	f := &frontend{Store: store, txns: txn.New(store)}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.txns.Run(ctx) })
	running.Go(func() {
		store.RunLeader(ctx, func(ctx context.Context, _ uint64) error { <-ctx.Done(); return nil })
	})
	f.stop = func() {
		cancel()
		running.Wait()
		if err := store.Close(); err != nil {
			w.t.Error(err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frontends[id] = f
}

// end ends a frontend, if it runs.
func (w *world) end(id string) {
	w.mu.Lock()
	f := w.frontends[id]
	delete(w.frontends, id)
	w.mu.Unlock()
	if f != nil {
		f.stop()
	}
}

// some is a frontend that runs.
func (w *world) some(rng *rand.Rand) *frontend {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frontends[ids[rng.IntN(len(ids))]]
}

// must has whoever leads carry out a command.
func (w *world) must(cmd *raftlogv1.Command) (id uint64) {
	w.t.Helper()
	w.atLeader(func(f *frontend) error {
		r, err := f.Propose(w.t.Context(), cmd)
		id = r.ID
		return errors.Join(err, r.Err)
	})
	return id
}

// atLeader has something done by whoever leads, soon.
func (w *world) atLeader(do func(f *frontend) error) {
	w.t.Helper()
	for range 600 {
		for _, id := range ids {
			f := w.frontends[id]
			var elsewhere *raftstore.NotLeaderError
			switch err := do(f); {
			case err == nil:
				return
			case !errors.As(err, &elsewhere):
				w.t.Fatal(err)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatal("nobody leads")
}

// setUp makes the cluster, and a job with a task for each client.
func (w *world) setUp() {
	for _, id := range ids {
		w.start(id)
	}
	w.must(&raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c", Warehouse: "file:///w"}}})
	for _, id := range ids[1:] {
		w.atLeader(func(f *frontend) error {
			return f.PutServer(w.t.Context(), raftstore.Server{ID: id, Addr: address(id), Voter: true})
		})
	}
	backend := w.must(&raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{
		Backend: &raftlogv1.Backend{NodeUuid: "b", Host: "h", RpcPort: 1, Slots: 16}}}})
	db := w.must(&raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "d"}}})
	table := w.must(&raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
		DatabaseId: db, Name: "t", Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "id", Type: "int"}}}}}}}})
	job := w.must(&raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{GroupPrefix: "g-", Job: &raftlogv1.Job{
		DatabaseId: db, TableId: table, Name: "j", Load: &typesv1.RoutineLoad{Mode: typesv1.RoutineLoad_MODE_SHARE_GROUP, Topic: "t", MaxFilterRatio: 1, MaxBatchRows: 1000}}}}})
	w.must(&raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{
		JobId: job, Starts: []*raftlogv1.LedgerStart{{TopicId: topic, Traced: true}}, LockDurationMs: 30_000}}})
	tasks := &raftlogv1.ScheduleTasks{JobId: job}
	for range clients {
		tasks.Assignments = append(tasks.Assignments, &raftlogv1.TaskAssignment{BackendId: backend, MemberId: "m"})
	}
	w.must(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: tasks}})
	w.atLeader(func(f *frontend) error {
		err := f.ReadIndex(w.t.Context())
		f.View(func(s *state.State) { w.job = s.JobByID(job) })
		return err
	})
}

var topic = []byte("0123456789abcdef")

// request is the CommitTxn of a call, with a row for each offset.
func (w *world) request(c call) *frontendv1.CommitTxnRequest {
	task := w.job.Tasks[c.client]
	p := &typesv1.PartitionOffsets{TopicId: topic}
	rows := int64(0)
	for offset := range int64(64) {
		if c.loads>>offset&1 == 0 {
			continue
		}
		rows++
		if n := len(p.Loaded); n > 0 && p.Loaded[n-1].Last+1 == offset {
			p.Loaded[n-1].Last = offset
			continue
		}
		p.Loaded = append(p.Loaded, &typesv1.EpochRange{First: offset, Last: offset})
	}
	path := rowsetname.Name{Table: w.job.TableId, Incarnation: 1, Job: w.job.Id, Task: task.Id, Epoch: task.Epoch, Number: c.number}.String()
	digest := sha256.Sum256(fmt.Append(nil, c))
	return &frontendv1.CommitTxnRequest{JobId: w.job.Id, TaskId: task.Id, Epoch: task.Epoch, Number: c.number, Digest: digest[:], Label: path,
		TableId: w.job.TableId, SchemaVersion: 1, Generation: 1, Partitions: []*typesv1.PartitionOffsets{p},
		Rowset:   &typesv1.Rowset{Path: path, Rows: rows, Bytes: rows, SchemaVersion: 1},
		Counters: &typesv1.Counters{TotalRows: rows, LoadedRows: rows}}
}

// ask has a call answered, by asking one frontend after the other, and notes what
// was asked and heard. A commit whose fate is not known is asked again; a read
// counts from when it was asked the last time. Without an answer until ctx ends,
// nothing is noted, and false returned.
func (w *world) ask(ctx context.Context, rng *rand.Rand, id int, c call) (a answer, ok bool) {
	called := time.Since(w.began)
	for ctx.Err() == nil {
		if c.number == 0 {
			called = time.Since(w.began)
		}
		f, err := w.some(rng), errors.New("it does not run")
		if f != nil {
			bounded, cancel := context.WithTimeout(ctx, 3*time.Second)
			a, err = w.askOne(bounded, f, c)
			cancel()
		}
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.history = append(w.history, porcupine.Operation{ClientId: id, Input: c, Call: called.Nanoseconds(), Output: a, Return: time.Since(w.began).Nanoseconds()})
			return a, true
		}
		time.Sleep(time.Duration(1+rng.IntN(50)) * time.Millisecond)
	}
	return a, false
}

func (w *world) askOne(ctx context.Context, f *frontend, c call) (a answer, err error) {
	if c.number > 0 {
		resp, err := f.txns.Commit(ctx, w.request(c))
		return answer{outcome: resp.GetOutcome()}, err
	}
	if err := w.read(ctx, f); err != nil {
		return a, err
	}
	f.View(func(s *state.State) {
		ledgers := s.Ledgers(w.job.Id)
		if len(ledgers) == 0 { // it has not heard of the job
			err = errors.New("too old")
			return
		}
		for offset := range int64(64) {
			if offset < ledgers[0].Settled || ledgers[0].Ranges.Contains(offset) {
				a.loaded |= 1 << offset
			}
		}
	})
	return a, err
}

// commits is a task: txn after txn, each asked until it is answered, and some
// asked again after that, or an older one.
func (w *world) commits(ctx context.Context, client int, rng *rand.Rand) {
	var before call
	for number := uint64(1); ctx.Err() == nil; number++ {
		c := call{client: client, number: number, loads: (1<<(1+rng.IntN(3)) - 1) << rng.IntN(61)}
		if _, ok := w.ask(ctx, rng, client, c); !ok {
			return
		}
		again := map[int]call{0: c, 1: before}[rng.IntN(8)]
		if again.number > 0 {
			w.ask(ctx, rng, client, again)
		}
		before = c
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
	}
}

func (w *world) reads(ctx context.Context, id int, rng *rand.Rand) {
	for ctx.Err() == nil {
		w.ask(ctx, rng, id, call{client: id})
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
	}
}

// trouble cuts off or ends a frontend, for a while, one after the other.
func (w *world) trouble(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(w.rng.IntN(3000)) * time.Millisecond)
		id, down := ids[w.rng.IntN(len(ids))], time.Duration(w.rng.IntN(6000))*time.Millisecond
		if w.rng.IntN(3) == 0 {
			w.end(id)
			time.Sleep(down)
			w.start(id)
			continue
		}
		w.network.cutOff(id)
		time.Sleep(down)
		w.network.heal(id)
	}
}

// play records a history of half a minute.
func play(t *testing.T, seed uint64, read func(ctx context.Context, f *frontend) error) (history []porcupine.Operation) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(), network: newNetwork(), began: time.Now(), read: read, frontends: map[string]*frontend{}}
		w.setUp()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var running sync.WaitGroup
		for i := range clients {
			running.Go(func() { w.commits(ctx, i, rand.New(rand.NewPCG(seed, uint64(i+1)))) })
		}
		for i := range 3 {
			running.Go(func() { w.reads(ctx, clients+i, rand.New(rand.NewPCG(seed, uint64(100+i)))) })
		}
		w.trouble(ctx)
		running.Wait()
		for _, id := range ids {
			w.end(id)
		}
		history = w.history
	})
	return history
}

// atLeader reads as the frontends do: after a read index of the leader.
func atLeader(ctx context.Context, f *frontend) error { return f.ReadIndex(ctx) }

// TestLinearizable: whatever happens to frontends, there is an order of all
// commits and reads in which each answer is the only one possible.
func TestLinearizable(t *testing.T) {
	seeds := uint64(3)
	if os.Getenv("SHOAL_TEST_ALL") != "" {
		seeds = 50
	}
	for seed := range seeds {
		history := play(t, seed, atLeader)
		commits, reads := 0, 0
		for _, op := range history {
			if op.Input.(call).number > 0 {
				commits++
			} else {
				reads++
			}
		}
		if commits < 50 || reads < 50 {
			t.Errorf("seed %d: only %d commits and %d reads were answered", seed, commits, reads)
		}
		result, info := porcupine.CheckOperationsVerbose(model, history, time.Minute)
		if result != porcupine.Ok {
			path := filepath.Join(t.ArtifactDir(), fmt.Sprintf("seed%d.html", seed))
			t.Errorf("seed %d: the history of %d calls is %v, see %s: %v", seed, len(history), result, path, porcupine.VisualizePath(model, info, path))
		}
		t.Logf("seed %d: %d commits, %d reads", seed, commits, reads)
	}
}

// TestStaleReadsAreSeen: without the read index frontends that fell behind answer
// what is no more so, and the checker says so.
func TestStaleReadsAreSeen(t *testing.T) {
	for seed := range uint64(8) {
		history := play(t, seed, func(context.Context, *frontend) error { return nil })
		if porcupine.CheckOperationsTimeout(model, history, time.Minute) == porcupine.Illegal {
			return
		}
	}
	t.Error("no history with stale reads was found out")
}
