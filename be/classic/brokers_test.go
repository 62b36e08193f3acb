package classic_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"shoal/be/classic"
	"shoal/be/source"
	"shoal/internal/offsets"
)

// Partitions of several leaders: a record is seen at once, though the other
// leaders have nothing.
func TestSeveralLeaders(t *testing.T) {
	inWorld(t, 3, 3, func(t *testing.T, w *world) {
		for p := range int32(3) {
			if err := w.MoveTopicPartition(topic, p, p); err != nil {
				t.Fatal(err)
			}
		}
		r := w.read()
		r.wantNothing()
		for p := range int32(3) {
			done := make(chan struct{})
			time.AfterFunc(50*time.Millisecond, func() {
				defer close(done)
				w.produce(p, 1)
			})
			began := time.Now()
			want(t, r.fetch(), p, "0", "none")
			if waited := time.Since(began); waited > 500*time.Millisecond {
				t.Errorf("a record of partition %d was seen after %v", p, waited)
			}
			<-done
		}
	})
}

// Of several leaders that have nothing, each is asked a few times a second.
func TestIdleLeaders(t *testing.T) {
	inWorld(t, 3, 3, func(t *testing.T, w *world) {
		for p := range int32(3) {
			if err := w.MoveTopicPartition(topic, p, p); err != nil {
				t.Fatal(err)
			}
		}
		r := w.read()
		requests := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, TopLevel: true, Observe: true, Count: -1})
		for range 20 { // 10 seconds
			r.wantNothing()
		}
		// A request that waits is seen a second time.
		if n := requests.Hits(); n > 2*(60+3) {
			t.Errorf("%d requests in ten seconds, want 60", n)
		}
	})
}

// A busy partition starves no other.
func TestFairness(t *testing.T) {
	inWorld(t, 1, 4, func(t *testing.T, w *world) {
		for range 100 {
			w.produce(0, 100)
		}
		r := w.read()
		r.limits.MaxRecords = 10
		r.fetch()
		for p := range int32(3) {
			w.produce(p+1, 1)
		}
		seen := map[int32]bool{}
		for range 1100 {
			for _, p := range r.fetch().Partitions {
				seen[p.Partition] = true
			}
			if len(seen) == 4 {
				return
			}
		}
		t.Errorf("of four partitions only %v brought anything", seen)
	})
}

// A leader that moves is followed within a second, and nothing is skipped.
func TestLeaderMoves(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		r := w.read()
		r.limits.MaxWait = time.Second
		for n := range int32(9) {
			w.produce(0, 1)
			want(t, r.untilRecords(), 0, string('0'+n), "none")
			if err := w.MoveTopicPartition(topic, 0, n%3); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// untilRecords fetches until there are some, within a second.
func (r *reader) untilRecords() source.Fetch {
	r.t.Helper()
	for end := time.Now().Add(time.Second); ; {
		if f := r.poll(); !f.Empty() {
			return f
		}
		if time.Now().After(end) {
			r.t.Fatal("nothing within a second")
		}
	}
}

// Troubles are told with every fetch while they last, and cause no storm.
func TestTroubles(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault kfake.Fault
		want  error
	}{
		{"unauthorized", kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed}, classic.ErrUnauthorized},
		{"unauthorized metadata", kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch, kmsg.Metadata}, Err: kerr.TopicAuthorizationFailed}, classic.ErrUnauthorized},
		{"not leader", kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition}, classic.ErrUnavailable},
		{"fenced", kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.FencedLeaderEpoch}, classic.ErrUnavailable},
		{"storage", kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.KafkaStorageError}, classic.ErrUnavailable},
		{"whole answers", kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, TopLevel: true, Err: kerr.UnknownServerError}, classic.ErrUnavailable},
		{"topic id", kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.UnknownTopicID}, classic.ErrNoTopic},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 1, 2, func(t *testing.T, w *world) {
				w.produce(0, 3)
				w.produce(1, 3)
				r := w.read()
				r.fetch()
				w.produce(0, 1)
				tt.fault.Count = -1
				fault := w.Fault(tt.fault)
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
					if f := r.poll(); f.Empty() && !errors.Is(trouble(f), tt.want) {
						t.Fatalf("trouble = %v, want %v", trouble(f), tt.want)
					}
				}
				// Two partitions, each after rests of 50 ms to 2 s.
				if hits := fault.Hits(); hits == 0 || hits > 4*16 {
					t.Errorf("%d requests in 20 seconds", hits)
				}
				fault.Remove()
				for got := false; !got; {
					for _, p := range r.poll().Partitions {
						got = got || p.Partition == 0 && p.Acquired.Contains(3)
					}
				}
			})
		})
	}
}

