package pipe_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/source"
	typesv1 "shoal/proto/types/v1"
)

// With a dead letter topic the first error row of a message has all of it.
func TestErrorRowsKeepMessages(t *testing.T) {
	part := partition(3, "1\nx\ny", "z")
	first := part.Records[0]
	first.Key, first.Timestamp = []byte{0xFF, 0}, time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.FixedZone("", 3600))
	first.Headers = []kgo.RecordHeader{{Key: "trace", Value: []byte("abc")}, {Key: "trace"}}
	part.Records[1].Timestamp = time.UnixMilli(0)
	for _, topic := range []string{"", "dead"} {
		spec := specFor(columns("id INT NOT NULL"), typesv1.RoutineLoad_FORMAT_CSV)
		spec.Load.DeadLetterTopic = topic
		p := newPipe(t, spec)
		res, err := p.Write(t.Context(), 1, "l", []source.Partition{part})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"2 2026-01-02 02:04:05.678 /wA= MQp4Cnk= [[\"dHJhY2U=\",\"YWJj\"],[\"dHJhY2U=\",null]]",
			"3 2026-01-02 02:04:05.678 NULL NULL NULL",
			"1 1970-01-01 00:00:00 NULL eg== []",
		}
		if topic == "" {
			for i, row := range want {
				want[i] = strings.Join(strings.Fields(row)[:3], " ") + " NULL NULL NULL"
			}
		}
		got := p.query(t, "SELECT line, message_timestamp, message_key, message_value, message_headers FROM read_parquet('%s') WHERE kafka_topic_id = '00ab0000000000000000000000000000'", res.ErrorRowset.Path)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("topic %q: error rows\n%s\nwant\n%s", topic, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// Error rows beyond what memory they may take are counted and not kept, but
// one of each message is.
func TestErrorRowsAreBounded(t *testing.T) {
	p := newPipe(t, specFor(columns("id INT NOT NULL"), typesv1.RoutineLoad_FORMAT_CSV))
	const lines = 300_000
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, strings.Repeat("x\n", lines), "y\ny\ny", "1", "z")})
	if err != nil {
		t.Fatal(err)
	}
	if c := res.Counters; c.ErrorRows != lines+4 || c.LoadedRows != 1 || c.TotalRows != lines+5 {
		t.Errorf("counters %v", c)
	}
	if res.ErrorRowset.Rows >= lines/2 {
		t.Errorf("%d error rows were kept", res.ErrorRowset.Rows)
	}
	got := p.query(t, "SELECT kafka_offset, max(line) - count(*), sum(CASE WHEN reason LIKE '%%more error rows of this message)' THEN 1 ELSE 0 END) FROM read_parquet('%s') GROUP BY 1 ORDER BY 1", res.ErrorRowset.Path)
	if want := []string{"100 0 1", "101 0 1", "103 0 0"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	if more := p.query(t, "SELECT reason FROM read_parquet('%s') WHERE kafka_offset = 101", res.ErrorRowset.Path); !strings.HasSuffix(more[0], "(and 2 more error rows of this message)") {
		t.Errorf("reason %q", more)
	}
}

// What an error row says stays as it was when it was found, whatever is decoded
// after it.
func TestErrorRowsKeepTheirSource(t *testing.T) {
	long := strings.Repeat("x", 3000)
	messages := []string{`{"id":"bad\u002d1","s":"a"}`, `{"id":"` + long + `\u002d2","s":"a"}`}
	for i := range 5000 {
		messages = append(messages, fmt.Sprintf(`{"id":"\u0031%d","s":"a"}`, i))
	}
	for _, where := range []string{"", "id > 0"} {
		spec := specFor(columns("id INT NOT NULL", "s STRING"), typesv1.RoutineLoad_FORMAT_JSON)
		spec.Load.Where = where
		p := newPipe(t, spec)
		res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, messages...)})
		if err != nil {
			t.Fatal(err)
		}
		got := p.query(t, "SELECT source_value FROM read_parquet('%s') ORDER BY kafka_offset", res.ErrorRowset.Path)
		if want := []string{"bad-1", long[:1024]}; !slices.Equal(got, want) {
			t.Errorf("where %q: source values %q", where, got)
		}
	}
}

// What must not be decoded is an error row as it is, whatever it holds, with a
// mapping and without.
func TestPoisonIsNotDecoded(t *testing.T) {
	for _, where := range []string{"", "id > 0"} {
		spec := specFor(columns("id INT NOT NULL"), typesv1.RoutineLoad_FORMAT_CSV)
		spec.Load.Where = where
		p := newPipe(t, spec)
		part := partition(0, "1", "2\n3", "4")
		part.Records = append(part.Records, &source.Record{Offset: 300}) // a tombstone
		part.Poison = map[int64]string{101: "it kills", 300: "it kills too", 999: "elsewhere"}
		res, err := p.Write(t.Context(), 1, "l", []source.Partition{part})
		if err != nil {
			t.Fatal(err)
		}
		if c := res.Counters; c.LoadedRows != 2 || c.ErrorRows != 2 || c.EmptyMessages != 0 || c.TotalRows != 4 {
			t.Errorf("counters %v", c)
		}
		got := p.query(t, "SELECT kafka_offset, line, reason, raw FROM read_parquet('%s') ORDER BY kafka_offset", res.ErrorRowset.Path)
		if want := []string{"101 1 it kills 2\n3", "300 1 it kills too "}; !slices.Equal(got, want) {
			t.Errorf("where %q: error rows %q, want %q", where, got, want)
		}
	}
}

// Error rows come in the order of their messages, and the first of each has all of
// it, also where one that must not be decoded follows many bad rows.
func TestPoisonIsInOrder(t *testing.T) {
	for _, where := range []string{"", "id > 0"} {
		spec := specFor(columns("id INT NOT NULL"), typesv1.RoutineLoad_FORMAT_CSV)
		spec.Load.Where, spec.Load.DeadLetterTopic = where, "dead"
		p := newPipe(t, spec)
		part := partition(0, strings.Repeat("x\n", 3000), "1", "x")
		part.Poison = map[int64]string{101: "it kills"}
		res, err := p.Write(t.Context(), 1, "l", []source.Partition{part})
		if err != nil {
			t.Fatal(err)
		}
		got := p.query(t, "SELECT kafka_offset, min(file_row_number), count(*), count(message_value) FROM read_parquet('%s', file_row_number = true) GROUP BY 1 ORDER BY 1", res.ErrorRowset.Path)
		if want := []string{"100 0 3000 1", "101 3000 1 1", "102 3001 1 1"}; !slices.Equal(got, want) {
			t.Errorf("where %q: offset, first row, rows and whole messages %q, want %q", where, got, want)
		}
	}
}
