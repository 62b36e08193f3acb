package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"shoal/internal/engine"
	"shoal/sql/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var small = engine.New(engine.Config{Threads: 2, MemoryLimit: 256 << 20})

// answer is a result in a form that is easy to compare: the columns as
// name:type, then the rows with NULL spelled out.
type answer struct {
	columns []string
	rows    []string
}

func ask(ctx context.Context, req engine.Request) (answer, error) {
	var a answer
	err := small.Query(ctx, req, func(columns []engine.ResultColumn) error {
		for _, c := range columns {
			a.columns = append(a.columns, c.Name+":"+c.Type)
		}
		return nil
	}, func(cells [][]byte) error {
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = string(c)
			if c == nil {
				texts[i] = "NULL"
			}
		}
		a.rows = append(a.rows, strings.Join(texts, "|"))
		return nil
	})
	return a, err
}

// parquet writes a file with field ids by a DuckDB of its own.
func parquet(t *testing.T, dir, name, query, ids string) string {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	path := filepath.Join(dir, name)
	if _, err := db.Exec(fmt.Sprintf("COPY (%s) TO '%s' (FORMAT parquet, FIELD_IDS {%s})", query, path, ids)); err != nil {
		t.Fatal(err)
	}
	return path
}

func typ(t *testing.T, spelling string) types.Type {
	t.Helper()
	typ, err := types.Parse(spelling)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func column(t *testing.T, name string, id int32, spelling string) engine.Column {
	return engine.Column{Name: name, ID: id, Type: typ(t, spelling)}
}

// TestFilesOfSeveralSchemaVersions holds that columns are found by field id:
// renamed ones keep their data, ones that are newer than a file are NULL.
func TestFilesOfSeveralSchemaVersions(t *testing.T) {
	dir := t.TempDir()
	table := engine.Table{DB: "d", Name: "t",
		Columns: []engine.Column{column(t, "id", 1, "TINYINT"), column(t, "renamed", 2, "VARCHAR(20)"), column(t, "added", 4, "DATETIME(3)"), column(t, "big", 5, "LARGEINT")},
		Files: []string{
			parquet(t, dir, "a.parquet", "SELECT 1::INTEGER id, 'x' AS old, 7::INTEGER AS dropped", "id: 1, old: 2, dropped: 3"),
			parquet(t, dir, "b.parquet", "SELECT 2::INTEGER id, 'y' AS renamed, TIMESTAMP '2024-01-02 03:04:05.5' AS added, 12::DECIMAL(38,0) AS big", "id: 1, renamed: 2, added: 4, big: 5"),
		}}
	got, err := ask(t.Context(), engine.Request{SQL: `SELECT * FROM "db:d"."t" ORDER BY id`, Tables: []engine.Table{table}})
	if err != nil {
		t.Fatal(err)
	}
	want := "[id:tinyint renamed:varchar(20) added:datetime(3) big:largeint] [1|x|NULL|NULL 2|y|2024-01-02 03:04:05.500|12]"
	if s := fmt.Sprint(got.columns, got.rows); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestEmptyTableHasItsTypes(t *testing.T) {
	table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{
		column(t, "a", 1, "BOOLEAN"), column(t, "b", 2, "DECIMAL(10,2)"), column(t, "c", 3, "CHAR(3)"), column(t, "d", 4, "JSON"), column(t, "e", 5, "STRING")}}
	got, err := ask(t.Context(), engine.Request{SQL: `SELECT * FROM "db:d"."t"`, Tables: []engine.Table{table}})
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(got.columns, got.rows); s != "[a:boolean b:decimal(10,2) c:char(3) d:json e:text] []" {
		t.Error(s)
	}
}

func TestInlineRows(t *testing.T) {
	table := engine.Table{DB: "INFORMATION_SCHEMA", Name: "TABLES",
		Columns: []engine.Column{column(t, "TABLE_NAME", 1, "VARCHAR(64)"), column(t, "TABLE_ROWS", 2, "BIGINT"), column(t, "OK", 3, "BOOLEAN")}}
	for i := range 1000 {
		table.Rows = append(table.Rows, [][]byte{fmt.Append(nil, "it's ", i), fmt.Append(nil, i), []byte("1")})
	}
	table.Rows[7][1] = nil
	got, err := ask(t.Context(), engine.Request{SQL: `SELECT count(*), count(table_rows), max(table_name), min(ok) FROM "db:information_schema".tables`, Tables: []engine.Table{table}})
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(got.rows); s != "[1000|999|it's 999|1]" {
		t.Error(s)
	}
}

// TestComputedColumnsKeepTheirOwnType holds that a name alone does not make a
// column of a result one of a table.
func TestComputedColumnsKeepTheirOwnType(t *testing.T) {
	table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{column(t, "a", 1, "TINYINT"), column(t, "at", 2, "DATETIME")},
		Rows: [][][]byte{{[]byte("100"), []byte("2024-01-02 03:04:05")}}}
	for query, want := range map[string]string{
		`SELECT a * 1000 AS a FROM "db:d".t`:                             "a:int",
		`SELECT a FROM (SELECT a * 1000 AS a FROM "db:d".t)`:             "a:int",
		`WITH t AS (SELECT a * 1000 AS a FROM "db:d".t) SELECT * FROM t`: "a:int",
		`SELECT a AS b FROM "db:d".t`:                                    "b:tinyint",
		`SELECT x.at AS a FROM "db:d".t AS x`:                            "a:datetime",
		`SELECT *, a + 1 AS at FROM "db:d".t`:                            "a:tinyint",
		`SELECT a FROM "db:d".t UNION ALL SELECT 1000`:                   "a:int",
	} {
		got, err := ask(t.Context(), engine.Request{SQL: query, Tables: []engine.Table{table}})
		if err != nil || got.columns[0] != want {
			t.Errorf("%s: got %v, %v, want %s", query, got.columns, err, want)
		}
	}
}

