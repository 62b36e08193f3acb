package rewrite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"shoal/internal/engine"
	"shoal/sql/ast"
	"shoal/sql/parse"
	"shoal/sql/rewrite"
	"shoal/sql/types"
)

var errUnknownVariable = errors.New("unknown system variable")

// session is that of a user at noon of 2024-03-05, five and a half hours east
// of Greenwich.
func session(db string) *rewrite.Session {
	return &rewrite.Session{
		Database: db, User: "root@localhost", Version: "5.7.99", ConnectionID: 7,
		Zone: "+05:30", Now: time.Date(2024, 3, 5, 12, 0, 1, 250_000_000, time.FixedZone("+05:30", 5*3600+1800)),
		SystemVariable: func(scope ast.Scope, name string) (any, error) {
			switch strings.ToLower(name) {
			case "version_comment":
				return "Shoal", nil
			case "autocommit":
				return int64(1), nil
			case "sql_mode":
				return string(scope) + "MODE", nil
			case "time_zone":
				return "SYSTEM", nil
			}
			return nil, fmt.Errorf("%w '%s'", errUnknownVariable, name)
		},
		UserVariable: func(name string) any {
			return map[string]any{"a": int64(5), "s": "it's", "f": 1.5, "d": rewrite.Decimal("1.50")}[name]
		},
	}
}

func tables(t *testing.T) []engine.Table {
	columns := func(spec string) []engine.Column {
		var out []engine.Column
		for i, field := range strings.Split(spec, ", ") {
			name, spelling, _ := strings.Cut(field, " ")
			typ, err := types.Parse(spelling)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, engine.Column{Name: name, ID: int32(i + 1), Type: typ})
		}
		return out
	}
	rows := func(lines ...string) [][][]byte {
		var out [][][]byte
		for _, line := range lines {
			var row [][]byte
			for cell := range strings.SplitSeq(line, "|") {
				if cell == "NULL" {
					row = append(row, nil)
					continue
				}
				row = append(row, []byte(cell))
			}
			out = append(out, row)
		}
		return out
	}
	return []engine.Table{
		{DB: "d", Name: "t", Columns: columns("id INT, name VARCHAR(20), price DECIMAL(10,2), at DATETIME, day DATE, ok BOOLEAN, order JSON"), Rows: rows(
			`1|ann|1.50|2024-01-02 03:04:05|2024-01-02|1|{"k": [1, 2]}`, `2|bob|20.00|2024-02-29 00:00:00|2024-02-29|0|NULL`, `3|NULL|NULL|NULL|NULL|NULL|NULL`)},
		{DB: "e", Name: "u", Columns: columns("id INT, t_id INT"), Rows: rows("10|1", "11|1", "12|2")},
		{DB: "e", Name: "n", Columns: columns("l ARRAY<STRING>, m MAP<STRING,INT>, s STRUCT<`a b`:INT>"), Rows: rows(`["x", "y"]|{"k": 5}|{"a b": 7}`)},
		{DB: "information_schema", Name: "SCHEMATA", Columns: columns("SCHEMA_NAME VARCHAR(64), SQL_PATH VARCHAR(64)"), Rows: rows("d|NULL", "e|NULL")},
	}
}

