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
		{"VARIANT", "variant", "VARCHAR", "variant", "variant"},
		{"ARRAY<INT>", "array<int>", "INTEGER[]", "array", "array<int>"},
		{"array < array<decimal(10, 2)> >", "array<array<decimal(10,2)>>", "DECIMAL(10,2)[][]", "array", "array<array<decimal(10,2)>>"},
		{"MAP<STRING, DATETIME(3)>", "map<text,datetime(3)>", "MAP(VARCHAR, TIMESTAMP)", "map", "map<text,datetime(3)>"},
		{"STRUCT<a:INT COMMENT 'it''s', `b >`:ARRAY<JSON>, Größe : map<char(2),bigint> comment \"x\">",
			"struct<a:int comment 'it''s',`b >`:array<json>,Größe:map<char(2),bigint> comment 'x'>",
			`STRUCT("a" INTEGER, "b >" VARCHAR[], "Größe" MAP(VARCHAR, BIGINT))`, "struct",
			"struct<a:int comment 'it''s',`b >`:array<json>,Größe:map<char(2),bigint> comment 'x'>"},
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
		"DECIMAL(39)":              "between 1 and 38",
		"DECIMAL(0)":               "between 1 and 38",
		"DECIMAL(5,6)":             "between 0 and its precision",
		"DECIMAL(5,1,1)":           "at most 2",
		"DATETIME(7)":              "between 0 and 6",
		"CHAR(0)":                  "between 1 and 255",
		"CHAR(256)":                "between 1 and 255",
		"VARCHAR(65534)":           "between 1 and 65533",
		"VARCHAR(x)":               "not a number",
		"VARCHAR(1":                "closing parenthesis",
		"DOUBLE(1)":                "at most 0",
		"BITMAP":                   "not supported yet",
		"IPV4":                     "declare it VARCHAR(15)",
		"IPv6":                     "declare it VARCHAR(39)",
		"ARRAY":                    "ARRAY needs its parts: ARRAY<type>",
		"ARRAY<INT":                "no closing >",
		"ARRAY<>":                  "unknown column type",
		"ARRAY<INT>>":              "goes on after its end",
		"ARRAY<INT,INT>":           "no closing >",
		"MAP<INT>":                 "a key and a value",
		"MAP<JSON,INT>":            "key of a MAP cannot be JSON",
		"MAP<ARRAY<INT>,INT>":      "key of a MAP cannot be ARRAY",
		"STRUCT<>":                 "a name, a colon and a type",
		"STRUCT<a>":                "a name, a colon and a type",
		"STRUCT<a:INT,A:INT>":      "two fields named",
		"STRUCT<a:INT COMMENT>":    "needs a text in quotes",
		"STRUCT<a:INT COMMENT 'x>": "no closing '",
		"STRUCT<``:INT>":           "needs a name",
		strings.Repeat("ARRAY<", 10) + "INT" + strings.Repeat(">", 10): "9 deep at most",
		"STRUCT<" + strings.Repeat("x:ARRAY<INT>,", 5) + "x:INT>":      "two fields named",
		"VARIANT(1)": "at most 0",
		"STRNG":      "unknown column type",
		"":           "unknown column type",
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

func TestParts(t *testing.T) {
	typ, err := types.Parse("STRUCT<a:INT, m:MAP<STRING,ARRAY<DECIMAL(10,2)>> COMMENT 'c', z:DATE>")
	if err != nil {
		t.Fatal(err)
	}
	parts := typ.Parts()
	if len(parts) != 3 || parts[1].Name != "m" || parts[1].Comment != "c" || parts[1].Type.Kind != types.Map || parts[2].Type.Kind != types.Date {
		t.Fatalf("got %v", parts)
	}
	pair := parts[1].Type.Parts()
	if pair[0].Name != "key" || pair[1].Name != "value" || pair[1].Type.Parts()[0].Type != (types.Type{Kind: types.Decimal, Precision: 10, Scale: 2}) {
		t.Errorf("got %v", pair)
	}
	if parts[0].Type.IsNested() || parts[0].Type.Parts() != nil {
		t.Error("INT has parts")
	}
	// 1<<30 | 7<<12, then the parts in their order.
	const want = `{__duckdb_field_id: 7, "a": 1073770497, "m": {__duckdb_field_id: 1073770498, "key": 1073770499, ` +
		`"value": {__duckdb_field_id: 1073770500, "element": 1073770501}}, "z": 1073770502}`
	if got := typ.FieldIDs(7); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := parts[0].Type.FieldIDs(3); got != "3" {
		t.Errorf("got %s", got)
	}
}

// FuzzParse holds that no text makes Parse panic and that what it reads is
// printed so that it reads the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"decimal(10,2)", "ARRAY<MAP<STRING,STRUCT<a:INT COMMENT 'x',`b``c`:DATE>>>", "varchar(*)", "STRUCT<a:ARRAY<"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		typ, err := types.Parse(text)
		if err != nil {
			return
		}
		again, err := types.Parse(typ.String())
		if err != nil || again != typ {
			t.Errorf("%q became %q, which reads as %v, %v", text, typ, again, err)
		}
		typ.FieldIDs(1)
		typ.DuckDB()
	})
}
