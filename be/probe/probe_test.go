package probe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"shoal/be/probe"
	"shoal/be/source"
	"shoal/internal/offsets"
	"shoal/internal/testkafka"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everywhere runs a test on the embedded broker and on a real one.
func everywhere(t *testing.T, test func(*testing.T, *world)) {
	t.Run("kfake", func(t *testing.T) {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		test(t, newWorld(t, strings.Join(cluster.ListenAddrs(), ","), nil))
	})
	t.Run("kafka", func(t *testing.T) {
		test(t, newWorld(t, testkafka.Shared(t).Addr(), nil))
	})
}

// world is a topic of one partition and clients of its broker.
type world struct {
	t       *testing.T
	brokers []string
	admin   *kadm.Client
	topic   string
	id      source.TopicID

	uncommitted bool // what it probes as
}

func newWorld(t *testing.T, brokers string, configs map[string]string) *world {
	w := &world{t: t, brokers: strings.Split(brokers, ","), topic: fmt.Sprintf("probe-%d", time.Now().UnixNano())}
	w.admin = kadm.NewClient(w.client())
	w.create(configs)
	return w
}

func (w *world) client(options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(w.brokers...), kgo.DefaultProduceTopic(w.topic))...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	return client
}

func (w *world) create(configs map[string]string) {
	values := map[string]*string{}
	for k, v := range configs {
		values[k] = &v
	}
	created, err := w.admin.CreateTopic(w.t.Context(), 1, 1, values, w.topic)
	if err != nil {
		w.t.Fatal(err)
	}
	w.id = source.TopicID(created.ID)
}

// produce writes records one after the other, each a batch of its own.
func (w *world) produce(client *kgo.Client, keys ...string) {
	for _, k := range keys {
		if err := client.ProduceSync(w.t.Context(), &kgo.Record{Key: []byte(k), Value: []byte("v")}).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// transaction produces records and ends them, or leaves them open for "".
func (w *world) transaction(client *kgo.Client, end string, keys ...string) {
	if err := client.BeginTransaction(); err != nil {
		w.t.Fatal(err)
	}
	w.produce(client, keys...)
	if end == "" {
		return
	}
	if err := client.EndTransaction(w.t.Context(), kgo.TransactionEndTry(end == "commit")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) probe(ranges ...offsets.Range) (probe.Result, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	return probe.Run(ctx, w.client(), probe.Request{Topic: w.topic, TopicID: w.id, Uncommitted: w.uncommitted, Offsets: offsets.Of(ranges...)})
}

// expect probes and compares the three sets.
func (w *world) expect(void, expired, held string, ranges ...offsets.Range) {
	w.t.Helper()
	got, err := w.probe(ranges...)
	if err != nil || got.Void.String() != void || got.Expired.String() != expired || got.Held.String() != held {
		w.t.Errorf("probe of %v = void %v, expired %v, held %v (log start %d, stable %d), %v; want %s, %s, %s",
			offsets.Of(ranges...), got.Void, got.Expired, got.Held, got.LogStart, got.LastStable, err, void, expired, held)
	}
}

func TestRecordsAndTheEnd(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		w.expect("none", "none", "none", offsets.Range{First: 0, Last: 5}) // an empty topic
		w.produce(w.client(), "a", "b", "c", "d")
		w.expect("none", "none", "0-3", offsets.Range{First: 0, Last: 100})
		w.expect("none", "none", "1,3", offsets.Range{First: 1, Last: 1}, offsets.Range{First: 3, Last: 9})
		w.expect("none", "none", "none", offsets.Range{First: 50, Last: 60}) // beyond the end
		w.expect("none", "none", "none")
	})
}

// C36: three records commit, two abort, one commits, one is left open; each
// transaction ends with a marker, which is an offset too.
func TestTransactions(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		producer := w.client(kgo.TransactionalID("tx-" + w.topic))
		w.transaction(producer, "commit", "a", "b", "c")
		w.transaction(producer, "abort", "d", "e")
		w.transaction(producer, "commit", "f")
		w.expect("3-6,8", "none", "0-2,7", offsets.Range{First: 0, Last: 100})
		w.expect("5", "none", "none", offsets.Range{First: 5, Last: 5}) // from within the aborted one
		w.transaction(producer, "", "open")
		w.produce(w.client(), "after the open one")
		w.expect("3-6,8", "none", "0-2,7", offsets.Range{First: 0, Last: 100})
		w.uncommitted = true
		w.expect("3,6,8", "none", "0-2,4-5,7,9-10", offsets.Range{First: 0, Last: 100})
		w.uncommitted = false
		if err := producer.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
		w.expect("9,11", "none", "10", offsets.Range{First: 9, Last: 100})
	})
}

