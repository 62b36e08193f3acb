package deadletter_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"shoal/fe/deadletter"
	"shoal/fe/kafka"
	"shoal/fe/lease"
	"shoal/fe/state"
	backendv1 "shoal/proto/backend/v1"
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

// bench is an outbox over a real state, with a job of two tasks whose dead
// letter topic is dead, and backends that note what they are to deliver.
type bench struct {
	t      *testing.T
	outbox *deadletter.Outbox
	cancel func()
	done   sync.WaitGroup
	job    uint64
	table  uint64

	leases lease.Leases

	mu        sync.Mutex
	state     *state.State
	index     uint64
	number    uint64
	asked     []string // the paths of each call
	failure   error    // of calls
	lost      error    // of proposals, which are carried out
	delivered time.Duration
}

func (b *bench) View(read func(*state.State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	read(b.state)
}

func (b *bench) Propose(_ context.Context, cmd *raftlogv1.Command) (state.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index++
	return b.state.Apply(b.index, cmd), b.lost
}

func (b *bench) DeliverDeadLetters(ctx context.Context, req *backendv1.DeliverDeadLettersRequest) (*backendv1.DeliverDeadLettersResponse, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(b.delivered):
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if req.JobName != "d.j" || req.Load.DeadLetterTopic != "dead" || req.Load.CustomProperties["client.id"] != "x" {
		b.t.Errorf("asked for %v", req)
	}
	b.index++
	b.state.Apply(b.index, &raftlogv1.Command{Body: &raftlogv1.Command_DropFile{DropFile: &raftlogv1.DropFile{}}})
	if b.leases.Oldest(b.state) >= b.index {
		b.t.Error("nothing leases the version that the files are of")
	}
	b.asked = append(b.asked, strings.Join(req.Paths, " "))
	return &backendv1.DeliverDeadLettersResponse{Delivered: int64(len(req.Paths))}, b.failure
}

func (b *bench) apply(cmd *raftlogv1.Command) state.Result {
	b.t.Helper()
	result, _ := b.Propose(b.t.Context(), cmd)
	if result.Err != nil {
		b.t.Fatal(result.Err)
	}
	return result
}

// inBubble runs a test with an outbox, whose frontend leads.
func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, state: state.New()}
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
		db := b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "d"}}}).ID
		b.table = b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
			DatabaseId: db, Name: "t", Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "id", Type: "int"}}}}}}}}).ID
		b.job = b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
			Job: &raftlogv1.Job{DatabaseId: db, DatabaseName: "d", TableId: b.table, Name: "j", Load: &typesv1.RoutineLoad{
				Topic: "orders", DeadLetterTopic: "dead", MaxErrorNumber: 1000, MaxFilterRatio: 1, MaxBatchRows: 200_000,
				CustomProperties: map[string]string{"client.id": "x"}}}}}}).ID
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{JobId: b.job,
			Starts: []*raftlogv1.LedgerStart{{TopicId: []byte("0123456789abcdef")}}}}})
		be := b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{
			Backend: &raftlogv1.Backend{NodeUuid: "1", Host: "127.0.0.1", RpcPort: 1, Slots: 16}}}}).ID
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{JobId: b.job, Assignments: []*raftlogv1.TaskAssignment{
			{BackendId: be, MemberId: "m"}, {BackendId: be, MemberId: "n"}}}}})
		b.lead()
		synctest.Wait() // it has looked, and looks again in a second
		test(t, b)
		b.cancel()
		b.done.Wait()
		if oldest := b.leases.Oldest(b.state); oldest != b.state.Applied() {
			t.Errorf("the lease of version %d was not given back", oldest)
		}
	})
}

// lead begins to deliver, with an outbox that knows nothing.
func (b *bench) lead() {
	ctx, cancel := context.WithCancel(b.t.Context())
	b.cancel = cancel
	b.outbox = deadletter.New(deadletter.Config{Store: b, Leases: &b.leases, Backends: b, Open: kafka.Plain, Logger: slog.New(slog.DiscardHandler)})
	b.done.Go(func() { b.outbox.Run(ctx) })
}

// commit commits a txn with error rows of each of some tasks, in one entry.
func (b *bench) commit(tasks int) {
	b.t.Helper()
	b.number++
	cmd := &raftlogv1.CommitTxns{}
	for i, task := range b.jobNow().Tasks[:tasks] {
		digest := sha256.Sum256(fmt.Append(nil, b.number, i))
		first := int64(b.number)*10 + int64(i)
		cmd.Txns = append(cmd.Txns, &frontendv1.CommitTxnRequest{
			JobId: b.job, TaskId: task.Id, Epoch: task.Epoch, Number: b.number, Digest: digest[:], Label: "l", TableId: b.table, SchemaVersion: 1, Generation: 1,
			ErrorRowset: &typesv1.Rowset{Path: fmt.Sprintf("e/%d-%d.parquet", b.number, i), Rows: 1, Bytes: 1},
			Partitions:  []*typesv1.PartitionOffsets{{TopicId: []byte("0123456789abcdef"), Loaded: []*typesv1.EpochRange{{First: first, Last: first}}}},
			Counters:    &typesv1.Counters{TotalRows: 1, ErrorRows: 1},
		})
	}
	for _, answer := range b.apply(&raftlogv1.Command{AtMs: 1, Body: &raftlogv1.Command_CommitTxns{CommitTxns: cmd}}).Txns {
		if answer.Outcome != frontendv1.Outcome_OUTCOME_COMMITTED {
			b.t.Fatal(answer)
		}
	}
}

