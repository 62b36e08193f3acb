package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"shoal/internal/engine"
)

// nestedColumns are columns with parts, as CREATE TABLE spells them, with a
// value in DuckDB's spelling and the text that clients get.
var nestedColumns = []struct{ name, spelling, value, text string }{
	{"numbers", "ARRAY<INT>", "[1, NULL, -3]", "[1, null, -3]"},
	{"words", "ARRAY<VARCHAR(20)>", `['a', 'b"c\d', 'ü', NULL]`, `["a", "b\"c\\d", "ü", null]`},
	{"empty", "ARRAY<STRING>", "[]", "[]"},
	{"none", "ARRAY<STRING>", "NULL", "NULL"},
	{"deep", "ARRAY<ARRAY<DECIMAL(10,2)>>", "[[1.5, 2], [], NULL]", "[[1.50, 2.00], [], null]"},
	{"tiny", "ARRAY<TINYINT>", "[1]", "[1]"},
	{"big", "ARRAY<LARGEINT>", "[12345678901234567890123456789012345678]", "[12345678901234567890123456789012345678]"},
	{"dates", "ARRAY<DATE>", "[DATE '2024-02-29']", `["2024-02-29"]`},
	{"times", "MAP<STRING,DATETIME(3)>", "MAP {'a': TIMESTAMP '2024-01-02 03:04:05.5', 'b': NULL}", `{"a":"2024-01-02 03:04:05.500", "b":null}`},
	{"counts", "MAP<INT,BOOLEAN>", "MAP {1: true, 2: false}", `{"1":true, "2":false}`},
	{"person", "STRUCT<name:STRING,`home town`:STRUCT<zip:INT,street:STRING>,tags:ARRAY<STRING>>",
		`{'name': 'Ann', 'home town': {'zip': 123, 'street': NULL}, 'tags': ['x']}`, `{"name":"Ann", "home town":{"zip":123, "street":null}, "tags":["x"]}`},
	{"list", "ARRAY<STRUCT<a:INT,b:MAP<STRING,DOUBLE>>>", "[{'a': 1, 'b': MAP {'x': 0.5}}]", `[{"a":1, "b":{"x":0.5}}]`},
	{"variant", "VARIANT", `'{"a": [1]}'`, `{"a": [1]}`},
}

// nestedFile writes one row of nestedColumns; its names are the old ones.
func nestedFile(t *testing.T, dir, name string) string {
	var fields, ids []string
	for i, c := range nestedColumns {
		typ := typ(t, c.spelling)
		fields = append(fields, fmt.Sprintf(`CAST(%s AS %s) AS "old_%s"`, c.value, typ.DuckDB(), c.name))
		ids = append(ids, fmt.Sprintf("old_%s: %s", c.name, typ.FieldIDs(int32(i+1))))
	}
	return parquet(t, dir, name, "SELECT "+strings.Join(fields, ", "), strings.Join(ids, ", "))
}

func nestedTable(t *testing.T, files ...string) engine.Table {
	table := engine.Table{DB: "d", Name: "t", Files: files}
	for i, c := range nestedColumns {
		table.Columns = append(table.Columns, column(t, c.name, int32(i+1), c.spelling))
	}
	return table
}

// TestNestedColumns holds that what has parts is found by field id too, next to
// files that are older, and is read as Doris prints it.
func TestNestedColumns(t *testing.T) {
	dir := t.TempDir()
	older := parquet(t, dir, "older.parquet", "SELECT 1::INTEGER AS gone", "gone: 99")
	table := nestedTable(t, nestedFile(t, dir, "a.parquet"), older)
	got, err := ask(t.Context(), engine.Request{SQL: `SELECT * FROM "db:d"."t" ORDER BY numbers NULLS LAST`, Tables: []engine.Table{table}})
	if err != nil {
		t.Fatal(err)
	}
	cells := make([]string, len(nestedColumns))
	for i, c := range nestedColumns {
		cells[i] = c.text
		if want := c.name + ":" + table.Columns[i].Type.String(); got.columns[i] != want {
			t.Errorf("column %s, want %s", got.columns[i], want)
		}
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL|", len(nestedColumns)), "|")
	if len(got.rows) != 2 || got.rows[0] != strings.Join(cells, "|") || got.rows[1] != nulls {
		t.Errorf("got  %s\nwant %s\nand  %s", strings.Join(got.rows, "\n"), strings.Join(cells, "|"), nulls)
	}
}

func TestNestedExpressions(t *testing.T) {
	table := nestedTable(t, nestedFile(t, t.TempDir(), "a.parquet"))
	for query, want := range map[string]string{
		`SELECT numbers[1], len(words), counts[2], person.name, person."home town".zip, deep[1][2] FROM "db:d"."t"`:  "[1|4|0|Ann|123|2.00]",
		`SELECT list_sum(numbers), map_keys(counts), list[1].b['x'] FROM "db:d"."t" WHERE list_contains(words, 'a')`: "[-2|[1, 2]|0.5]",
		`SELECT unnest(words) FROM "db:d"."t" ORDER BY 1 NULLS FIRST`:                                                `[NULL a b"c\d ü]`,
		`SELECT count(*) FROM "db:d"."t" WHERE numbers = [1, NULL, -3]`:                                              "[1]",
	} {
		got, err := ask(t.Context(), engine.Request{SQL: query, Tables: []engine.Table{table}})
		if s := fmt.Sprint(got.rows); err != nil || s != want {
			t.Errorf("%s: got %s, %v, want %s", query, s, err, want)
		}
	}
}

// TestNestedRows holds that rows which come with the request are read as what
// they print.
func TestNestedRows(t *testing.T) {
	table := nestedTable(t)
	row := make([][]byte, len(nestedColumns))
	for i, c := range nestedColumns {
		if c.text != "NULL" {
			row[i] = []byte(c.text)
		}
	}
	table.Rows = [][][]byte{row}
	got, err := ask(t.Context(), engine.Request{SQL: `SELECT * FROM "db:d"."t"`, Tables: []engine.Table{table}})
	if err != nil {
		t.Fatal(err)
	}
	cells := strings.Split(got.rows[0], "|")
	for i, c := range nestedColumns {
		if cells[i] != c.text {
			t.Errorf("%s: got %s, want %s", c.name, cells[i], c.text)
		}
	}
}

// TestRowsWithNUL holds that every text can come with a request.
func TestRowsWithNUL(t *testing.T) {
	table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{column(t, "s", 1, "STRING"), column(t, "m", 2, "MAP<STRING,STRING>")},
		Rows: [][][]byte{{[]byte("a\x00'b"), []byte(`{"k":"\u0000"}`)}}}
	got, err := ask(t.Context(), engine.Request{SQL: `SELECT s, strlen(s), m['k'] FROM "db:d"."t"`, Tables: []engine.Table{table}})
	if err != nil || fmt.Sprint(got.rows) != "[a\x00'b|4|\x00]" {
		t.Errorf("got %q, %v", got.rows, err)
	}
}
