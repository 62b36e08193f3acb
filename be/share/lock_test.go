package share_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/source"
)

// Several fetches may be gathered before anything is acknowledged: a fetch
// accepts nothing.
func TestFetchesGather(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		for range 4 {
			w.produce(0, 10)
		}
		m := w.join()
		m.limits.MaxRecords = 10
		var fetches []source.Fetch
		for range 4 {
			fetches = append(fetches, m.fetch())
		}
		m.ack(source.Applied, acks(source.Accept, fetches...)...)
		wantAcquired(t, fetches[3], "30-39", 1)
		m.wantNothing(2 * lock)
	})
}

// LockedUntil is judged from before the request was sent, so that the broker's
// own timer never ends earlier.
func TestLockedUntil(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		m := w.join()
		m.wantNothing(time.Second) // the session exists, the next fetch waits
		start := time.Now()
		wait := w.produceLater(100*time.Millisecond, 0)
		f, err := m.Fetch(t.Context(), m.limits)
		wait()
		if err != nil || f.Empty() || time.Since(start) < 100*time.Millisecond {
			t.Fatalf("fetch = %v, %v after %v, want records after 100ms", f, err, time.Since(start))
		}
		if got := f.LockedUntil.Sub(start); got != lock {
			t.Errorf("locked for %v from the sending of the request, want %v", got, lock)
		}
	})
}

// A lock that ends makes the records come again, with a higher count. A late
// acknowledgement is refused whole: offset 10, which is still held, included.
func TestLockEnds(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 10)
		late, other := w.join(), w.join()
		old := late.fetch()
		wantAcquired(t, old, "0-9", 1)
		time.Sleep(lock + 2*time.Second)
		w.produce(0, 1)
		other.limits.MaxRecords = 10
		again := other.fetch()
		wantAcquired(t, again, "0-9", 2)
		held := late.fetch()
		wantAcquired(t, held, "10", 1)

		late.ack(source.Refused, acks(source.Accept, old, held)...)
		late.ack(source.Applied, acks(source.Accept, held)...)
		other.ack(source.Applied, acks(source.Accept, again)...)
		other.wantNothing(2 * lock)
	})
}

func TestRenewHolds(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 10)
		m, other := w.join(), w.join()
		f := m.fetch()
		for range 10 {
			time.Sleep(lock / 2)
			other.wantNothing(time.Second)
			before := time.Now()
			if until := m.ack(source.Applied, acks(source.Renew, f)...); until.Sub(before) != lock {
				t.Fatalf("renewed for %v, want %v", until.Sub(before), lock)
			}
		}
		if until := m.ack(source.Applied, acks(source.Accept, f)...); !until.IsZero() {
			t.Errorf("accepting renewed until %v, want not at all", until)
		}
		other.wantNothing(2 * lock)
	})
}

// A hold without any traffic outlives kgo's own idea of an idle connection, 30
// seconds.
func TestHoldsWhileIdle(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.setLock(time.Hour)
		w.produce(0, 10)
		m := w.join()
		f := m.fetch()
		time.Sleep(10 * time.Minute)
		m.ack(source.Applied, acks(source.Accept, f)...)
	})
}

// setLock changes the brokers' lock duration.
func (w *world) setLock(d time.Duration) {
	w.t.Helper()
	value := fmt.Sprint(d.Milliseconds())
	alter := []kadm.AlterConfig{{Name: "group.share.record.lock.duration.ms", Value: &value}}
	answers, err := kadm.NewClient(w.prod).AlterBrokerConfigs(w.t.Context(), alter)
	if err != nil || answers[0].Err != nil {
		w.t.Fatal(answers, err)
	}
}

func TestReleaseDeliversAgain(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 10)
		m := w.join()
		for delivery := range int16(3) {
			f := m.fetch()
			wantAcquired(t, f, "0-9", delivery+1)
			m.ack(source.Applied, acks(source.Release, f)...)
		}
	})
}

