package pipe_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet/schema"

	"shoal/be/source"
	"shoal/internal/engine"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/duckdb"
)

func TestNestedValues(t *testing.T) {
	table := columns("a ARRAY<INT>", "m MAP<STRING,DECIMAL(38,9)>", "s STRUCT<x:LARGEINT,`y z`:DATETIME(3)>", "aa ARRAY<ARRAY<STRING>>",
		"deep ARRAY<MAP<INT,STRUCT<d:DATE,m:MAP<DATE,ARRAY<BOOLEAN>>>>>", "sm STRUCT<f:FLOAT,m:MAP<BIGINT,DOUBLE>>", "v VARIANT", "n ARRAY<DECIMAL(9,2)>")
	p := newPipe(t, specFor(table, typesv1.RoutineLoad_FORMAT_JSON))
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0,
		`{"a":[1,null,3],"m":{"k":12345678901234567890123456789.123456789,"é":null},"s":{"x":-99999999999999999999999999999999999999,"y z":"2024-01-02 03:04:05.678"},
		  "aa":[["x","y"],[],null],"deep":[{"7":{"d":"2024-02-29","m":{"2024-01-01":[true,false,null]}}},null,{}],"sm":{"f":0.1,"m":{"-9223372036854775808":1e300}},
		  "v":{"any":[1]},"n":[-9999999.99]}`,
		`{"a":[],"m":{},"s":{},"aa":[],"deep":[],"sm":{"m":null},"v":null,"n":null}`,
		`{"a":null}`)})
	if err != nil || res.ErrorRowset != nil {
		t.Fatalf("%v, samples %v", err, res.Samples)
	}
	got := p.query(t, "SELECT * FROM read_parquet('%s')", res.Rowset.Path)
	want := []string{
		`[1, NULL, 3] {k=12345678901234567890123456789.123456789, é=NULL} {'x': -99999999999999999999999999999999999999, 'y z': '2024-01-02 03:04:05.678'} [[x, y], [], NULL] ` +
			`[{7={'d': 2024-02-29, 'm': {2024-01-01=[true, false, NULL]}}}, NULL, {}] {'f': 0.1, 'm': {-9223372036854775808=1e+300}} {"any":[1]} [-9999999.99]`,
		`[] {} {'x': NULL, 'y z': NULL} [] [] {'f': NULL, 'm': NULL} NULL NULL`,
		`NULL NULL NULL NULL NULL NULL NULL NULL`,
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d is\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
	p.checkFieldIDs(t, res.Rowset)
	p.checkEngineReads(t, table, res.Rowset)
}

// checkFieldIDs: every column and part has the id that its type says, and no
// two the same.
func (b *bench) checkFieldIDs(t *testing.T, rowset *typesv1.Rowset) {
	t.Helper()
	r := b.footer(t, rowset)
	defer r.Close()
	seen := map[int32]string{}
	var walk func(node schema.Node, path string)
	walk = func(node schema.Node, path string) {
		group, ok := node.(*schema.GroupNode)
		// The groups between a list or map and its parts have no column's id.
		repeated := strings.HasSuffix(path, ".list") || strings.HasSuffix(path, ".key_value")
		if id := node.FieldID(); path != "" && !repeated {
			if id < 0 || seen[id] != "" {
				t.Errorf("%s has field id %d, which %q has too", path, id, seen[id])
			}
			seen[id] = path
		}
		for i := 0; ok && i < group.NumFields(); i++ {
			walk(group.Field(i), path+"."+group.Field(i).Name())
		}
	}
	walk(r.MetaData().Schema.Root(), "")
	if seen[10] != ".a" || seen[1<<30|10<<12|1] != ".a.list.element" || seen[1<<30|12<<12|2] != ".s.y z" {
		t.Errorf("field ids %v", seen)
	}
}

