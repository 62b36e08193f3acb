package virtual

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
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
						w.t.Errorf("%s has %d tasks, want 3", b.host.name, n)
					}
				}
				for _, task := range w.job().Tasks {
					if task.CommittedTxns == 0 {
						w.t.Errorf("task %d has committed nothing", task.Id)
					}
				}
			})
		})
	}
}

// TestPauseResume: a paused job loads nothing; released records come again at
// once after RESUME, not after their lock.
func TestPauseResume(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
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
				w.t.Errorf("%d offsets were settled while the job was paused", now-paused)
			}
			w.sql("RESUME ROUTINE LOAD FOR d.j")
			w.settled(lock / 3)
		}
	})
}

// TestTransactions: of many transactions of one record a tenth is aborted. The
// auditor has a backend prove what holds no record, and everything settles.
func TestTransactions(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		producer := w.newProducer(kgo.TransactionalID("x"))
		defer producer.Close()
		w.createJob(6)
		most := 0
		for n := range 500 {
			for _, l := range w.ledgers() {
				most = max(most, len(l.Ranges))
			}
			if err := producer.BeginTransaction(); err != nil {
				w.t.Fatal(err)
			}
			commit := n%10 != 7
			id := w.produced
			if commit {
				w.produced++
			} else {
				id = -1
			}
			record := &kgo.Record{Partition: int32(n % partitions), Value: fmt.Appendf(nil, `{"id":%d}`, id)}
			if err := producer.ProduceSync(w.t.Context(), record).FirstErr(); err != nil {
				w.t.Fatal(err)
			}
			if err := producer.EndTransaction(w.t.Context(), kgo.TransactionEndTry(commit)); err != nil {
				w.t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		w.settled(lock)
		var void int64
		for _, l := range w.ledgers() {
			void += l.Void
		}
		if want := w.logEnd() - w.produced; void != want || most >= 200 {
			w.t.Errorf("%d offsets are void, want %d; at most %d ranges lay open, want fewer than 200", void, want, most)
		}
	})
}