func TestDeletedRecords(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		w.produce(w.client(), "a", "b", "c", "d", "e")
		w.deleteBefore(3)
		w.expect("none", "0-2", "3-4", offsets.Range{First: 0, Last: 9})
		w.expect("none", "1", "4", offsets.Range{First: 1, Last: 1}, offsets.Range{First: 4, Last: 4})
		w.deleteBefore(5) // all of them
		w.expect("none", "0-4", "none", offsets.Range{First: 0, Last: 9})
	})
}

func (w *world) deleteBefore(offset int64) {
	var list kadm.Offsets
	list.Add(kadm.Offset{Topic: w.topic, Partition: 0, At: offset})
	resp, err := w.admin.DeleteRecords(w.t.Context(), list)
	if err := errors.Join(err, resp.Error()); err != nil {
		w.t.Fatal(err)
	}
}

// A topic made anew under the old name has other records at the same offsets.
func TestTopicMadeAnew(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		w.produce(w.client(), "a")
		old := w.id
		if _, err := w.admin.DeleteTopic(t.Context(), w.topic); err != nil {
			t.Fatal(err)
		}
		w.create(nil)
		w.produce(w.client(), "b", "c")
		again := w.id
		w.id = old
		if got, err := w.probe(offsets.Range{First: 0, Last: 9}); !errors.Is(err, probe.ErrNoTopic) || len(got.Void)+len(got.Expired)+len(got.Held) > 0 {
			t.Errorf("the old topic: %+v, %v", got, err)
		}
		w.id = again
		w.expect("none", "none", "0-1", offsets.Range{First: 0, Last: 9})
	})
}

func TestNoSuchPartition(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		_, err := probe.Run(t.Context(), w.client(), probe.Request{Topic: w.topic, TopicID: w.id, Partition: 7, Offsets: offsets.Of(offsets.Range{})})
		if err == nil || !strings.Contains(err.Error(), "no such partition") {
			t.Errorf("err = %v", err)
		}
	})
}

// TestCompacted waits until the cleaner has been at the log; what it removed is
// void, also where a whole batch is gone.
func TestCompacted(t *testing.T) {
	w := newWorld(t, testkafka.Shared(t).Addr(), map[string]string{
		"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "min.compaction.lag.ms": "0", "max.compaction.lag.ms": "100"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	producer := w.client(kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()))
	pace := time.NewTicker(200 * time.Millisecond)
	defer pace.Stop()
	for n := int64(0); ; n++ {
		w.produce(producer, "same", "same") // a new segment, so that the older ones can be cleaned
		got, err := w.probe(offsets.Range{First: 0, Last: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		if all := got.Void.Union(got.Held); all.String() != fmt.Sprintf("0-%d", 2*n+1) || len(got.Expired) > 0 || len(got.Void.Intersect(got.Held)) > 0 {
			t.Fatalf("void %v, held %v, expired %v of %d records", got.Void, got.Held, got.Expired, 2*n+2)
		}
		if len(got.Void) > 0 {
			w.expect(got.Void[:1].String(), "none", "none", got.Void[0])
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("the log was not cleaned")
		case <-pace.C:
		}
	}
}

// A broker that cannot be reached is an error when time is up, not an answer.
func TestNoBroker(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	w := &world{t: t, brokers: []string{"127.0.0.1:1"}}
	got, err := probe.Run(ctx, w.client(), probe.Request{Topic: "t", Offsets: offsets.Of(offsets.Range{First: 0, Last: 3})})
	if err == nil || len(got.Void)+len(got.Expired)+len(got.Held) > 0 {
		t.Errorf("probe = %+v, %v", got, err)
	}
}
