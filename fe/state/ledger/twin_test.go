package ledger_test

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

const universe = 24

// An offset of the twin: a character for how it is settled ('.' not at all,
// l, v, x), the log index and the leader epoch that go with it.
type offset struct {
	how    byte
	index  uint64
	epoch  int32
	forgot bool
}

// A twin is a ledger that knows everything about each single offset.
type twin struct {
	start int64
	at    [universe]offset
}

func newTwin(start int64) *twin {
	w := &twin{start: start}
	for i := range w.at {
		w.at[i].how = '.'
	}
	return w
}

// each yields what p says of every single offset.
func each(p *typesv1.PartitionOffsets, yield func(o int64, how byte, epoch int32)) {
	for _, r := range p.Loaded {
		for o := r.First; o <= r.Last; o++ {
			yield(o, 'l', r.LeaderEpoch)
		}
	}
	for _, r := range p.Void {
		for o := r.First; o <= r.Last; o++ {
			yield(o, 'v', 0)
		}
	}
	for _, r := range p.Expired {
		for o := r.First; o <= r.Last; o++ {
			yield(o, 'x', 0)
		}
	}
}

func (w *twin) mayLoad(o int64) bool {
	at := w.at[o]
	return o >= w.start && (at.how == '.' || at.how != 'l' && !at.forgot)
}

func (w *twin) check(p *typesv1.PartitionOffsets) (diverged bool, conflicts offsets.Set) {
	var twice []offsets.Range
	each(p, func(o int64, how byte, epoch int32) {
		if how != 'l' {
			return
		}
		for i, known := range w.at {
			if known.how == 'l' && (known.epoch > epoch && int64(i) <= o || known.epoch < epoch && int64(i) >= o) {
				diverged = true
			}
		}
		if !w.mayLoad(o) {
			twice = append(twice, offsets.Range{First: o, Last: o})
		}
	})
	if diverged {
		return true, nil
	}
	return false, offsets.Of(twice...)
}

func (w *twin) settle(p *typesv1.PartitionOffsets, index uint64) {
	each(p, func(o int64, how byte, epoch int32) {
		if how == 'l' || o >= w.start && w.at[o].how == '.' {
			w.at[o] = offset{how: how, index: index, epoch: epoch}
		}
	})
}

func (w *twin) forget(through uint64) {
	for i := range w.at {
		w.at[i].forgot = w.at[i].forgot || w.at[i].index <= through
	}
}

// String is what the real ledger's view must come to.
func (w *twin) String() string {
	settled := w.start
	for settled < universe && w.at[settled].how != '.' {
		settled++
	}
	var above []offsets.Range
	count := map[byte]int{}
	for i, at := range w.at {
		if int64(i) > settled && at.how != '.' {
			above = append(above, offsets.Range{First: int64(i), Last: int64(i)})
		}
		count[at.how]++
	}
	return fmt.Sprintf("settled %d above %v loaded %d void %d expired %d", settled, offsets.Of(above...), count['l'], count['v'], count['x'])
}

func describe(v ledger.View) string {
	return fmt.Sprintf("settled %d above %v loaded %d void %d expired %d", v.Settled, v.Ranges, v.Loaded, v.Void, v.Expired)
}

// drawOffsets gives each offset of the universe a meaning or none; leader
// epochs rise within it, as in one fetch.
func drawOffsets(t *rapid.T) *typesv1.PartitionOffsets {
	p := &typesv1.PartitionOffsets{TopicId: topic}
	epoch := rapid.Int32Range(0, 2).Draw(t, "epoch")
	for first := int64(0); first < universe; {
		last := min(first+rapid.Int64Range(0, 8).Draw(t, "length"), universe-1)
		switch rapid.SampledFrom([]byte("....llvx")).Draw(t, "how") {
		case 'l':
			p.Loaded = append(p.Loaded, &typesv1.EpochRange{First: first, Last: last, LeaderEpoch: epoch})
			epoch += rapid.Int32Range(0, 1).Draw(t, "step")
		case 'v':
			p.Void = append(p.Void, &typesv1.OffsetRange{First: first, Last: last})
		case 'x':
			p.Expired = append(p.Expired, &typesv1.OffsetRange{First: first, Last: last})
		}
		first = last + 1
	}
	return p
}

