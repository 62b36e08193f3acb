package virtual

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestBrokerTrouble: for a minute something goes wrong at the brokers, again
// and again; then it stops.
func TestBrokerTrouble(t *testing.T) {
	answers := func(key kmsg.Key, n int, errs ...*kerr.Error) func(*world, context.Context) {
		return func(w *world, ctx context.Context) {
			w.refuse(ctx, kfake.Fault{Keys: []kmsg.Key{key}, TopLevel: true}, n, errs)
		}
	}
	partitions := func(key kmsg.Key, n int, errs ...*kerr.Error) func(*world, context.Context) {
		return func(w *world, ctx context.Context) {
			w.refuse(ctx, kfake.Fault{Keys: []kmsg.Key{key}, Topic: topic}, n, errs)
		}
	}
	for _, tt := range []struct {
		name    string
		trouble func(w *world, ctx context.Context) // until ctx ends
	}{
		{"fetches refused", answers(kmsg.ShareFetch, 7, kerr.ShareSessionNotFound, kerr.InvalidShareSessionEpoch, kerr.UnknownServerError)},
		{"partitions refused to fetches", partitions(kmsg.ShareFetch, 5, kerr.NotLeaderForPartition, kerr.UnknownTopicOrPartition, kerr.KafkaStorageError)},
		{"acknowledgements refused", answers(kmsg.ShareAcknowledge, 2, kerr.ShareSessionNotFound, kerr.InvalidShareSessionEpoch, kerr.UnknownServerError)},
		{"partitions refused to acknowledgements", partitions(kmsg.ShareAcknowledge, 2, kerr.InvalidRecordState, kerr.NotLeaderForPartition, kerr.UnknownServerError)},
		{"heartbeats refused", answers(kmsg.ShareGroupHeartbeat, 3, kerr.UnknownMemberID, kerr.FencedMemberEpoch, kerr.NotCoordinator, kerr.CoordinatorLoadInProgress)},
		{"requests lost", (*world).loseRequests},
		{"answers lost", (*world).loseAnswers},
		{"leaders move", (*world).moveLeaders},
		{"coordinators move", (*world).moveCoordinators},
		{"cut off", (*world).cutOffBrokers},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 2, inMemory, func(w *world) {
				w.faults.set(func(f *faults) { // so that locks are renewed
					f.write = func(*backend) (time.Duration, error) { return lock * 2 / 5, nil }
				})
				w.createJob(6)
				stop := w.producing(10)
				time.Sleep(5 * time.Second)
				ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
				defer cancel()
				tt.trouble(w, ctx)
				stop()
				w.settled(3 * lock)
			})
		})
	}
}

// refuse answers every n-th request that a fault is for with one of the errors.
func (w *world) refuse(ctx context.Context, fault kfake.Fault, n int, errs []*kerr.Error) {
	var handles []*kfake.FaultHandle
	for i, err := range errs {
		requests := 0
		fault.Err, fault.Count, fault.When = err, -1, func(kmsg.Request) bool {
			requests++
			return requests%(n*len(errs)) == n*i
		}
		handles = append(handles, w.broker.Fault(fault))
	}
	<-ctx.Done()
	for i, h := range handles {
		if h.Remove(); h.Hits() == 0 {
			w.t.Errorf("no request was answered with %s", errs[i].Message)
		}
	}
}

// loseRequests ends connections before a request on them is looked at.
func (w *world) loseRequests(ctx context.Context) {
	drop := every(11)
	for _, key := range []kmsg.Key{kmsg.ShareFetch, kmsg.ShareAcknowledge, kmsg.ShareGroupHeartbeat} {
		w.broker.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
			if ctx.Err() != nil {
				return nil, nil, false
			}
			w.broker.KeepControl()
			if drop() {
				return nil, errors.New("lost"), true
			}
			return nil, nil, false
		})
	}
	<-ctx.Done()
}

// loseAnswers ends a backend's connections when a request on them is carried
// out, each few seconds.
func (w *world) loseAnswers(ctx context.Context) {
	hosts := []string{w.backends[0].host.name, w.backends[1].host.name}
	n, next := 0, time.Now()
	h := w.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ShareFetch, kmsg.ShareAcknowledge}, Count: -1, When: func(kmsg.Request) bool {
		if time.Now().After(next) {
			n, next = n+1, time.Now().Add(7*time.Second)
			w.network.reset(hosts[n%2], brokerHost)
		}
		return false
	}})
	<-ctx.Done()
	h.Remove()
}

func (w *world) moveLeaders(ctx context.Context) {
	for n := int32(0); ctx.Err() == nil; n++ {
		if err := w.broker.MoveTopicPartition(topic, n%partitions, (n/partitions+n)%brokers); err != nil {
			w.t.Error(err)
		}
		time.Sleep(1700 * time.Millisecond)
	}
}

func (w *world) moveCoordinators(ctx context.Context) {
	for ctx.Err() == nil {
		w.broker.RehashCoordinators()
		time.Sleep(3 * time.Second)
	}
}

// cutOffBrokers cuts the backends off in turn.
func (w *world) cutOffBrokers(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		host := w.backends[n%2].host.name
		w.network.cut(host, brokerHost)
		time.Sleep(time.Duration(1+n*7%20) * time.Second)
		w.network.heal(host, brokerHost)
		time.Sleep(5 * time.Second)
	}
}
