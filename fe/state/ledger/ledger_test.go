package ledger_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/ledger"
	typesv1 "shoal/proto/types/v1"
)

var topic = []byte("0123456789abcdef")

// part is offsets of partition 0; loaded ranges have the given leader epoch.
func part(epoch int32, loaded, void, expired [][2]int64) *typesv1.PartitionOffsets {
	p := &typesv1.PartitionOffsets{TopicId: topic}
	for _, r := range loaded {
		p.Loaded = append(p.Loaded, &typesv1.EpochRange{First: r[0], Last: r[1], LeaderEpoch: epoch})
	}
	for _, r := range void {
		p.Void = append(p.Void, &typesv1.OffsetRange{First: r[0], Last: r[1]})
	}
	for _, r := range expired {
		p.Expired = append(p.Expired, &typesv1.OffsetRange{First: r[0], Last: r[1]})
	}
	return p
}

func loaded(epoch int32, ranges ...[2]int64) *typesv1.PartitionOffsets {
	return part(epoch, ranges, nil, nil)
}

func void(ranges ...[2]int64) *typesv1.PartitionOffsets { return part(0, nil, ranges, nil) }

func expired(ranges ...[2]int64) *typesv1.PartitionOffsets { return part(0, nil, nil, ranges) }

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name      string
		settled   []*typesv1.PartitionOffsets // one a log entry, from index 1
		forget    uint64
		ask       *typesv1.PartitionOffsets
		diverged  string
		conflicts string
	}{
		{name: "new ledger", ask: loaded(1, [2]int64{10, 19})},
		{name: "below the start", ask: loaded(1, [2]int64{5, 12}), conflicts: "first:5 last:9 leader_epoch:1"},
		{name: "below settled", settled: []*typesv1.PartitionOffsets{loaded(1, [2]int64{10, 19})},
			ask: loaded(1, [2]int64{15, 25}), conflicts: "first:15 last:19 leader_epoch:1"},
		{name: "in a range above settled", settled: []*typesv1.PartitionOffsets{loaded(1, [2]int64{20, 29})},
			ask: loaded(1, [2]int64{15, 40}), conflicts: "first:20 last:29 leader_epoch:1"},
		{name: "void may be loaded", settled: []*typesv1.PartitionOffsets{void([2]int64{10, 19})}, ask: loaded(1, [2]int64{12, 14})},
		{name: "expired may be loaded", settled: []*typesv1.PartitionOffsets{expired([2]int64{10, 19})}, ask: loaded(1, [2]int64{12, 14})},
		{name: "forgotten void may not", settled: []*typesv1.PartitionOffsets{void([2]int64{10, 19}), void([2]int64{20, 29})}, forget: 1,
			ask: loaded(1, [2]int64{18, 21}), conflicts: "first:18 last:19 leader_epoch:1"},
		{name: "void over loaded is no conflict", settled: []*typesv1.PartitionOffsets{loaded(1, [2]int64{10, 19})}, ask: void([2]int64{5, 30})},
		{name: "void that was loaded", settled: []*typesv1.PartitionOffsets{void([2]int64{10, 19}), loaded(1, [2]int64{12, 14})},
			ask: loaded(1, [2]int64{11, 13}), conflicts: "first:12 last:13 leader_epoch:1"},
		{name: "other epoch on a loaded offset", settled: []*typesv1.PartitionOffsets{loaded(3, [2]int64{10, 19})}, ask: loaded(4, [2]int64{19, 22}),
			diverged: "offsets 19-22 now have leader epoch 4, but offsets 10-19 were loaded with leader epoch 3"},
		{name: "later epoch above", settled: []*typesv1.PartitionOffsets{loaded(3, [2]int64{10, 19})}, ask: loaded(4, [2]int64{20, 22})},
		{name: "later epoch below", settled: []*typesv1.PartitionOffsets{loaded(3, [2]int64{20, 29})}, ask: loaded(4, [2]int64{10, 12}),
			diverged: "offsets 10-12 now have leader epoch 4, but offsets 20-29 were loaded with leader epoch 3"},
		{name: "earlier epoch above", settled: []*typesv1.PartitionOffsets{loaded(3, [2]int64{20, 29})}, ask: loaded(2, [2]int64{40, 41}),
			diverged: "offsets 40-41 now have leader epoch 2, but offsets 20-29 were loaded with leader epoch 3"},
		{name: "epoch of a void is not known", settled: []*typesv1.PartitionOffsets{loaded(3, [2]int64{10, 11}), void([2]int64{12, 12})}, forget: 2,
			ask: loaded(4, [2]int64{12, 12}), conflicts: "first:12 last:12 leader_epoch:4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := ledger.New(10, 1)
			for i, p := range tt.settled {
				if v := l.Check(p); v.Diverged != "" || len(v.Conflicts) > 0 || v.Wait {
					t.Fatalf("Check(%v) = %+v before the test's question", p, v)
				}
				l.Settle(p, uint64(i+1))
			}
			l.Forget(tt.forget)
			got := l.Check(tt.ask)
			want := ledger.Verdict{Diverged: tt.diverged}
			if got.Diverged != want.Diverged || got.Wait || render(got.Conflicts) != tt.conflicts {
				t.Errorf("Check(%v) = %q, conflicts %q, wait %v; want %q, %q", tt.ask, got.Diverged, render(got.Conflicts), got.Wait, tt.diverged, tt.conflicts)
			}
		})
	}
}

