package share

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"shoal/be/source"
	"shoal/internal/offsets"
)

var discard = slog.New(slog.DiscardHandler)

// sift against its naive twin, a loop over offsets.
func TestSift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) offsets.Set {
			var s offsets.Set
			for o := range int64(30) {
				if rapid.Bool().Draw(t, label) {
					s = s.Union(offsets.Set{{First: o, Last: o}})
				}
			}
			return s
		}
		present, acquired := draw("present"), draw("acquired")
		var records []*source.Record
		var kept, gaps offsets.Set
		for o := range int64(30) {
			one := offsets.Set{{First: o, Last: o}}
			if present.Contains(o) {
				records = append(records, &source.Record{Offset: o})
			}
			switch {
			case acquired.Contains(o) && present.Contains(o):
				kept = kept.Union(one)
			case acquired.Contains(o):
				gaps = gaps.Union(one)
			}
		}
		gotRecords, gotGaps := sift(records, acquired)
		var got offsets.Set
		for _, r := range gotRecords {
			got = got.Union(offsets.Set{{First: r.Offset, Last: r.Offset}})
		}
		if !slices.Equal(got, kept) || !slices.Equal(gotGaps, gaps) {
			t.Errorf("sift(%v of %v) = %v, gaps %v; want %v, %v", acquired, present, got, gotGaps, kept, gaps)
		}
	})
}

// threeBatches is the raw batches of a fetch of three batches of ten records.
func threeBatches(t *testing.T) (raw []byte, size int) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	at := time.UnixMilli(1)
	for range 3 {
		var records []*kgo.Record
		for range 10 {
			records = append(records, &kgo.Record{Topic: "t", Value: []byte("value"), Timestamp: at})
		}
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes = 1 << 20
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = "t", cluster.TopicInfo("t").TopicID
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 1 << 20
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	raw = resp.Topics[0].Partitions[0].RecordBatches
	return raw, len(raw) / 3
}

// An acquired offset is a record, a gap that decoding got past, unproven, or
// unread: never dropped, and never void because a batch was damaged.
func TestDecode(t *testing.T) {
	raw, size := threeBatches(t)
	damaged := func(at int) []byte {
		b := slices.Clone(raw)
		b[at] ^= 0xff
		return b
	}
	for _, tt := range []struct {
		name                   string
		raw                    []byte
		acquired               offsets.Set
		records                int
		gaps, unproven, unread string
	}{
		{"all", raw, offsets.Set{{First: 0, Last: 29}}, 30, "none", "none", "none"},
		{"parts", raw, offsets.Set{{First: 3, Last: 4}, {First: 18, Last: 21}}, 6, "none", "none", "none"},
		{"middle batch compacted away", slices.Concat(raw[:size], raw[2*size:]), offsets.Set{{First: 0, Last: 29}}, 20, "10-19", "none", "none"},
		{"hole at the end", raw[:2*size], offsets.Set{{First: 0, Last: 24}}, 20, "none", "20-24", "none"},
		{"no batches", nil, offsets.Set{{First: 5, Last: 9}}, 0, "none", "5-9", "none"},
		{"damaged behind", damaged(3*size - 1), offsets.Set{{First: 0, Last: 29}}, 20, "none", "none", "20-29"},
		{"damaged in front", damaged(size - 1), offsets.Set{{First: 0, Last: 4}, {First: 12, Last: 14}}, 0, "none", "none", "0-4,12-14"},
		{"cut off", raw[:3*size-1], offsets.Set{{First: 0, Last: 29}}, 20, "none", "none", "20-29"},
		{"cut off in the header", raw[:2*size+9], offsets.Set{{First: 0, Last: 29}}, 20, "none", "none", "20-29"},
		{"cut off behind a gap", slices.Concat(raw[:size], raw[2*size:3*size-1]), offsets.Set{{First: 0, Last: 29}}, 10, "none", "none", "10-29"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rp := kmsg.NewShareFetchResponseTopicPartition()
			rp.Records = tt.raw
			for _, r := range tt.acquired {
				rp.AcquiredRecords = append(rp.AcquiredRecords, kmsg.ShareFetchResponseTopicPartitionAcquiredRecord{
					FirstOffset: r.First, LastOffset: r.Last, DeliveryCount: 1,
				})
			}
			m := New(Config{Logger: discard})
			p := source.Partition{Topic: "t"}
			m.decode(&p, &rp)
			if got := fmt.Sprintln(len(p.Records), p.Gaps, p.Unproven, p.Unread); got != fmt.Sprintln(tt.records, tt.gaps, tt.unproven, tt.unread) {
				t.Errorf("records, gaps, unproven, unread = %s; want %d %s %s %s", got, tt.records, tt.gaps, tt.unproven, tt.unread)
			}
			if (p.Err != nil) != (tt.unread != "none") {
				t.Errorf("error %v with unread %v", p.Err, p.Unread)
			}
			for _, r := range p.Records {
				if !p.Acquired.Contains(r.Offset) {
					t.Errorf("record %d was not acquired", r.Offset)
				}
			}
		})
	}
}

// No bytes that a broker could send make the decoder panic or lose count.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(nil), int64(0), int64(9))
	f.Add(make([]byte, 61), int64(0), int64(9))
	f.Fuzz(func(t *testing.T, raw []byte, first, last int64) {
		rp := kmsg.NewShareFetchResponseTopicPartition()
		rp.Records = raw
		rp.AcquiredRecords = []kmsg.ShareFetchResponseTopicPartitionAcquiredRecord{{FirstOffset: first, LastOffset: last}}
		if first < 0 || last < first || last-first > 1<<30 {
			return
		}
		m := New(Config{Logger: discard})
		var p source.Partition
		m.decode(&p, &rp)
		if n := int64(len(p.Records)) + p.Gaps.Count() + p.Unproven.Count() + p.Unread.Count(); n != last-first+1 {
			t.Errorf("%d offsets accounted for, %d acquired", n, last-first+1)
		}
	})
}

func TestSessionEpochs(t *testing.T) {
	s := newSession(1)
	s.next()
	if s.epoch != 1 {
		t.Errorf("after opening, the epoch is %d, want 1", s.epoch)
	}
	s.epoch = math.MaxInt32
	if s.next(); s.epoch != 1 {
		t.Errorf("after the last, the epoch is %d, want 1: 0 would open another session", s.epoch)
	}
}

// Acknowledgements travel in order, and neighbours of one kind as one.
func TestBatches(t *testing.T) {
	id := source.PartitionID{}
	ack := func(first, last int64, how source.AckType) source.Ack {
		return source.Ack{PartitionID: id, Range: offsets.Range{First: first, Last: last}, Type: how}
	}
	got := ""
	for _, b := range batches([]source.Ack{
		ack(7, 9, source.Accept), ack(0, 2, source.Accept), ack(3, 3, source.Gap), ack(4, 6, source.Accept), ack(20, 20, source.Release),
	}) {
		got += fmt.Sprintf("%d-%d:%d ", b.FirstOffset, b.LastOffset, b.AcknowledgeTypes)
	}
	if want := "0-2:[1] 3-3:[0] 4-9:[1] 20-20:[2] "; got != want {
		t.Errorf("batches = %s, want %s", got, want)
	}
}
