package classic_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/classic"
	"shoal/be/source"
	"shoal/internal/testkafka"
)

// A place is a topic on a real broker, shared with no other test.
type place struct {
	t     testing.TB
	addr  string
	topic string
	prod  *kgo.Client
	admin *kadm.Client
}

func onBroker(t testing.TB, partitions int, configs map[string]string) *place {
	t.Helper()
	return placeOn(t, testkafka.Shared(t), partitions, configs)
}

func placeOn(t testing.TB, broker *testkafka.Broker, partitions int, configs map[string]string) *place {
	t.Helper()
	p := &place{t: t, addr: broker.Addr(), topic: broker.CreateTopic(t, partitions, configs)}
	p.prod = p.client()
	p.admin = kadm.NewClient(p.prod)
	return p
}

func (p *place) client(opts ...kgo.Opt) *kgo.Client {
	p.t.Helper()
	all := append([]kgo.Opt{kgo.SeedBrokers(strings.Split(p.addr, ",")...), kgo.DefaultProduceTopic(p.topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression())}, opts...)
	client, err := kgo.NewClient(all...)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(client.Close)
	return client
}

// produce writes one batch of n records.
func (p *place) produce(partition int32, n int) { p.t.Helper(); produce(p.t, p.prod, partition, n) }

func (p *place) describe() kadm.TopicDetail {
	p.t.Helper()
	topics, err := p.admin.ListTopics(p.t.Context(), p.topic)
	if err != nil {
		p.t.Fatal(err)
	}
	return topics[p.topic]
}

// read makes a reader of all partitions from their beginning.
func (p *place) read(change ...func(*classic.Config)) *reader {
	p.t.Helper()
	topic := p.describe()
	cfg := classic.Config{Client: p.client(classic.ClientOptions()...), Topic: p.topic, ID: "r", Logger: slog.New(slog.DiscardHandler)}
	for _, partition := range topic.Partitions.Sorted() {
		cfg.Starts = append(cfg.Starts, classic.Start{PartitionID: source.PartitionID{TopicID: source.TopicID(topic.ID), Partition: partition.Partition}})
	}
	for _, f := range change {
		f(&cfg)
	}
	return &reader{classic.New(cfg), p.t, source.Limits{MaxRecords: 100_000, MaxBytes: 50 << 20, MaxWait: 500 * time.Millisecond}}
}

// until fetches until offsets below end of partition 0 were handed out, or all
// time is up, and has what was told of it as one.
func (r *reader) until(end int64) (all source.Partition) {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !all.Acquired.Contains(end - 1); {
		if time.Now().After(deadline) {
			r.t.Fatalf("handed out %v, want all below %d", all.Acquired, end)
		}
		for _, p := range r.fetch().Partitions {
			if next := int64(len(all.Acquired)); next > 0 && p.Acquired[0].First != all.Acquired[0].Last+1 {
				r.t.Fatalf("%v came after %v", p.Acquired, all.Acquired)
			}
			all.Acquired, all.Gaps = all.Acquired.Union(p.Acquired), all.Gaps.Union(p.Gaps)
			all.Records = append(all.Records, p.Records...)
		}
	}
	return all
}

// C36: three commit, a thousand abort, two commit, one is left open.
func TestBrokerTransactions(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil)
	txns := p.client(kgo.TransactionalID(p.topic))
	transaction(t, txns, "commit", 3)
	transaction(t, txns, "abort", 1000)
	transaction(t, txns, "commit", 2)
	transaction(t, txns, "", 1)
	p.produce(0, 1)
	committed := p.read()
	if got := committed.until(1008); got.Acquired.String() != "0-1007" || got.Gaps.String() != "3-1004,1007" || len(got.Records) != 5 {
		t.Errorf("committed: %v, gaps %v, %d records", got.Acquired, got.Gaps, len(got.Records))
	}
	committed.wantNothing()
	if got := p.read(uncommitted).until(1010); got.Gaps.String() != "3,1004,1007" {
		t.Errorf("uncommitted: %v, gaps %v", got.Acquired, got.Gaps)
	}
	if err := txns.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	if got := committed.until(1011); got.Acquired.String() != "1008-1010" || got.Gaps.String() != "1008,1010" {
		t.Errorf("at the end: %v, gaps %v", got.Acquired, got.Gaps)
	}
}