func (b *bench) jobNow() (job *raftlogv1.Job) {
	b.View(func(st *state.State) { job = st.JobByID(b.job) })
	return job
}

// expect lets time pass and compares the calls since the last time.
func (b *bench) expect(after time.Duration, asked ...string) {
	b.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.asked, asked) {
		b.t.Errorf("asked for %q, want %q", b.asked, asked)
	}
	b.asked = nil
}

func (b *bench) fail(call, proposal error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure, b.lost = call, proposal
}

func TestDelivers(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.expect(5 * time.Second)
		b.commit(1)
		b.commit(2)
		b.expect(2*time.Second, "e/1-0.parquet e/2-0.parquet e/2-1.parquet")
		if job := b.jobNow(); job.DeadLetters != 3 {
			t.Errorf("%d were delivered through txn %d", job.DeadLetters, job.DeadLettersThrough)
		}
		b.commit(1)
		b.expect(2*time.Second, "e/3-0.parquet")
		b.expect(time.Minute)
	})
}

// Rowsets of one log entry stay together: the position cannot tell them apart.
func TestEntriesStayTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		var first, second, rest []string
		for n := 1; n <= 20; n++ {
			b.commit(2)
			paths := fmt.Sprintf("e/%d-0.parquet e/%d-1.parquet", n, n)
			if n <= 8 {
				first = append(first, paths)
			} else if n <= 16 {
				second = append(second, paths)
			} else {
				rest = append(rest, paths)
			}
		}
		b.expect(2*time.Second, strings.Join(first, " "), strings.Join(second, " "), strings.Join(rest, " "))
		b.fail(errors.New("no"), nil)
		b.commit(2)
		b.commit(2)
		b.expect(1500*time.Millisecond, "e/21-0.parquet e/21-1.parquet e/22-0.parquet e/22-1.parquet")
		b.fail(nil, nil)
		b.expect(5*time.Second, "e/21-0.parquet e/21-1.parquet", "e/22-0.parquet e/22-1.parquet") // careful after a failure
	})
}

func TestTriesAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.fail(errors.New("no broker answers"), nil)
		b.commit(1)
		b.expect(10*time.Second, "e/1-0.parquet", "e/1-0.parquet", "e/1-0.parquet")
		if got := b.outbox.Trouble(b.job); got != "no broker answers" {
			t.Errorf("the trouble is %q", got)
		}
		if through := b.jobNow().DeadLettersThrough; through != 0 {
			t.Errorf("the position is %d", through)
		}
		b.fail(nil, nil)
		b.expect(time.Minute, "e/1-0.parquet")
		if got := b.outbox.Trouble(b.job); got != "" {
			t.Errorf("the trouble is %q", got)
		}
	})
}

// A new leader begins at the position; what the old one had not noted is
// delivered again, and what it did is not.
func TestAnotherLeader(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.commit(1)
		b.expect(2*time.Second, "e/1-0.parquet")
		b.mu.Lock()
		b.delivered = time.Hour
		b.mu.Unlock()
		b.commit(1)
		b.expect(2 * time.Second)
		b.cancel()
		b.done.Wait()
		b.mu.Lock()
		b.delivered = 0
		b.mu.Unlock()
		b.lead()
		b.expect(2*time.Second, "e/2-0.parquet")
	})
}

// A proposal whose answer was lost may have been carried out; nothing is
// delivered twice then, and nothing is lost if it was not.
func TestAnswerOfTheProposalLost(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.fail(nil, errors.New("leadership was lost"))
		b.commit(1)
		b.expect(time.Minute, "e/1-0.parquet")
		if got := b.outbox.Trouble(b.job); got != "" {
			t.Errorf("the trouble is %q though nothing is due", got)
		}
	})
}

// Ended jobs deliver what is left, until they are removed.
func TestEndedJobs(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.fail(errors.New("no broker answers"), nil)
		b.commit(1)
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{JobId: b.job, To: raftlogv1.JobState_JOB_STATE_STOPPED}}})
		b.expect(1500*time.Millisecond, "e/1-0.parquet")
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_RemoveJob{RemoveJob: &raftlogv1.RemoveJob{JobId: b.job}}})
		b.expect(time.Hour)
	})
}
