package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// perTick is how often in a second events are produced.
const perTick = 20

// Produce writes sample web-server events to the demo's topic, rate of them a
// second, until ctx ends. Nine of ten go to partition 0: a hot partition, which
// would hold back a loader that gives each partition to one task.
func Produce(ctx context.Context, addr string, rate int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(Topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer client.Close()
	tick := time.NewTicker(time.Second / perTick)
	defer tick.Stop()
	owed := 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			owed += rate
			records := make([]*kgo.Record, owed/perTick)
			owed %= perTick
			for i := range records {
				records[i] = event(now)
			}
			if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil && ctx.Err() == nil {
				return fmt.Errorf("producing sample events: %w", err)
			}
		}
	}
}

var (
	hosts    = []string{"www", "shop", "api", "cdn"}
	paths    = []string{"/", "/cart", "/checkout", "/search", "/product/4711", "/login", "/img/logo.png"}
	statuses = []int{200, 200, 200, 200, 200, 200, 204, 301, 304, 404, 500}
)

func event(now time.Time) *kgo.Record {
	partition := int32(0)
	if rand.IntN(10) == 0 {
		partition = 1 + rand.Int32N(Partitions-1)
	}
	return &kgo.Record{Partition: partition, Value: fmt.Appendf(nil,
		`{"ts":"%s","host":"%s","path":"%s","status":%d,"bytes":%d,"user_id":%d,"latency_ms":%.3f}`,
		now.UTC().Format("2006-01-02 15:04:05.000"), pick(hosts), pick(paths), pick(statuses),
		rand.IntN(200_000), rand.IntN(10_000), rand.ExpFloat64()*40)}
}

func pick[T any](from []T) T { return from[rand.IntN(len(from))] }