// answer rewrites and runs a query and prints what came out of both.
func answer(t *testing.T, query, db string) string {
	result, err := rewrite.Select(query, session(db))
	if err != nil {
		return fmt.Sprintf("%T: %v\n", err, err)
	}
	var named []engine.Table
	for _, name := range result.Tables {
		for _, table := range tables(t) {
			if table.DB == name.DB && strings.EqualFold(table.Name, name.Name) {
				named = append(named, table)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", result.SQL)
	if result.Foreign != nil {
		fmt.Fprintf(&b, "foreign at %d, tables %v\n", result.Foreign.Pos, result.Tables)
	}
	small := engine.New(engine.Config{Threads: 1, MemoryLimit: 256 << 20})
	err = small.Query(t.Context(), engine.Request{SQL: result.SQL, Tables: named, TimeZone: "+05:30"}, func(columns []engine.ResultColumn) error {
		for i, c := range columns {
			fmt.Fprintf(&b, "%s%s %s", []string{"> ", ", "}[min(i, 1)], c.Name, c.Type)
		}
		b.WriteByte('\n')
		return nil
	}, func(cells [][]byte) error {
		for i, c := range cells {
			if c == nil {
				c = []byte("NULL")
			}
			fmt.Fprintf(&b, "%s%s", []string{"", "|"}[min(i, 1)], c)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		fmt.Fprintf(&b, "%T: %v\n", err, err)
	}
	return b.String()
}

// TestSelect runs the scripts in testdata through DuckDB: each query with the
// SQL that it becomes and what that answers.
func TestSelect(t *testing.T) {
	datadriven.Walk(t, "testdata/queries", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for query := range strings.SplitSeq(d.Input, "\n") {
				out.WriteString(answer(t, query, d.Cmd) + "\n")
			}
			return strings.TrimSuffix(out.String(), "\n")
		})
	})
}

func TestSelectLimit(t *testing.T) {
	two := uint64(2)
	limited := session("d")
	limited.SelectLimit = &two
	for query, want := range map[string]string{
		"SELECT id FROM t":                                " LIMIT 2",
		"SELECT id FROM t LIMIT 5":                        " LIMIT 5",
		"SELECT 1 UNION SELECT 2 ORDER BY 1":              " NULLS FIRST LIMIT 2",
		"SELECT COUNT(*) FROM (SELECT id FROM t) AS x":    `) AS "x" LIMIT 2`,
		"SELECT id FROM t WHERE id IN (SELECT id FROM t)": ")) LIMIT 2",
		"SELECT * EXCLUDE (id) FROM t":                    "LIMIT 2",
		"SELECT * EXCLUDE (id) FROM t LIMIT 5":            "LIMIT 5",
	} {
		result, err := rewrite.Select(query, limited)
		if err != nil || !strings.HasSuffix(result.SQL, want) || strings.Count(result.SQL, "LIMIT") != 1 {
			t.Errorf("%s became %s, %v; want it to end in %s", query, result.SQL, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	if got, err := rewrite.Select("SELECT 1\nFORM t u", session("d")); err != nil || got.Foreign == nil || got.Foreign.Line != 2 {
		t.Errorf("got %v, %v, want a syntax error in line 2", got, err)
	}
	var syntax *parse.SyntaxError
	if _, err := rewrite.Select("SELECT 'x", session("d")); !errors.As(err, &syntax) {
		t.Errorf("got %v, want a syntax error", err)
	}
	var noDatabase *rewrite.NoDatabase
	if _, err := rewrite.Select("SELECT * FROM t", session("")); !errors.As(err, &noDatabase) || noDatabase.Table != "t" {
		t.Errorf("got %v, want NoDatabase", err)
	}
	if _, err := rewrite.Select("SELECT @@nope", session("d")); !errors.Is(err, errUnknownVariable) {
		t.Errorf("got %v, want the session's error", err)
	}
	for _, query := range []string{
		"SELECT 1 INTO OUTFILE '/tmp/x'", "SELECT ?", "SELECT @a := 1", "SELECT * FROM t PARTITION (p)", "SELECT DATE_FORMAT(at, name) FROM t",
		"SELECT MATCH (name) AGAINST ('x') FROM t", "SELECT d.f(1)", "INSERT INTO t VALUES (1)", "DROP TABLE t", "SHOW TABLES",
		"SELECT at + INTERVAL '1:1' MINUTE_SECOND FROM t", "SELECT " + strings.Repeat("(", 3000) + "1" + strings.Repeat(")", 3000), "SELECT 1" + strings.Repeat("+1", 100000),
	} {
		var unsupported *rewrite.Unsupported
		if got, err := rewrite.Select(query, session("d")); !errors.As(err, &unsupported) {
			t.Errorf("%.60s: got %v, %v; want it unsupported", query, got, err)
		}
	}
}

func TestTablesAreNamedOnce(t *testing.T) {
	got, err := rewrite.Select("WITH c AS (SELECT * FROM t) SELECT * FROM c, e.u, (SELECT * FROM t) x, C AS y, Information_Schema.schemata, information_schema.SCHEMATA s", session("d"))
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(got.Tables); s != "[`d`.`t` `e`.`u` `information_schema`.`schemata`]" {
		t.Error(s)
	}
}

func TestExpression(t *testing.T) {
	for text, want := range map[string]string{
		"Variable_name = 'a' OR Value LIKE 'b%'":          `(("Variable_name" = 'a') OR (CAST("Value" AS VARCHAR) LIKE 'b%'))`,
		"(SELECT CONCAT(@@sql_mode, ',PIPES_AS_CONCAT'))": `(SELECT (CAST('MODE' AS VARCHAR) || CAST(',PIPES_AS_CONCAT' AS VARCHAR)) AS "CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')")`,
		"@a + 1": "(CAST(5 AS BIGINT) + 1)",
	} {
		got, err := rewrite.Expression(text, session("d"))
		if err != nil || got.SQL != want {
			t.Errorf("%s: got %s, %v\nwant %s", text, got.SQL, err, want)
		}
	}
	for _, text := range []string{"1, 2", "1 FROM t", "*", "1; SELECT 2", "1 UNION SELECT 2", ""} {
		if got, err := rewrite.Expression(text, session("d")); err == nil {
			t.Errorf("%q: got %s, want an error", text, got.SQL)
		}
	}
}

// TestAnyArguments holds that no number or form of arguments makes a function
// panic.
func TestAnyArguments(t *testing.T) {
	for _, name := range rewrite.FunctionNames() {
		for _, args := range []string{"", "1", "'x', 2", "1, 'y', 3", "1, 2, 3, 4", "*", "DISTINCT 1", "NULL, NULL"} {
			if got, err := rewrite.Select("SELECT "+name+"("+args+")", session("d")); err == nil && got.SQL == "" {
				t.Errorf("%s(%s) became nothing", name, args)
			}
		}
	}
}

// FuzzSelect holds that no text makes the rewriter panic.
func FuzzSelect(f *testing.F) {
	for _, seed := range []string{
		"SELECT a, `b`, \"c\" FROM d.t AS x LEFT JOIN u USING (id) WHERE a <=> 1 GROUP BY 1 HAVING count(*) > 1 ORDER BY a DESC LIMIT 1, 2",
		"SELECT DATE_ADD(NOW(), INTERVAL 1 DAY), IF(a, 'b', x'41'), TRIM(LEADING 'x' FROM y), CHAR(65), EXTRACT(YEAR FROM z)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) OVER w FROM n WINDOW w AS (PARTITION BY i)",
		"WITH x(i) AS (SELECT [1]) SELECT * EXCLUDE (a) FROM ((t), x) JOIN d.u USING (a), unnest([1]) QUALIFY a IS DISTINCT FROM 'b'::JSON ))",
		"SELECT @@session.x, @y, CAST(a AS CHAR(3)), GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR ';'), FORMAT(1, 2), CONVERT(a USING utf8)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := rewrite.Select(text, session("d")); err != nil && err.Error() == "" {
			t.Error("an error without a message")
		}
	})
}

func TestExpressionIsAllThereIs(t *testing.T) {
	if got, err := rewrite.Expression("a = 1 OR b LIKE 'x'", session("d")); err != nil || got.SQL == "" {
		t.Errorf("got %q, %v", got.SQL, err)
	}
	for _, rest := range []string{" LIMIT 1", " ORDER BY a", " GROUP BY a", " HAVING a", " garbage", " AS c", ", b", " FOR UPDATE", " UNION SELECT 1"} {
		var syntax *parse.SyntaxError
		if got, err := rewrite.Expression("a = 1"+rest, session("d")); !errors.As(err, &syntax) {
			t.Errorf("a = 1%s: got %q, %v", rest, got.SQL, err)
		}
	}
}