// Beginning amid an aborted transaction, and amid a committed one.
func TestBrokerStartsAmidTransactions(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil)
	txns := p.client(kgo.TransactionalID(p.topic))
	for _, end := range []string{"abort", "commit", "abort"} {
		transaction(t, txns, end, 4)
	}
	for start, gaps := range map[int64]string{2: "2-4,9-14", 4: "4,9-14", 7: "9-14", 12: "12-14"} {
		if got := p.read(from(start)).until(15); got.Gaps.String() != gaps || got.Acquired.String() != fmt.Sprintf("%d-14", start) {
			t.Errorf("from %d: %v, gaps %v; want %s", start, got.Acquired, got.Gaps, gaps)
		}
	}
}

// C38: every codec, one partition each and all in one.
func TestBrokerCodecs(t *testing.T) {
	t.Parallel()
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	p := onBroker(t, len(codecs)+1, nil)
	for i, codec := range codecs {
		client := p.client(kgo.ProducerBatchCompression(codec))
		produce(t, client, int32(i), 100)
		produce(t, client, int32(len(codecs)), 100)
	}
	r := p.read()
	records := 0
	for records < 1000 {
		for _, part := range r.fetch().Partitions {
			for _, rec := range part.Records {
				if want := fmt.Sprintf("v%d", rec.Offset%100); string(rec.Value) != want {
					t.Fatalf("partition %d offset %d holds %q, want %s", part.Partition, rec.Offset, rec.Value, want)
				}
			}
			records += len(part.Records)
		}
	}
	r.wantNothing()
}

// What was compacted away is void, also where a whole batch is gone.
func TestBrokerCompacted(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, map[string]string{"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "100"})
	write := func(keys ...string) {
		var records []*kgo.Record
		for _, key := range keys {
			records = append(records, &kgo.Record{Key: []byte(key), Value: []byte("v")})
		}
		if err := p.prod.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "x", "y", "z", "b")
	// The cleaner looks each 15 seconds, and only at segments that a later
	// record has closed.
	for end := int64(8); ; end += 3 {
		write("x", "y", "z")
		got := p.read().until(end)
		if got.Gaps.Contains(1) {
			if got.Acquired.String() != fmt.Sprintf("0-%d", end-1) || !got.Gaps.Contains(3) || got.Gaps.Contains(0) || got.Gaps.Contains(4) {
				t.Errorf("gaps %v of %v, want 1-3 among them and neither 0 nor 4", got.Gaps, got.Acquired)
			}
			if int64(len(got.Records))+got.Gaps.Count() != end {
				t.Errorf("%d records and gaps %v do not make up %d", len(got.Records), got.Gaps, end)
			}
			return
		}
		if end > 3000 {
			t.Fatal("the log was not cleaned")
		}
	}
}

// C34: retention overtakes a job.
func TestBrokerDeletedRecords(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil)
	p.produce(0, 60)
	var list kadm.Offsets
	list.Add(kadm.Offset{Topic: p.topic, Partition: 0, At: 50})
	resp, err := p.admin.DeleteRecords(t.Context(), list)
	if err := errors.Join(err, resp.Error()); err != nil {
		t.Fatal(err)
	}
	var bad *classic.OutOfRangeError
	if err := trouble(p.read(from(10)).poll()); !errors.As(err, &bad) || bad.Position != 10 || bad.LogStart != 50 || bad.LogEnd != 60 {
		t.Errorf("trouble = %v", err)
	}
	r := p.read(from(10), skipExpired)
	f := r.fetch()
	if got := f.Partitions[0]; got.Acquired.String() != "10-49" || !slices.Equal(got.Expired, got.Acquired) {
		t.Errorf("fetch = %+v, want 10-49 expired", got)
	}
	want(t, r.fetch(), 0, "50-59", "none")
	if err := trouble(p.read(from(100)).poll()); !errors.As(err, &bad) || bad.LogEnd != 60 {
		t.Errorf("trouble = %v, want a position beyond the end", err)
	}
	want(t, p.readAndProduce(60), 0, "60", "none")
}

// readAndProduce reads at the log's end, which is no trouble.
func (p *place) readAndProduce(end int64) source.Fetch {
	p.t.Helper()
	r := p.read(from(end))
	r.wantNothing()
	p.produce(0, 1)
	return r.fetch()
}

