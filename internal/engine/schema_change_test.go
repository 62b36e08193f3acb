package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"shoal/internal/engine"
)

// TestChangedTypes reads old and new files of a column whose type was changed:
// values stay what they were, with and without a condition that DuckDB may take
// to the files' statistics.
func TestChangedTypes(t *testing.T) {
	dir := t.TempDir()
	for i, tt := range []struct {
		from, to         string
		old, added       string // values as DuckDB's SQL, of the stored types
		wantOld, wantNew string
	}{
		{"TINYINT", "INT", "-5::INTEGER", "300::INTEGER", "-5", "300"},
		{"INT", "BIGINT", "-5::INTEGER", "3000000000::BIGINT", "-5", "3000000000"},
		{"INT", "LARGEINT", "2147483647::INTEGER", "99999999999999999999::DECIMAL(38,0)", "2147483647", "99999999999999999999"},
		{"BIGINT", "LARGEINT", "9223372036854775807::BIGINT", "-99999999999999999999::DECIMAL(38,0)", "9223372036854775807", "-99999999999999999999"},
		{"INT", "DOUBLE", "2147483647::INTEGER", "0.5::DOUBLE", "2147483647", "0.5"},
		{"SMALLINT", "FLOAT", "-32768::INTEGER", "0.5::FLOAT", "-32768", "0.5"},
		{"INT", "VARCHAR(11)", "-5::INTEGER", "'new'", "-5", "new"},
		{"BIGINT", "STRING", "9223372036854775807::BIGINT", "'new'", "9223372036854775807", "new"},
		{"LARGEINT", "VARCHAR(39)", "-12345678901234567890::DECIMAL(38,0)", "'new'", "-12345678901234567890", "new"},
		{"FLOAT", "DOUBLE", "0.5::FLOAT", "0.1::DOUBLE", "0.5", "0.1"},
		{"DECIMAL(5,2)", "DECIMAL(12,4)", "12.34::DECIMAL(5,2)", "12345678.1234::DECIMAL(12,4)", "12.3400", "12345678.1234"},
		{"DECIMAL(18,2)", "DECIMAL(38,2)", "-12.34::DECIMAL(18,2)", "1.50::DECIMAL(38,2)", "-12.34", "1.50"},
		{"DECIMAL(5,2)", "VARCHAR(8)", "-2.50::DECIMAL(5,2)", "'new'", "-2.50", "new"},
		{"DATE", "DATETIME(3)", "DATE '2024-02-29'", "TIMESTAMP '2024-03-01 04:05:06.789'", "2024-02-29 00:00:00.000", "2024-03-01 04:05:06.789"},
		{"DATETIME", "DATETIME(6)", "TIMESTAMP '2024-02-29 01:02:03'", "TIMESTAMP '2024-03-01 04:05:06.789'", "2024-02-29 01:02:03.000000", "2024-03-01 04:05:06.789000"},
		{"CHAR(5)", "VARCHAR(9)", "'größe'", "'new'", "größe", "new"},
		{"VARCHAR(5)", "STRING", "'größe'", "'new'", "größe", "new"},
		{"JSON", "STRING", "'{\"a\":1}'", "'new'", `{"a":1}`, "new"},
	} {
		from, to := typ(t, tt.from), typ(t, tt.to)
		if err := from.CheckChange(to); err != nil {
			t.Fatal(err)
		}
		table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{column(t, "id", 1, "INT"), column(t, "v", 2, tt.to)},
			Files: []string{parquet(t, dir, fmt.Sprintf("%d.new.parquet", i), "SELECT 2::INTEGER id, "+tt.added+" AS v", "id: 1, v: 2")},
			Older: []engine.Older{{Columns: []engine.Column{column(t, "id", 1, "INT"), column(t, "old", 2, tt.from)},
				Files: []string{parquet(t, dir, fmt.Sprintf("%d.old.parquet", i), "SELECT 1::INTEGER id, "+tt.old+" AS v", "id: 1, v: 2")}}},
		}
		for sql, want := range map[string]string{
			`SELECT id, v FROM "db:d"."t" ORDER BY id`:                            fmt.Sprintf("[1|%s 2|%s]", tt.wantOld, tt.wantNew),
			`SELECT id FROM "db:d"."t" WHERE v = '` + tt.wantOld + `'`:            "[1]",
			`SELECT id FROM "db:d"."t" WHERE v = '` + tt.wantNew + `'`:            "[2]",
			`SELECT id FROM "db:d"."t" WHERE v IN ('` + tt.wantOld + `', NULL)`:   "[1]",
			`SELECT count(v), count(DISTINCT v) FROM "db:d"."t"`:                  "[2|2]",
			`SELECT v FROM "db:d"."t" WHERE v >= '` + tt.wantOld + `' AND id = 1`: "[" + tt.wantOld + "]",
		} {
			got, err := ask(t.Context(), engine.Request{SQL: sql, Tables: []engine.Table{table}})
			if err != nil {
				t.Errorf("%s to %s: %s: %v", tt.from, tt.to, sql, err)
			} else if s := fmt.Sprint(got.rows); s != want {
				t.Errorf("%s to %s: %s: got %s, want %s", tt.from, tt.to, sql, s, want)
			}
		}
	}
}