// render is ranges as text without the random spaces of protobuf's own.
func render(ranges []*typesv1.EpochRange) string {
	var parts []string
	for _, r := range ranges {
		parts = append(parts, strings.Join(strings.Fields(r.String()), " "))
	}
	return strings.Join(parts, ", ")
}

func TestCrowdedPartitionWaits(t *testing.T) {
	l := ledger.New(0, 1)
	for i := range int64(ledger.MaxRanges) {
		p := loaded(1, [2]int64{10 * (i + 1), 10*(i+1) + 1})
		if v := l.Check(p); v.Wait {
			t.Fatalf("range %d waits, limit is %d", i+1, ledger.MaxRanges)
		}
		l.Settle(p, 1)
	}
	for _, tt := range []struct {
		name string
		ask  *typesv1.PartitionOffsets
		wait bool
	}{
		{"one range more", loaded(1, [2]int64{2000, 2001}), true},
		{"one more as void", void([2]int64{2000, 2001}), true},
		{"beside a range", loaded(1, [2]int64{12, 13}), false},
		{"between two", loaded(1, [2]int64{12, 19}), false},
		{"lowest unsettled and one more", loaded(1, [2]int64{0, 0}, [2]int64{2000, 2001}), false},
		{"closes a hole and opens one", loaded(1, [2]int64{12, 19}, [2]int64{2000, 2001}), false},
	} {
		if got := l.Check(tt.ask).Wait; got != tt.wait {
			t.Errorf("%s: wait = %v, want %v", tt.name, got, tt.wait)
		}
	}
	// The auditor may settle what it proves at any time.
	l.Settle(void([2]int64{3000, 3000}, [2]int64{3002, 3002}), 2)
	if l.Check(loaded(1, [2]int64{12, 13})).Wait {
		t.Error("above the limit, a txn that adds no range waits")
	}
}

func TestEpochsAreBounded(t *testing.T) {
	l := ledger.New(0, 1)
	for i := range int64(1000) {
		l.Settle(loaded(int32(i), [2]int64{i, i}), 1)
	}
	if v := l.Check(loaded(7, [2]int64{999, 999})); v.Diverged == "" {
		t.Error("an old epoch at the end did not diverge")
	}
	if v := l.Check(loaded(3, [2]int64{3, 3})); v.Diverged != "" || len(v.Conflicts) != 1 {
		t.Errorf("Check of an offset whose epoch is forgotten = %+v, want a conflict", v)
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    *typesv1.PartitionOffsets
		ok   bool
	}{
		{"good", part(1, [][2]int64{{0, 4}, {6, 7}}, [][2]int64{{5, 5}}, [][2]int64{{8, 9}}), true},
		{"adjacent", loaded(1, [2]int64{0, 4}, [2]int64{5, 5}), true},
		{"nothing", part(1, nil, nil, nil), false},
		{"reversed", loaded(1, [2]int64{4, 3}), false},
		{"negative", void([2]int64{-1, 3}), false},
		{"too large", void([2]int64{0, 1 << 62}), false},
		{"out of order", loaded(1, [2]int64{6, 7}, [2]int64{0, 4}), false},
		{"overlap in a list", expired([2]int64{0, 4}, [2]int64{4, 7}), false},
		{"overlap of lists", part(1, [][2]int64{{0, 4}}, [][2]int64{{4, 5}}, nil), false},
		{"short topic id", &typesv1.PartitionOffsets{TopicId: []byte("x"), Void: void([2]int64{0, 0}).Void}, false},
		{"zero topic id", &typesv1.PartitionOffsets{TopicId: make([]byte, 16), Void: void([2]int64{0, 0}).Void}, false},
		{"negative partition", &typesv1.PartitionOffsets{TopicId: topic, Partition: -1, Void: void([2]int64{0, 0}).Void}, false},
		{"falling epoch", &typesv1.PartitionOffsets{TopicId: topic,
			Loaded: []*typesv1.EpochRange{{First: 0, Last: 1, LeaderEpoch: 2}, {First: 2, Last: 3, LeaderEpoch: 1}}}, false},
	} {
		before := proto.Clone(tt.p)
		if err := ledger.Validate(tt.p); (err == nil) != tt.ok || err != nil && !errors.Is(err, ledger.ErrMalformed) {
			t.Errorf("%s: Validate = %v, want ok %v", tt.name, err, tt.ok)
		}
		if !proto.Equal(tt.p, before) {
			t.Errorf("%s: Validate changed its argument", tt.name)
		}
	}
}
