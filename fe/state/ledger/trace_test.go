package ledger_test

import (
	"fmt"
	"reflect"
	"testing"

	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestTrace keeps what no rowset tells, of a ledger that is to be traced, and
// not of the one beside it.
func TestTrace(t *testing.T) {
	const job = 7
	book := ledger.NewBook()
	book.Open(job, 1, 3, []*raftlogv1.LedgerStart{{TopicId: topic, Partition: 0, Traced: true}, {TopicId: topic, Partition: 1}})
	at := func(partition int32) *ledger.Ledger {
		key, _ := ledger.KeyOf(topic, partition)
		return book.Get(job, key)
	}
	rowset := func(txn uint64, partition int32, loaded, void [2]int64) *raftlogv1.TableRowset {
		return &raftlogv1.TableRowset{JobId: job, TxnId: txn, Partitions: []*typesv1.PartitionOffsets{{TopicId: topic, Partition: partition,
			Loaded: []*typesv1.EpochRange{{First: loaded[0], Last: loaded[1]}}, Void: []*typesv1.OffsetRange{{First: void[0], Last: void[1]}}}}}
	}
	trace := func() string {
		v := book.Views(job)[0].Trace
		return fmt.Sprintf("since %d, rowless %v, cut %v, barren %v", v.Since, v.Rowless, v.Cut, v.Barren)
	}
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"rows", func() { at(0).Settle(loaded(1, [2]int64{0, 9}), 4) }, "since 3, rowless none, cut none, barren none"},
		{"all filtered", func() { at(0).SettleRowless(loaded(1, [2]int64{10, 14}), 5) }, "since 3, rowless 10-14, cut none, barren none"},
		{"found void, some of which is loaded", func() { at(0).SettleRowless(void([2]int64{12, 19}), 6) }, "since 3, rowless 10-14, cut none, barren 15-19"},
		{"void in a file", func() { at(0).Settle(void([2]int64{20, 29}), 7) }, "since 3, rowless 10-14, cut none, barren 15-19"},
		{"cut", func() {
			book.Cut([]*raftlogv1.TableRowset{rowset(8, 0, [2]int64{40, 49}, [2]int64{50, 50}), rowset(9, 0, [2]int64{30, 39}, [2]int64{60, 60}),
				rowset(3, 0, [2]int64{70, 79}, [2]int64{80, 80}), rowset(9, 1, [2]int64{0, 9}, [2]int64{10, 10}), rowset(9, 2, [2]int64{0, 9}, [2]int64{10, 10})})
		}, "since 3, rowless 10-14, cut 30-49, barren 15-19,50,60"},
		{"begun again", func() {
			book.Restart(job, 2, 11, []*raftlogv1.LedgerStart{{TopicId: topic, Partition: 0, Traced: true}}, false)
		}, "since 11, rowless none, cut none, barren none"},
	} {
		step.do()
		if got := trace(); got != step.want {
			t.Errorf("%s: %s; want %s", step.name, got, step.want)
		}
		copied := ledger.NewBook()
		for r := range book.Records() {
			if err := copied.Restore(r); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := fmt.Sprintf("%+v", copied.Views(job)), fmt.Sprintf("%+v", book.Views(job)); got != want {
			t.Errorf("%s: restored as %s, want %s", step.name, got, want)
		}
	}
	at(1).SettleRowless(loaded(1, [2]int64{0, 9}), 12)
	if got := book.Views(job)[1].Trace; !reflect.DeepEqual(got, ledger.Trace{}) {
		t.Errorf("the ledger that is not traced has %+v", got)
	}
}
