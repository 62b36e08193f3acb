package dryrun_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"shoal/be/dryrun"
	"shoal/be/pipe"
	"shoal/be/source"
	"shoal/internal/engine"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newRunner(t *testing.T) *dryrun.Runner {
	pipes, err := pipe.OpenEngine(t.Context(), pipe.EngineConfig{MemoryBytes: 256 << 20, Writers: 1, SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pipes.Close(); err != nil {
			t.Error(err)
		}
	})
	return &dryrun.Runner{Pipes: pipes, Queries: engine.New(engine.Config{Threads: 1, MemoryLimit: 256 << 20}), Dir: t.TempDir(),
		Logger: slog.New(slog.DiscardHandler)}
}

func records(n int32, messages ...string) source.Partition {
	p := source.Partition{Topic: "events", Partition: n}
	for i, m := range messages {
		p.Records = append(p.Records, &source.Record{Partition: n, Offset: int64(100 + i), Value: []byte(m)})
	}
	return p
}

// run shows each row of a dry run as a line.
func run(t *testing.T, spec *backendv1.TaskSpec, parts ...source.Partition) string {
	t.Helper()
	r := newRunner(t)
	resp, err := r.Run(t.Context(), spec, parts)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(r.Dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if c, n := resp.Counters, int64(len(resp.Rows)); c.TotalRows+c.EmptyMessages != n {
		t.Errorf("counters %v of %d rows", c, n)
	}
	var s strings.Builder
	for _, row := range resp.Rows {
		fmt.Fprintf(&s, "%s %d %d %d %s", row.TableName, row.Partition, row.Offset, row.Line, strings.TrimPrefix(row.Outcome.String(), "OUTCOME_"))
		for _, c := range row.Cells {
			if c.Value == nil {
				s.WriteString(" NULL")
			} else {
				fmt.Fprintf(&s, " %s", c.Value)
			}
		}
		fmt.Fprintf(&s, " | %s | %s\n", row.Raw, row.Reason)
	}
	return s.String()
}

func schema(list ...string) *typesv1.Schema {
	s := &typesv1.Schema{Version: 1}
	for i, c := range list {
		name, typ, _ := strings.Cut(c, " ")
		s.Columns = append(s.Columns, &typesv1.Column{FieldId: int32(1 + i), Name: name, Type: typ, Nullable: true})
	}
	return s
}

func TestRun(t *testing.T) {
	spec := &backendv1.TaskSpec{JobName: "j", DbName: "d", TableName: "t", TableId: 7, Schema: schema("id INT", "at DATETIME(3)", "ok BOOLEAN", "tags ARRAY<INT>"),
		Load: &typesv1.RoutineLoad{ColumnSeparator: ";", StrictMode: true, Where: "id <> 3"}}
	got := run(t, spec,
		records(1, "1;2024-01-02 03:04:05.5;true;[1,2]\n2;\\N;0;\\N", "3;\\N;0;[]", "", "x;\\N;1;[]", "\n\n"),
		records(0, "4;2024-01-01;false;[]", "5"))
	want := `t 0 100 1 LOADED 4 2024-01-01 00:00:00.000 0 [] | 4;2024-01-01;false;[] | 
t 0 101 1 ERROR | 5 | number of fields: found 1, wanted 4 (separator ";")
t 1 100 1 LOADED 1 2024-01-02 03:04:05.500 1 [1, 2] | 1;2024-01-02 03:04:05.5;true;[1,2] | 
t 1 100 2 LOADED 2 NULL 0 NULL | 2;\N;0;\N | 
t 1 101 1 UNSELECTED | 3;\N;0;[] | 
 1 102 0 EMPTY |  | 
t 1 103 1 ERROR | x;\N;1;[] | column id: the value is no int
t 1 104 0 EMPTY | 

 | 
`
	if got != want {
		t.Errorf("rows\n%s\nwant\n%s", got, want)
	}
}

func TestRunSeveralTables(t *testing.T) {
	spec := &backendv1.TaskSpec{JobName: "j", DbName: "d", Load: &typesv1.RoutineLoad{ColumnSeparator: ",", MultiTable: true}, Tables: []*backendv1.TaskTable{
		{TableId: 1, Name: "a", Schema: schema("x INT")}, {TableId: 2, Name: "b", Schema: schema("y STRING", "z INT")}}}
	got := run(t, spec, records(0, "b|p,1\nq,2", "a|7", "c|1", "b|r,3"))
	want := `b 0 100 1 LOADED p 1 | p,1 | 
b 0 100 2 LOADED q 2 | q,2 | 
a 0 101 1 LOADED 7 | 7 | 
c 0 102 1 ERROR | c|1 | the database has no table of the name "c"
b 0 103 1 LOADED r 3 | r,3 | 
`
	if got != want {
		t.Errorf("rows\n%s\nwant\n%s", got, want)
	}
}

// A message of many rows does not fill the memory: the first are shown, all are
// counted.
func TestRunOfManyRows(t *testing.T) {
	spec := &backendv1.TaskSpec{JobName: "j", DbName: "d", TableName: "t", TableId: 7, Schema: schema("id INT"), Load: &typesv1.RoutineLoad{ColumnSeparator: ","}}
	resp, err := newRunner(t).Run(t.Context(), spec, []source.Partition{records(0, strings.Repeat("1\n", dryrun.MaxRows+5))})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(resp.Rows); n != dryrun.MaxRows || resp.Counters.LoadedRows != dryrun.MaxRows+5 {
		t.Errorf("%d rows are shown, and counted are %v", n, resp.Counters)
	}
	if last := resp.Rows[len(resp.Rows)-1]; len(last.Cells) != 1 || string(last.Cells[0].Value) != "1" {
		t.Errorf("the last row is %v", last)
	}
}

// A job that cannot run says so, as CREATE would.
func TestRunRefuses(t *testing.T) {
	spec := &backendv1.TaskSpec{JobName: "j", TableName: "t", Schema: schema("id INT"), Load: &typesv1.RoutineLoad{Where: "nope = 1"}}
	if _, err := newRunner(t).Run(t.Context(), spec, nil); err == nil || !strings.Contains(err.Error(), "unknown column 'nope'") {
		t.Errorf("a dry run = %v", err)
	}
}
