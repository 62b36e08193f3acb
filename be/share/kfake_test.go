package share_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"shoal/be/share"
	"shoal/be/source"
)

// TestMain has one processor for all: timers of a bubble that fire on two at
// the same instant crash the race detector (golang/go#78156).
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}

const (
	group = "g"
	topic = "t"
	lock  = 30 * time.Second // kfake sweeps expired locks each second
)

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
			kfake.ListenFn(network.Listen), kfake.Ports(ports...), kfake.BrokerConfigs(map[string]string{
				"group.share.record.lock.duration.ms":    fmt.Sprint(lock.Milliseconds()),
				"share.record.lock.sweep.interval.ms":    "1000",
				"group.share.heartbeat.interval.ms":      "5000",
				"group.share.partition.max.record.locks": "2000",
			}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		cluster.SetGroupConfigs(group, map[string]string{"share.auto.offset.reset": "earliest"})
		w := &world{t: t, Cluster: cluster, dial: kgo.Dialer(network.DialContext)}
		w.prod = w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		test(t, w)
	})
}

func (w *world) client(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(w.ListenAddrs()...), w.dial)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	return client
}

// produce writes a batch of n records to a partition.
func (w *world) produce(partition int32, n int) {
	w.t.Helper()
	produce(w.t, w.prod, topic, partition, n)
}

// produceLater writes one record after d. The test calls wait before it ends.
func (w *world) produceLater(d time.Duration, partition int32) (wait func()) {
	done := make(chan struct{})
	time.AfterFunc(d, func() {
		defer close(done)
		w.produce(partition, 1)
	})
	return func() { <-done }
}

func produce(t testing.TB, client *kgo.Client, topic string, partition int32, n int) {
	t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Appendf(nil, "v%d", i)}
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// A member is a running member with its way of failing the test.
type member struct {
	*share.Member
	t      testing.TB
	client *kgo.Client
	left   chan error
	limits source.Limits
}

// join starts a member whose end comes with the test's, unless it was closed.
func (w *world) join() *member { return join(w.t, w.client(share.ClientOptions()...), group, topic) }

func join(t testing.TB, client *kgo.Client, group, topic string) *member {
	m := &member{
		Member: share.New(share.Config{Client: client, Group: group, Topic: topic, Logger: slog.New(slog.DiscardHandler)}),
		t:      t, client: client, left: make(chan error, 1), limits: limits,
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.left <- m.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return m
}

var limits = source.Limits{MaxRecords: 500, MaxBytes: 1 << 20, MaxWait: 500 * time.Millisecond}

// fetch fetches until something was acquired, and fails after a generous time.
func (m *member) fetch() source.Fetch {
	m.t.Helper()
	f, err := m.poll(30 * time.Second)
	if err != nil || f.Empty() {
		m.t.Fatalf("nothing was acquired: lost %v, %v", f.Lost, err)
	}
	return f
}

// poll fetches until something was acquired or lost, or the time is up. Errors
// that pass are passed over.
func (m *member) poll(d time.Duration) (f source.Fetch, err error) {
	m.t.Helper()
	for end := time.Now().Add(d); ; {
		f, err = m.Fetch(m.t.Context(), m.limits)
		if !f.Empty() || len(f.Lost) > 0 || !time.Now().Before(end) {
			return f, err
		}
	}
}

// wantNothing fails if something can be acquired.
func (m *member) wantNothing(d time.Duration) {
	m.t.Helper()
	if f, _ := m.poll(d); !f.Empty() {
		m.t.Fatalf("acquired %v, want nothing", f.Partitions)
	}
}

// acks answers all that fetches acquired, as the loader would: where it accepts,
// gaps are gaps and what could not be read is left alone.
func acks(how source.AckType, fetches ...source.Fetch) (acks []source.Ack) {
	for _, f := range fetches {
		for _, p := range f.Partitions {
			if how != source.Accept {
				acks = append(acks, source.Acks(p.ID(), p.Acquired, how)...)
				continue
			}
			void := p.Gaps.Union(p.Unproven)
			acks = append(acks, source.Acks(p.ID(), void, source.Gap)...)
			acks = append(acks, source.Acks(p.ID(), p.Acquired.Subtract(void).Subtract(p.Unread), how)...)
		}
	}
	return acks
}

// ack acknowledges now and wants one outcome for all partitions.
func (m *member) ack(want source.Outcome, acks ...source.Ack) time.Time {
	m.t.Helper()
	results, until := m.Acknowledge(m.t.Context(), acks)
	wantOutcome(m.t, results, want)
	return until
}

func wantOutcome(t testing.TB, results []source.AckResult, want source.Outcome) {
	t.Helper()
	if len(results) == 0 {
		t.Fatalf("no results, want %v", want)
	}
	for _, r := range results {
		if r.Outcome != want || (r.Err == nil) != (want == source.Applied) {
			t.Fatalf("acknowledgement of partition %d: %v, %v; want %v", r.Partition, r.Outcome, r.Err, want)
		}
	}
}

// wantAcquired compares what a fetch acquired of its only partition.
func wantAcquired(t testing.TB, f source.Fetch, acquired string, deliveries int16) source.Partition {
	t.Helper()
	if len(f.Partitions) != 1 {
		t.Fatalf("fetch brought %d partitions, want 1", len(f.Partitions))
	}
	p := f.Partitions[0]
	if p.Acquired.String() != acquired || p.Deliveries != deliveries || p.Err != nil {
		t.Fatalf("acquired %v at delivery %d (%v), want %s at %d", p.Acquired, p.Deliveries, p.Err, acquired, deliveries)
	}
	return p
}