func TestCancel(t *testing.T) {
	for _, query := range []string{"SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range * b.range % 7 = 3", "SELECT sleep_ms(1000000)"} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("killed"))
		defer cancel()
		if _, err := ask(ctx, engine.Request{SQL: query}); err == nil || err.Error() != "killed" {
			t.Errorf("%s: got %v, want the cause", query, err)
		}
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	if _, err := ask(ctx, engine.Request{SQL: "SELECT 1"}); err == nil || err.Error() != "gone" {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestStopsWhenTheReaderFails(t *testing.T) {
	gone := errors.New("client is gone")
	rows := 0
	err := small.Query(t.Context(), engine.Request{SQL: "SELECT * FROM range(100000)"},
		func([]engine.ResultColumn) error { return nil },
		func([][]byte) error { rows++; return gone })
	if !errors.Is(err, gone) || rows != 1 {
		t.Errorf("got %v after %d rows", err, rows)
	}
}

func TestMemoryLimit(t *testing.T) {
	_, err := ask(t.Context(), engine.Request{SQL: "SELECT i, repeat('x', 1000) || i AS s FROM range(10000000) r(i) ORDER BY s"})
	var e *engine.Error
	if !errors.As(err, &e) || e.Kind != engine.OutOfMemory {
		t.Errorf("got %v, want an OutOfMemory error", err)
	}
}

func TestErrors(t *testing.T) {
	table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{column(t, "a", 1, "INT")}}
	for query, want := range map[string]engine.ErrorKind{
		"SELECT 1 +":                  engine.Syntax,
		`SELECT b FROM "db:d".t`:      engine.UnknownColumn,
		`SELECT x.b FROM "db:d".t x`:  engine.UnknownColumn,
		`SELECT * FROM "db:d".u`:      engine.UnknownTable,
		`SELECT * FROM u`:             engine.UnknownTable,
		"SELECT CAST('x' AS INTEGER)": engine.Failed,
		"SELECT nosuch(1)":            engine.UnknownFunction,
		"SELECT ?":                    engine.Refused,
		"SELECT $1":                   engine.Refused,
	} {
		_, err := ask(t.Context(), engine.Request{SQL: query, Tables: []engine.Table{table}})
		var e *engine.Error
		if !errors.As(err, &e) || e.Kind != want || e.Msg == "" || strings.Contains(e.Msg, "\n") {
			t.Errorf("%s: got %v, want kind %d", query, err, want)
		}
	}
}

