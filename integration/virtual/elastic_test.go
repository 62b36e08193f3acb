package virtual

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"shoal/be/source"
	"shoal/be/task"
	"shoal/fe/state"
	backendv1 "shoal/proto/backend/v1"
)

// A slow is a rowStore of which each write takes a while, and which sees how often
// records were delivered.
type slow struct {
	*memory
	takes      time.Duration
	deliveries int16
}

func (s *slow) open(spec *backendv1.TaskSpec) (task.Writer, func() error, error) {
	return slowWriter{memoryWriter{s.memory, spec}, s}, func() error { return nil }, nil
}

type slowWriter struct {
	memoryWriter
	slow *slow
}

// Write implements task.Writer.
func (w slowWriter) Write(ctx context.Context, number uint64, label string, parts []source.Partition) (task.Written, error) {
	for _, p := range parts {
		w.slow.see(p.Deliveries)
	}
	select {
	case <-ctx.Done():
		return task.Written{}, ctx.Err()
	case <-time.After(w.slow.takes):
	}
	return w.memoryWriter.Write(ctx, number, label, parts)
}

func (s *slow) see(deliveries int16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliveries = max(s.deliveries, deliveries)
}

// inSlowWorld is inWorld where each write takes so long.
func inSlowWorld(t *testing.T, mode string, backends int, takes time.Duration, test func(w *world, s *slow)) {
	s := &slow{memory: &memory{files: map[string][]int64{}}, takes: takes}
	inWorld(t, backends, func(*world) rowStore { return s }, func(w *world) {
		w.mode = mode
		test(w, s)
	})
}

// hasTasks tells whether the job has so many tasks, all of which are placed.
func (w *world) hasTasks(n int) error {
	tasks := w.job().Tasks
	for _, task := range tasks {
		if task.BackendId == 0 {
			return fmt.Errorf("task %d waits", task.Id)
		}
	}
	if len(tasks) != n {
		return fmt.Errorf("%d tasks, want %d; %s", len(tasks), n, w.tasks())
	}
	return nil
}

// TestElastic: tasks come when there is more than those that are there can do, and
// go when there is nothing. No record is delivered twice for it.
func TestElastic(t *testing.T) {
	inSlowWorld(t, "share_group", 2, 2*time.Second, func(w *world, s *slow) {
		w.createJob(12)
		w.eventually(5*time.Second, func() error { return w.hasTasks(2 * partitions) })
		for range 2 {
			w.eventually(5*time.Minute, func() error { return w.hasTasks(1) })
			stop := w.producing(400) // twice what the group hands out at a time
			w.eventually(time.Minute, func() error { return w.hasTasks(12) })
			time.Sleep(10 * time.Second)
			stop()
			w.settled(2 * time.Minute)
		}
		w.eventually(10*time.Minute, func() error { return w.hasTasks(1) })
		if s.deliveries > 1 {
			w.t.Errorf("records were delivered %d times", s.deliveries)
		}
	})
}

// TestDecommission: the tasks of a backend that is being decommissioned end what
// they hold and go on elsewhere; then it is dropped.
func TestDecommission(t *testing.T) {
	for _, mode := range []string{"share_group", "classic"} {
		t.Run(mode, func(t *testing.T) {
			inSlowWorld(t, mode, 3, 200*time.Millisecond, func(w *world, s *slow) {
				w.createJob(6)
				stop := w.producing(20)
				time.Sleep(10 * time.Second)
				if len(w.tasksOn(w.backends[0])) == 0 {
					w.t.Fatal("there is no task to move")
				}
				w.sql(`ALTER SYSTEM DECOMMISSION BACKEND "127.0.0.1:9060"`)
				w.eventually(30*time.Second, func() error {
					if backends := w.fe.registry.Backends(); len(backends) != 2 {
						return fmt.Errorf("%d backends are there: %s", len(backends), w.tasks())
					}
					return nil
				})
				time.Sleep(10 * time.Second)
				stop()
				w.settled(lock / 2)
				if s.deliveries > 1 {
					w.t.Errorf("records were delivered %d times", s.deliveries)
				}
			})
		})
	}
}

// TestJoins: a backend that joins gets its part of the tasks, one after the other.
func TestJoins(t *testing.T) {
	for _, mode := range []string{"share_group", "classic"} {
		t.Run(mode, func(t *testing.T) {
			inSlowWorld(t, mode, 1, 200*time.Millisecond, func(w *world, s *slow) {
				w.createJob(6)
				stop := w.producing(20)
				time.Sleep(30 * time.Second)
				w.backends = append(w.backends, w.startBackend(1))
				w.eventually(time.Minute, func() error {
					if a, b := len(w.tasksOn(w.backends[0])), len(w.tasksOn(w.backends[1])); a-b > 1 || b-a > 1 {
						return fmt.Errorf("%d and %d tasks", a, b)
					}
					return nil
				})
				stop()
				w.settled(lock / 2)
				if s.deliveries > 1 {
					w.t.Errorf("records were delivered %d times", s.deliveries)
				}
			})
		})
	}
}

// TestBlackList: a backend that alone cannot write is left by its tasks, and gets
// some again when it can.
func TestBlackList(t *testing.T) {
	inWorld(t, 2, inMemory, func(w *world) {
		w.createJob(6)
		stop := w.producing(20)
		time.Sleep(10 * time.Second)
		w.backends[0].setTrouble("no space")
		w.eventually(time.Minute, func() error {
			if n := len(w.tasksOn(w.backends[0])); n > 0 {
				return fmt.Errorf("%d tasks are there", n)
			}
			return nil
		})
		if n := w.settledOffsets(); n == 0 {
			w.t.Error("nothing settles")
		}
		w.backends[0].setTrouble("")
		w.eventually(2*time.Minute, func() error {
			if len(w.tasksOn(w.backends[0])) == 0 {
				return errors.New("it gets no tasks")
			}
			return nil
		})
		stop()
		w.settled(lock)
		w.fe.store.View(func(st *state.State) {
			if n := len(st.Backends()); n != 2 {
				w.t.Errorf("%d backends", n)
			}
		})
	})
}