func conflictSet(ranges []*typesv1.EpochRange) offsets.Set {
	var out []offsets.Range
	for _, r := range ranges {
		out = append(out, offsets.Range{First: r.First, Last: r.Last})
	}
	return offsets.Of(out...)
}

// TestLedgerAgainstTwin settles, refuses and forgets at random, and restores
// the ledger from its own record in between.
func TestLedgerAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(0, 5).Draw(t, "start")
		book, real, naive := ledger.NewBook(), &raftlogv1.LedgerStart{TopicId: topic, Start: start}, newTwin(start)
		book.Open(1, 1, 0, []*raftlogv1.LedgerStart{real})
		key, _ := ledger.KeyOf(topic, 0)
		steps := rapid.IntRange(1, 20).Draw(t, "steps")
		for index := uint64(1); index <= uint64(steps); index++ {
			switch rapid.IntRange(0, 9).Draw(t, "action") {
			case 0:
				through := rapid.Uint64Range(0, index).Draw(t, "through")
				book.Forget(1, through)
				naive.forget(through)
			case 1:
				book = restored(t, book)
			default:
				step(t, book.Get(1, key), naive, index)
			}
			if got, want := describe(book.Views(1)[0]), naive.String(); got != want {
				t.Fatalf("after step %d: %s\nwant %s", index, got, want)
			}
		}
	})
}

func step(t *rapid.T, l *ledger.Ledger, naive *twin, index uint64) {
	p := drawOffsets(t)
	before := proto.Clone(p)
	got := l.Check(p)
	diverged, conflicts := naive.check(p)
	if (got.Diverged != "") != diverged || !slices.Equal(conflictSet(got.Conflicts), conflicts) || got.Wait {
		t.Fatalf("Check(%v) = %+v, want diverged %v, conflicts %v", p, got, diverged, conflicts)
	}
	if !diverged && len(conflicts) == 0 {
		l.Settle(p, index)
		naive.settle(p, index)
	}
	if !proto.Equal(p, before) {
		t.Fatalf("%v became %v", before, p)
	}
}

func restored(t *rapid.T, book *ledger.Book) *ledger.Book {
	again := ledger.NewBook()
	for r := range book.Clone().Records() {
		if err := again.Restore(r); err != nil {
			t.Fatalf("Restore(%v) = %v", r, err)
		}
	}
	return again
}

func TestRestoreRefusesWhatCannotBe(t *testing.T) {
	good := func() *raftlogv1.Ledger {
		return &raftlogv1.Ledger{JobId: 1, TopicId: topic, Start: 5, Settled: 10,
			Ranges: []*typesv1.OffsetRange{{First: 12, Last: 13}, {First: 20, Last: 21}},
			Epochs: []*typesv1.EpochRange{{First: 5, Last: 9, LeaderEpoch: 1}, {First: 12, Last: 20, LeaderEpoch: 2}},
			Voids:  []*raftlogv1.RememberedVoid{{First: 6, Last: 7, Index: 3}, {First: 13, Last: 13, Index: 4, Expired: true}}}
	}
	if err := ledger.NewBook().Restore(good()); err != nil {
		t.Fatalf("Restore of a good record = %v", err)
	}
	for name, spoil := range map[string]func(*raftlogv1.Ledger){
		"no topic id":            func(r *raftlogv1.Ledger) { r.TopicId = nil },
		"settled below start":    func(r *raftlogv1.Ledger) { r.Settled = 4 },
		"range at settled":       func(r *raftlogv1.Ledger) { r.Ranges[0].First = 10 },
		"reversed range":         func(r *raftlogv1.Ledger) { r.Ranges[0].Last = 11 },
		"touching ranges":        func(r *raftlogv1.Ledger) { r.Ranges[1].First = 14 },
		"epochs out of order":    func(r *raftlogv1.Ledger) { r.Epochs[1].LeaderEpoch = 1 },
		"epochs that overlap":    func(r *raftlogv1.Ledger) { r.Epochs[1].First = 9 },
		"void that is unsettled": func(r *raftlogv1.Ledger) { r.Voids[1].Last = 14 },
		"voids out of order":     func(r *raftlogv1.Ledger) { r.Voids[1].First = 7 },
	} {
		r := good()
		spoil(r)
		if err := ledger.NewBook().Restore(r); err == nil {
			t.Errorf("%s: Restore took %v", name, r)
		}
	}
}