// TestConditionsOnChangedTypes: a condition means the same for values that are
// stored under an older type, whatever DuckDB makes of it for the files'
// statistics: what it is compared with is not rounded to that type.
func TestConditionsOnChangedTypes(t *testing.T) {
	dir := t.TempDir()
	for i, tt := range []struct {
		stored, from, to string
		conditions       []string
	}{
		{"i::INTEGER", "INT", "DOUBLE", []string{"< 10.5", "<= 10.5", "> 10.5", "= 10.5", "<> 10.5", "= 10", "< '10.5'", "IN (10.5, 11)", "BETWEEN 9.5 AND 10.5", "< 1e300"}},
		{"i::INTEGER", "INT", "BIGINT", []string{"< 3000000000", "> 3000000000", "= 3000000000", "IN (5, 3000000000)"}},
		{"i::INTEGER", "INT", "LARGEINT", []string{"< 10.5", ">= 0.5", "< 99999999999999999999"}},
		{"i::INTEGER", "INT", "VARCHAR(11)", []string{"< '10'", "= '010'", "= '10'", "> '9'", "IN ('1', 'x', '')", "LIKE '1%'", "<> 'abc'"}},
		{"i::FLOAT", "FLOAT", "DOUBLE", []string{"< 10.5", "= 0.1", "> 1e300"}},
		{"(i / 100)::DECIMAL(9,2)", "DECIMAL(9,2)", "DECIMAL(20,4)", []string{"< 123.455", "<= 123.455", "> 123.455", "= 123.455", "= 123.45", "< 99999999999.9", "IN (1.001, 1.5)"}},
		{"(i / 100)::DECIMAL(9,2)", "DECIMAL(9,2)", "VARCHAR(12)", []string{"= '123.450'", "= '123.45'", "< '2'"}},
		{"DATE '2000-01-01' + (i % 10000)::INTEGER", "DATE", "DATETIME", []string{"> '2020-01-01 12:00:00'", ">= '2020-01-01 12:00:00'", "< '2020-01-01 12:00:00'", "= '2020-01-01 12:00:00'", "= '2020-01-01'", "BETWEEN '2020-01-01 00:00:01' AND '2020-01-03'"}},
	} {
		file := parquet(t, dir, fmt.Sprintf("%d.parquet", i), "SELECT i::INTEGER id, "+tt.stored+" AS v FROM range(50000) r(i)", "id: 1, v: 2")
		table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{column(t, "id", 1, "INT"), column(t, "v", 2, tt.to)},
			Older: []engine.Older{{Columns: []engine.Column{column(t, "id", 1, "INT"), column(t, "v", 2, tt.from)}, Files: []string{file}}}}
		for _, c := range tt.conditions {
			// In the select list a condition cannot reach the files.
			got, err := ask(t.Context(), engine.Request{Tables: []engine.Table{table}, SQL: `SELECT count(CASE WHEN v ` + c + ` THEN 1 END), sum(CASE WHEN v ` + c + ` THEN id END),
				(SELECT count(*) FROM "db:d"."t" WHERE v ` + c + `), (SELECT sum(id) FROM "db:d"."t" WHERE v ` + c + `) FROM "db:d"."t"`})
			if err != nil {
				t.Errorf("%s as %s %s: %v", tt.from, tt.to, c, err)
				continue
			}
			if cells := strings.Split(got.rows[0], "|"); cells[0] != cells[2] || cells[1] != cells[3] {
				t.Errorf("%s as %s: WHERE v %s finds %v, and it holds for %v", tt.from, tt.to, c, cells[2:], cells[:2])
			}
		}
	}
}