// A topic made anew under the old name has other records at the same offsets.
func TestBrokerTopicMadeAnew(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil)
	p.produce(0, 3)
	r := p.read()
	want(t, r.fetch(), 0, "0-2", "none")
	if _, err := p.admin.DeleteTopic(t.Context(), p.topic); err != nil {
		t.Fatal(err)
	}
	if _, err := p.admin.CreateTopic(t.Context(), 1, 1, nil, p.topic); err != nil {
		t.Fatal(err)
	}
	produce(t, p.client(), 0, 10)
	for end := time.Now().Add(30 * time.Second); !errors.Is(trouble(r.poll()), classic.ErrNoTopic); {
		if time.Now().After(end) {
			t.Fatal("the topic's end was not noticed")
		}
	}
	if f := r.poll(); !f.Empty() || !errors.Is(trouble(f), classic.ErrNoTopic) {
		t.Errorf("fetch = %+v, want ErrNoTopic", f)
	}
	p.admin = kadm.NewClient(p.client()) // without the former topic in its cache
	want(t, p.read().withinMinute(), 0, "0-9", "none")
}

// Messages of 16 MiB come, however small the limits.
func TestBrokerLargeMessages(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 2, map[string]string{"max.message.bytes": fmt.Sprint(17 << 20)})
	producer := p.client(kgo.ProducerBatchMaxBytes(20 << 20))
	for i := range int32(4) {
		if err := producer.ProduceSync(t.Context(), &kgo.Record{Partition: i % 2, Value: make([]byte, 16<<20)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	r := p.read()
	r.limits.MaxBytes = 1
	for records := 0; records < 4; records++ {
		if f := r.fetch(); f.Records() != 1 {
			t.Fatalf("a fetch brought %d records", f.Records())
		}
	}
}

// C48: the leader moves, and then it dies; everything is read once.
func TestBrokerLeaderDies(t *testing.T) {
	t.Parallel()
	broker := testkafka.Start(t, testkafka.Nodes(3))
	p := placeOn(t, broker, 1, nil)
	if p.leader() == 1 { // the only controller
		p.moveLeader(2, 3, 1)
	}
	r := p.read()
	p.produce(0, 10)
	want(t, r.fetch(), 0, "0-9", "none")
	old := p.leader()
	p.moveLeader(5-old, old, 1)
	p.produce(0, 10)
	want(t, r.withinMinute(), 0, "10-19", "none")
	broker.Kill(t, int(p.leader()))
	p.produce(0, 10)
	want(t, r.withinMinute(), 0, "20-29", "none")
}

// withinMinute fetches until there are records.
func (r *reader) withinMinute() source.Fetch {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if f := r.poll(); !f.Empty() {
			f.Partitions = slices.DeleteFunc(f.Partitions, func(p source.Partition) bool { return p.Err != nil })
			return f
		}
	}
	r.t.Fatal("nothing within a minute")
	return source.Fetch{}
}

func (p *place) leader() int32 { p.t.Helper(); return p.describe().Partitions[0].Leader }

// moveLeader has the first of replicas lead.
func (p *place) moveLeader(replicas ...int32) {
	p.t.Helper()
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(p.topic, 0, replicas)
	if _, err := p.admin.AlterPartitionAssignments(p.t.Context(), req); err != nil {
		p.t.Fatal(err)
	}
	for p.leader() != replicas[0] {
		// Without an election the former leader stays while it can.
		var set kadm.TopicsSet
		set.Add(p.topic, 0)
		if _, err := p.admin.ElectLeaders(p.t.Context(), kadm.ElectPreferredReplica, set); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Kafka 3.9 has no share groups, and is read all the same.
func TestBroker39(t *testing.T) {
	t.Parallel()
	p := placeOn(t, testkafka.Start(t, testkafka.Version("3.9.1")), 1, nil)
	p.produce(0, 10)
	want(t, p.read().fetch(), 0, "0-9", "none")
}

// BenchmarkFetch fetches and decodes 2,000,000 records of 100 bytes, from one
// partition and from eight.
func BenchmarkFetch(b *testing.B) {
	const total = 2_000_000
	for _, partitions := range []int{1, 8} {
		p := onBroker(b, partitions, nil)
		p.fill(total, partitions)
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			p.t = b
			b.ReportAllocs()
			for b.Loop() {
				r := p.read()
				for n := 0; n < total; {
					n += r.fetch().Records()
				}
			}
			b.ReportMetric(float64(total*b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// fill produces total records in batches of a MiB at most.
func (p *place) fill(total, partitions int) {
	p.t.Helper()
	failed := make(chan error, 1)
	for i := range total {
		p.prod.Produce(context.Background(), &kgo.Record{Partition: int32(i % partitions), Value: make([]byte, 100)}, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	if err := p.prod.Flush(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-failed:
		p.t.Fatal(err)
	default:
	}
}
