package engine

import (
	"strings"
	"time"

	"shoal/internal/engine/native"
)

// format turns one column of a result into text. The text is DuckDB's memory
// where that has it as it is, else in a buffer of the format's own; it lives
// until the next row.
type format struct {
	vector *native.Vector
	text   appendFunc
	asIs   bool
	buffer []byte
}

// cell returns the text of a row, nil for NULL.
func (f *format) cell(row int) ([]byte, error) {
	if f.vector.Null(row) {
		return nil, nil
	}
	if f.asIs {
		return f.vector.Bytes(row), nil
	}
	out, err := f.text(f.buffer[:0], f.vector, row)
	if err != nil {
		return nil, err
	}
	f.buffer = out
	return out, nil
}

// formatsOf returns the columns of a result as clients are told of them, and
// their formats.
func formatsOf(result *native.Result, plain plainColumns, zone *time.Location) ([]ResultColumn, []format, error) {
	columns := result.Columns()
	described, texts, err := describe(columns, plain, zone)
	if err != nil {
		return nil, nil, err
	}
	formats := make([]format, len(columns))
	for i, c := range columns {
		formats[i] = format{vector: result.Vector(i), text: texts[i], asIs: c.Type.Name == "VARCHAR" || c.Type.Name == "BLOB", buffer: make([]byte, 0, 32)}
	}
	return described, formats, nil
}

// describe returns columns as clients are told of them, and what makes text of
// them.
func describe(columns []native.Column, plain plainColumns, zone *time.Location) ([]ResultColumn, []appendFunc, error) {
	described := make([]ResultColumn, len(columns))
	texts := make([]appendFunc, len(columns))
	for i, c := range columns {
		described[i] = ResultColumn{Name: c.Name, Type: resultType(c.Type)}
		w := writer{zone: zone}
		if declared, ok := plain.typeOf(c.Name); ok && declared.DuckDB() == c.Type.String() {
			described[i].Type = declared.String()
			w.declared = declared
		}
		if texts[i] = w.text(c.Type); c.Type.Name == "HUGEINT" {
			texts[i] = appendSum
		}
		if texts[i] == nil {
			return nil, nil, refuse("column %s is of a type that has no text; cast it to VARCHAR", c.Name)
		}
	}
	return described, texts, nil
}

// resultTypes are what MySQL clients are told about DuckDB's types, "text"
// about others. A boolean that is no column of a table is the result of a
// comparison, which MySQL has as an integer; HUGEINT is the sum of integers,
// which Doris has as BIGINT.
var resultTypes = map[string]string{
	"BOOLEAN": "bigint", "TINYINT": "tinyint", "SMALLINT": "smallint", "INTEGER": "int", "BIGINT": "bigint", "HUGEINT": "bigint",
	"UTINYINT": "smallint", "USMALLINT": "int", "UINTEGER": "bigint", "UBIGINT": "decimal(20,0)",
	"FLOAT": "float", "DOUBLE": "double", "DATE": "date", "TIME": "time", "TIME_NS": "time", "TIMETZ": "time", "INTERVAL": "time",
	"TIMESTAMP": "datetime(6)", "TIMESTAMPTZ": "datetime(6)", "TIMESTAMP_S": "datetime", "TIMESTAMP_MS": "datetime(3)", "TIMESTAMP_NS": "datetime(6)",
	"BLOB": "blob", "JSON": "json", "NULL": "null",
}

func resultType(t native.Type) string {
	if known, ok := resultTypes[t.Name]; ok {
		return known
	}
	if t.Name == "DECIMAL" {
		return strings.ToLower(t.String())
	}
	return "text"
}
