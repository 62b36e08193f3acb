package share_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/source"
)

// BenchmarkShareFetch fetches, decodes and accepts 400,000 records of 100 bytes,
// each iteration by a new group, with the acknowledgements apart or riding on
// the next fetch.
func BenchmarkShareFetch(b *testing.B) {
	const total = 400_000
	for _, partitions := range []int{1, 8} {
		p := onBroker(b, partitions, nil, nil)
		p.fill(total, partitions)
		for _, riding := range []bool{false, true} {
			b.Run(fmt.Sprintf("partitions=%d/riding=%v", partitions, riding), func(b *testing.B) {
				p.t = b
				b.ReportAllocs()
				var spent time.Duration
				for b.Loop() {
					spent += p.consume(b, total, riding)
				}
				b.ReportMetric(float64(total*b.N)/spent.Seconds(), "records/s")
			})
		}
	}
}

// fill produces total records in batches of a MiB at most.
func (p *place) fill(total, partitions int) {
	p.t.Helper()
	prod := p.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	var failed atomic.Pointer[error]
	for i := range total {
		r := &kgo.Record{Topic: p.topic, Partition: int32(i % partitions), Value: make([]byte, 100)}
		prod.Produce(p.t.Context(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	if err := prod.Flush(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	if err := failed.Load(); err != nil {
		p.t.Fatal(*err)
	}
}

// consume has a new member take total records, and tells for how long it did,
// from its first answer on.
func (p *place) consume(b *testing.B, total int, riding bool) time.Duration {
	b.StopTimer()
	p.group = p.newGroup(config{"share.partition.max.record.locks": "4000"})
	m := p.join()
	m.limits = source.Limits{MaxRecords: 4000, MaxBytes: 50 << 20, MaxWait: 500 * time.Millisecond}
	f := m.fetch()
	b.StartTimer()
	start := time.Now()
	for count := f.Records(); ; count += f.Records() {
		if riding {
			m.QueueAcks(acks(source.Accept, f))
		} else {
			m.ack(source.Applied, acks(source.Accept, f)...)
		}
		if count >= total {
			break
		}
		f = m.fetch()
	}
	spent := time.Since(start)
	b.StopTimer()
	m.Close(b.Context())
	b.StartTimer()
	return spent
}
