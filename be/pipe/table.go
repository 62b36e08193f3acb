package pipe

import (
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	typesv1 "shoal/proto/types/v1"
	spell "shoal/sql/duckdb"
	"shoal/sql/types"
)

// rowGroupBytes bounds a row group, and so what DuckDB holds of one txn: wide
// rows make groups of fewer rows than the usual 122,880.
const rowGroupBytes = 16 << 20

// table is a schema as statements need it.
type table struct {
	schemaVersion uint32
	columns       []duckdb.ColumnInfo
	selection     string // a cast for each column
	fieldIDs      string
}

type keyValue struct{ key, value string }

// newTable compiles a schema by the rules for Parquet: explicit field ids, of
// parts too, and a CAST to the declared type around every expression.
func newTable(schema *typesv1.Schema) (table, error) {
	t := table{schemaVersion: schema.Version}
	var selection, ids []string
	for i, c := range schema.Columns {
		typ, err := types.Parse(c.Type)
		if err != nil {
			return table{}, fmt.Errorf("column %s: %w", c.Name, err)
		}
		info, err := vectorType(typ)
		if err != nil {
			return table{}, fmt.Errorf("column %s: %w", c.Name, err)
		}
		source := fmt.Sprintf("c%d", i)
		t.columns = append(t.columns, duckdb.ColumnInfo{Name: source, T: info})
		selection = append(selection, fmt.Sprintf("CAST(%s AS %s) AS %s", columnValue(source, typ), typ.DuckDB(), spell.QuoteName(c.Name)))
		ids = append(ids, spell.QuoteString(c.Name)+": "+typ.FieldIDs(c.FieldId))
	}
	t.selection, t.fieldIDs = strings.Join(selection, ", "), strings.Join(ids, ", ")
	return t, nil
}

// copyStatement writes the rows of source id to path.
func (t table) copyStatement(id uint64, path string, metadata []keyValue) string {
	var pairs []string
	for _, m := range metadata {
		pairs = append(pairs, spell.QuoteString(m.key)+": "+spell.QuoteString(m.value))
	}
	return fmt.Sprintf("COPY (SELECT %s FROM %s(%d::UBIGINT)) TO %s (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION 'V1', "+
		"ROW_GROUP_SIZE_BYTES %d, USE_TMP_FILE false, FIELD_IDS {%s}, KV_METADATA {%s})",
		t.selection, rowsFunction, id, spell.QuoteString(path), rowGroupBytes, t.fieldIDs, strings.Join(pairs, ", "))
}
