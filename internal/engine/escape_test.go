package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"shoal/internal/engine"
)

// escapes are attempts to reach something outside the request's tables. %[1]s
// is a file next to the table's own, %[2]s the table's own file.
var escapes = []string{
	// Files.
	"SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", `SELECT * FROM "/etc/passwd"`, "FROM '/etc/passwd'", "FROM read_text('/etc/passwd')",
	"SELECT * FROM read_parquet('%[1]s')", "SELECT * FROM read_parquet('%[2]s')", "SELECT * FROM '%[1]s'", "SELECT * FROM '%[2]s'", "SELECT * FROM parquet_scan('%[2]s')",
	"SELECT * FROM parquet_metadata('%[2]s')", "SELECT * FROM parquet_schema('%[2]s')", "SELECT * FROM parquet_kv_metadata('%[2]s')", "SELECT * FROM read_blob('%[2]s')",
	"SELECT * FROM glob('*')", "SELECT * FROM sniff_csv('/etc/passwd')", "SELECT * FROM read_json_auto('/etc/passwd')", "SELECT * FROM read_duckdb('/tmp/x')",
	"SELECT * FROM 'https://127.0.0.1/x.csv'", "SELECT * FROM read_csv('http://127.0.0.1:1/x')", "SELECT * FROM delta_scan('/tmp')", "SELECT * FROM iceberg_scan('/tmp')", "SELECT * FROM seq_scan('t')",
	// Hidden in other places of a SELECT.
	"SELECT (SELECT count(*) FROM read_csv('/etc/passwd'))", "WITH x AS (SELECT * FROM read_csv('/etc/passwd')) SELECT * FROM x", "SELECT 1 WHERE EXISTS (FROM '/etc/passwd')",
	"SELECT 1 UNION ALL SELECT content FROM read_text('/etc/passwd')", "SELECT * FROM (VALUES (1)) v, LATERAL (SELECT * FROM glob('/etc/*'))", "SELECT 1 ORDER BY (SELECT 1 FROM glob('*'))",
	"SELECT 1 IN (SELECT 1 FROM glob('*'))", "SELECT list_transform([1], lambda x: (SELECT count(*) FROM glob('*')))", "SELECT CASE WHEN true THEN getenv('HOME') END", "SELECT 1 LIMIT (SELECT count(*) FROM glob('*'))",
	"SELECT sum(1) OVER (ORDER BY getenv('HOME'))", "SELECT count(*) FILTER (WHERE getenv('HOME') = '')", "SELECT 1 GROUP BY getenv('x')", "SELECT 1 HAVING getenv('x') = ''", "SELECT * FROM range((SELECT count(*) FROM glob('*')))",
	"WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT 1 FROM x, glob('*')) SELECT * FROM x", "SELECT 1 QUALIFY getenv('x') = ''", "SELECT DISTINCT ON (getenv('x')) 1", "SELECT COLUMNS(c -> getenv('x') = '') FROM \"db:d\".t",
	// A CTE that only seems to hide one of DuckDB's views.
	"WITH duckdb_settings AS (SELECT * FROM duckdb_settings) SELECT * FROM duckdb_settings", "SELECT * FROM (WITH duckdb_tables AS (SELECT 1) SELECT 1), duckdb_tables",
	"WITH RECURSIVE duckdb_views AS (SELECT sql FROM duckdb_views UNION ALL SELECT sql FROM duckdb_views WHERE false) SELECT * FROM duckdb_views", "WITH \"/etc/passwd\" AS (SELECT * FROM \"/etc/passwd\") SELECT * FROM \"/etc/passwd\"",
	"WITH a AS (SELECT * FROM sqlite_master), sqlite_master AS (SELECT 1) SELECT * FROM a",
	// DuckDB's own views and functions.
	"SELECT * FROM duckdb_settings()", "SELECT * FROM duckdb_secrets()", "SELECT * FROM duckdb_functions()", "SELECT * FROM duckdb_extensions()", "SELECT * FROM sqlite_master", "SELECT * FROM pg_settings", "SELECT * FROM pg_catalog.pg_settings",
	"SELECT * FROM information_schema.tables", "SELECT * FROM main.duckdb_tables", "SELECT * FROM system.main.duckdb_views", "SELECT * FROM system.information_schema.tables", "SELECT * FROM memory.\"db:d\".t", "SELECT * FROM pragma_version()", "SELECT * FROM pragma_database_list",
	"SELECT getenv('HOME')", "SELECT GETENV('HOME')", "SELECT main.getenv('HOME')", "SELECT system.main.getenv('HOME')", "SELECT current_setting('threads')", "SELECT getvariable('x')", "SELECT version()", "SELECT current_database()",
	"SELECT * FROM query('SELECT 1')", "SELECT * FROM query_table('t')", "SELECT json_serialize_sql('SELECT 1')", "SELECT * FROM json_execute_serialized_sql('{}')", "SELECT write_log('x')", "SELECT nextval('s')", "SELECT 'x'.getenv()", "SELECT * FROM which_secret('s3://x', 's3')",
	"SELECT current_query()", "SELECT * FROM test_all_types()", "SELECT * FROM repeat('x', 1000000000)", "SELECT * FROM summary((SELECT 1))",
	// Functions that would end the process on deep values.
	"SELECT json_structure('[]')", "SELECT json_group_structure('[]')", "SELECT json_pretty('[]')", "SELECT json_transform('[]', '[\"INT\"]')", "SELECT from_json_strict('[]', '[\"INT\"]')", "SELECT variant_typeof(1)",
	// Other kinds of statement, and more than one.
	"COPY (SELECT 1) TO '%[1]s'", "COPY \"db:d\".t TO '/tmp/x.csv'", "ATTACH '/tmp/x.db'", "DETACH memory", "SET threads = 1", "RESET threads", "PRAGMA version", "PRAGMA enable_logging", "CALL pragma_version()", "INSTALL httpfs", "LOAD httpfs",
	"EXPORT DATABASE '%[1]s'", "IMPORT DATABASE '/tmp'", "CREATE SECRET (TYPE s3)", "CREATE TABLE x (a INTEGER)", "CREATE MACRO m() AS getenv('HOME')", "CREATE VIEW v AS SELECT 1", "DROP VIEW \"db:d\".t", "INSERT INTO \"db:d\".t VALUES (1)", "DELETE FROM \"db:d\".t",
	"UPDATE \"db:d\".t SET a = 1", "PREPARE p AS SELECT 1", "EXECUTE p", "USE memory", "CHECKPOINT", "VACUUM", "BEGIN", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1", "DESCRIBE \"db:d\".t", "SHOW TABLES", "SUMMARIZE \"db:d\".t", "PIVOT \"db:d\".t ON a", "SELECT * FROM (DESCRIBE \"db:d\".t)", "FROM (SHOW TABLES)",
	"SELECT 1; SELECT 2", "SELECT 1; COPY (SELECT 1) TO '/tmp/x'", "SELECT 1;;SET threads = 1", ";", "", "SELECT 1 INTO OUTFILE '/tmp/x'", "SET VARIABLE x = 1",
	"WITH x AS (INSERT INTO \"db:d\".t VALUES (1) RETURNING a) SELECT * FROM x", "WITH x AS (DELETE FROM \"db:d\".t RETURNING a) SELECT * FROM x",
	// Tables that are not in the request.
	"SELECT * FROM t", "SELECT * FROM \"db:e\".t", "SELECT * FROM \"db:d\".u", "TABLE t",
}