func TestExplain(t *testing.T) {
	got, err := ask(t.Context(), engine.Request{SQL: "SELECT 1", Explain: true})
	if err != nil || len(got.rows) == 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestDescribe holds that a query is described without being run, as it is
// when it runs.
func TestDescribe(t *testing.T) {
	table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{column(t, "a", 1, "TINYINT"), column(t, "at", 2, "DATETIME(3)"), column(t, "j", 3, "JSON")},
		Rows: [][][]byte{{[]byte("1"), nil, nil}}}
	for _, query := range []string{
		`SELECT *, a = 1 AS c, 1.5 AS a2, to_json(a) AS k, [a] AS l, now() AS n, 1e0 AS d, sum(a) OVER () AS s, 'x'::BLOB AS b, INTERVAL 1 DAY AS i FROM "db:d".t`,
		`(SELECT 1 AS x) UNION ALL (SELECT 2.5)`,
		`VALUES (1, 'a')`,
		`SELECT 1 AS a, 'x' AS a, a AS A, a FROM "db:d".t`,
	} {
		ran, err := ask(t.Context(), engine.Request{SQL: query, Tables: []engine.Table{table}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ask(t.Context(), engine.Request{SQL: query, Tables: []engine.Table{table}, Describe: true})
		if err != nil || fmt.Sprint(got.columns) != fmt.Sprint(ran.columns) || got.rows != nil {
			t.Errorf("%s:\n got  %v, %v\n want %v", query, got, err, ran.columns)
		}
	}
	got, err := ask(t.Context(), engine.Request{SQL: "SELECT error('was run') AS e", Describe: true})
	if err != nil || len(got.columns) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestNamesThatDifferInCase(t *testing.T) {
	columns := []engine.Column{column(t, "a", 1, "INT")}
	_, err := ask(t.Context(), engine.Request{SQL: "SELECT 1", Tables: []engine.Table{{DB: "d", Name: "t", Columns: columns}, {DB: "d", Name: "T", Columns: columns}}})
	var e *engine.Error
	if !errors.As(err, &e) || e.Kind != engine.Refused {
		t.Errorf("got %v", err)
	}
}

func TestTimeZones(t *testing.T) {
	for zone, want := range map[string]string{"": "2024-07-01 00:00:00", "SYSTEM": "2024-07-01 00:00:00", "+05:30": "2024-07-01 05:30:00", "-03:00": "2024-06-30 21:00:00", "Europe/Berlin": "2024-07-01 02:00:00"} {
		got, err := ask(t.Context(), engine.Request{SQL: "SELECT TIMESTAMPTZ '2024-07-01 00:00:00+00', CAST(TIMESTAMPTZ '2024-07-01 00:00:00+00' AS TIMESTAMP)", TimeZone: zone})
		if err != nil || got.rows[0] != want+"|"+want {
			t.Errorf("%q: got %v, %v, want %s", zone, got.rows, err, want)
		}
	}
	for _, zone := range []string{"No/Where", "Local", "+15:00", "+1", "'"} {
		if _, err := ask(t.Context(), engine.Request{SQL: "SELECT 1", TimeZone: zone}); err == nil {
			t.Errorf("time zone %q was taken", zone)
		}
	}
	// An offset that no place has: DuckDB is in UTC, what is printed is not.
	got, err := ask(t.Context(), engine.Request{SQL: "SELECT TIMESTAMPTZ '2024-07-01 00:00:00+00'", TimeZone: "-03:17"})
	if err != nil || got.rows[0] != "2024-06-30 20:43:00" {
		t.Errorf("got %v, %v", got.rows, err)
	}
}

func BenchmarkOpenAndClose(b *testing.B) {
	for b.Loop() {
		if _, err := ask(b.Context(), engine.Request{SQL: "SELECT 1"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRows streams rows of six columns; see rows/s.
func BenchmarkRows(b *testing.B) {
	const rows = 500_000
	query := fmt.Sprintf("SELECT i, i::VARCHAR || 'abcdefgh', i / 7, i::DECIMAL(12,2), TIMESTAMP '2024-01-01' + to_seconds(i), i %% 2 = 0 FROM range(%d) r(i)", rows)
	for b.Loop() {
		n := 0
		err := small.Query(b.Context(), engine.Request{SQL: query}, func([]engine.ResultColumn) error { return nil }, func([][]byte) error { n++; return nil })
		if err != nil || n != rows {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
}

// TestQueriesSpillApart holds that queries which spill at the same time do not
// read each other's rows, and leave nothing behind.
func TestQueriesSpillApart(t *testing.T) {
	dir := t.TempDir()
	e := engine.New(engine.Config{Threads: 1, MemoryLimit: 64 << 20, TempDir: dir})
	var queries errgroup.Group
	for _, letter := range []string{"a", "b"} {
		want := strings.Repeat(letter, 200)
		queries.Go(func() error {
			rows := 0
			err := e.Query(t.Context(), engine.Request{SQL: "SELECT repeat('" + letter + "', 200) FROM range(600000) t(i) ORDER BY hash(i)"},
				func([]engine.ResultColumn) error { return nil },
				func(cells [][]byte) error {
					if rows++; string(cells[0]) != want {
						return fmt.Errorf("row %d of query %s is %q", rows, letter, cells[0])
					}
					return nil
				})
			if err == nil && rows != 600_000 {
				return fmt.Errorf("query %s has %d rows", letter, rows)
			}
			return err
		})
	}
	if err := queries.Wait(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
