package classic_test

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"shoal/be/classic"
	"shoal/be/source"
	"shoal/internal/offsets"
)

// TestMain has one processor for all: timers of a bubble that fire on two at
// the same instant crash the race detector (golang/go#78156).
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}

const topic = "t"

// A world is a fake cluster with one topic, in a bubble of virtual time.
type world struct {
	t *testing.T
	*kfake.Cluster
	dial kgo.Opt
	prod *kgo.Client
}

// inWorld runs test with a cluster of some brokers and a topic of some
// partitions.
func inWorld(t *testing.T, brokers int, partitions int32, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		network := new(kfake.VirtualNetwork)
		ports := make([]int, brokers)
		for i := range ports {
			ports[i] = 9092 + i
		}
		cluster, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(partitions, topic),
			kfake.ListenFn(network.Listen), kfake.Ports(ports...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		w := &world{t: t, Cluster: cluster, dial: kgo.Dialer(network.DialContext)}
		w.prod = w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		test(t, w)
	})
}

func (w *world) client(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(w.ListenAddrs()...), kgo.DefaultProduceTopic(topic), w.dial)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	return client
}

// produce writes a batch of n records to a partition.
func (w *world) produce(partition int32, n int) {
	w.t.Helper()
	produce(w.t, w.prod, partition, n)
}

func produce(t testing.TB, client *kgo.Client, partition int32, n int) {
	t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Partition: partition, Value: fmt.Appendf(nil, "v%d", i)}
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// transaction produces records in a transaction and ends it, or leaves it open
// for "".
func transaction(t testing.TB, client *kgo.Client, end string, n int) {
	t.Helper()
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produce(t, client, 0, n)
	if end == "" {
		return
	}
	if err := client.EndTransaction(t.Context(), kgo.TransactionEndTry(end == "commit")); err != nil {
		t.Fatal(err)
	}
}

// A reader reads with its way of failing the test.
type reader struct {
	*classic.Reader
	t      testing.TB
	limits source.Limits
}

// read makes a reader of all partitions from their beginning.
func (w *world) read(change ...func(*classic.Config)) *reader {
	w.t.Helper()
	info := w.TopicInfo(topic)
	cfg := classic.Config{Client: w.client(classic.ClientOptions()...), Topic: topic, ID: "r", Logger: slog.New(slog.DiscardHandler)}
	for _, p := range w.PartitionInfos(topic) {
		cfg.Starts = append(cfg.Starts, classic.Start{PartitionID: source.PartitionID{TopicID: info.TopicID, Partition: p.Partition}})
	}
	for _, f := range change {
		f(&cfg)
	}
	return &reader{classic.New(cfg), w.t, source.Limits{MaxRecords: 1000, MaxBytes: 1 << 20, MaxWait: 500 * time.Millisecond}}
}

func uncommitted(cfg *classic.Config) { cfg.Uncommitted = true }
func skipExpired(cfg *classic.Config) { cfg.SkipExpired = true }

// from has all partitions read from an offset on.
func from(offset int64) func(*classic.Config) {
	return func(cfg *classic.Config) {
		for i := range cfg.Starts {
			cfg.Starts[i].Offset = offset
		}
	}
}

// fetch is a fetch that brings something and has no trouble.
func (r *reader) fetch() source.Fetch {
	r.t.Helper()
	f := r.poll()
	if err := trouble(f); err != nil || f.Empty() {
		r.t.Fatalf("fetch brought nothing: %v", err)
	}
	return f
}

