package virtual

import (
	"fmt"
	"testing"
	"time"

	"shoal/be/executor"
)

// TestBackendWithoutFrontend: a backend that reaches Kafka and no frontend
// polls no more within its grace, and its work goes on elsewhere. Once it is
// reached again it takes over from another one.
func TestBackendWithoutFrontend(t *testing.T) {
	inWorld(t, 2, inMemory, func(w *world) {
		w.createJob(6)
		w.produce(20)
		w.settled(10 * time.Second) // from then on, tasks poll and find nothing
		stop := func() {}
		for round := range 4 {
			lost, other := w.backends[round%2], w.backends[1-round%2]
			var members []string
			for _, task := range w.tasksOn(lost) {
				members = append(members, task.MemberId)
			}
			cut := time.Now()
			w.network.cut(frontendHost, lost.host.name)
			w.eventually(15*time.Second, func() error {
				if n := len(w.tasksOn(other)); n != 6 {
					return fmt.Errorf("%d tasks are on the other backend, want 6", n)
				}
				return nil
			})
			time.Sleep(10 * time.Second)
			for _, member := range members {
				if last := w.lastPoll(member).Sub(cut); last > executor.Grace+time.Second/10 || round == 0 && last < executor.Grace/2 {
					w.t.Errorf("a member of the lost backend polled last %v after the cut", last)
				}
			}
			w.network.heal(frontendHost, lost.host.name)
			time.Sleep(10 * time.Second)
			if round == 0 {
				stop = w.producing(20)
			}
		}
		stop()
		w.settled(lock + 10*time.Second)
	})
}

func (w *world) lastPoll(member string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.polled[member].at
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
