package types_test

import (
	"strings"
	"testing"

	"shoal/sql/types"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, spelled, duckDB, dataType, columnType string }{
		{"BOOLEAN", "boolean", "BOOLEAN", "tinyint", "tinyint(1)"},
		{"TinyInt(4)", "tinyint", "INTEGER", "tinyint", "tinyint(4)"},
		{"SMALLINT", "smallint", "INTEGER", "smallint", "smallint(6)"},
		{"INTEGER", "int", "INTEGER", "int", "int(11)"},
		{"BIGINT", "bigint", "BIGINT", "bigint", "bigint(20)"},
		{"LARGEINT", "largeint", "DECIMAL(38,0)", "bigint unsigned", "bigint(20) unsigned"},
		{"FLOAT", "float", "FLOAT", "float", "float"},
		{"DOUBLE", "double", "DOUBLE", "double", "double"},
		{"DECIMAL", "decimal(38,9)", "DECIMAL(38,9)", "decimal", "decimal(38,9)"},
		{"DECIMAL(10)", "decimal(10,0)", "DECIMAL(10,0)", "decimal", "decimal(10,0)"},
		{"decimal ( 10 , 2 )", "decimal(10,2)", "DECIMAL(10,2)", "decimal", "decimal(10,2)"},
		{"DECIMAL(38,38)", "decimal(38,38)", "DECIMAL(38,38)", "decimal", "decimal(38,38)"},
		{"DATE", "date", "DATE", "date", "date"},
		{"DATETIME", "datetime", "TIMESTAMP", "datetime", "datetime"},
		{"DATETIME(0)", "datetime", "TIMESTAMP", "datetime", "datetime"},
		{"DATETIME(6)", "datetime(6)", "TIMESTAMP", "datetime", "datetime(6)"},
		{"CHAR", "char(1)", "VARCHAR", "char", "char(1)"},
		{"CHAR(255)", "char(255)", "VARCHAR", "char", "char(255)"},
		{"VARCHAR(20)", "varchar(20)", "VARCHAR", "varchar", "varchar(20)"},
		{"VARCHAR", "varchar(65533)", "VARCHAR", "varchar", "varchar(65533)"},
		{"varchar(*)", "varchar(65533)", "VARCHAR", "varchar", "varchar(65533)"},
		{"STRING", "text", "VARCHAR", "text", "text"},
		{"JSON", "json", "VARCHAR", "json", "json"},
	} {
		got, err := types.Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		if got.String() != c.spelled || got.DuckDB() != c.duckDB || got.DataType() != c.dataType || got.ColumnType() != c.columnType {
			t.Errorf("Parse(%q) = %s, %s, %s, %s", c.in, got, got.DuckDB(), got.DataType(), got.ColumnType())
		}
		if again, err := types.Parse(got.String()); err != nil || again != got {
			t.Errorf("Parse(%q) = %v, %v, not the type it was printed from", got.String(), again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"DECIMAL(39)":    "between 1 and 38",
		"DECIMAL(0)":     "between 1 and 38",
		"DECIMAL(5,6)":   "between 0 and its precision",
		"DECIMAL(5,1,1)": "at most 2",
		"DATETIME(7)":    "between 0 and 6",
		"CHAR(0)":        "between 1 and 255",
		"CHAR(256)":      "between 1 and 255",
		"VARCHAR(65534)": "between 1 and 65533",
		"VARCHAR(x)":     "not a number",
		"VARCHAR(1":      "closing parenthesis",
		"DOUBLE(1)":      "at most 0",
		"ARRAY":          "not supported yet",
		"STRNG":          "unknown column type",
		"":               "unknown column type",
	} {
		if got, err := types.Parse(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, %v; want an error with %q", in, got, err, want)
		}
	}
}

func TestIntegerBits(t *testing.T) {
	for kind, bits := range map[types.Kind]int{types.TinyInt: 8, types.SmallInt: 16, types.Int: 32, types.BigInt: 64, types.LargeInt: 128, types.Double: 0} {
		if got := (types.Type{Kind: kind}).IntegerBits(); got != bits {
			t.Errorf("%v: %d bits, want %d", kind, got, bits)
		}
	}
}
