package bench

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// seed makes every run load the same rows.
const seed = 1

// A dataset is one kind of records: a table, and rows to load into it.
type dataset struct {
	name    string
	format  string // of the routine load
	columns []column
	// row appends the values of row i, as text, in the order of the columns.
	row func(r *rand.Rand, i int, values []string) []string
}

type column struct {
	name, typ string // as in CREATE TABLE
	quoted    bool   // in JSON
}

// What share mode is for: appended by many at once, in no order that matters.
var datasets = []dataset{
	{
		name:   "web log",
		format: "json",
		columns: []column{
			{"ts", "DATETIME(3)", true}, {"host", "VARCHAR(64)", true}, {"path", "VARCHAR(1024)", true},
			{"status", "SMALLINT", false}, {"bytes", "BIGINT", false}, {"latency_ms", "DOUBLE", false},
		},
		row: webEvent,
	},
	{
		name:   "device metrics",
		format: "csv",
		columns: []column{
			{"ts", "DATETIME(3)", true}, {"device", "CHAR(36)", true}, {"site", "VARCHAR(64)", true},
			{"metric", "VARCHAR(64)", true}, {"seq", "BIGINT", false}, {"value", "DOUBLE", false},
		},
		row: deviceMetric,
	},
}

func webEvent(r *rand.Rand, i int, values []string) []string {
	return append(values,
		timestamp(i),
		fmt.Sprintf("web-%d.shop.example", r.IntN(24)),
		fmt.Sprintf("/items/%d", r.IntN(100_000)),
		[]string{"200", "200", "200", "200", "204", "301", "304", "404", "500"}[r.IntN(9)],
		strconv.Itoa(r.IntN(200_000)),
		strconv.FormatFloat(r.ExpFloat64()*40, 'f', 3, 64))
}

func deviceMetric(r *rand.Rand, i int, values []string) []string {
	device := r.IntN(5_000)
	return append(values,
		timestamp(i),
		fmt.Sprintf("%08x-5ea1-4000-8000-%012x", device*2654435761%(1<<32), device),
		fmt.Sprintf("region-%d/plant-%02d/line-%d", device%4, device%23, device%7),
		[]string{"engine.coolant.temperature", "engine.oil.pressure", "battery.cell.voltage", "cabin.air.humidity"}[r.IntN(4)],
		strconv.Itoa(1_000_000_000+i),
		strconv.FormatFloat(r.NormFloat64()*15+60, 'f', 4, 64))
}

// timestamp is a time in a day of about two thousand events a second.
func timestamp(i int) string {
	return time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 500 * time.Microsecond).Format("2006-01-02 15:04:05.000")
}

// records yields the first n records, each valid until the next.
func (d dataset) records(n int) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		r := rand.New(rand.NewPCG(seed, uint64(len(d.name))))
		var values []string
		var record []byte
		for i := range n {
			values = d.row(r, i, values[:0])
			if record = d.encode(values, record[:0]); !yield(i, record) {
				return
			}
		}
	}
}

func (d dataset) encode(values []string, record []byte) []byte {
	if d.format == "csv" {
		return append(record, strings.Join(values, ",")...)
	}
	record = append(record, '{')
	for i, c := range d.columns {
		if i > 0 {
			record = append(record, ',')
		}
		record = strconv.AppendQuote(record, c.name)
		record = append(record, ':')
		if c.quoted {
			record = strconv.AppendQuote(record, values[i])
		} else {
			record = append(record, values[i]...)
		}
	}
	return append(record, '}')
}

// createTable is the dataset's table as a statement.
func (d dataset) createTable(table string) string {
	var columns []string
	for _, c := range d.columns {
		columns = append(columns, c.name+" "+c.typ)
	}
	return fmt.Sprintf("CREATE TABLE %s (%s) DUPLICATE KEY(ts) DISTRIBUTED BY HASH(ts) BUCKETS 1 PROPERTIES(\"replication_num\"=\"1\")",
		table, strings.Join(columns, ", "))
}

func TestRecords(t *testing.T) {
	const n = 1000
	for _, d := range datasets {
		var first [][]byte
		total := 0
		for _, record := range d.records(n) {
			first = append(first, bytes.Clone(record))
			total += len(record)
		}
		if mean := total / n; mean < 120 || mean > 140 {
			t.Errorf("%s: records have %d bytes on average, want about 130; the first is %s", d.name, mean, first[0])
		}
		for i, record := range d.records(n) {
			if !bytes.Equal(record, first[i]) {
				t.Fatalf("%s: record %d is %s, and the second time %s", d.name, i, first[i], record)
			}
		}
	}
}
