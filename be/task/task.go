package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

// A Source is where records come from and where acknowledgements go: a member
// of a share group, or a reader of partitions that are the task's own. One
// goroutine calls it, one call at a time; ID and Assigned may be called by any.
type Source interface {
	// Fetch polls once. Nothing that earlier fetches acquired is touched,
	// except that queued acknowledgements ride along. Acked and Lost count with
	// an error too. It does not return early with an error again and again.
	Fetch(ctx context.Context, limits source.Limits) (source.Fetch, error)
	// Acknowledge sends acks now, those queued before them first. lockedUntil
	// is when renewed locks end at the earliest, zero if none was.
	Acknowledge(ctx context.Context, acks []source.Ack) (results []source.AckResult, lockedUntil time.Time)
	// QueueAcks has acks ride on the next Fetch, Acknowledge or Close.
	QueueAcks(acks []source.Ack)
	// Close acknowledges what is queued, gives back what is still held and
	// leaves. It must not take long.
	Close(ctx context.Context) []source.AckResult
	// Assigned is the partitions that it may fetch from now.
	Assigned() []source.PartitionID
	// ID is the member id.
	ID() string
}

// Written is what a Writer made of a txn: files that are durable, and counts.
type Written struct {
	Rowset      *typesv1.Rowset         // nil without rows
	Tables      []*frontendv1.TableRows // what each table gets of a multi-table job, which has no Rowset
	ErrorRowset *typesv1.Rowset         // nil without error rows; may have fewer rows than were counted
	Counters    *typesv1.Counters
	Samples     []*frontendv1.ErrorSample
}

// A Writer is the pipe: it turns records into files that are named by number
// (of the task's epoch) and carry label, and returns when they are durable. Bad
// records are error rows; an error means that the same may succeed later, under
// another number (no space, the warehouse cannot be reached, a file of that
// name exists since the process ran before). It returns soon after ctx ends, with
// source.ErrDecoding if the records took the time.
type Writer interface {
	Write(ctx context.Context, number uint64, label string, parts []source.Partition) (Written, error)
	// Ready says why nothing can be written now, as far as is known without
	// anything to write. It is asked before each poll.
	Ready() error
}

// A Committer asks the leading frontend to settle a txn. An error means that
// the outcome is unknown: the same request is asked again. One call takes a few
// seconds at most.
type Committer interface {
	Commit(ctx context.Context, req *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error)
}

// Hooks are called at points where a test needs a process to die.
type Hooks struct {
	// AfterCommit: the frontend said committed, nothing is acknowledged yet.
	AfterCommit func(label string)
}

// Config is what a task needs. All fields but Hooks and Memory are required.
type Config struct {
	Spec      *backendv1.TaskSpec
	Source    Source
	Writer    Writer
	Committer Committer
	Runtime   Runtime
	Logger    *slog.Logger
	// MaxBytes bounds the records in memory, below max_batch_size. What the
	// source brings in one fetch beyond it (one batch of the producer) comes
	// on top.
	MaxBytes int64
	// Memory is asked before each fetch; nil where nothing has to be shared.
	Memory Memory
	// AppliedIndex is the leader's log index of the last heartbeat.
	AppliedIndex func() uint64
	// Blame says what an error of Source.Fetch is to the job: unspecified for
	// what is normal, such as waiting for an assignment.
	Blame func(error) backendv1.TroubleKind
	Hooks Hooks
}

// HoldLimit is how many times Task.lock a txn is held for after its CommitTxn was
// first sent.
const HoldLimit = 10

const (
	// pollWait is how long a poll waits for the first record. The end of the
	// context is noticed after it.
	pollWait = 500 * time.Millisecond
	// Pauses between attempts of the pipe and of CommitTxn.
	retryFirst = 100 * time.Millisecond
	retryMost  = 5 * time.Second
	memoryMost = 500 * time.Millisecond
	// Pauses after a txn that was given up: each of them costs its records one
	// of few deliveries (share-groups.md, trap 16).
	backOffFirst = time.Second
	backOffMost  = time.Minute
	// drainWait is how long the end waits for an answer to CommitTxn where no
	// lock says for how long.
	drainWait = 10 * time.Second
)

// Ended says that a task's epoch is over: it must not run again under it.
type Ended struct {
	Outcome frontendv1.Outcome
	Reason  string
}

func (e *Ended) Error() string {
	return fmt.Sprintf("the frontend ended the task (%s): %s", e.Outcome, e.Reason)
}

// A Task is one task at one epoch.
type Task struct {
	cfg    Config
	rt     Runtime
	status status
	// finish closes finishing, once.
	finish    func()
	finishing chan struct{}
	// lock is what the time limits of a txn are made of: how long a lock lasts
	// by the last fetch, or as the job has it before the first. In classic
	// mode, which has no locks, it is the task's time-out.
	lock time.Duration

	// Owned by Run, or by the child that it waits for.
	number uint64 // of the last txn
	rows   int    // how many a txn may gather now
	fetch  int    // how many a fetch asks for
	want   int64  // how many bytes a fetch is to bring into memory
	swell  int64  // how many there are for one that was asked for
	inHand int64  // bytes that the source has in memory beside those
	trying error  // why the child's work did not succeed yet
	poison poison // what must not be decoded
}

