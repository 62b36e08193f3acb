package executor_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"shoal/be/executor"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestMain has one processor for all: timers of a bubble that fire on two at
// the same instant crash the race detector (golang/go#78156).
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}

// fakeTask runs until it is cancelled or told to end.
type fakeTask struct {
	spec      *backendv1.TaskSpec
	end       chan struct{}
	cancelled bool
	stubborn  bool // does not finish
	finished  chan struct{}
	finish    sync.Once
}

func (f *fakeTask) Finish() {
	if !f.stubborn {
		f.finish.Do(func() { close(f.finished) })
	}
}

func (f *fakeTask) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		f.cancelled = true
		return ctx.Err()
	case <-f.end:
		return errors.New("fenced")
	case <-f.finished:
		return nil
	}
}

func (f *fakeTask) Status() *backendv1.TaskStatus {
	return &backendv1.TaskStatus{Task: &backendv1.TaskRef{TaskId: f.spec.TaskId, Epoch: f.spec.Epoch}}
}

type bench struct {
	*executor.Executor
	tasks []*fakeTask
	start func() error // what starting a task takes; nil for nothing
	beats uint64
}

// Heartbeat is the leader's next.
func (b *bench) Heartbeat(leader *backendv1.Leadership, want []*backendv1.TaskRef) ([]*backendv1.TaskStatus, []*backendv1.TaskRef, error) {
	b.beats++
	return b.Executor.Heartbeat(leader, b.beats, want)
}

