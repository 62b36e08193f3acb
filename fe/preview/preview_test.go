package preview

import (
	"fmt"
	"testing"
	"time"

	"shoal/fe/kafka"
	backendv1 "shoal/proto/backend/v1"
)

func TestLast(t *testing.T) {
	logs := map[int32]kafka.Log{
		0: {Start: 0, End: 100, StableEnd: 90}, 1: {Start: 50, End: 52, StableEnd: 52}, 2: {}, 3: {Start: 10, End: 1010, StableEnd: 1010},
	}
	for _, c := range []struct {
		n           int64
		uncommitted bool
		want        string
	}{
		{12, false, "map[0:85 1:50 2:0 3:1005]"}, // 5 + 2 + 0 + 5
		{3, false, "map[0:89 1:51 2:0 3:1009]"},  // one each
		{1000, false, "map[0:0 1:50 2:0 3:102]"}, // what is not there comes from the largest
		{1000, true, "map[0:0 1:50 2:0 3:112]"},  // with what is not committed yet
		{0, false, "map[0:90 1:52 2:0 3:1010]"},  // nothing
		{9999, true, "map[0:0 1:50 2:0 3:10]"},   // all
	} {
		if got := fmt.Sprint(last(logs, c.uncommitted, c.n)); got != c.want {
			t.Errorf("last %d: got %s, want %s", c.n, got, c.want)
		}
	}
}

func TestRow(t *testing.T) {
	record := &backendv1.KafkaRecord{Partition: 2, Offset: 7, TimestampMs: 1_700_000_000_123, Key: []byte{0xff, 'k'}, Value: []byte("größe\x00"),
		Headers: []*backendv1.Header{{Name: "a", Value: []byte("1")}, {Name: "b"}, {Name: "a", Value: []byte("\xfe\"")}}}
	want := []string{"t", "2", "7", "2023-11-15 03:43:20.123", `\xFFk`, "größe\x00", `{"a":"\\xFE\"","b":null}`}
	for i, cell := range row("t", record, time.FixedZone("+05:30", 19800)) {
		if *cell != want[i] {
			t.Errorf("column %d is %q, want %q", i, *cell, want[i])
		}
	}
	tombstone := row("t", &backendv1.KafkaRecord{}, time.UTC)
	if tombstone[4] != nil || tombstone[5] != nil || *tombstone[6] != "{}" {
		t.Errorf("got %v", tombstone)
	}
}