// TestInitialDefaults: a column has its initial default in files that are
// older than it, and a column that was dropped does not come back under its
// name.
func TestInitialDefaults(t *testing.T) {
	dir := t.TempDir()
	text := func(s string) *string { return &s }
	columns := []engine.Column{column(t, "id", 1, "INT"), {Name: "v", ID: 3, Type: typ(t, "STRING")}}
	want := ""
	for i, c := range []struct{ typ, initial, want string }{
		{"BOOLEAN", "true", "1"}, {"TINYINT", "-1", "-1"}, {"LARGEINT", "12345678901234567890", "12345678901234567890"},
		{"DOUBLE", "1e3", "1000"}, {"DECIMAL(10,2)", "0.5", "0.50"}, {"DATE", "2024-02-29", "2024-02-29"},
		{"DATETIME(3)", "2024-02-29 01:02:03.5", "2024-02-29 01:02:03.500"}, {"VARCHAR(10)", "it's", "it's"}, {"STRING", "", ""}, {"JSON", "{}", "{}"},
	} {
		columns = append(columns, engine.Column{Name: fmt.Sprintf("c%d", i), ID: int32(i + 4), Type: typ(t, c.typ), Initial: text(c.initial)})
		want += "|" + c.want
	}
	table := engine.Table{DB: "d", Name: "t", Columns: columns, Files: []string{
		parquet(t, dir, "a.parquet", "SELECT 1::INTEGER id, 'dropped' AS v", "id: 1, v: 2"),
		parquet(t, dir, "b.parquet", "SELECT 2::INTEGER id, 'again' AS v, NULL::BOOLEAN AS c0, 5::INTEGER AS c1", "id: 1, v: 3, c0: 4, c1: 5"),
	}}
	for sql, want := range map[string]string{
		`SELECT * FROM "db:d"."t" WHERE id = 1`:                    "[1|NULL" + want + "]",
		`SELECT id, v, c0, c1 FROM "db:d"."t" ORDER BY id`:         "[1|NULL|1|-1 2|again|NULL|5]",
		`SELECT id FROM "db:d"."t" WHERE c1 = -1`:                  "[1]",
		`SELECT id FROM "db:d"."t" WHERE c1 < -0.5`:                "[1]",
		`SELECT id FROM "db:d"."t" WHERE c3 > 999.5 ORDER BY id`:   "[1 2]",
		`SELECT id FROM "db:d"."t" WHERE c1 > 0`:                   "[2]",
		`SELECT id FROM "db:d"."t" WHERE c7 = 'it''s' ORDER BY id`: "[1 2]",
		`SELECT count(*) FROM "db:d"."t" WHERE c0 IS NULL`:         "[1]",
		`SELECT sum(c1), min(c3), max(c5) FROM "db:d"."t"`:         "[4|1000|2024-02-29]",
	} {
		got, err := ask(t.Context(), engine.Request{SQL: sql, Tables: []engine.Table{table}})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if s := fmt.Sprint(got.rows); s != want {
			t.Errorf("%s: got %s, want %s", sql, s, want)
		}
	}
}