// run gives f an executor with two slots, in virtual time.
func run(t *testing.T, f func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{}
		b.Executor = executor.New(t.Context(), executor.Config{
			Slots: 2, Logger: slog.New(slog.DiscardHandler),
			Start: func(spec *backendv1.TaskSpec) (executor.Task, error) {
				if b.start != nil {
					if err := b.start(); err != nil {
						return nil, err
					}
				}
				task := &fakeTask{spec: spec, end: make(chan struct{}), finished: make(chan struct{})}
				b.tasks = append(b.tasks, task)
				return task, nil
			},
		})
		f(t, b)
		if err := b.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func term(n uint64) *backendv1.Leadership { return &backendv1.Leadership{Incarnation: 1, Term: n} }

func spec(id, epoch uint64) *backendv1.TaskSpec {
	return &backendv1.TaskSpec{TaskId: id, Epoch: epoch}
}

func ref(id, epoch uint64) *backendv1.TaskRef { return &backendv1.TaskRef{TaskId: id, Epoch: epoch} }

func TestHeartbeatReconciles(t *testing.T) {
	run(t, func(t *testing.T, b *bench) {
		if err := b.Submit(term(1), spec(7, 1)); err != nil {
			t.Fatal(err)
		}
		statuses, lacking, err := b.Heartbeat(term(1), []*backendv1.TaskRef{ref(7, 1), ref(8, 3)})
		if err != nil || len(statuses) != 1 || statuses[0].Ended {
			t.Fatalf("Heartbeat = %v, %v; want one running task", statuses, err)
		}
		if len(lacking) != 1 || lacking[0].TaskId != 8 || lacking[0].Epoch != 3 {
			t.Errorf("lacking = %v, want task 8 epoch 3", lacking)
		}
		if _, _, err := b.Heartbeat(term(1), nil); err != nil { // 7 is not wanted any more
			t.Fatal(err)
		}
		synctest.Wait()
		if !b.tasks[0].cancelled {
			t.Error("a task that is not listed goes on running")
		}
		if statuses, _, _ = b.Heartbeat(term(1), nil); len(statuses) != 0 {
			t.Errorf("statuses = %v after the unwanted task ended, want none", statuses)
		}
	})
}

// TestHeartbeatOvertaken: one that comes late ends nothing that was placed since,
// and asks for nothing. The next leader's count anew.
func TestHeartbeatOvertaken(t *testing.T) {
	run(t, func(t *testing.T, b *bench) {
		beat := func(leader *backendv1.Leadership, number uint64, want ...*backendv1.TaskRef) (running, lacking int) {
			t.Helper()
			statuses, lacks, err := b.Executor.Heartbeat(leader, number, want)
			if err != nil {
				t.Error(err)
			}
			synctest.Wait()
			return len(statuses), len(lacks)
		}
		beat(term(1), 7, ref(7, 1))
		b.Submit(term(1), spec(7, 1))
		if running, lacking := beat(term(1), 6, ref(8, 1)); running != 1 || lacking != 0 || b.tasks[0].cancelled {
			t.Errorf("a late heartbeat finds %d tasks, lacks %d, cancelled %v", running, lacking, b.tasks[0].cancelled)
		}
		if beat(term(2), 1); !b.tasks[0].cancelled {
			t.Error("the first heartbeat of the next leader is taken for a late one")
		}
	})
}

func TestHeartbeatDrains(t *testing.T) {
	run(t, func(t *testing.T, b *bench) {
		b.Submit(term(1), spec(7, 1))
		b.Submit(term(1), spec(8, 1))
		want := []*backendv1.TaskRef{{TaskId: 7, Epoch: 1, Drain: true}, ref(8, 1)}
		for range 2 {
			if _, _, err := b.Heartbeat(term(1), want); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		statuses, lacking, err := b.Heartbeat(term(1), want)
		if err != nil || len(statuses) != 2 || len(lacking) != 0 {
			t.Fatalf("Heartbeat = %v, %v, %v", statuses, lacking, err)
		}
		for _, s := range statuses {
			if s.Ended != (s.Task.TaskId == 7) {
				t.Errorf("task %d ended: %v", s.Task.TaskId, s.Ended)
			}
		}
		if b.tasks[0].cancelled {
			t.Error("a task that is to drain was cancelled")
		}
	})
}

func TestOlderLeaderIsRefused(t *testing.T) {
	run(t, func(t *testing.T, b *bench) {
		if _, _, err := b.Heartbeat(term(5), nil); err != nil {
			t.Fatal(err)
		}
		if err := b.Submit(term(4), spec(7, 1)); !errors.Is(err, executor.ErrStaleLeader) {
			t.Errorf("Submit of term 4 after 5 = %v", err)
		}
		if _, _, err := b.Heartbeat(term(4), nil); !errors.Is(err, executor.ErrStaleLeader) {
			t.Errorf("Heartbeat of term 4 after 5 = %v", err)
		}
		restored := &backendv1.Leadership{Incarnation: 2, Term: 1}
		if _, _, err := b.Heartbeat(restored, nil); err != nil {
			t.Errorf("Heartbeat of a later incarnation = %v", err)
		}
		if err := b.Cancel(term(9), ref(7, 1)); !errors.Is(err, executor.ErrStaleLeader) {
			t.Errorf("Cancel of an older incarnation = %v", err)
		}
	})
}

func TestSubmit(t *testing.T) {
	run(t, func(t *testing.T, b *bench) {
		for range 2 { // again is harmless
			if err := b.Submit(term(1), spec(7, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if len(b.tasks) != 1 {
			t.Errorf("submitting twice started %d tasks", len(b.tasks))
		}
		if err := b.Submit(term(1), spec(7, 2)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !b.tasks[0].cancelled {
			t.Error("the earlier epoch goes on running")
		}
		if err := b.Submit(term(1), spec(7, 1)); !errors.Is(err, executor.ErrOldEpoch) {
			t.Errorf("Submit of an older epoch = %v", err)
		}
		if err := b.Submit(term(1), spec(8, 1)); err != nil {
			t.Fatal(err)
		}
		if err := b.Submit(term(1), spec(9, 1)); !errors.Is(err, executor.ErrNoSlot) {
			t.Errorf("third task on two slots = %v", err)
		}
	})
}

func TestEndedTaskIsToldAndNotRunAgain(t *testing.T) {
	run(t, func(t *testing.T, b *bench) {
		if err := b.Submit(term(1), spec(7, 1)); err != nil {
			t.Fatal(err)
		}
		close(b.tasks[0].end)
		synctest.Wait()
		statuses, lacking, err := b.Heartbeat(term(1), []*backendv1.TaskRef{ref(7, 1)})
		if err != nil || len(statuses) != 1 || !statuses[0].Ended || len(lacking) != 0 {
			t.Errorf("Heartbeat = %v, lacking %v, %v; want the ended task", statuses, lacking, err)
		}
		if err := b.Submit(term(1), spec(7, 1)); !errors.Is(err, executor.ErrOldEpoch) {
			t.Errorf("Submit of an ended epoch = %v: its numbers and files would be used twice", err)
		}
	})
}

func TestSilenceCancelsAllTasks(t *testing.T) {
	run(t, func(t *testing.T, b *bench) {
		ctx, stop := context.WithCancel(t.Context())
		go b.Watch(ctx)
		b.Submit(term(1), spec(7, 1))
		for range 3 { // as long as heartbeats come
			time.Sleep(executor.Grace - time.Millisecond)
			if statuses, _, _ := b.Heartbeat(term(1), []*backendv1.TaskRef{ref(7, 1)}); statuses[0].Ended {
				t.Fatal("the task ended though heartbeats came")
			}
		}
		time.Sleep(executor.Grace)
		synctest.Wait()
		if !b.tasks[0].cancelled {
			t.Error("the task goes on without a leader")
		}
		if err := b.Submit(term(1), spec(7, 1)); !errors.Is(err, executor.ErrOldEpoch) {
			t.Errorf("Submit of the cancelled epoch = %v: it must start at a new one", err)
		}
		stop()
	})
}

// A process that was frozen may find heartbeats of before when it wakes up, ahead
// of its own alarm. The leader has given its work to others by then.
func TestWakingUpCancelsAllTasks(t *testing.T) {
	run(t, func(t *testing.T, b *bench) {
		want := []*backendv1.TaskRef{ref(7, 1)}
		b.Heartbeat(term(1), want)
		b.Submit(term(1), spec(7, 1))
		time.Sleep(executor.Grace) // nothing of this process ran, Watch neither
		b.Heartbeat(term(1), want)
		synctest.Wait()
		if !b.tasks[0].cancelled {
			t.Error("the task goes on after a silence")
		}
		if statuses, _, _ := b.Heartbeat(term(1), want); len(statuses) != 1 || !statuses[0].Ended {
			t.Errorf("statuses = %v, want the ended task, which needs a new epoch", statuses)
		}
		b.Submit(term(1), spec(7, 2))
		time.Sleep(executor.Grace - time.Millisecond)
		b.Heartbeat(term(1), []*backendv1.TaskRef{ref(7, 2)})
		synctest.Wait()
		if b.tasks[1].cancelled {
			t.Error("the task ended though heartbeats came")
		}
	})
}

func TestDrainTakesNoMore(t *testing.T) {
	run(t, func(t *testing.T, b *bench) {
		b.Submit(term(1), spec(7, 1))
		b.Submit(term(1), spec(9, 1))
		b.tasks[1].stubborn = true
		if n := b.Slots(); n != 2 {
			t.Errorf("Slots = %d", n)
		}
		if err := b.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if b.tasks[0].cancelled {
			t.Error("a task that finishes was cancelled")
		}
		if !b.tasks[1].cancelled {
			t.Error("Drain returned before a task ended that does not finish")
		}
		if n := b.Slots(); n != 0 {
			t.Errorf("Slots = %d after Drain", n)
		}
		if err := b.Submit(term(1), spec(8, 1)); !errors.Is(err, executor.ErrDraining) {
			t.Errorf("Submit while draining = %v", err)
		}
	})
}

// A task that takes long to start holds up no heartbeat. It has its slot, and one
// that is not wanted any more when it is ready ends at once.
func TestSlowStart(t *testing.T) {
	run(t, func(t *testing.T, b *bench) {
		b.start = func() error { time.Sleep(10 * time.Second); return nil }
		submitted := make(chan error)
		go func() { submitted <- b.Submit(term(1), spec(7, 1)) }()
		time.Sleep(time.Second)
		began := time.Now()
		statuses, lacking, err := b.Heartbeat(term(1), []*backendv1.TaskRef{ref(7, 1)})
		if err != nil || len(statuses)+len(lacking) != 0 || time.Since(began) > 0 {
			t.Errorf("Heartbeat = %v, lacking %v, %v after %v", statuses, lacking, err, time.Since(began))
		}
		if err := b.Submit(term(1), spec(7, 1)); !errors.Is(err, executor.ErrStarting) {
			t.Errorf("Submit while it starts = %v", err)
		}
		b.Heartbeat(term(1), nil) // it is not wanted any more
		if err := <-submitted; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !b.tasks[0].cancelled {
			t.Error("a task that is not wanted runs once it is started")
		}
		b.start = func() error { return errors.New("no such property") }
		if err := b.Submit(term(1), spec(8, 1)); err == nil {
			t.Error("a task that cannot be started was")
		}
		if _, lacking, _ := b.Heartbeat(term(1), []*backendv1.TaskRef{ref(8, 1)}); len(lacking) != 1 {
			t.Errorf("lacking = %v, want the task that could not be started", lacking)
		}
	})
}

// A task that is told to finish while it is being started does so then.
func TestFinishWhileStarting(t *testing.T) {
	for name, tell := range map[string]func(*bench) error{
		"by a heartbeat": func(b *bench) error {
			_, _, err := b.Heartbeat(term(1), []*backendv1.TaskRef{{TaskId: 7, Epoch: 1, Drain: true}})
			return err
		},
		"by the end of the backend": func(b *bench) error { return b.Drain(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, b *bench) {
				b.start = func() error { time.Sleep(2 * time.Second); return nil }
				submitted := make(chan error, 1)
				go func() { submitted <- b.Submit(term(1), spec(7, 1)) }()
				time.Sleep(time.Second)
				if err := tell(b); err != nil {
					t.Fatal(err)
				}
				if err := <-submitted; err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				select {
				case <-b.tasks[0].finished:
				default:
					t.Error("the task was not told to finish")
				}
				if b.tasks[0].cancelled {
					t.Error("the task was cancelled")
				}
			})
		})
	}
}

// Repair tasks neither wait for the others' slots nor take them.
func TestRepairSlot(t *testing.T) {
	repair := func(id uint64) *backendv1.TaskSpec {
		return &backendv1.TaskSpec{TaskId: id, Epoch: 1, Repair: []*typesv1.PartitionRanges{{}}}
	}
	run(t, func(t *testing.T, b *bench) {
		for _, s := range []*backendv1.TaskSpec{spec(7, 1), repair(9), spec(8, 1)} {
			if err := b.Submit(term(1), s); err != nil {
				t.Fatalf("task %d: %v", s.TaskId, err)
			}
		}
		for _, s := range []*backendv1.TaskSpec{spec(10, 1), repair(11)} {
			if err := b.Submit(term(1), s); !errors.Is(err, executor.ErrNoSlot) {
				t.Errorf("task %d: %v", s.TaskId, err)
			}
		}
	})
}
