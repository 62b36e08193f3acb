package pipe_test

import (
	"strings"
	"testing"

	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// multiSpec is of a job for all tables of a database.
func multiSpec(format typesv1.RoutineLoad_Format, tables ...*backendv1.TaskTable) *backendv1.TaskSpec {
	spec := specFor(nil, format)
	spec.TableName, spec.TableId, spec.Tables, spec.Load.MultiTable = "", 0, tables, true
	return spec
}

func TestWriteSeveralTables(t *testing.T) {
	p := newPipe(t, multiSpec(typesv1.RoutineLoad_FORMAT_CSV,
		&backendv1.TaskTable{TableId: 8, Name: "t2", Schema: columns("name STRING")},
		&backendv1.TaskTable{TableId: 7, Name: "t1", Schema: columns("id INT NOT NULL", "k DECIMAL(3,1)")},
		&backendv1.TaskTable{TableId: 9, Name: "größe", Schema: columns("id INT")},
		&backendv1.TaskTable{TableId: 10, Name: "unused", Schema: columns("id INT")}))
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{
		partition(0, "t1|1,1.5", "\xEF\xBB\xBFt2|a|b", "größe|1\n2", "", "t1|2,400"),
		partition(1, "T1|1,1", "|1,1", "no bar", "t2|", "t1|3,3", "unused|x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Rowset != nil || len(res.Tables) != 4 {
		t.Fatalf("result %+v", res)
	}
	want := []string{"7 3 1 1.5;3 3.0", "8 3 a|b", "9 3 1;2", "10 3 NULL"}
	for i, rows := range res.Tables {
		if rows.Rowset.SchemaVersion != rows.SchemaVersion || rows.Rowset.Path != strings.Fields(want[i])[0]+"/1-11-12-13-1.parquet" {
			t.Errorf("table %d: %v", i, rows)
		}
		if got := strings.Join(p.query(t, "SELECT * FROM read_parquet('%s')", rows.Rowset.Path), ";"); !strings.HasSuffix(want[i], " 3 "+got) {
			t.Errorf("table %d has %q, want %q", i, got, want[i])
		}
	}
	c := res.Counters
	if c.TotalRows != 10 || c.LoadedRows != 6 || c.ErrorRows != 4 || c.EmptyMessages != 2 {
		t.Errorf("counters %v", c)
	}
	if res.ErrorRowset.Path != "0/1-11-12-13-1-errors.parquet" {
		t.Errorf("error rows are at %s", res.ErrorRowset.Path)
	}
	got := p.query(t, "SELECT table_name, kafka_partition, kafka_offset, line, reason FROM read_parquet('%s')", res.ErrorRowset.Path)
	wantErrors := []string{
		"t1 0 104 1 column k: the value is out of the range of decimal(3,1)",
		`T1 1 100 1 the database has no table of the name "T1"`,
		" 1 101 1 no table name stands before the vertical bar",
		"no bar 1 102 1 no table name: a message of a multi-table job is the name of a table, a vertical bar and rows, as in orders|1,2",
	}
	if strings.Join(got, "\n") != strings.Join(wantErrors, "\n") {
		t.Errorf("error rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wantErrors, "\n"))
	}
}

// A txn with a hundred tables is written, whatever was compiled before.
func TestWriteManyTables(t *testing.T) {
	var tables []*backendv1.TaskTable
	var messages []string
	for i := range 100 {
		name := strings.Repeat("t", i+1)
		tables = append(tables, &backendv1.TaskTable{TableId: uint64(i + 1), Name: name, Schema: columns("id INT")})
		messages = append(messages, name+`|{"id":1}`)
	}
	p := newPipe(t, multiSpec(typesv1.RoutineLoad_FORMAT_JSON, tables...))
	for number := uint64(1); number <= 2; number++ {
		res, err := p.Write(t.Context(), number, "l", []source.Partition{partition(0, messages...)})
		if err != nil || len(res.Tables) != 100 || res.ErrorRowset != nil {
			t.Fatalf("%d tables, %v", len(res.Tables), err)
		}
	}
}

// A job of a table that this process cannot load fails to be made; of a
// multi-table job, the txns that need it do, and leave nothing.
func TestWriteToAnUnknownType(t *testing.T) {
	p := newPipe(t, multiSpec(typesv1.RoutineLoad_FORMAT_CSV,
		&backendv1.TaskTable{TableId: 7, Name: "t1", Schema: columns("id INT")},
		&backendv1.TaskTable{TableId: 8, Name: "t2", Schema: columns("id HLL")}))
	if _, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, "t1|1", "t2|1")}); err == nil || !strings.Contains(err.Error(), "table t2") {
		t.Fatalf("write = %v", err)
	}
	if files := p.files(t); len(files) != 0 {
		t.Errorf("files %q", files)
	}
	if _, err := p.Write(t.Context(), 2, "l", []source.Partition{partition(0, "t1|1")}); err != nil {
		t.Errorf("a write without it = %v", err)
	}
}
