package share_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/share"
	"shoal/be/source"
)

// drop makes the cluster close the connection of the next request of a kind
// that is let through by when.
func (w *world) drop(key kmsg.Key, when func(kmsg.Request) bool) {
	w.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if when != nil && !when(req) {
			w.KeepControl()
			return nil, nil, false
		}
		return nil, errors.New("dropped"), true
	})
}

// A lost connection ends the session: the broker releases what was held, and
// the next session goes on.
func TestConnectionLost(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.ShareFetch, kmsg.ShareAcknowledge} {
		t.Run(key.Name(), func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.produce(0, 10)
				m := w.join()
				f := m.fetch()
				w.drop(key, nil)
				if key == kmsg.ShareAcknowledge {
					m.ack(source.Unknown, acks(source.Accept, f)...)
				} else {
					m.QueueAcks(acks(source.Accept, f))
				}
				lost, err := m.Fetch(t.Context(), m.limits)
				if want := []source.PartitionID{f.Partitions[0].ID()}; !slices.Equal(lost.Lost, want) {
					t.Fatalf("lost %v, want %v", lost.Lost, want)
				}
				if key == kmsg.ShareFetch {
					wantOutcome(t, lost.Acked, source.Unknown)
					if !errors.Is(err, share.ErrUnavailable) {
						t.Errorf("fetch = %v, want %v", err, share.ErrUnavailable)
					}
				}
				if key == kmsg.ShareAcknowledge && err != nil {
					t.Errorf("fetch = %v; want none, the session was known to be gone", err)
				}
				if lost.Empty() { // the acknowledgement's loss left the fetch unharmed
					m.ack(source.Refused, acks(source.Accept, f)...)
					lost = m.fetch()
				}
				wantAcquired(t, lost, "0-9", 2)
			})
		})
	}
}

// A session that the broker does not know, or knows at another epoch, is opened
// anew; what rode on the request was not looked at.
func TestSessionGone(t *testing.T) {
	for _, gone := range []*kerr.Error{kerr.ShareSessionNotFound, kerr.InvalidShareSessionEpoch} {
		t.Run(gone.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.produce(0, 10)
				w.produce(0, 10)
				m := w.join()
				m.limits.MaxRecords = 10
				first := m.fetch()
				m.QueueAcks(acks(source.Accept, first))
				w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareFetch}, TopLevel: true, Err: gone})
				f, err := m.Fetch(t.Context(), m.limits)
				if !errors.Is(err, gone) || len(f.Lost) != 1 {
					t.Fatalf("fetch = %v, lost %v; want %v and the partition", err, f.Lost, gone)
				}
				wantOutcome(t, f.Acked, source.Refused)
				wantAcquired(t, m.fetch(), "10-19", 1)
			})
		})
	}
}

// Errors of every kind reach the caller by what they mean, and do not make it a
// storm: it fetches again at once, for a minute.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		key   kmsg.Key
		err   *kerr.Error
		want  error
		inner bool // the error is not the answer's but a partition's, or a key's
	}{
		{kmsg.ShareGroupHeartbeat, kerr.GroupAuthorizationFailed, share.ErrUnauthorized, false},
		{kmsg.ShareGroupHeartbeat, kerr.TopicAuthorizationFailed, share.ErrUnauthorized, false},
		{kmsg.ShareGroupHeartbeat, kerr.GroupMaxSizeReached, share.ErrFull, false},
		{kmsg.ShareGroupHeartbeat, kerr.UnsupportedVersion, share.ErrUnsupported, false},
		{kmsg.ShareGroupHeartbeat, kerr.GroupIDNotFound, share.ErrUnsupported, false},
		{kmsg.ShareGroupHeartbeat, kerr.UnknownMemberID, share.ErrUnavailable, false},
		{kmsg.FindCoordinator, kerr.CoordinatorNotAvailable, share.ErrUnavailable, true},
		{kmsg.Metadata, kerr.TopicAuthorizationFailed, share.ErrUnauthorized, true},
		{kmsg.Metadata, kerr.UnknownTopicID, share.ErrUnknownTopic, true},
		{kmsg.ShareFetch, kerr.GroupAuthorizationFailed, share.ErrUnauthorized, false},
		{kmsg.ShareFetch, kerr.ShareSessionLimitReached, share.ErrFull, false},
		{kmsg.ShareFetch, kerr.TopicAuthorizationFailed, share.ErrUnauthorized, true},
		{kmsg.ShareFetch, kerr.UnknownTopicID, share.ErrUnknownTopic, true},
		{kmsg.ShareFetch, kerr.UnknownServerError, share.ErrUnavailable, true},
	} {
		t.Run(tt.key.Name()+tt.err.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				fault := kfake.Fault{Keys: []kmsg.Key{tt.key}, TopLevel: !tt.inner, Err: tt.err, Count: -1}
				if tt.inner && tt.key != kmsg.FindCoordinator {
					fault.Topic = topic
				}
				w.produce(0, 10)
				h := w.Fault(fault)
				m := w.join()
				m.wantNothing(time.Minute)
				f, err := m.Fetch(t.Context(), m.limits)
				if err == nil && len(f.Partitions) == 1 {
					err = f.Partitions[0].Err
				}
				if !errors.Is(err, tt.want) || !errors.Is(err, tt.err) {
					t.Errorf("fetch = %v; want %v: %v", err, tt.want, tt.err)
				}
				// At most each two seconds, more often at first; the producer asks too.
				if hits := h.Hits(); hits > 60 {
					t.Errorf("%d requests in a minute", hits)
				}
				h.Remove()
				wantAcquired(t, m.fetch(), "0-9", 1)
			})
		})
	}
}

