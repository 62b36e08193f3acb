package virtual

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestBackendWithoutFrontend: a backend that reaches Kafka and no frontend polls
// no more within 5 s and gives back what it holds, and its work goes on elsewhere.
// Once it is reached again it takes over from another one, at new epochs.
func TestBackendWithoutFrontend(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		w.createJob(6)
		w.produce(20)
		w.settled(10 * time.Second) // from then on, tasks poll and find nothing
		stop := func() {}
		for round := range 4 {
			lost, other := w.backends[round%2], 1-round%2
			before := map[uint64]uint64{}
			for _, task := range w.tasksOn(lost) {
				before[task.Id] = task.Epoch
			}
			if len(before) == 0 {
				w.t.Fatalf("round %d: the backend has no tasks", round)
			}
			cut := time.Now()
			w.network.cut(frontendHost, lost.host.name)
			time.Sleep(15 * time.Second)
			if n, all := len(w.tasksOn(w.backends[other])), len(w.job().Tasks); n != all {
				w.t.Errorf("%d of %d tasks are on the other backend", n, all)
			}
			if last := lost.polls.last().Sub(cut); last > 5*time.Second || round == 0 && last < 3*time.Second {
				w.t.Errorf("the lost backend polled last %v after the cut", last)
			}
			w.network.heal(frontendHost, lost.host.name)
			time.Sleep(5 * time.Second)
			w.kill(other)
			time.Sleep(10 * time.Second)
			after := lost.polls.since(cut.Add(5 * time.Second))
			for id, epoch := range after {
				if epoch <= before[id] {
					w.t.Errorf("task %d polled at epoch %d again, after it was cut off", id, epoch)
				}
			}
			if len(after) == 0 {
				w.t.Error("the backend that was reached again did nothing")
			}
			w.backends[other] = w.startBackend(other)
			w.eventually(5*time.Second, w.allAlive)
			w.kill(round % 2) // so that the next round has tasks to lose
			w.eventually(5*time.Second, func() error {
				if len(w.tasksOn(w.backends[other])) < len(w.job().Tasks) {
					return errors.New("not all tasks have moved")
				}
				return nil
			})
			w.backends[round%2] = w.startBackend(round % 2)
			if round == 0 {
				stop = w.producing(20)
			}
		}
		stop()
		w.settled(lock + 10*time.Second)
	})
}

// TestServedAgain: however a backend is lost, all that had been produced by then
// is in the table within 5 s, what it held included, also with fewer tasks than
// partitions.
func TestServedAgain(t *testing.T) {
	freeze := func(w *world, n int) {
		for _, peer := range []string{frontendHost, brokerHost} {
			w.network.cut(w.backends[n].host.name, peer)
		}
	}
	for _, tt := range []struct {
		name  string
		lose  func(w *world, n int)
		tasks int
	}{
		{"killed, of few tasks", (*world).kill, 2},
		{"killed, of many", (*world).kill, 6},
		{"frozen, of few tasks", freeze, 2},
		{"frozen, of many", freeze, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBothModes(t, 2, inMemory, func(w *world) {
				w.createJob(tt.tasks)
				stop := w.producing(20)
				time.Sleep(10 * time.Second)
				lost := w.backends[0]
				if len(w.tasksOn(lost)) == 0 {
					w.t.Fatal("the backend has no task")
				}
				tt.lose(w, 0)
				died, ends := time.Now(), w.ends()
				w.eventually(5*time.Second, func() error { return w.settledBelow(ends) })
				w.t.Logf("served again after %v", time.Since(died))
				for _, peer := range []string{frontendHost, brokerHost} { // it wakes up
					w.network.heal(lost.host.name, peer)
				}
				time.Sleep(10 * time.Second)
				stop()
				w.settled(lock)
			})
		})
	}
}

// TestFrontendRestarts: the frontend is closed and opened again on its folder
// in the middle of the load.
func TestFrontendRestarts(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		w.createJob(6)
		stop := w.producing(20)
		for range 6 {
			time.Sleep(7 * time.Second)
			epochs := w.job().Tasks
			w.fe.stop()
			w.openFrontend()
			time.Sleep(3 * time.Second)
			for i, task := range w.job().Tasks {
				if task.Epoch != epochs[i].Epoch {
					w.t.Errorf("task %d has another epoch after a quick restart of the frontend", task.Id)
				}
			}
		}
		stop()
		w.settled(lock)
	})
}

// TestFrontendAway: the frontend cannot be reached for a while. Tasks give back
// what they hold, wait, and go on soon when it is there again.
func TestFrontendAway(t *testing.T) {
	cut := func(w *world) (back func()) {
		for _, b := range w.backends {
			w.network.cut(frontendHost, b.host.name)
		}
		return func() {
			for _, b := range w.backends {
				w.network.heal(frontendHost, b.host.name)
			}
		}
	}
	down := func(w *world) (back func()) {
		w.fe.stop()
		return w.openFrontend
	}
	for _, tt := range []struct {
		name string
		fail func(w *world) (back func())
		away time.Duration
	}{
		{"cut off for seconds", cut, 20 * time.Second},
		{"cut off for minutes", cut, 5 * time.Minute},
		{"down for seconds", down, 20 * time.Second},
		{"down for minutes", down, 5 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBothModes(t, 2, inMemory, func(w *world) {
				w.createJob(6)
				stop := w.producing(20)
				time.Sleep(10 * time.Second)
				back := tt.fail(w)
				time.Sleep(tt.away)
				stop()
				back()
				w.settled(lock / 2)
			})
		})
	}
}

// TestFrontendFull: a frontend whose disk is full commits nothing, and says why.
// Tasks give back what they hold, and go on by themselves.
func TestFrontendFull(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		w.createJob(6)
		stop := w.producing(20)
		time.Sleep(10 * time.Second)
		w.faults.set(func(f *faults) { f.disk = errors.New("the disk is full") })
		time.Sleep(5 * time.Second)
		before := w.settledOffsets()
		w.eventually(5*time.Second, func() error {
			if told := w.tasks(); !strings.Contains(told, "the frontend commits nothing: the disk is full") {
				return errors.New(told)
			}
			return nil
		})
		time.Sleep(5 * time.Minute)
		if after := w.settledOffsets(); after != before {
			w.t.Errorf("%d offsets were settled on a full disk", after-before)
		}
		w.faults.set(func(f *faults) { f.disk = nil })
		stop()
		w.settled(lock)
	})
}

// TestBackendKilled: processes die with records in hand, and others take over
// at once.
func TestBackendKilled(t *testing.T) {
	inBothModes(t, 3, inMemory, func(w *world) {
		w.createJob(6)
		stop := w.producing(20)
		for round := range 6 {
			n := round % 3
			time.Sleep(8 * time.Second)
			w.kill(n)
			time.Sleep(2 * time.Second)
			w.backends[n] = w.startBackend(n)
		}
		stop()
		w.settled(lock)
	})
}
