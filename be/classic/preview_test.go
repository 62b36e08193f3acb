package classic_test

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/classic"
	"shoal/be/source"
)

// preview reads up to limit records and lists them as partition:offset.
func (w *world) preview(limit int, change ...func(*classic.Config)) (list []string, err error) {
	w.t.Helper()
	info := w.TopicInfo(topic)
	cfg := classic.Config{Client: w.client(classic.ClientOptions()...), Topic: topic, Logger: slog.New(slog.DiscardHandler)}
	for _, p := range w.PartitionInfos(topic) {
		cfg.Starts = append(cfg.Starts, classic.Start{PartitionID: source.PartitionID{TopicID: info.TopicID, Partition: p.Partition}})
	}
	for _, f := range change {
		f(&cfg)
	}
	began := time.Now()
	parts, err := classic.Preview(w.t.Context(), cfg, limit)
	if spent := time.Since(began); spent > 6*time.Second {
		w.t.Errorf("it took %v", spent)
	}
	for _, p := range parts {
		for _, r := range p.Records {
			list = append(list, fmt.Sprintf("%d:%d", p.Partition, r.Offset))
		}
	}
	return list, err
}

func TestPreview(t *testing.T) {
	inWorld(t, 2, 3, func(t *testing.T, w *world) {
		check := func(limit int, wanted string, change ...func(*classic.Config)) {
			t.Helper()
			if got, err := w.preview(limit, change...); err != nil || fmt.Sprint(got) != wanted {
				t.Errorf("preview of %d = %v, %v; want %s", limit, got, err, wanted)
			}
		}
		check(10, "[]")
		w.produce(2, 5)
		w.produce(0, 2)
		check(100, "[0:0 0:1 2:0 2:1 2:2 2:3 2:4]")
		check(3, "[0:0 2:0 2:1]")
		check(100, "[0:1 2:1 2:2 2:3 2:4]", from(1), skipExpired, func(cfg *classic.Config) { cfg.Starts = append(cfg.Starts[:1], cfg.Starts[2:]...) })
		txns := w.client(kgo.TransactionalID("x"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		transaction(t, txns, "", 1)
		check(100, "[0:0 0:1 2:0 2:1 2:2 2:3 2:4]")
		check(100, "[0:0 0:1 0:2 2:0 2:1 2:2 2:3 2:4]", uncommitted)
	})
}

// A preview ends with the bytes that it may have, a large record at the latest.
func TestPreviewOfLargeRecords(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		for range 12 {
			if err := w.prod.ProduceSync(t.Context(), &kgo.Record{Value: make([]byte, 900<<10)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := w.preview(100); err != nil || len(got) != 10 {
			t.Errorf("preview = %v, %v; want ten records", got, err)
		}
	})
}

// The records of a preview do not keep the batches in memory that they came in.
func TestPreviewKeepsItsRecordsOnly(t *testing.T) {
	inWorld(t, 1, 16, func(t *testing.T, w *world) {
		for p := range int32(16) {
			header := kgo.RecordHeader{Key: "h", Value: []byte("x")}
			batch := []*kgo.Record{{Partition: p, Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{header}}, {Partition: p, Value: make([]byte, 900<<10)}}
			if err := w.prod.ProduceSync(t.Context(), batch...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		info := w.TopicInfo(topic)
		cfg := classic.Config{Client: w.client(classic.ClientOptions()...), Topic: topic, Logger: slog.New(slog.DiscardHandler)}
		for p := range int32(16) {
			cfg.Starts = append(cfg.Starts, classic.Start{PartitionID: source.PartitionID{TopicID: info.TopicID, Partition: p}})
		}
		before := heap()
		parts, err := classic.Preview(t.Context(), cfg, 16)
		if grown := heap() - before; err != nil || grown > 4<<20 {
			t.Errorf("16 small records keep %d bytes, %v", grown, err)
		}
		for _, p := range parts {
			if r := p.Records[0]; len(p.Records) != 1 || string(r.Key) != "k" || string(r.Value) != "v" || r.Headers[0].Key != "h" || string(r.Headers[0].Value) != "x" {
				t.Errorf("partition %d: %v", p.Partition, r)
			}
		}
	})
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestPreviewInTrouble(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 2)
		if _, err := w.preview(1, from(7)); err == nil {
			t.Error("a position beyond the log is no error")
		}
		fault := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: -1})
		if _, err := w.preview(1); !errors.Is(err, classic.ErrUnauthorized) {
			t.Errorf("err = %v, want ErrUnauthorized", err)
		}
		fault.Remove()
		w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.KafkaStorageError, Count: -1})
		if _, err := w.preview(1); !errors.Is(err, classic.ErrUnavailable) {
			t.Errorf("err = %v, want ErrUnavailable", err)
		}
	})
}
