package classic_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/classic"
	"shoal/be/source"
	"shoal/internal/offsets"
)

// TestRandom has leaders move, requests fail and records be released by chance,
// and holds each fetch to a model: the next offset of each partition, and what
// each offset holds. In the end everything was handed out.
func TestRandom(t *testing.T) {
	for seed := range uint64(30) {
		inWorld(t, 3, 3, func(t *testing.T, w *world) {
			m := &model{world: w, rng: rand.New(rand.NewPCG(seed, 1))}
			m.run()
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

type model struct {
	*world
	rng  *rand.Rand
	txns *kgo.Client
	held [3][]bool // by offset: whether a committed record lies there
	next [3]int64
	read *reader
}

func (m *model) run() {
	m.txns = m.client(kgo.TransactionalID("x"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	m.read = m.world.read()
	for range 150 {
		switch m.rng.IntN(10) {
		case 0, 1, 2:
			m.write()
		case 3:
			m.transaction()
		case 4:
			if err := m.MoveTopicPartition(topic, m.rng.Int32N(3), m.rng.Int32N(3)); err != nil {
				m.t.Fatal(err)
			}
		case 5:
			errs := []*kerr.Error{kerr.NotLeaderForPartition, kerr.UnknownServerError, kerr.FencedLeaderEpoch}
			m.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, TopLevel: m.rng.IntN(2) == 0, Err: errs[m.rng.IntN(3)]})
		default:
			m.fetch()
		}
	}
	for end := time.Now().Add(time.Minute); !m.done(); m.fetch() {
		if time.Now().After(end) {
			m.t.Fatalf("handed out up to %v of %d, %d and %d", m.next, len(m.held[0]), len(m.held[1]), len(m.held[2]))
		}
	}
}

func (m *model) done() bool {
	for p, held := range m.held {
		if m.next[p] < int64(len(held)) {
			return false
		}
	}
	return true
}

// value is what the record at an offset holds.
func value(partition int, offset int64) string { return fmt.Sprintf("%d:%d", partition, offset) }

// records are n of partition p, from its end on.
func (m *model) records(p, n int) (records []*kgo.Record) {
	for i := range n {
		records = append(records, &kgo.Record{Partition: int32(p), Value: []byte(value(p, int64(len(m.held[p])+i)))})
	}
	return records
}

func (m *model) write() {
	p, n := m.rng.IntN(3), 1+m.rng.IntN(50)
	if err := m.prod.ProduceSync(m.t.Context(), m.records(p, n)...).FirstErr(); err != nil {
		m.t.Fatal(err)
	}
	m.append(p, n, true)
}

func (m *model) append(p, n int, held bool) {
	for range n {
		m.held[p] = append(m.held[p], held)
	}
}

// transaction commits or aborts some records; its marker is an offset too.
func (m *model) transaction() {
	p, n, commits := m.rng.IntN(3), 1+m.rng.IntN(20), m.rng.IntN(2) == 0
	err := m.txns.BeginTransaction()
	err = errors.Join(err, m.txns.ProduceSync(m.t.Context(), m.records(p, n)...).FirstErr())
	err = errors.Join(err, m.txns.EndTransaction(m.t.Context(), kgo.TransactionEndTry(commits)))
	if err != nil {
		m.t.Fatal(err)
	}
	m.append(p, n, commits)
	m.append(p, 1, false)
}

// fetch fetches with limits of chance, and releases some of what came.
func (m *model) fetch() {
	m.read.limits = source.Limits{MaxRecords: 1 + m.rng.Int32N(100), MaxBytes: 1 + m.rng.Int32N(1000), MaxWait: time.Duration(m.rng.IntN(300)) * time.Millisecond}
	f := m.read.poll()
	if n := int32(f.Records()); n > m.read.limits.MaxRecords {
		m.t.Fatalf("%d records, the limit is %d", n, m.read.limits.MaxRecords)
	}
	for i := range f.Partitions {
		p := &f.Partitions[i]
		if p.Err != nil && !errors.Is(p.Err, classic.ErrUnavailable) {
			m.t.Fatal(p.Err)
		}
		if len(p.Acquired) > 0 {
			m.check(p)
		}
	}
}

func (m *model) check(p *source.Partition) {
	id := int(p.Partition)
	got := p.Acquired[0]
	if len(p.Acquired) != 1 || got.First != m.next[id] || got.Last >= int64(len(m.held[id])) {
		m.t.Fatalf("partition %d brought %v, want what begins at %d and ends below %d", id, p.Acquired, m.next[id], len(m.held[id]))
	}
	for offset := got.First; offset <= got.Last; offset++ {
		if m.held[id][offset] == p.Gaps.Contains(offset) {
			m.t.Fatalf("partition %d offset %d holds a record: %v; gaps %v", id, offset, m.held[id][offset], p.Gaps)
		}
	}
	if int64(len(p.Records))+p.Gaps.Count() != got.Count() {
		m.t.Fatalf("partition %d: %d records and gaps %v in %v", id, len(p.Records), p.Gaps, got)
	}
	for _, r := range p.Records {
		if string(r.Value) != value(id, r.Offset) {
			m.t.Fatalf("partition %d offset %d holds %s", id, r.Offset, r.Value)
		}
	}
	m.next[id] = got.Last + 1
	if m.rng.IntN(5) == 0 {
		from := got.First + m.rng.Int64N(got.Count())
		m.read.Acknowledge(m.t.Context(), []source.Ack{{PartitionID: p.ID(), Range: offsets.Range{First: from, Last: got.Last}, Type: source.Release}})
		m.next[id] = from
	}
}
