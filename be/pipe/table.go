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

// newTable compiles a schema by the rules for Parquet: explicit field ids, and a
// CAST to the declared type around every expression.
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
		selection = append(selection, fmt.Sprintf("CAST(%s AS %s) AS %s", expression(source, typ), typ.DuckDB(), spell.QuoteName(c.Name)))
		ids = append(ids, fmt.Sprintf("%s: %d", spell.QuoteString(c.Name), c.FieldId))
	}
	t.selection, t.fieldIDs = strings.Join(selection, ", "), strings.Join(ids, ", ")
	return t, nil
}

// expression makes the value of a column of what its vector holds: times
// travel as the integers that decode.Column has.
func expression(source string, t types.Type) string {
	switch t.Kind {
	case types.Date:
		return "DATE '1970-01-01' + " + source
	case types.DateTime:
		return "make_timestamp(" + source + ")"
	}
	return source
}

// vectorType is the type of the vectors that a column's values are copied into.
func vectorType(t types.Type) (duckdb.TypeInfo, error) {
	switch t.Kind {
	case types.LargeInt:
		return duckdb.NewDecimalInfo(types.MaxDecimalPrecision, 0)
	case types.Decimal:
		return duckdb.NewDecimalInfo(uint8(t.Precision), uint8(t.Scale))
	case types.Boolean:
		return duckdb.NewTypeInfo(duckdb.TYPE_BOOLEAN)
	case types.BigInt, types.DateTime:
		return duckdb.NewTypeInfo(duckdb.TYPE_BIGINT)
	case types.Float:
		return duckdb.NewTypeInfo(duckdb.TYPE_FLOAT)
	case types.Double:
		return duckdb.NewTypeInfo(duckdb.TYPE_DOUBLE)
	case types.Char, types.VarChar, types.String, types.JSON:
		return duckdb.NewTypeInfo(duckdb.TYPE_VARCHAR)
	}
	return duckdb.NewTypeInfo(duckdb.TYPE_INTEGER)
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