// New makes a task that does nothing yet. Config.Spec is not changed, and must
// not be by others.
func New(cfg Config) *Task {
	cfg.Logger = cfg.Logger.With("job_id", cfg.Spec.JobId, "task_id", cfg.Spec.TaskId, "epoch", cfg.Spec.Epoch)
	finishing := make(chan struct{})
	t := &Task{
		cfg:       cfg,
		rt:        cfg.Runtime,
		finish:    sync.OnceFunc(func() { close(finishing) }),
		finishing: finishing,
		lock:      time.Duration(cfg.Spec.LockDurationMs) * time.Millisecond,
		number:    cfg.Spec.LastNumber,
		rows:      int(cfg.Spec.Load.MaxBatchRows),
		fetch:     firstFetch,
		poison:    poisonOf(cfg.Spec),
		want:      firstWant,
		swell:     firstSwell,
	}
	if t.classic() {
		t.lock, t.fetch = timeout(cfg.Spec.Load), mostFetch
	}
	t.status.init(cfg.Spec, cfg.Source.ID(), t.rt.Now())
	return t
}

// classic tells whether the source locks nothing: the partitions are the
// task's own, or it repairs.
func (t *Task) classic() bool {
	return t.cfg.Spec.Load.Mode == typesv1.RoutineLoad_MODE_CLASSIC || len(t.cfg.Spec.Repair) > 0
}

// timeout is how long a task of Doris may take for one txn.
func timeout(load *typesv1.RoutineLoad) time.Duration {
	return max(10*time.Duration(load.MaxBatchIntervalS)*time.Second, time.Minute)
}

// Finish has Run return once what is held is settled and acknowledged. Nothing is
// polled any more, and nothing released that can be committed. Any goroutine may
// call it, more than once.
func (t *Task) Finish() { t.finish() }

// finishes tells whether Finish was called.
func (t *Task) finishes() bool {
	select {
	case <-t.finishing:
		return true
	default:
		return false
	}
}

// Run loads until ctx ends, Finish was called or nothing will come any more (it then returns nil),
// or until the frontend ended the epoch (*Ended). The source is closed when it returns.
func (t *Task) Run(ctx context.Context) error {
	defer t.close(ctx)
	pause := backOffFirst
	for t.ready(ctx) {
		b := t.poll(ctx)
		err := t.load(ctx, b)
		t.letGo()
		var ended *Ended
		switch {
		case err == nil && b.acquired.IsZero():
			if b.end {
				return nil
			}
		case err == nil:
			pause = backOffFirst
		case errors.As(err, &ended):
			t.cfg.Logger.Info("task ended by the frontend", "outcome", ended.Outcome, "reason", ended.Reason)
			return err
		case ctx.Err() == nil:
			t.cfg.Logger.Warn("txn given up", "cause", err, "pause", pause)
			t.status.phase(backendv1.TaskStatus_PHASE_BACKING_OFF)
			t.rt.Wait(ctx, t.finishing, t.rt.Now().Add(pause))
			pause = min(2*pause, backOffMost)
		}
	}
	return nil
}

// ready waits until something can be written, and there is memory for it: what is
// fetched in vain costs a delivery. It tells whether to go on.
func (t *Task) ready(ctx context.Context) bool {
	for pause := retryFirst; ctx.Err() == nil && !t.finishes(); pause = min(2*pause, retryMost) {
		kind, err := t.obstacle()
		if err == nil {
			if pause > retryFirst {
				t.status.recovered(backendv1.TroubleKind_TROUBLE_KIND_WAREHOUSE, backendv1.TroubleKind_TROUBLE_KIND_MEMORY)
			}
			return true
		}
		if kind == backendv1.TroubleKind_TROUBLE_KIND_MEMORY {
			pause = min(pause, memoryMost) // whoever has it is going to give it back soon
		}
		t.status.phase(backendv1.TaskStatus_PHASE_BACKING_OFF)
		t.trouble(kind, err)
		t.rt.Wait(ctx, t.finishing, t.rt.Now().Add(pause))
	}
	t.letGo()
	return false
}

// obstacle is why nothing should be fetched now.
func (t *Task) obstacle() (backendv1.TroubleKind, error) {
	if err := t.cfg.Writer.Ready(); err != nil {
		return backendv1.TroubleKind_TROUBLE_KIND_WAREHOUSE, err
	}
	return backendv1.TroubleKind_TROUBLE_KIND_MEMORY, t.room(&batch{})
}

// Status is what heartbeats tell of the task. Any goroutine may ask.
func (t *Task) Status() *backendv1.TaskStatus {
	return t.status.snapshot(len(t.cfg.Source.Assigned()))
}

func (t *Task) close(ctx context.Context) {
	t.status.phase(backendv1.TaskStatus_PHASE_DRAINING)
	t.acknowledged(t.cfg.Source.Close(context.WithoutCancel(ctx)))
	t.inHand = 0
	t.letGo()
	t.status.end()
}

// acknowledged takes in outcomes. There is nothing to repair: what was not
// applied comes again, and the ledger knows it.
func (t *Task) acknowledged(results []source.AckResult) {
	for _, r := range results {
		if r.Outcome != source.Applied {
			t.cfg.Logger.Info("acknowledgement not applied",
				"partition", r.Partition, "outcome", r.Outcome, "cause", r.Err)
		}
	}
}
