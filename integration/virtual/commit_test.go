package virtual

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// conflicts is how many offsets txns wanted to load a second time.
func (w *world) conflicts() (n int64) {
	for _, l := range w.ledgers() {
		n += l.Conflicts
	}
	return n
}

// every is true for each n-th call.
func every(n int) func() bool {
	calls := 0
	return func() bool {
		calls++
		return calls%n == 0
	}
}

// TestLostAnswers: of every third CommitTxn the answer is lost. The txn is
// asked for again, and answered as it was the first time.
func TestLostAnswers(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		lost := every(3)
		w.faults.set(func(f *faults) { f.answer = func(*backend) bool { return lost() } })
		w.createJob(6)
		stop := w.producing(20)
		time.Sleep(30 * time.Second)
		stop()
		w.settled(lock / 2)
		if n := w.conflicts(); n > 0 {
			w.t.Errorf("%d offsets were refused, want none: the repeated txns are the same", n)
		}
	})
}

// TestSlowCommit: a CommitTxn takes longer to the frontend than the locks last,
// and they are not renewed. Another backend loads the records first, and the
// late txn is refused.
func TestSlowCommit(t *testing.T) {
	inWorld(t, 2, inMemory, func(w *world) {
		slow := w.backends[0]
		w.faults.set(func(f *faults) {
			f.request = func(b *backend) time.Duration {
				if b == slow {
					return lock + 10*time.Second
				}
				return 0
			}
		})
		renewals := w.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareAcknowledge}, Topic: topic, Err: kerr.InvalidRecordState, Count: -1,
			When: func(req kmsg.Request) bool { return req.(*kmsg.ShareAcknowledgeRequest).IsRenewAck }})
		w.createJob(6)
		stop := w.producing(20)
		time.Sleep(2 * time.Minute)
		stop()
		renewals.Remove()
		w.faults.set(func(f *faults) { f.request = nil })
		w.settled(3 * lock)
		if w.conflicts() == 0 || renewals.Hits() == 0 {
			w.t.Errorf("%d offsets conflicted, %d renewals were refused; want some of both", w.conflicts(), renewals.Hits())
		}
	})
}

// TestSlowWrites: writing takes up to two thirds of the lock. What takes more
// than half of it is given up and written again, smaller.
func TestSlowWrites(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		n := 0
		w.faults.set(func(f *faults) {
			f.write = func(*backend) (time.Duration, error) {
				n++
				return time.Duration(n%5) * lock / 6, nil
			}
		})
		w.createJob(6)
		stop := w.producing(5)
		time.Sleep(2 * time.Minute)
		stop()
		w.settled(3 * time.Minute)
	})
}

// TestWarehouseRefuses: for a while nothing can be written.
func TestWarehouseRefuses(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		full := errors.New("no space left")
		w.createJob(6)
		stop := w.producing(20)
		time.Sleep(5 * time.Second)
		w.faults.set(func(f *faults) { f.write = func(*backend) (time.Duration, error) { return 0, full } })
		time.Sleep(time.Minute)
		before := w.settledOffsets()
		w.faults.set(func(f *faults) { f.write = nil })
		time.Sleep(30 * time.Second) // tasks have backed off
		stop()
		w.settled(lock)
		if w.settledOffsets() == before {
			w.t.Error("nothing was loaded afterwards")
		}
	})
}

// TestDeliveriesRunOut: nothing can be written for so long that the broker gives
// up delivering. A repair task reads the records again, and the job runs on.
func TestDeliveriesRunOut(t *testing.T) {
	inWorld(t, 2, inMemory, func(w *world) {
		full := errors.New("no space left")
		w.faults.set(func(f *faults) { f.write = func(*backend) (time.Duration, error) { return 0, full } })
		w.createJob(6)
		w.produce(100)
		w.eventually(time.Hour, func() error {
			if jobs.RepairTask(w.job()) == nil {
				return fmt.Errorf("nothing is repaired: %s", w.tasks())
			}
			return nil
		})
		w.faults.set(func(f *faults) { f.write = nil })
		w.settled(2 * time.Minute) // tasks have backed off
		if job := w.job(); job.State != raftlogv1.JobState_JOB_STATE_RUNNING || job.Repaired == 0 {
			w.t.Errorf("the job is %v, %d records repaired", job.State, job.Repaired)
		}
	})
}

// TestDiesBeforeAcknowledging: a backend dies each time it has committed. What
// it committed is delivered again, refused by the ledger, and accepted.
func TestDiesBeforeAcknowledging(t *testing.T) {
	inWorld(t, 2, inMemory, func(w *world) {
		w.createJob(6)
		stop := w.producing(20)
		for round := range 4 {
			time.Sleep(10 * time.Second)
			died := make(chan struct{})
			n := round % 2
			victim := w.backends[n]
			w.faults.set(func(f *faults) {
				f.afterCommit = func(b *backend) {
					if b == victim {
						w.network.cut(b.host.name, brokerHost)
						w.network.reset(b.host.name, brokerHost)
						f.afterCommit = nil
						close(died)
					}
				}
			})
			<-died
			w.kill(n)
			time.Sleep(time.Second)
			w.backends[n] = w.startBackend(n)
		}
		stop()
		w.settled(lock)
		if w.conflicts() == 0 {
			w.t.Error("no offset was delivered again after it was committed")
		}
	})
}
