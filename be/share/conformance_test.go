package share_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/source"
	"shoal/internal/offsets"
	"shoal/internal/testkafka"
)

// Control records lie inside acquired ranges, aborted records outside, though
// the batches carry them all.
func TestBrokerTransactions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ isolation, acquired, gaps string }{
		{"read_committed", "0-2,5-8,11-14,17", "2,5,8,11,14,17"},
		{"read_uncommitted", "0-17", "2,5,8,11,14,17"},
	} {
		t.Run(tt.isolation, func(t *testing.T) {
			p := onBroker(t, 1, nil, config{"share.isolation.level": tt.isolation})
			txns := p.client(kgo.TransactionalID(p.topic), kgo.DefaultProduceTopic(p.topic))
			for i := range 6 {
				if err := txns.BeginTransaction(); err != nil {
					t.Fatal(err)
				}
				values := []*kgo.Record{{Value: []byte{byte(i)}}, {Value: []byte{byte(i)}}}
				if err := txns.ProduceSync(t.Context(), values...).FirstErr(); err != nil {
					t.Fatal(err)
				}
				if err := txns.EndTransaction(t.Context(), kgo.TransactionEndTry(i%2 == 0)); err != nil {
					t.Fatal(err)
				}
			}
			m := p.join()
			f := m.fetch()
			got := wantAcquired(t, f, tt.acquired, 1)
			if got.Gaps.String() != tt.gaps {
				t.Errorf("gaps %v, want %s", got.Gaps, tt.gaps)
			}
			for _, r := range got.Records {
				if txn := r.Offset / 3; int64(r.Value[0]) != txn || !got.Acquired.Contains(r.Offset) {
					t.Errorf("record %d has the value of txn %d, want %d", r.Offset, r.Value[0], txn)
				}
			}
			m.ack(source.Applied, acks(source.Accept, f)...)
			p.wantLag(0)
		})
	}
}

// A batch of the producer is acquired whole, and the window rounds up to it.
func TestBrokerRoundsUpToBatches(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil, config{"share.partition.max.record.locks": "100"})
	for range 10 {
		p.produce(0, 30)
	}
	m := p.join()
	m.limits.MaxRecords = 10
	var fetches []source.Fetch
	for _, want := range []string{"0-29", "30-59", "60-89", "90-119"} {
		f := m.fetch()
		wantAcquired(t, f, want, 1)
		fetches = append(fetches, f)
	}
	m.wantNothing(2 * m.limits.MaxWait) // the window of 100 is full
	m.ack(source.Applied, acks(source.Accept, fetches...)...)
	wantAcquired(t, m.fetch(), "120-149", 1)
	p.wantLag(180)
}

// Two members share a partition: each record goes to one of them.
func TestBrokerSharesPartition(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil, nil)
	a, b := p.join(), p.join()
	a.poll(a.limits.MaxWait) // both have a session before there is anything
	b.poll(b.limits.MaxWait)
	for range 20 {
		p.produce(0, 10)
	}
	var all offsets.Set
	for count := int64(0); count < 200; count = all.Count() {
		for _, m := range []*member{a, b} {
			m.limits.MaxRecords = 10
			f := m.fetch()
			got := f.Partitions[0].Acquired
			if twice := all.Intersect(got); len(twice) > 0 {
				t.Fatalf("%v acquired twice", twice)
			}
			all = all.Union(got)
			m.QueueAcks(acks(source.Accept, f))
			if all.Count() == 200 {
				break
			}
		}
	}
	for _, m := range []*member{a, b} {
		results, _ := m.Acknowledge(t.Context(), nil)
		wantOutcome(t, results, source.Applied)
	}
	p.wantLag(0)
}

// The connection is the session: when it goes, what was held comes again.
func TestBrokerConnectionLost(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil, config{"share.record.lock.duration.ms": "60000"})
	p.produce(0, 10)
	dead, other := p.join(), p.join()
	wantAcquired(t, dead.fetch(), "0-9", 1)
	dead.client.Close()
	wantAcquired(t, other.fetch(), "0-9", 2)
}

func TestBrokerRenewThenAccept(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil, config{"share.record.lock.duration.ms": "8000"})
	p.produce(0, 10)
	p.produce(0, 10)
	m, other := p.join(), p.join()
	m.limits.MaxRecords = 10
	first, second := m.fetch(), m.fetch()
	for range 4 {
		other.wantNothing(3 * time.Second)
		before := time.Now()
		until := m.ack(source.Applied, acks(source.Renew, first, second)...)
		if got := until.Sub(before); got < 8*time.Second || got > 9*time.Second {
			t.Errorf("renewed for %v, want 8s", got)
		}
	}
	m.ack(source.Applied, acks(source.Accept, first, second)...)
	p.wantLag(0)
}

