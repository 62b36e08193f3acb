package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// batch is how many records are produced at a time, and one transaction has.
const batch = 50

// A topic is what is produced to.
type topic struct {
	w          *world
	name       string
	partitions int
	// produced are the ids that the broker has said it has. Those of unsure it
	// may have.
	produced int64
	unsure   map[int64]bool
}

func (w *world) newTopic(partitions int) *topic {
	return &topic{w: w, name: w.broker.CreateTopic(w.t, partitions, nil), partitions: partitions, unsure: map[int64]bool{}}
}

func (t *topic) dial(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(t.w.broker.Addr(), ",")...), kgo.DefaultProduceTopic(t.name),
		kgo.RecordPartitioner(kgo.ManualPartitioner())}, options...)...)
}

// records are those of the next ids.
func (t *topic) records(first int64) (records []*kgo.Record) {
	for id := first; id < first+batch; id++ {
		partition := int32(id % int64(t.partitions))
		records = append(records, &kgo.Record{Partition: partition, Value: fmt.Appendf(nil, `{"id":%d,"part":%d,"name":"row %d"}`, id, partition, id)})
	}
	return records
}

// produce writes records with ids from 0 on until ctx ends. The producer is
// idempotent and goes on trying, whatever brokers do.
func (t *topic) produce(ctx context.Context) error {
	client, err := t.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	for last(ctx, 400*time.Millisecond) {
		if err := client.ProduceSync(context.WithoutCancel(ctx), t.records(t.produced)...).FirstErr(); err != nil {
			return err
		}
		t.produced += batch
	}
	return nil
}

// transact is produce in transactions, of which each fourth is aborted: its ids
// come again in the next one. One that ends with an error may have been
// committed: its ids are unsure, and the next producer of this name makes sure
// that it is over.
func (t *topic) transact(ctx context.Context) error {
	var client *kgo.Client
	for n := 1; last(ctx, 400*time.Millisecond); n++ {
		if client == nil {
			var err error
			if client, err = t.dial(kgo.TransactionalID(t.name)); err != nil {
				return err
			}
		}
		commit := n%4 != 0
		if err := transaction(context.WithoutCancel(ctx), client, t.records(t.produced), commit); err != nil {
			t.w.note("a transaction of %s: %v", t.name, err)
			client.Close()
			client = nil
			if !commit {
				continue
			}
			for id := t.produced; id < t.produced+batch; id++ {
				t.unsure[id] = true
			}
		}
		if commit {
			t.produced += batch
		}
	}
	if client != nil {
		client.Close()
	}
	return nil
}

func transaction(ctx context.Context, client *kgo.Client, records []*kgo.Record, commit bool) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	return client.EndTransaction(ctx, kgo.TransactionEndTry(commit))
}

// truth is what the topic has for who reads only what is committed: each id and
// how often. It is an error if that is not what was produced.
func (t *topic) truth(ctx context.Context) (map[int64]bool, error) {
	client, err := t.dial(kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.ConsumeTopics(t.name),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(ctx, t.name)
	if err != nil {
		return nil, err
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	ids := map[int64]bool{}
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, err
		}
		for r := range fetches.RecordsAll() {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			var id int64
			if r.Attrs.IsControl() {
				continue
			}
			if _, err := fmt.Sscanf(string(r.Value), `{"id":%d,`, &id); err != nil || ids[id] {
				return nil, fmt.Errorf("%s: %s: %w, or it is there twice", t.name, r.Value, err)
			}
			ids[id] = true
		}
	}
	for id := range t.produced {
		if !ids[id] && !t.unsure[id] {
			return nil, fmt.Errorf("%s: id %d was produced and is not there", t.name, id)
		}
	}
	if most := slices.Max(slices.Collect(maps.Keys(ids))); most >= t.produced {
		return nil, fmt.Errorf("%s: id %d was not produced and is there", t.name, most)
	}
	return ids, nil
}

// A job loads a topic into a table of its own; both have the same name.
type job struct {
	topic *topic
	name  string // database.table

	mu         sync.Mutex
	rows       int64 // that any client has seen
	moved      time.Time
	standstill time.Duration // longest time between two numbers of rows
}

// create makes table and job.
func (t *topic) load(c *client, database, mode string) (*job, error) {
	table := strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(t.name)) + "_" + mode
	j := &job{topic: t, name: database + "." + table, moved: time.Now()}
	for _, statement := range []string{
		"CREATE TABLE " + j.name + ` (id BIGINT, part INT, name VARCHAR(64)) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES("replication_num"="1")`,
		fmt.Sprintf(`CREATE ROUTINE LOAD %s ON %s PROPERTIES("load_mode"="%s","format"="json","desired_concurrent_number"="3")
			FROM KAFKA("kafka_broker_list"="%s","kafka_topic"="%s","property.kafka_default_offsets"="OFFSET_BEGINNING")`, j.name, table, mode, t.w.broker.Addr(), t.name),
	} {
		if _, err := c.ask(t.w.t.Context(), statement); err != nil {
			return nil, err
		}
	}
	return j, nil
}
