package share_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/source"
)

// spread gives partition i to broker i.
func (w *world) spread(partitions int32) {
	for p := range partitions {
		if err := w.MoveTopicPartition(topic, p, p); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Acknowledgements wait for the fetch from the leader that they are for.
func TestAcksRideToTheirLeader(t *testing.T) {
	inWorld(t, 2, 2, func(t *testing.T, w *world) {
		w.spread(2)
		w.produce(0, 10)
		w.produce(1, 10)
		m := w.join()
		m.QueueAcks(acks(source.Accept, m.fetch(), m.fetch()))
		var acked []source.AckResult
		for range 2 {
			f, err := m.Fetch(t.Context(), m.limits)
			if err != nil || len(f.Acked) != 1 {
				t.Fatalf("fetch = %v, %v; want one result", f.Acked, err)
			}
			acked = append(acked, f.Acked...)
		}
		wantOutcome(t, acked, source.Applied)
		if acked[0].PartitionID == acked[1].PartitionID {
			t.Error("both results are of one partition")
		}
	})
}

// Acknowledgements for a leader of which nothing is assigned any more go at
// once: no fetch would carry them, and what is not acknowledged blocks its
// partition until the locks end.
func TestAcksToLeaderThatIsNotAsked(t *testing.T) {
	for _, remaining := range []int{1, 0} {
		t.Run(fmt.Sprint(remaining), func(t *testing.T) {
			inWorld(t, 2, 2, func(t *testing.T, w *world) {
				w.spread(2)
				w.produce(0, 10)
				w.produce(1, 10)
				m := w.join()
				first, second := m.fetch(), m.fetch()
				others := []*member{w.join(), w.join(), w.join()}
				if remaining == 0 { // the group forgets it, and its heartbeats fail from then on
					w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareGroupHeartbeat}, Count: -1, TopLevel: true, Err: kerr.UnknownMemberID,
						When: func(req kmsg.Request) bool { return req.(*kmsg.ShareGroupHeartbeatRequest).MemberID == m.ID() }})
				}
				for end := time.Now().Add(time.Minute); len(m.Assigned()) != remaining && time.Now().Before(end); {
					time.Sleep(time.Second)
				}
				m.QueueAcks(acks(source.Accept, first, second))
				var acked []source.AckResult
				for range 4 {
					f, _ := m.Fetch(t.Context(), m.limits)
					acked = append(acked, f.Acked...)
				}
				if wantOutcome(t, acked, source.Applied); len(acked) != 2 {
					t.Errorf("%d partitions were acknowledged, want 2", len(acked))
				}
				time.Sleep(lock + 2*time.Second)
				for _, other := range others {
					other.wantNothing(2 * time.Second)
				}
			})
		})
	}
}

// The former leader names the new one; what it held is lost, and the new one is
// followed without a look-up.
func TestLeaderMoves(t *testing.T) {
	for _, how := range []string{"fetch", "ride", "acknowledge"} {
		t.Run(how, func(t *testing.T) {
			inWorld(t, 2, 1, func(t *testing.T, w *world) {
				w.spread(1)
				w.produce(0, 10)
				m := w.join()
				f := m.fetch()
				if err := w.MoveTopicPartition(topic, 0, 1); err != nil {
					t.Fatal(err)
				}
				lookups := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: topic, Observe: true, Count: -1})
				switch how {
				case "ride":
					m.QueueAcks(acks(source.Accept, f))
				case "acknowledge":
					m.ack(source.Refused, acks(source.Accept, f)...)
				}
				moved, err := m.Fetch(t.Context(), m.limits)
				if want := []source.PartitionID{f.Partitions[0].ID()}; err != nil || !slices.Equal(moved.Lost, want) {
					t.Fatalf("lost %v, %v; want %v", moved.Lost, err, want)
				}
				if how == "ride" {
					wantOutcome(t, moved.Acked, source.Refused)
				}
				w.produce(0, 1)
				if again := m.fetch(); !again.Partitions[0].Acquired.Contains(10) {
					t.Errorf("acquired %v from the new leader, want 10 in it", again.Partitions[0].Acquired)
				}
				if how != "ride" && lookups.Hits() > 0 {
					t.Errorf("%d look-ups, want none", lookups.Hits())
				}
			})
		})
	}
}