// poll is a fetch whatever it brings.
func (r *reader) poll() source.Fetch {
	r.t.Helper()
	f, err := r.Fetch(r.t.Context(), r.limits)
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// trouble is the first trouble that f tells of.
func trouble(f source.Fetch) error {
	for i := range f.Partitions {
		if f.Partitions[i].Err != nil {
			return f.Partitions[i].Err
		}
	}
	return nil
}

// want fails unless f brought, and only brought, these offsets of one partition;
// "none" for no gaps.
func want(t testing.TB, f source.Fetch, partition int32, acquired, gaps string) source.Partition {
	t.Helper()
	if len(f.Partitions) != 1 {
		t.Fatalf("fetch brought %d partitions, want one: %+v", len(f.Partitions), f.Partitions)
	}
	p := f.Partitions[0]
	if p.Partition != partition || p.Acquired.String() != acquired || p.Gaps.String() != gaps || p.Err != nil {
		t.Fatalf("fetch brought %d:%v with gaps %v (%v), want %d:%s with %s", p.Partition, p.Acquired, p.Gaps, p.Err, partition, acquired, gaps)
	}
	var held offsets.Set
	for _, r := range p.Records {
		held = append(held, offsets.Range{First: r.Offset, Last: r.Offset})
	}
	if all := offsets.Of(held...).Union(p.Gaps).Union(p.Expired); !slices.Equal(all, p.Acquired) || int64(len(p.Records)) != p.Acquired.Count()-p.Gaps.Count()-p.Expired.Count() {
		t.Fatalf("records %v, gaps %v and expired %v do not make up %v", offsets.Of(held...), p.Gaps, p.Expired, p.Acquired)
	}
	return p
}

// wantNothing polls once in vain.
func (r *reader) wantNothing() {
	r.t.Helper()
	if f := r.poll(); len(f.Partitions) > 0 {
		r.t.Fatalf("fetch brought %+v, want nothing", f.Partitions)
	}
}

// Limits are kept to the record, and what does not fit comes next.
func TestLimits(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 10)
		w.produce(0, 10)
		r := w.read(from(3))
		r.limits.MaxRecords = 5
		f := r.fetch()
		want(t, f, 0, "3-7", "none")
		if !f.More {
			t.Error("there is more, and it does not say so")
		}
		r.limits.MaxBytes = 5 // v8, v9, v0
		want(t, r.fetch(), 0, "8-10", "none")
		r.limits = source.Limits{MaxRecords: 100, MaxBytes: 1 << 20, MaxWait: time.Minute}
		f = r.fetch()
		want(t, f, 0, "11-19", "none")
		if f.More {
			t.Error("there is no more, and it says so")
		}
	})
}

// What is in memory and was not handed out is told.
func TestInHand(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 1000)
		r := w.read()
		r.limits.MaxRecords = 400
		for _, want := range []int64{600 * 4, 200 * 4, 0} { // such as v999
			if got := r.fetch().InHand; got != want {
				t.Errorf("%d bytes are in hand, want %d", got, want)
			}
		}
		r.QueueAcks(source.Acks(r.Assigned()[0], offsets.Of(offsets.Range{First: 0, Last: 999}), source.Release))
		if got := r.fetch().InHand; got != 600*4 {
			t.Errorf("%d bytes are in hand once more", got)
		}
		r.QueueAcks(source.Acks(r.Assigned()[0], offsets.Of(offsets.Range{First: 0, Last: 0}), source.Release))
		r.limits.MaxRecords = 1000
		if got := r.fetch().InHand; got != 0 {
			t.Errorf("%d bytes are in hand of what was read again", got)
		}
	})
}

// What is released is read again from the lowest offset on; nothing else moves
// the position.
func TestRelease(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 30)
		r := w.read()
		r.limits.MaxRecords = 10
		first := want(t, r.fetch(), 0, "0-9", "none")
		r.QueueAcks(source.Acks(first.ID(), first.Acquired, source.Accept))
		second := want(t, r.fetch(), 0, "10-19", "none")
		release := append(source.Acks(second.ID(), offsets.Of(offsets.Range{First: 17, Last: 19}), source.Release),
			source.Acks(second.ID(), offsets.Of(offsets.Range{First: 12, Last: 14}), source.Release)...)
		results, until := r.Acknowledge(t.Context(), release)
		if len(results) != 1 || results[0].Outcome != source.Applied || !until.IsZero() {
			t.Errorf("results %v, locked until %v", results, until)
		}
		want(t, r.fetch(), 0, "12-21", "none")
		want(t, r.fetch(), 0, "22-29", "none")
		r.wantNothing()
		r.QueueAcks(source.Acks(source.PartitionID{Partition: 7}, first.Acquired, source.Release)) // not ours
		if results := r.Close(t.Context()); len(results) > 0 {
			t.Errorf("Close = %v", results)
		}
	})
}