// checkEngineReads: queries find every part by its id.
func (b *bench) checkEngineReads(t *testing.T, table *typesv1.Schema, rowset *typesv1.Rowset) {
	t.Helper()
	path := localPath(t, b.warehouse, rowset.Path)
	list, err := engine.Columns(table)
	if err != nil {
		t.Fatal(err)
	}
	small := engine.New(engine.Config{Threads: 1, MemoryLimit: 256 << 20})
	var got []string
	err = small.Query(t.Context(), engine.Request{
		SQL:    `SELECT a[3], m['k'], s."y z", deep[1][7].m['2024-01-01'][2], sm.f FROM ` + duckdb.TableName("d", "t") + ` LIMIT 1`,
		Tables: []engine.Table{{DB: "d", Name: "t", Columns: list, Files: []string{path}}},
	}, func([]engine.ResultColumn) error { return nil }, func(cells [][]byte) error {
		got = append(got, fmt.Sprintf("%s", cells))
		return nil
	})
	if want := "[[3 12345678901234567890123456789.123456789 2024-01-02 03:04:05.678000 0 0.1]]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("the engine reads %s, %v; want %s", got, err, want)
	}
}

// Expressions see nested columns, and make them.
func TestNestedExpressions(t *testing.T) {
	spec := specFor(columns("id INT", "tags ARRAY<STRING>", "m MAP<STRING,INT>"), typesv1.RoutineLoad_FORMAT_JSON)
	spec.Load.LoadColumns = []*typesv1.LoadColumn{{Name: "id"}, {Name: "t"}, {Name: "m"}, {Name: "tags", Expr: "split_by_string(t, '|')"}}
	spec.Load.Where = "array_contains(tags, 'x') and element_at(m, 'k') > 1"
	p := newPipe(t, spec)
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0,
		`{"id":1,"t":"x|y","m":{"k":2}}`, `{"id":2,"t":"z","m":{"k":2}}`, `{"id":3,"t":"x","m":{"k":1}}`, `{"id":4}`, `{"id":5,"t":"a|x","m":{"j":0,"k":7}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if c := res.Counters; c.LoadedRows != 2 || c.UnselectedRows != 3 {
		t.Errorf("counters %v", c)
	}
	got := p.query(t, "SELECT * FROM read_parquet('%s')", res.Rowset.Path)
	if want := "1 [x, y] {k=2};5 [a, x] {j=0, k=7}"; strings.Join(got, ";") != want {
		t.Errorf("rows %q, want %q", got, want)
	}
}

// A map of very many keys takes time by their number, not by its square.
func TestLargeMap(t *testing.T) {
	p := newPipe(t, specFor(columns("m MAP<STRING,INT>"), typesv1.RoutineLoad_FORMAT_JSON))
	const keys = 300_000
	var s strings.Builder
	s.WriteString(`{"m":{`)
	for i := range keys {
		fmt.Fprintf(&s, `"key%d":%d,`, i, i)
	}
	s.WriteString(`"last":1}}`)
	began := time.Now()
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, s.String())})
	if err != nil || res.Rowset.GetRows() != 1 {
		t.Fatal(res, err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if got := p.query(t, "SELECT cardinality(m), m['key299999'] FROM read_parquet('%s')", res.Rowset.Path); got[0] != fmt.Sprint(keys+1, " ", 299999) {
		t.Errorf("the map has %q", got)
	}
}

// Keys that are one value to DuckDB are one key, however they are written: a
// map with a key twice would fail the txn for ever.
func TestEqualKeys(t *testing.T) {
	p := newPipe(t, specFor(columns("d MAP<DOUBLE,INT>", "f MAP<FLOAT,INT>", "n MAP<DECIMAL(38,2),INT>", "l MAP<LARGEINT,INT>", "t MAP<DATETIME,INT>", "b MAP<BOOLEAN,INT>", "c MAP<VARCHAR(2),INT>"), typesv1.RoutineLoad_FORMAT_JSON))
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0,
		`{"d":{"0":1,"-0":2,"1":3,"1.0":4,"1e0":5},"f":{"0.1":1,"0.10000000149011612":2},"n":{"1":1,"1.00":2,"1.001":3},"l":{"7":1,"7.0":2},
		  "t":{"2024-01-01":1,"2024-01-01 00:00:00":2,"20240101000000":3},"b":{"true":1,"1":2,"TRUE":3},"c":{"abc":1,"abd":2,"ab":3}}`)})
	if err != nil {
		t.Fatal(err)
	}
	got := p.query(t, "SELECT cardinality(d), cardinality(f), cardinality(n), cardinality(l), cardinality(t), cardinality(b), cardinality(c) FROM read_parquet('%s')", res.Rowset.Path)
	if want := "2 1 1 1 1 1 1"; len(got) != 1 || got[0] != want {
		t.Errorf("the maps have %q keys, want %s; samples %v", got, want, res.Samples)
	}
}
