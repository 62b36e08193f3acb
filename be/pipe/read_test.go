package pipe_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"

	"shoal/be/source"
	typesv1 "shoal/proto/types/v1"
)

// query runs a SELECT over a rowset in an instance of its own; each row is its
// cells as text.
func (b *bench) query(t testing.TB, query, rel string) (rows []string) {
	t.Helper()
	path := localPath(t, b.warehouse, rel)
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	result, err := db.Query(fmt.Sprintf("SELECT COLUMNS(*)::VARCHAR FROM ("+query+")", path))
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	names, err := result.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for result.Next() {
		cells := make([]sql.NullString, len(names))
		targets := make([]any, len(names))
		for i := range cells {
			targets[i] = &cells[i]
		}
		if err := result.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, c := range cells {
			if !c.Valid {
				c.String = "NULL"
			}
			text = append(text, c.String)
		}
		rows = append(rows, strings.Join(text, " "))
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func (b *bench) files(t testing.TB) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(b.root + "/warehouse/7")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The footer keeps the rules for Parquet: ids, storage types, zstd, metadata.
func TestFooter(t *testing.T) {
	p := newPipe(t, specFor(columns("b BOOLEAN", "ti TINYINT", "i INT", "bi BIGINT", "li LARGEINT", "f FLOAT", "d DOUBLE", "d9 DECIMAL(9,2)",
		"d18 DECIMAL(18,3)", "d38 DECIMAL(38,9)", "dt DATE", "ts DATETIME(3)", "v VARCHAR(5)", "j JSON", `we"ird'name STRING`), typesv1.RoutineLoad_FORMAT_JSON))
	parts := []source.Partition{partition(4, `{"i":1}`, `{"i":2}`, `{"x":3}`)}
	parts[0].Records[1].Offset = 105
	parts[0].Records[2].Offset = 106
	res, err := p.Write(t.Context(), 1, "the-label", parts)
	if err != nil {
		t.Fatal(err)
	}
	r := p.footer(t, res.Rowset)
	defer r.Close()
	want := []string{
		"b 10 BOOLEAN None", "ti 11 INT32 Int(bitWidth=32, isSigned=true)", "i 12 INT32 Int(bitWidth=32, isSigned=true)", "bi 13 INT64 Int(bitWidth=64, isSigned=true)",
		"li 14 FIXED_LEN_BYTE_ARRAY Decimal(precision=38, scale=0)", "f 15 FLOAT None", "d 16 DOUBLE None", "d9 17 INT32 Decimal(precision=9, scale=2)",
		"d18 18 INT64 Decimal(precision=18, scale=3)", "d38 19 FIXED_LEN_BYTE_ARRAY Decimal(precision=38, scale=9)", "dt 20 INT32 Date",
		"ts 21 INT64 Timestamp(isAdjustedToUTC=false, timeUnit=microseconds, is_from_converted_type=false, force_set_converted_type=false)",
		"v 22 BYTE_ARRAY String", "j 23 BYTE_ARRAY String", `we"ird'name 24 BYTE_ARRAY String`,
	}
	checkColumns(t, r, want)
	meta := r.MetaData().KeyValueMetadata()
	for key, value := range map[string]string{
		"shoal.table": "db1.t", "shoal.table_id": "7", "shoal.label": "the-label",
		"shoal.offsets": `[{"topic":"events","topic_id":"00ab0000000000000000000000000000","partition":4,"offsets":"100,105-106"}]`,
	} {
		if got := meta.FindValue(key); got == nil || *got != value {
			t.Errorf("%s is %v, want %s", key, got, value)
		}
	}
	e := p.footer(t, res.ErrorRowset)
	defer e.Close()
	for i := range 19 {
		if id := e.MetaData().Schema.Column(i).SchemaNode().FieldID(); id != int32(i+1) {
			t.Errorf("error column %d has field id %d", i, id)
		}
	}
}

// footer opens a rowset with another reader than DuckDB, and checks what the
// state keeps of it.
func (b *bench) footer(t *testing.T, rowset *typesv1.Rowset) *file.Reader {
	t.Helper()
	path := localPath(t, b.warehouse, rowset.Path)
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != rowset.Bytes || r.NumRows() != rowset.Rows {
		t.Errorf("rowset says %d bytes and %d rows, the file has %d and %d", rowset.Bytes, rowset.Rows, info.Size(), r.NumRows())
	}
	return r
}

func checkColumns(t *testing.T, r *file.Reader, want []string) {
	t.Helper()
	schema, group := r.MetaData().Schema, r.MetaData().RowGroup(0)
	if schema.NumColumns() != len(want) {
		t.Fatalf("%d columns, want %d", schema.NumColumns(), len(want))
	}
	for i := range want {
		c := schema.Column(i)
		if got := fmt.Sprint(c.Name(), " ", c.SchemaNode().FieldID(), " ", c.PhysicalType(), " ", c.LogicalType()); got != want[i] {
			t.Errorf("column %d is %s, want %s", i, got, want[i])
		}
		if c.MaxDefinitionLevel() != 1 {
			t.Errorf("column %s is not nullable", c.Name())
		}
		chunk, err := group.ColumnChunk(i)
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Compression() != compress.Codecs.Zstd {
			t.Errorf("column %s is compressed by %v", c.Name(), chunk.Compression())
		}
		if ok, err := chunk.StatsSet(); !ok || err != nil {
			t.Errorf("column %s has no statistics: %v", c.Name(), err)
		}
	}
}