// A partition in trouble does not keep the others back.
func TestOneInTrouble(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Partitions: []int32{0}, Err: kerr.KafkaStorageError, Count: -1})
		r := w.read()
		began := time.Now()
		for n := range 50 {
			w.produce(1, 1)
			f := r.poll()
			if f.Records() != 1 || !errors.Is(trouble(f), classic.ErrUnavailable) {
				t.Fatalf("fetch %d brought %+v", n, f.Partitions)
			}
		}
		if spent := time.Since(began); spent > time.Second {
			t.Errorf("50 records took %v", spent)
		}
	})
}

// Lost requests and answers: what was asked for is asked for again.
func TestConnectionsLost(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		n := 0
		w.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			if n++; n%2 == 0 {
				return nil, errors.New("lost"), true
			}
			return nil, nil, false
		})
		r := w.read()
		for offset := range 5 {
			w.produce(0, 1)
			want(t, r.untilRecords(), 0, string(rune('0'+offset)), "none")
		}
	})
}

// The end of the context ends a fetch, without trouble.
func TestContextEnds(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		r := w.read()
		r.wantNothing()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		r.limits.MaxWait = time.Minute
		if f, err := r.Fetch(ctx, r.limits); !errors.Is(err, context.DeadlineExceeded) || !f.Empty() || time.Since(began) > time.Second {
			t.Errorf("fetch = %+v, %v after %v", f, err, time.Since(began))
		}
	})
}

// answers has the broker answer every fetch of partition 0 as f changes it.
func (w *world) answers(f func(*kmsg.FetchResponseTopicPartition)) {
	id := w.TopicInfo(topic).TopicID
	w.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		resp := r.ResponseKind().(*kmsg.FetchResponse)
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.HighWatermark, partition.LastStableOffset, partition.LogStartOffset = 4, 4, 0
		f(&partition)
		topic := kmsg.NewFetchResponseTopic()
		topic.TopicID = id
		topic.Partitions = append(topic.Partitions, partition)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
}

// A batch that cannot be read is named, and not passed over.
func TestDamage(t *testing.T) {
	batch := make([]byte, 64)
	batch[11], batch[16] = 52, 200 // the length, and an unknown magic
	for _, damaged := range [][]byte{batch, batch[:40]} {
		inWorld(t, 1, 1, func(t *testing.T, w *world) {
			w.answers(func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = damaged })
			r := w.read(from(1))
			for range 3 {
				f := r.poll()
				if err := trouble(f); !f.Empty() || !errors.Is(err, classic.ErrDamaged) || !strings.Contains(err.Error(), "offset 1") {
					t.Fatalf("fetch = %+v, want the damaged batch", f.Partitions)
				}
			}
		})
	}
}