// requests records the share fetches that the cluster sees.
type requests struct {
	mu   sync.Mutex
	seen []*kmsg.ShareFetchRequest
}

func (w *world) record() *requests {
	r := new(requests)
	w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareFetch}, Observe: true, Count: -1, When: func(req kmsg.Request) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		// The fault is asked for each thing that the request touches.
		if fetch := req.(*kmsg.ShareFetchRequest); !slices.Contains(r.seen, fetch) {
			r.seen = append(r.seen, fetch)
		}
		return true
	}})
	return r
}

func (r *requests) take() []*kmsg.ShareFetchRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

// A session names what changes: all partitions when it opens, nothing while
// nothing changes, the epoch one higher each time, acknowledgements included.
func TestSessionIsIncremental(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		r := w.record()
		w.produce(0, 1)
		m := w.join()
		f := m.fetch()
		m.ack(source.Applied, acks(source.Accept, f)...)
		for range 3 {
			if _, err := m.Fetch(t.Context(), m.limits); err != nil {
				t.Fatal(err)
			}
		}
		seen := r.take()
		if len(seen) != 4 {
			t.Fatalf("%d fetches, want 4", len(seen))
		}
		for i, epoch := range []int32{0, 2, 3, 4} { // 1 was the acknowledgement
			if seen[i].ShareSessionEpoch != epoch {
				t.Errorf("fetch %d has epoch %d, want %d", i, seen[i].ShareSessionEpoch, epoch)
			}
			if named := len(seen[i].Topics) > 0; named != (i == 0) {
				t.Errorf("fetch %d names topics: %v", i, named)
			}
		}
	})
}

// The assignment shrinks while acknowledgements are queued: they arrive, the
// partition is forgotten and never named again, and nothing is acquired of it.
func TestAssignmentShrinks(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.produce(0, 10)
		w.produce(1, 10)
		m := w.join()
		var held []source.Fetch
		for n := 0; n < 20; {
			f := m.fetch()
			held = append(held, f)
			n += f.Records()
		}
		other := w.join()
		for len(m.Assigned()) != 1 || len(other.Assigned()) != 1 {
			time.Sleep(time.Second)
		}
		r := w.record()
		m.QueueAcks(acks(source.Accept, held...))
		f, err := m.Fetch(t.Context(), m.limits)
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, f.Acked, source.Applied)
		if len(f.Acked) != 2 {
			t.Errorf("%d results, want 2", len(f.Acked))
		}
		m.wantNothing(time.Minute)
		kept, gone := m.Assigned()[0].Partition, other.Assigned()[0].Partition
		for i, req := range r.take() {
			for _, topic := range req.Topics {
				for _, p := range topic.Partitions {
					if p.Partition != kept {
						t.Errorf("fetch %d names partition %d, which is not assigned", i, p.Partition)
					}
				}
			}
			if forgets := len(req.ForgottenTopicsData) == 1 && req.ForgottenTopicsData[0].Partitions[0] == gone; forgets != (i == 0) {
				t.Errorf("fetch %d forgets %v", i, req.ForgottenTopicsData)
			}
		}
		w.produce(gone, 1)
		m.wantNothing(time.Minute)
		wantAcquired(t, other.fetch(), "10", 1)
	})
}

// What is acquired by a fetch that was under way while its partition was taken
// away is reported like any other.
func TestAcquiredThoughUnassigned(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		m := w.join()
		m.wantNothing(time.Second)
		m.limits.MaxWait = time.Minute
		fetched := make(chan source.Fetch)
		go func() {
			f, _ := m.Fetch(t.Context(), m.limits)
			fetched <- f
		}()
		other := w.join()
		for len(m.Assigned()) != 1 || len(other.Assigned()) != 1 {
			time.Sleep(time.Second)
		}
		gone := other.Assigned()[0].Partition
		w.produce(gone, 5)
		f := <-fetched
		if p := wantAcquired(t, f, "0-4", 1); p.Partition != gone {
			t.Fatalf("acquired of partition %d, want %d", p.Partition, gone)
		}
		m.ack(source.Applied, acks(source.Accept, f)...)
	})
}