// A late acknowledgement is refused whole, the part that is held included.
func TestBrokerLockEnds(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil, config{"share.record.lock.duration.ms": "6000"})
	p.produce(0, 10)
	late, other := p.join(), p.join()
	old := late.fetch()
	again := other.fetch() // once the lock ended
	wantAcquired(t, again, "0-9", 2)
	p.produce(0, 1)
	held := late.fetch()
	wantAcquired(t, held, "10", 1)
	late.ack(source.Refused, acks(source.Accept, old, held)...)
	p.wantLag(11)
	late.ack(source.Applied, acks(source.Accept, held)...)
	other.ack(source.Applied, acks(source.Accept, again)...)
	p.wantLag(0)
}

func TestBrokerCountsDeliveries(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil, config{"share.delivery.count.limit": "10"})
	p.produce(0, 1)
	m := p.join()
	for delivery := range int16(4) {
		f := m.fetch()
		wantAcquired(t, f, "0", delivery+1)
		m.ack(source.Applied, acks(source.Release, f)...)
	}
}

func TestBrokerAcksRideAndCloseReleases(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil, config{"share.record.lock.duration.ms": "60000"})
	p.produce(0, 10)
	p.produce(0, 10)
	m, other := p.join(), p.join()
	m.limits.MaxRecords = 10
	m.QueueAcks(acks(source.Accept, m.fetch()))
	second := m.fetch()
	wantAcquired(t, second, "10-19", 1)
	wantOutcome(t, second.Acked, source.Applied)
	p.wantLag(10)
	got := second.Partitions[0]
	m.QueueAcks(source.Acks(got.ID(), got.Acquired.Below(15), source.Accept))
	wantOutcome(t, m.Close(t.Context()), source.Applied)
	if err := <-m.left; err != nil {
		t.Errorf("Run = %v after Close", err)
	}
	wantAcquired(t, other.fetch(), "15-19", 2)
}

// A session that was replaced behind our back ends: the records are not ours
// any more, whatever the broker still thinks.
func TestBrokerSessionReplaced(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil, config{"share.record.lock.duration.ms": "2000"})
	p.produce(0, 10)
	m := p.join()
	f := m.fetch()
	id := f.Partitions[0].ID()
	m.wantNothing(0) // so that its epoch is not the new session's
	thief := kmsg.NewPtrShareFetchRequest()
	member := m.ID()
	thief.GroupID, thief.MemberID = &p.group, &member
	if resp, err := thief.RequestWith(t.Context(), p.prod); err != nil || resp.ErrorCode != 0 {
		t.Fatalf("%+v, %v", resp, err)
	}
	m.QueueAcks(acks(source.Accept, f))
	gone, err := m.Fetch(t.Context(), m.limits)
	if err == nil || !slices.Equal(gone.Lost, []source.PartitionID{id}) {
		t.Fatalf("fetch = %v, lost %v; want the session's end and the partition", err, gone.Lost)
	}
	wantOutcome(t, gone.Acked, source.Refused)
	wantAcquired(t, m.fetch(), "0-9", 2)
}

// Removed by a heartbeat in its name, a member joins again.
func TestBrokerJoinsAgain(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil, nil)
	m := p.join()
	for len(m.Assigned()) == 0 {
		m.poll(m.limits.MaxWait)
	}
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.MemberEpoch = p.group, m.ID(), -1
	if resp, err := req.RequestWith(t.Context(), p.prod); err != nil || resp.ErrorCode != 0 {
		t.Fatal(resp, err)
	}
	for p.members() == 0 {
		m.poll(m.limits.MaxWait)
	}
	p.produce(0, 10)
	wantAcquired(t, m.fetch(), "0-9", 1)
}

