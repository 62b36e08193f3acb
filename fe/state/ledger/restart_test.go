package ledger_test

import (
	"testing"

	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestRestart begins generations one after the other, and remembers what each
// passed over until it is loaded after all.
func TestRestart(t *testing.T) {
	const job = 7
	book := ledger.NewBook()
	at := func(partition int32, start int64) *raftlogv1.LedgerStart {
		return &raftlogv1.LedgerStart{TopicId: topic, Partition: partition, Start: start}
	}
	book.Open(job, 1, 0, []*raftlogv1.LedgerStart{at(0, 10), at(1, 0)})
	key, _ := ledger.KeyOf(topic, 0)
	for _, p := range []*typesv1.PartitionOffsets{loaded(1, [2]int64{10, 19}), loaded(1, [2]int64{30, 39})} {
		book.Get(job, key).Settle(p, 1)
	}
	for _, step := range []struct {
		name    string
		start   int64
		skipped string
	}{
		{"further on, over a hole", 50, "20-29,40-49"},
		{"back into what was skipped", 45, "20-29,40-44"},
		{"on again", 60, "20-29,40-59"},
		{"from the beginning", 0, "none"},
	} {
		generation := book.Views(job)[0].Generation + 1
		book.Restart(job, generation, 0, []*raftlogv1.LedgerStart{at(0, step.start)}, false)
		v := book.Views(job)[0]
		if v.Start != step.start || v.Settled != step.start || v.Generation != generation || len(v.Ranges) > 0 || v.Loaded != 0 || v.Skipped.String() != step.skipped {
			t.Errorf("%s: %+v, want start %d and skipped %s", step.name, v, step.start, step.skipped)
		}
		copied := ledger.NewBook()
		for r := range book.Records() {
			if err := copied.Restore(r); err != nil {
				t.Fatal(err)
			}
		}
		if got := copied.Views(job)[0]; got.Skipped.String() != step.skipped || copied.Len() != book.Len() {
			t.Errorf("%s: restored as %+v", step.name, got)
		}
	}
	if book.Len() != 2 || book.Views(job)[1].Generation != 1 {
		t.Errorf("%d ledgers, the second %+v: it goes on", book.Len(), book.Views(job)[1])
	}
	book.Restart(job, 9, 0, []*raftlogv1.LedgerStart{at(2, 3)}, true)
	if views := book.Views(job); book.Len() != 1 || len(views) != 1 || views[0].Partition != 2 {
		t.Errorf("for another topic: %+v", views)
	}
}

func TestSkippedThatCannotBe(t *testing.T) {
	for _, ranges := range [][]*typesv1.OffsetRange{
		{{First: 5, Last: 10}}, {{First: 5, Last: 4}}, {{First: 5, Last: 6}, {First: 6, Last: 7}}, {{First: -1, Last: 2}},
	} {
		record := &raftlogv1.Ledger{JobId: 1, TopicId: topic, Generation: 2, Start: 10, Settled: 10, Skipped: ranges}
		if err := ledger.NewBook().Restore(record); err == nil {
			t.Errorf("skipped %v below start 10 was restored", ranges)
		}
	}
}
