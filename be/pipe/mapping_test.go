package pipe_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/pipe"
	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestMapping runs the scripts in testdata/mapping. job makes a pipe of one
// property a line:
//
//	table NAME TYPE [NOT NULL] [DEFAULT 'x']; …
//	columns NAME            a field
//	columns NAME=EXPRESSION
//	preceding, where, timezone, format, strict
//
// write gives it one message a line, \n, \t and \\ being escapes, perhaps after
// key=…, header=name:value and empty, and shows rows, error rows and counters.
// All time stamps are 2022-12-19 00:00:00.5 UTC.
func TestMapping(t *testing.T) {
	datadriven.Walk(t, "testdata/mapping", func(t *testing.T, path string) {
		var b *bench
		number := uint64(0)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "job":
				spec := parseJob(t, d.Input)
				engine, wh, root := newEngine(t)
				p, err := pipe.New(t.Context(), pipe.Config{Spec: spec, Engine: engine, Warehouse: wh, Logger: slog.New(slog.DiscardHandler),
					Now: func() time.Time { return testNow }})
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				t.Cleanup(func() {
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				})
				b = &bench{p, wh, root}
				return "ok\n"
			case "write":
				number++
				return b.writeAndShow(t, number, parseMessages(t, d.Input))
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func parseJob(t *testing.T, input string) *backendv1.TaskSpec {
	spec := specFor(nil, typesv1.RoutineLoad_FORMAT_CSV)
	load := spec.Load
	for line := range strings.SplitSeq(input, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "table":
			spec.Schema = &typesv1.Schema{Version: 3}
			for i, c := range strings.Split(value, "; ") {
				c, fallback, hasDefault := strings.Cut(c, " DEFAULT ")
				column := columns(c).Columns[0]
				column.FieldId = int32(10 + i)
				if hasDefault && fallback == "now" {
					column.DefaultCurrentTimestamp = true
				} else if hasDefault {
					column.DefaultValue = &fallback
				}
				spec.Schema.Columns = append(spec.Schema.Columns, column)
			}
		case "columns":
			name, expr, _ := strings.Cut(value, "=")
			load.LoadColumns = append(load.LoadColumns, &typesv1.LoadColumn{Name: name, Expr: expr})
		case "preceding":
			load.PrecedingFilter = value
		case "where":
			load.Where = value
		case "timezone":
			load.Timezone = value
		case "strict":
			load.StrictMode = true
		case "format":
			load.Format = typesv1.RoutineLoad_Format(typesv1.RoutineLoad_Format_value["FORMAT_"+strings.ToUpper(value)])
		default:
			t.Fatalf("unknown property %s", key)
		}
	}
	return spec
}

func parseMessages(t *testing.T, input string) []source.Partition {
	p := source.Partition{TopicID: source.TopicID{1: 0xAB}, Topic: "events", Partition: 5}
	for line := range strings.SplitSeq(input, "\n") {
		r := &source.Record{Topic: "events", Partition: 5, Offset: int64(100 + len(p.Records)), Timestamp: time.Date(2022, 12, 19, 0, 0, 0, 500_700_000, time.UTC)}
		for {
			word, rest, _ := strings.Cut(line, " ")
			if key, ok := strings.CutPrefix(word, "key="); ok {
				r.Key = []byte(key)
			} else if header, ok := strings.CutPrefix(word, "header="); ok {
				name, value, found := strings.Cut(header, ":")
				h := kgo.RecordHeader{Key: name}
				if found {
					h.Value = []byte(value)
				}
				r.Headers = append(r.Headers, h)
			} else {
				break
			}
			line = rest
		}
		r.Value = []byte(strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\xFF`, "\xFF").Replace(line))
		p.Records = append(p.Records, r)
	}
	return []source.Partition{p}
}

func (b *bench) writeAndShow(t *testing.T, number uint64, parts []source.Partition) string {
	res, err := b.Write(t.Context(), number, "l", parts)
	if err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	if res.Rowset != nil {
		for _, row := range b.query(t, "SELECT * FROM read_parquet('%s')", res.Rowset.Path) {
			s.WriteString(row + "\n")
		}
	}
	if res.ErrorRowset != nil {
		for _, row := range b.query(t, "SELECT kafka_offset, line, coalesce(column_name, '-'), coalesce(source_value, '-'), '| ' || reason FROM read_parquet('%s')", res.ErrorRowset.Path) {
			s.WriteString("error: " + row + "\n")
		}
	}
	c := res.Counters
	if c.LoadedRows+c.ErrorRows+c.UnselectedRows != c.TotalRows || c.LoadedRows != res.Rowset.GetRows() || c.ErrorRows != res.ErrorRowset.GetRows() {
		t.Errorf("counters %v of %d rows and %d error rows", c, res.Rowset.GetRows(), res.ErrorRowset.GetRows())
	}
	fmt.Fprintf(&s, "%d loaded, %d error, %d unselected, %d empty\n", c.LoadedRows, c.ErrorRows, c.UnselectedRows, c.EmptyMessages)
	for _, rowset := range []*typesv1.Rowset{res.Rowset, res.ErrorRowset} {
		if rowset != nil {
			path := localPath(t, b.warehouse, rowset.Path)
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		}
	}
	return s.String()
}