// What was compacted away is a gap, and goes with the rest of its range. Where
// the limit of records falls into a hole, the range ends behind the last batch.
func TestBrokerCompactedTopic(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, config{"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "100"}, nil)
	p.produceKeys(t.Context(), "a", "x", "y", "z", "b") // a batch, of which 0 and 4 will stay
	end := p.produceUntilCompacted()
	m := p.join()
	var acquired, gaps, unproven, records offsets.Set
	for !acquired.Contains(end - 1) {
		f := m.fetch()
		got := f.Partitions[0]
		acquired, gaps, unproven = acquired.Union(got.Acquired), gaps.Union(got.Gaps), unproven.Union(got.Unproven)
		for _, r := range got.Records {
			records = records.Union(offsets.Set{{First: r.Offset, Last: r.Offset}})
		}
		m.ack(source.Applied, acks(source.Accept, f)...)
	}
	if !gaps.Contains(1) || !gaps.Contains(3) || !records.Contains(4) {
		t.Errorf("gaps %v, records %v; want 1-3 among the gaps, 4 among the records", gaps, records)
	}
	if all := records.Union(gaps).Union(unproven); !slices.Equal(all, acquired) || records.Count()+gaps.Count()+unproven.Count() != acquired.Count() {
		t.Errorf("acquired %v; records %v, gaps %v and unproven %v do not make it up", acquired, records, gaps, unproven)
	}
	p.wantLag(0)
}

func (p *place) produceKeys(ctx context.Context, keys ...string) {
	p.t.Helper()
	var records []*kgo.Record
	for _, key := range keys {
		records = append(records, &kgo.Record{Topic: p.topic, Key: []byte(key), Value: []byte("v")})
	}
	if err := p.prod.ProduceSync(ctx, records...).FirstErr(); err != nil {
		p.t.Fatal(err)
	}
}

// produceUntilCompacted writes x, y and z again and again until offsets 1 to 3
// are gone, and tells the log's end. The broker's cleaner looks each 15
// seconds, and only at segments that a later record has closed.
func (p *place) produceUntilCompacted() (end int64) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	for end = 5; ; end += 3 {
		p.produceKeys(ctx, "x", "y", "z")
		reader := p.client(kgo.ConsumeTopics(p.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		records := reader.PollFetches(ctx).Records()
		reader.Close()
		if len(records) > 1 && records[1].Offset > 3 {
			return end + 3
		}
	}
}

// Messages of 16 MiB come one a fetch, however small the limit.
func TestBrokerLargeMessages(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, config{"max.message.bytes": fmt.Sprint(17 << 20)}, nil)
	for range 3 {
		large := &kgo.Record{Topic: p.topic, Value: make([]byte, 16<<20)}
		if err := p.prod.ProduceSync(t.Context(), large).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	m := p.join()
	for i := range 3 {
		f := m.fetch()
		got := wantAcquired(t, f, fmt.Sprint(i), 1)
		if len(got.Records) != 1 || len(got.Records[0].Value) != 16<<20 {
			t.Fatalf("fetch %d brought %d records", i, len(got.Records))
		}
		m.QueueAcks(acks(source.Accept, f))
	}
}

// The new topic has another id, and its own offsets.
func TestBrokerTopicCreatedAgain(t *testing.T) {
	t.Parallel()
	p := onBroker(t, 1, nil, nil)
	p.produce(0, 10)
	m := p.join()
	f := m.fetch()
	m.ack(source.Applied, acks(source.Accept, f)...)
	admin := kadm.NewClient(p.prod)
	if _, err := admin.DeleteTopic(t.Context(), p.topic); err != nil {
		t.Fatal(err)
	}
	m.wantNothing(2 * time.Second)
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, p.topic); err != nil {
		t.Fatal(err)
	}
	fresh := p.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	produce(t, fresh, p.topic, 0, 5)
	again, err := m.poll(30 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got := wantAcquired(t, again, "0-4", 1); got.TopicID == f.Partitions[0].TopicID {
		t.Error("the new topic has the old one's id")
	}
}

// A leader that dies has its successor found, which holds nothing for us.
func TestBrokerLeaderDies(t *testing.T) {
	t.Parallel()
	broker := testkafka.Start(t, testkafka.Nodes(3))
	p := placeOn(t, broker, 1, nil, config{"share.record.lock.duration.ms": "60000"})
	admin := kadm.NewClient(p.prod)
	if p.leader(admin) == 1 { // the only controller
		p.moveLeader(admin, 2, 3, 1)
	}
	p.produce(0, 10)
	m := p.join()
	f := m.fetch()
	wantAcquired(t, f, "0-9", 1)

	// It moves while both live: the former leader names the new one.
	old := p.leader(admin)
	p.moveLeader(admin, 5-old, old, 1)
	moved, err := m.poll(30 * time.Second)
	if want := []source.PartitionID{f.Partitions[0].ID()}; !slices.Equal(moved.Lost, want) {
		t.Fatalf("lost %v, %v; want %v", moved.Lost, err, want)
	}
	if moved.Empty() {
		moved = m.fetch()
	}
	if !moved.Partitions[0].Acquired.Contains(0) {
		t.Errorf("acquired %v from the new leader, want 0-9 again", moved.Partitions[0].Acquired)
	}

	broker.Kill(t, int(p.leader(admin)))
	dead, _ := m.poll(30 * time.Second)
	if len(dead.Lost) != 1 {
		t.Fatalf("lost %v after the leader died, want the partition", dead.Lost)
	}
	m.ack(source.Refused, acks(source.Accept, moved)...)
	wantAcquired(t, m.fetch(), "0-9", 1) // its deliveries are forgotten too
}

func (p *place) leader(admin *kadm.Client) int32 {
	p.t.Helper()
	topics, err := admin.ListTopics(p.t.Context(), p.topic)
	if err != nil {
		p.t.Fatal(err)
	}
	return topics[p.topic].Partitions[0].Leader
}

// moveLeader has the first of replicas lead.
func (p *place) moveLeader(admin *kadm.Client, replicas ...int32) {
	p.t.Helper()
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(p.topic, 0, replicas)
	if _, err := admin.AlterPartitionAssignments(p.t.Context(), req); err != nil {
		p.t.Fatal(err)
	}
	for p.leader(admin) != replicas[0] {
		// Without an election the former leader stays while it can.
		var set kadm.TopicsSet
		set.Add(p.topic, 0)
		if _, err := admin.ElectLeaders(p.t.Context(), kadm.ElectPreferredReplica, set); err != nil {
			p.t.Fatal(err)
		}
	}
}