// A partition stands still once its batch could not be read so many times, and
// says which offsets that is, also where it would end soon.
func TestUnreadable(t *testing.T) {
	batch := make([]byte, 64)
	batch[11], batch[16], batch[26] = 52, 2, 5 // of offsets 0-5, and with a wrong checksum
	for _, bounded := range []bool{false, true} {
		inWorld(t, 1, 1, func(t *testing.T, w *world) {
			w.answers(func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = batch })
			r, began := w.read(func(cfg *classic.Config) {
				cfg.Starts[0].Offset = 1
				if bounded {
					cfg.Starts[0].Bounded, cfg.Starts[0].Only = true, offsets.Of(offsets.Range{First: 1, Last: 2})
				}
			}), time.Now()
			unreadable := (*classic.UnreadableError)(nil)
			for !errors.As(trouble(r.poll()), &unreadable) {
				if took := time.Since(began); took > time.Minute {
					t.Fatal("the partition is read for ever")
				}
			}
			if took := time.Since(began); took < 5*time.Second || took > 30*time.Second || unreadable.Offsets != (offsets.Range{First: 1, Last: 5}) || !errors.Is(unreadable, classic.ErrDamaged) {
				t.Errorf("after %v: %v", took, unreadable)
			}
			if f := r.poll(); f.End || trouble(f) == nil {
				t.Errorf("then: %+v", f)
			}
		})
	}
}

// What else went wrong before does not count as tries to read a batch.
func TestUnreadableAfterOutage(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		var answers atomic.Int64
		w.answers(func(p *kmsg.FetchResponseTopicPartition) {
			if p.ErrorCode = kerr.NotLeaderForPartition.Code; answers.Add(1) > 20 {
				p.ErrorCode, p.RecordBatches = 0, make([]byte, 64)
			}
		})
		r := w.read()
		for answers.Load() < 22 {
			unreadable := (*classic.UnreadableError)(nil)
			if err := trouble(r.poll()); errors.As(err, &unreadable) {
				t.Fatalf("after %d answers, 20 of which had no batch: %v", answers.Load(), err)
			}
		}
	})
}

// The end of a compacted log may hold nothing, which has to be proven: what may
// lie in remote storage is not void for being slow.
func TestNothingBelowEnd(t *testing.T) {
	for _, tt := range []struct {
		localStart int64
		acquired   string
	}{{0, "1-3"}, {3, ""}} {
		inWorld(t, 1, 1, func(t *testing.T, w *world) {
			w.answers(func(*kmsg.FetchResponseTopicPartition) {})
			w.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
				w.KeepControl()
				resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
				partition := kmsg.NewListOffsetsResponseTopicPartition()
				partition.Offset = tt.localStart
				list := kmsg.NewListOffsetsResponseTopic()
				list.Topic = topic
				list.Partitions = append(list.Partitions, partition)
				resp.Topics = append(resp.Topics, list)
				return resp, nil, true
			})
			r := w.read(from(1))
			if tt.acquired != "" {
				want(t, r.fetch(), 0, tt.acquired, tt.acquired)
			} else if f := r.poll(); !f.Empty() || trouble(f) == nil || !strings.Contains(trouble(f).Error(), "remote storage") {
				t.Errorf("fetch = %+v, want to hear of remote storage", f.Partitions)
			}
		})
	}
}

// A broker that does not fetch by topic id is too old.
func TestOldBroker(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		r := w.read(func(cfg *classic.Config) {
			cfg.Client = w.client(append(classic.ClientOptions(), kgo.MaxVersions(kversion.V2_8_0()))...)
		})
		if f := r.poll(); !errors.Is(trouble(f), classic.ErrUnsupported) {
			t.Errorf("fetch = %+v, want ErrUnsupported", f.Partitions)
		}
	})
}

// A broker that throttles the client answers for no partition, and that is no
// trouble.
func TestThrottled(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		n := 0
		w.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			if n++; n > 4 {
				return nil, nil, false
			}
			resp := r.ResponseKind().(*kmsg.FetchResponse)
			resp.ThrottleMillis = 300
			return resp, nil, true
		})
		w.produce(0, 3)
		r := w.read()
		r.limits.MaxWait = 5 * time.Second
		want(t, r.fetch(), 0, "0-2", "none")
		if n != 5 {
			t.Errorf("%d requests, want 5", n)
		}
	})
}
