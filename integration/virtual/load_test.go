package virtual

import (
	"testing"
	"time"
)

// TestLoad: six tasks on two backends load three partitions, and all of them
// do some of it.
func TestLoad(t *testing.T) {
	for name, store := range map[string]func(*world) rowStore{"in memory": inMemory, "Parquet": onDisk} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, store, func(w *world) {
				w.createJob(6)
				for range 30 {
					w.produce(50)
					time.Sleep(500 * time.Millisecond)
				}
				w.settled(time.Minute)
				for _, b := range w.backends {
					if n := len(w.tasksOn(b)); n != 3 {
						t.Errorf("%s has %d tasks, want 3", b.host.name, n)
					}
				}
				for _, task := range w.job().Tasks {
					if task.CommittedTxns == 0 {
						t.Errorf("task %d has committed nothing", task.Id)
					}
				}
			})
		})
	}
}

// TestPauseResume: a paused job loads nothing; released records come again at
// once after RESUME, not after their lock.
func TestPauseResume(t *testing.T) {
	inWorld(t, 2, inMemory, func(w *world) {
		w.createJob(6)
		for range 5 {
			stop := w.producing(50)
			time.Sleep(4 * time.Second)
			w.sql("PAUSE ROUTINE LOAD FOR d.j")
			time.Sleep(2 * time.Second) // tasks end, and what they hold is released
			paused := w.settledOffsets()
			time.Sleep(time.Minute)
			stop()
			if now := w.settledOffsets(); now != paused {
				t.Errorf("%d offsets were settled while the job was paused", now-paused)
			}
			w.sql("RESUME ROUTINE LOAD FOR d.j")
			w.settled(lock / 3)
		}
	})
}
