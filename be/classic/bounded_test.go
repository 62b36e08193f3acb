package classic_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/classic"
	"shoal/be/source"
	"shoal/internal/offsets"
)

// only bounds what is read of partition 0, given as pairs, and reads no other.
func only(pairs ...int64) func(*classic.Config) {
	return func(cfg *classic.Config) {
		var ranges []offsets.Range
		for i := 0; i < len(pairs); i += 2 {
			ranges = append(ranges, offsets.Range{First: pairs[i], Last: pairs[i+1]})
		}
		cfg.Starts = cfg.Starts[:1]
		cfg.Starts[0].Bounded, cfg.Starts[0].Only = true, offsets.Of(ranges...)
	}
}

// wantEnd polls once and fails unless nothing came, and nothing will.
func (r *reader) wantEnd() {
	r.t.Helper()
	if f := r.poll(); len(f.Partitions) > 0 || !f.End {
		r.t.Fatalf("fetch = %+v, want the end", f)
	}
}

// Exactly the offsets that are asked for are handed out; what is released comes
// again after the end.
func TestBounded(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 40)
		r := w.read(only(3, 4, 10, 12, 30, 35))
		r.limits.MaxRecords = 5
		want(t, r.fetch(), 0, "3-4", "none")
		middle := want(t, r.fetch(), 0, "10-12", "none")
		f := r.fetch()
		want(t, f, 0, "30-34", "none")
		if f.End || !f.More {
			t.Errorf("there is one more, yet End is %v and More %v", f.End, f.More)
		}
		if f = r.fetch(); !f.End || f.More {
			t.Errorf("End is %v and More %v with the last one", f.End, f.More)
		}
		want(t, f, 0, "35", "none")
		r.wantEnd()
		r.QueueAcks(source.Acks(middle.ID(), offsets.Of(offsets.Range{First: 11, Last: 11}), source.Release))
		want(t, r.fetch(), 0, "11-12", "none")
		want(t, r.fetch(), 0, "30-34", "none")
		want(t, r.fetch(), 0, "35", "none")
		r.wantEnd()
		w.read(only()).wantEnd()
	})
}

// What is aborted is void within the bounds, what was deleted is expired.
func TestBoundedWithoutRecords(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		txns := w.client(kgo.TransactionalID("x"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		transaction(t, txns, "commit", 10)
		transaction(t, txns, "abort", 10)
		w.produce(0, 5)
		r := w.read(only(8, 13, 20, 23), skipExpired)
		want(t, r.fetch(), 0, "8-13", "10-13")
		want(t, r.fetch(), 0, "20-23", "20-21")
		r.wantEnd()
		if err := w.DeleteRecords(topic, 0, 9); err != nil {
			t.Fatal(err)
		}
		r = w.read(only(2, 3, 7, 9), skipExpired)
		for _, expired := range []string{"2-3", "7-8"} {
			if p := r.fetch().Partitions[0]; p.Acquired.String() != expired || p.Expired.String() != expired {
				t.Errorf("fetch = %+v, want %s expired", p, expired)
			}
		}
		want(t, r.fetch(), 0, "9", "none")
		r.wantEnd()
	})
}

// A partition that cannot be read does not keep the reader for ever.
func TestBoundedGivesUp(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(0, 5)
		r := w.read(only(100, 110)) // beyond the log
		for n := 0; ; n++ {
			if f := r.poll(); f.End {
				break
			}
			if n > 100 {
				t.Fatal("the reader goes on")
			}
		}
	})
}