// What was not decided is released by Close, and what was queued is done.
func TestCloseReleases(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 10)
		m, other := w.join(), w.join()
		p := wantAcquired(t, m.fetch(), "0-9", 1)
		m.QueueAcks(source.Acks(p.ID(), p.Acquired.Below(3), source.Accept))
		other.wantNothing(time.Second)
		last := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareAcknowledge}, Observe: true, Count: -1,
			When: func(req kmsg.Request) bool { return req.(*kmsg.ShareAcknowledgeRequest).ShareSessionEpoch == -1 }})
		wantOutcome(t, m.Close(t.Context()), source.Applied)
		if last.Hits() == 0 {
			t.Error("the session was not closed; that the member left releases nothing on a real broker")
		}
		if err := <-m.left; err != nil {
			t.Fatalf("Run = %v after Close", err)
		}
		if n := len(w.GroupInfo(group).Members); n != 1 {
			t.Errorf("%d members after one of two left, want 1", n)
		}
		wantAcquired(t, other.fetch(), "3-9", 2)
	})
}

// The answer to an acknowledgement may be lost after the broker did it.
func TestAnswerLost(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 10)
		m := w.join()
		f := m.fetch()
		w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareAcknowledge}, Topic: topic, Err: kerr.RequestTimedOut})
		m.ack(source.Unknown, acks(source.Accept, f)...)
		m.ack(source.Applied, acks(source.Accept, f)...) // still held, or below the start offset
		m.wantNothing(2 * lock)
	})
}

// A coordinator that could not write the state leaves the locks as they were.
func TestStateNotWritten(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 10)
		m := w.join()
		f := m.fetch()
		w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareAcknowledge}, Topic: topic, Err: kerr.CoordinatorNotAvailable})
		m.ack(source.Retry, acks(source.Accept, f)...)
		m.ack(source.Applied, acks(source.Accept, f)...)
	})
}

func TestAcksRide(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 10)
		w.produce(0, 10)
		m := w.join()
		m.limits.MaxRecords = 10
		apart := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareAcknowledge}, Observe: true, Count: -1})
		first := m.fetch()
		m.QueueAcks(acks(source.Accept, first))
		second := m.fetch()
		wantAcquired(t, second, "10-19", 1)
		wantOutcome(t, second.Acked, source.Applied)
		if len(second.Acked) != 1 || apart.Hits() != 0 {
			t.Errorf("%d results, %d ShareAcknowledge requests; want 1 and 0", len(second.Acked), apart.Hits())
		}

		// Acknowledge takes along what is still queued.
		m.QueueAcks(source.Acks(second.Partitions[0].ID(), second.Partitions[0].Acquired.Below(15), source.Accept))
		results, _ := m.Acknowledge(t.Context(), nil)
		wantOutcome(t, results, source.Applied)

		// Renewals never ride: a request that renews must not fetch.
		m.QueueAcks(source.Acks(second.Partitions[0].ID(), second.Partitions[0].Acquired.Above(15), source.Renew))
		f, err := m.Fetch(t.Context(), m.limits)
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, f.Acked, source.Applied)
		if hits := apart.Hits(); hits != 2 {
			t.Errorf("%d ShareAcknowledge requests, want 2", hits)
		}
	})
}

// An error for ridden acknowledgements is theirs alone.
func TestRiddenAcksRefused(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 10)
		m, other := w.join(), w.join()
		f := m.fetch()
		time.Sleep(lock + 2*time.Second)
		again := other.fetch()
		m.QueueAcks(acks(source.Accept, f))
		w.produce(0, 1)
		second := m.fetch()
		wantAcquired(t, second, "10", 1)
		wantOutcome(t, second.Acked, source.Refused)
		if len(second.Lost) != 0 {
			t.Errorf("lost %v, want nothing: offset 10 is held", second.Lost)
		}
		other.ack(source.Applied, acks(source.Accept, again)...)
		m.ack(source.Applied, acks(source.Accept, second)...)
	})
}
