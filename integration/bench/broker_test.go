package bench

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/fe/kafka"
	"shoal/internal/testkafka"
)

// kafkaVersion is the broker's. One gigabyte of heap is enough that it never
// waits for its collector.
const (
	kafkaVersion = "4.4.0"
	kafkaHeap    = "1g"
)

// batchBytes makes batches of about 500 records, which is what a producer with
// a batch.size of 64 KiB makes under load.
const batchBytes = 64 << 10

// A topic holds the first rows records of a dataset.
type topic struct {
	broker     *testkafka.Broker
	name       string
	partitions int
	rows       int
	groups     atomic.Int64
}

// produce makes a topic, the records dealt out evenly over its partitions.
func produce(tb testing.TB, broker *testkafka.Broker, d dataset, partitions, rows int) *topic {
	tb.Helper()
	t := &topic{broker: broker, name: broker.CreateTopic(tb, partitions, nil), partitions: partitions, rows: rows}
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.DefaultProduceTopic(t.name),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(batchBytes), kgo.ProducerLinger(100*time.Millisecond), kgo.MaxBufferedRecords(50_000))
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	var failed atomic.Pointer[error]
	for i, record := range d.records(rows) {
		client.Produce(tb.Context(), &kgo.Record{Partition: int32(i % partitions), Value: bytes.Clone(record)}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	if err := client.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := failed.Load(); err != nil {
		tb.Fatal(*err)
	}
	return t
}

// group makes a share group on the topic's beginning, set up as a job's is.
func (t *topic) group(tb testing.TB) string {
	tb.Helper()
	client, err := kafka.Dial([]string{t.broker.Addr()}, nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	group := fmt.Sprintf("%s-%d", t.name, t.groups.Add(1))
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	if _, err := client.Configure(ctx, group, kafka.Wanted{Lock: time.Minute}); err != nil {
		tb.Fatal(err)
	}
	starts := make(map[int32]int64)
	for p := range t.partitions {
		starts[int32(p)] = 0
	}
	if err := client.Pin(ctx, group, t.name, starts); err != nil {
		tb.Fatal(err)
	}
	return group
}