func TestEscapes(t *testing.T) {
	dir := t.TempDir()
	own := parquet(t, dir, "own.parquet", "SELECT 1::INTEGER AS a", "a: 1")
	other := parquet(t, dir, "other.parquet", "SELECT 2::INTEGER AS a", "a: 1")
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{column(t, "a", 1, "INT")}, Files: []string{own}}
	for _, attempt := range escapes {
		query := fmt.Sprintf(attempt+"%.0[1]s%.0[2]s", other, own)
		got, err := ask(t.Context(), engine.Request{SQL: query, Tables: []engine.Table{table}})
		var e *engine.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, %v; want it refused", query, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x.csv")); err == nil {
		t.Error("a file was written")
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("the folder of the table changed: %v, %v", after, err)
	}
}

// TestSecondWall holds that DuckDB itself refuses files, whatever the check
// lets through: names of views are data to the check.
func TestSecondWall(t *testing.T) {
	dir := t.TempDir()
	own := parquet(t, dir, "own.parquet", "SELECT 1::INTEGER AS a", "a: 1")
	other := parquet(t, dir, "other.parquet", "SELECT 2::INTEGER AS a", "a: 1")
	table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{column(t, "a", 1, "INT")}, Files: []string{own}}
	for _, query := range []string{
		"SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_parquet('" + other + "')", "COPY (SELECT 1) TO '" + own + "'", "COPY (SELECT 1) TO '/tmp/x.csv'",
		"ATTACH '/tmp/x.db'", "SET threads = 1", "INSTALL httpfs", "LOAD httpfs", "EXPORT DATABASE '" + dir + "'", "SET allowed_paths = ['/etc/passwd']", "SET enable_external_access = true",
	} {
		if _, err := small.RunUnchecked(t.Context(), engine.Request{SQL: query, Tables: []engine.Table{table}}); err == nil {
			t.Errorf("%s was carried out", query)
		}
	}
}

