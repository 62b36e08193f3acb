package share_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/share"
	"shoal/be/source"
)

// The group coordinator moves: heartbeats follow, and membership survives.
func TestCoordinatorMoves(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		m := w.join()
		m.wantNothing(time.Second)
		before := w.CoordinatorFor(group)
		for range 100 {
			if w.CoordinatorFor(group) != before {
				break
			}
			w.RehashCoordinators()
		}
		if w.CoordinatorFor(group) == before {
			t.Fatal("the coordinator did not move")
		}
		time.Sleep(2 * time.Minute) // well over the session timeout
		if n := len(w.GroupInfo(group).Members); n != 1 {
			t.Fatalf("%d members, want 1", n)
		}
		w.produce(0, 1)
		m.fetch()
	})
}

// Someone leaves on the member's behalf, or the group goes: it joins again.
func TestJoinsAgain(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		m := w.join()
		m.wantNothing(time.Second)
		req := kmsg.NewPtrShareGroupHeartbeatRequest()
		req.GroupID, req.MemberID, req.MemberEpoch = group, m.ID(), -1
		if resp, err := req.RequestWith(t.Context(), w.prod); err != nil || resp.ErrorCode != 0 {
			t.Fatal(resp, err)
		}
		time.Sleep(10 * time.Second)
		w.produce(0, 10)
		wantAcquired(t, m.fetch(), "0-9", 1)
	})
}

// A coordinator that does not know the member, or only an older one, has it join
// again; the sessions and what is held in them are not its business.
func TestFenced(t *testing.T) {
	for _, fenced := range []*kerr.Error{kerr.UnknownMemberID, kerr.FencedMemberEpoch, kerr.GroupIDNotFound} {
		t.Run(fenced.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				joins := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareGroupHeartbeat}, TopLevel: true, Observe: true, Count: -1,
					When: func(req kmsg.Request) bool { return req.(*kmsg.ShareGroupHeartbeatRequest).MemberEpoch == 0 }})
				w.produce(0, 10)
				m := w.join()
				f := m.fetch()
				w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareGroupHeartbeat}, TopLevel: true, Err: fenced})
				m.wantNothing(20 * time.Second)
				if hits := joins.Hits(); hits != 2 {
					t.Errorf("%d joins, want 2", hits)
				}
				m.ack(source.Applied, acks(source.Accept, f)...)
				w.produce(0, 1)
				wantAcquired(t, m.fetch(), "10", 1)
			})
		})
	}
}

// Run leaves at the end of its context too.
func TestRunLeaves(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		m := share.New(share.Config{Client: w.client(), Group: group, Topic: topic, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, func() {
			if n := len(w.GroupInfo(group).Members); n != 1 {
				t.Errorf("%d members after a minute, want 1", n)
			}
			cancel()
		})
		if err := m.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if g := w.GroupInfo(group); g != nil { // without members and state it is gone
			t.Errorf("%d members, want none", len(g.Members))
		}
		if n := len(m.Assigned()); n != 0 {
			t.Errorf("%d partitions assigned after leaving", n)
		}
	})
}

// A context ends the wait for an assignment at once, and a request that is on
// its way not at all: what it acquires is not lost.
func TestFetchAndContext(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		idle := share.New(share.Config{Client: w.client(), Group: group, Topic: topic, Logger: slog.New(slog.DiscardHandler)})
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		limits := source.Limits{MaxRecords: 1, MaxBytes: 1, MaxWait: time.Minute}
		if _, err := idle.Fetch(ctx, limits); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("fetch = %v after %v, want the context's error after 1s", err, time.Since(start))
		}
		limits.MaxWait = time.Second
		if _, err := idle.Fetch(t.Context(), limits); !errors.Is(err, share.ErrNotAssigned) || time.Since(start) != 2*time.Second {
			t.Errorf("fetch = %v after %v, want %v after 2s", err, time.Since(start), share.ErrNotAssigned)
		}

		m := w.join()
		m.wantNothing(time.Second)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wait := w.produceLater(3*time.Second, 0)
		limits.MaxWait = time.Minute
		f, err := m.Fetch(ctx, limits)
		wait()
		if err != nil {
			t.Fatal(err)
		}
		wantAcquired(t, f, "0", 1)
	})
}