// C36: what is aborted is void, and so are the markers; an open transaction
// holds back what follows it.
func TestTransactions(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		txns := w.client(kgo.TransactionalID("x"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		transaction(t, txns, "commit", 3)
		transaction(t, txns, "abort", 1000)
		transaction(t, txns, "commit", 2)
		committed, all := w.read(), w.read(uncommitted)
		committed.limits.MaxRecords, all.limits.MaxRecords = 2000, 2000
		want(t, committed.fetch(), 0, "0-1007", "3-1004,1007")
		committed.wantNothing()
		transaction(t, txns, "", 1)
		w.produce(0, 1)
		committed.wantNothing()
		want(t, all.fetch(), 0, "0-1009", "3,1004,1007")
		if err := txns.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		want(t, committed.fetch(), 0, "1008-1010", "1010")
	})
}

// The last marker may come alone.
func TestVoidsAlone(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		txns := w.client(kgo.TransactionalID("x"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		transaction(t, txns, "abort", 5)
		f := w.read().fetch()
		want(t, f, 0, "0-5", "0-5")
	})
}

func TestCompacted(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		if err := w.CreateTopic("c", 1, map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "min.compaction.lag.ms": "0", "segment.bytes": "200"}); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "b", "b", "c", "b", "d"} {
			r := &kgo.Record{Topic: "c", Key: []byte(key), Value: make([]byte, 100)}
			if err := w.prod.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		w.Compact()
		r := w.read(func(cfg *classic.Config) {
			cfg.Topic, cfg.Starts[0].TopicID = "c", w.TopicInfo("c").TopicID
		})
		want(t, r.fetch(), 0, "0-5", "1-2")
	})
}

// C34: a position below the log's start stands still, or is settled as expired;
// the other partitions go on.
func TestExpired(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.produce(0, 60)
		if err := w.DeleteRecords(topic, 0, 50); err != nil {
			t.Fatal(err)
		}
		r := w.read(from(10))
		w.produce(1, 20)
		for range 3 {
			f := r.poll()
			var bad *classic.OutOfRangeError
			if !errors.As(trouble(f), &bad) || !strings.Contains(bad.Error(), "partition 0: lost 10..49 (40)") {
				t.Fatalf("fetch = %+v, want what was lost", f.Partitions)
			}
		}
		skips := w.read(from(10), skipExpired)
		skips.limits.MaxRecords = 1000
		for got := map[int32]string{}; len(got) < 2; {
			f := skips.poll()
			for _, p := range f.Partitions {
				if got[p.Partition] += fmt.Sprintf("%v expired %v;", p.Acquired, p.Expired); p.Err != nil {
					t.Fatal(p.Err)
				}
			}
			if wanted := "10-49 expired 10-49;"; got[0] != "" && got[0] != wanted {
				t.Fatalf("partition 0 brought %s, want %s", got[0], wanted)
			}
		}
		want(t, skips.fetch(), 0, "50-59", "none")
	})
}

// A position beyond the log is an error also once the log has grown past it.
func TestTruncated(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 2)
		r := w.read(from(100))
		for range 2 {
			if err := trouble(r.poll()); err == nil || !strings.Contains(err.Error(), "position 100 is beyond the log, which has offsets 0..1") {
				t.Fatalf("trouble = %v", err)
			}
			w.produce(0, 200)
		}
	})
}

// A topic made anew has another id, and nothing of it is read.
func TestTopicMadeAnew(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 3)
		r := w.read()
		want(t, r.fetch(), 0, "0-2", "none")
		if err := w.DeleteTopic(topic); err != nil {
			t.Fatal(err)
		}
		if err := w.CreateTopic(topic, 1, nil); err != nil {
			t.Fatal(err)
		}
		produce(t, w.client(kgo.RecordPartitioner(kgo.ManualPartitioner())), 0, 10)
		for range 20 {
			if f := r.poll(); !errors.Is(trouble(f), classic.ErrNoTopic) || !f.Empty() {
				t.Fatalf("fetch = %+v, want ErrNoTopic", f.Partitions)
			}
		}
	})
}