// TestSettings holds that DuckDB is set up as it was told, without a folder to
// spill to as well as with one.
func TestSettings(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		spill := dir
		if dir != "" {
			spill += "/query-1"
		}
		e := engine.New(engine.Config{Threads: 3, MemoryLimit: 64 << 20, TempDir: dir})
		got, err := e.RunUnchecked(t.Context(), engine.Request{TimeZone: "+09:00", SQL: `SELECT name || '=' || value FROM duckdb_settings() ORDER BY name`})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"threads=3", "memory_limit=64.0 MiB", "temp_directory=" + spill, "allow_persistent_secrets=false", "autoinstall_known_extensions=false", "autoload_known_extensions=false",
			"allow_community_extensions=false", "allowed_paths=[]", "enable_external_access=false", "TimeZone=Etc/GMT-9", "lock_configuration=true"} {
			if !slices.Contains(got, want) {
				t.Errorf("no %s in %q", want, got)
			}
		}
	}
}

// TestAllowed holds that the walls leave room for real queries.
func TestAllowed(t *testing.T) {
	table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{column(t, "a", 1, "INT")}, Rows: [][][]byte{{[]byte("1")}, {[]byte("2")}}}
	for query, want := range map[string]string{
		`WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT sum(i) FROM n`:                  "[6]",
		`WITH x AS (SELECT a FROM "db:d".t), y AS (SELECT a FROM x) SELECT max(a) FROM (SELECT a FROM y WHERE a IN (FROM x))`: "[2]",
		`WITH x AS MATERIALIZED (SELECT a FROM "db:d".t) SELECT count(*) FROM x, x AS z`:                                      "[4]",
		`SELECT a, row_number() OVER (ORDER BY a DESC) FROM "db:d".T ORDER BY a`:                                              "[1|2 2|1]",
		`SELECT sum(u) FROM unnest([1, 2]) r(u)`:                                                                              "[3]",
		`(SELECT 1) UNION ALL (SELECT 2) INTERSECT (SELECT 2)`:                                                                "[1 2]",
		`SELECT "db:d".t.a FROM "db:d".t JOIN "db:d".t AS s USING (a) WHERE s.a = 1`:                                          "[1]",
		`VALUES (1, 'a')`: "[1|a]",
		`SELECT list_transform([1, 2], lambda x: x + 1)`: "[[2, 3]]",
	} {
		got, err := ask(t.Context(), engine.Request{SQL: query, Tables: []engine.Table{table}})
		if err != nil || fmt.Sprint(got.rows) != want {
			t.Errorf("%s: got %v, %v, want %s", query, got.rows, err, want)
		}
	}
}