// A leader that changed while it was not asked is found by the look-up that an
// error of the partition leads to.
func TestLeaderMovesUnseen(t *testing.T) {
	inWorld(t, 2, 1, func(t *testing.T, w *world) {
		w.spread(1)
		w.produce(0, 10)
		m := w.join()
		f := m.fetch()
		w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareFetch}, Topic: topic})
		if failed, err := m.Fetch(t.Context(), m.limits); err != nil || failed.Partitions[0].Err == nil || len(failed.Lost) > 0 {
			t.Fatalf("fetch = %+v, %v; want the partition's error and nothing lost", failed, err)
		}
		if err := w.MoveTopicPartition(topic, 0, 1); err != nil {
			t.Fatal(err)
		}
		moved, err := m.Fetch(t.Context(), m.limits)
		if want := []source.PartitionID{f.Partitions[0].ID()}; err != nil || !slices.Equal(moved.Lost, want) {
			t.Errorf("lost %v, %v; want %v", moved.Lost, err, want)
		}
	})
}

// A leader that dies has its successor found.
func TestLeaderDies(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		if err := w.MoveTopicPartition(topic, 0, 2); err != nil {
			t.Fatal(err)
		}
		w.produce(0, 10)
		m := w.join()
		f := m.fetch()
		if err := w.RemoveNode(2); err != nil {
			t.Fatal(err)
		}
		lost, _ := m.Fetch(t.Context(), m.limits)
		if want := []source.PartitionID{f.Partitions[0].ID()}; !slices.Equal(lost.Lost, want) {
			t.Fatalf("lost %v, want %v", lost.Lost, want)
		}
		m.fetch()
	})
}

// Leaders take turns: a busy one does not starve the others, and idle ones cost
// a busy one no waiting.
func TestLeadersTakeTurns(t *testing.T) {
	inWorld(t, 3, 3, func(t *testing.T, w *world) {
		w.spread(3)
		for range 50 {
			w.produce(0, 1)
		}
		w.produce(1, 1)
		m := w.join()
		m.limits = source.Limits{MaxRecords: 1, MaxBytes: 1 << 20, MaxWait: 10 * time.Second}
		m.fetch() // joined
		start, at := time.Now(), -1
		for i := range 50 {
			if f := m.fetch(); f.Partitions[0].Partition == 1 {
				at = i
			}
		}
		if at < 0 || at > 3 {
			t.Errorf("the other leader's record came at fetch %d, want among the first", at)
		}
		if waited := time.Since(start); waited > time.Second {
			t.Errorf("waited %v while a leader had records", waited)
		}

		// All idle: a record of any of them comes within the wait.
		for p := range int32(3) {
			start := time.Now()
			wait := w.produceLater(3*time.Second, p)
			m.fetch()
			wait()
			if waited := time.Since(start); waited > 3*time.Second+m.limits.MaxWait {
				t.Errorf("a record on leader %d waited %v", p, waited-3*time.Second)
			}
		}
	})
}

// A topic that is created again under its name has another id, and its own
// offsets.
func TestTopicCreatedAgain(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 10)
		m := w.join()
		f := m.fetch()
		m.ack(source.Applied, acks(source.Accept, f)...)
		if err := w.DeleteTopic(topic); err != nil {
			t.Fatal(err)
		}
		m.wantNothing(10 * time.Second)
		if err := w.CreateTopic(topic, 1, nil); err != nil {
			t.Fatal(err)
		}
		fresh := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		produce(t, fresh, topic, 0, 5)
		again, _ := m.poll(time.Minute)
		if p := wantAcquired(t, again, "0-4", 1); p.TopicID == f.Partitions[0].TopicID {
			t.Error("the new topic has the old one's id")
		}
	})
}
