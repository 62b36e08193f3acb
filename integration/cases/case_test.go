package cases

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/internal/testkafka"
)

// NULL in the rows that a case wants; the text null is another thing.
const null = "<NULL>"

// The modes of a job.
const (
	classic = "classic"
	share   = "share_group"
)

// A load is a table and a job as a case sets them up, over the template: CSV with
// commas, max_batch_interval 1, max_error_number 100, strict_mode false, from
// the beginning.
type load struct {
	columns    string            // of table t, in parentheses; the first one is the key
	clauses    string            // of the job, before PROPERTIES
	properties map[string]string // of the job
	source     map[string]string // of FROM KAFKA
	partitions int               // of the topic, 1 if 0
	topic      map[string]string // its configs
}

// An outcome is what becomes of all messages.
type outcome struct {
	query      string     // SELECT * FROM t if empty
	rows       [][]string // in any order
	errors     []string   // a part of each error row's reason, by partition and offset
	unselected int
	empties    int // messages without a value
	state      string
	reason     []string // parts of why the job is paused
}

// A kase is a load, all of its messages, and the outcome.
type kase struct {
	load
	messages []*kgo.Record
	lines    int // rows that the messages have; as many as messages if 0
	want     outcome
}

// texts are messages with these values.
func texts(values ...string) []*kgo.Record {
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Value: []byte(v)}
	}
	return records
}

// times repeats a message's value.
func times(n int, value string) []*kgo.Record { return texts(slices.Repeat([]string{value}, n)...) }

// copies are messages of one's own: producing fills in offsets and more.
func copies(messages []*kgo.Record) []*kgo.Record {
	out := make([]*kgo.Record, len(messages))
	for i, m := range messages {
		out[i] = &kgo.Record{Key: m.Key, Value: m.Value, Headers: m.Headers, Partition: m.Partition, Timestamp: m.Timestamp}
	}
	return out
}

// json are properties of a JSON job, and more.
func json(more ...string) map[string]string {
	out := map[string]string{"format": "json"}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// both runs something in both modes, side by side.
func both(t *testing.T, run func(t *testing.T, mode string)) {
	t.Parallel()
	for _, mode := range []string{classic, share} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			run(t, mode)
		})
	}
}

// runBoth runs cases, by name, in both modes.
func runBoth(t *testing.T, cases map[string]kase) {
	both(t, func(t *testing.T, mode string) {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				runCase(t, mode, cases[name])
			})
		}
	})
}

// runCase has the messages there before the job begins.
func runCase(t *testing.T, mode string, c kase) {
	t.Helper()
	j := prepare(t, connect(t), testkafka.Shared(t), mode, c.load)
	j.produce(copies(c.messages)...)
	j.create()
	j.settle(c.want, len(c.messages), c.lines)
}

// settle waits for the outcome of so many messages, and looks whether
// everything adds up.
func (j *job) settle(want outcome, messages, lines int) {
	j.t.Helper()
	if want.state == "" {
		want.state = "RUNNING"
	}
	if lines == 0 {
		lines = messages
	}
	j.waitState(want.state, want.reason...)
	if want.state == "RUNNING" {
		j.waitCounters(counters{
			Loaded: int64(len(want.rows)), Errors: int64(len(want.errors)), Unselected: int64(want.unselected), Empty: int64(want.empties),
		})
		if sum := len(want.rows) + len(want.errors) + want.unselected + want.empties; sum != lines {
			j.t.Errorf("the case is wrong: its outcomes are %d, of %d rows", sum, lines)
		}
		j.waitNoLag()
		j.waitLedger()
	}
	j.checkRows(want.query, want.rows)
	j.checkErrors(want.errors)
}

// checkRows compares the answer of a query, SELECT * FROM t if empty, with rows
// in any order.
func (j *job) checkRows(query string, want [][]string) {
	j.t.Helper()
	if query == "" {
		query = "SELECT * FROM t"
	}
	sorted := func(rows [][]string) []string {
		var out []string
		for _, row := range rows {
			out = append(out, "("+strings.Join(row, ", ")+")")
		}
		slices.Sort(out)
		return out
	}
	var rows [][]string
	j.eventually(func() (err error) { // a backend may just have come back
		rows, err = j.try(j.t.Context(), query)
		return err
	})
	if got, want := sorted(rows[1:]), sorted(want); !slices.Equal(got, want) {
		j.t.Errorf("%s:\n got %q\nwant %q", query, got, want)
	}
}

// checkErrors compares the job's error rows, by partition and offset, with parts
// of their reasons.
func (j *job) checkErrors(want []string) {
	j.t.Helper()
	got := j.errorRows()
	if len(got) != len(want) {
		j.t.Errorf("%d error rows, want %d: %v", len(got), len(want), got)
		return
	}
	for i, row := range got {
		if !strings.Contains(row["reason"], want[i]) {
			j.t.Errorf("error row %d (offset %s) has reason %q, want one with %q", i, row["kafka_offset"], row["reason"], want[i])
		}
	}
}
