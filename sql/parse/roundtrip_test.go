package parse_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"shoal/sql/ast"
	"shoal/sql/parse"
)

// checkRoundTrip prints the job and parses it again.
func checkRoundTrip(t interface{ Fatalf(string, ...any) }, c *ast.CreateRoutineLoad) {
	printed := c.String()
	again, err := parse.Parse(printed)
	if err != nil {
		t.Fatalf("%v, for\n%s", err, printed)
	}
	clearPositions(c)
	clearPositions(again.(*ast.CreateRoutineLoad))
	if !reflect.DeepEqual(again, ast.Stmt(c)) {
		t.Fatalf("got %+v\nwant %+v\nfor\n%s", again, c, printed)
	}
}

func clearPositions(c *ast.CreateRoutineLoad) {
	exprs := []*ast.Expr{c.Load.PrecedingFilter, c.Load.Where, c.Load.DeleteOn}
	for _, column := range c.Load.Columns {
		exprs = append(exprs, column.Expr)
	}
	for _, e := range exprs {
		if e != nil {
			e.Pos = 0
		}
	}
}

func optional[T any](g *rapid.Generator[T]) *rapid.Generator[*T] { return rapid.Ptr(g, true) }

func TestCreateRoutineLoadRoundTrip(t *testing.T) {
	name := rapid.StringN(1, 20, 60)
	expr := rapid.Custom(func(t *rapid.T) ast.Expr {
		return ast.Expr{Text: rapid.SampledFrom([]string{
			"a > 1", "f(a, 'x,)') = \"FROM\"", "`from` IN (1, 2)", "a -- note\n + 1", "CASE WHEN a THEN 'b' END", "a /* , */ = 2", "x'41' = b",
		}).Draw(t, "expr")}
	})
	properties := rapid.Custom(func(t *rapid.T) ast.Properties {
		var ps ast.Properties
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "LOAD_MODE", `q"\'`, "größe", "`"}), 1, 4, rapid.ID).Draw(t, "keys") {
			ps = append(ps, ast.Property{Key: key, Value: rapid.String().Draw(t, "value")})
		}
		return ps
	})
	column := rapid.Custom(func(t *rapid.T) ast.LoadColumn {
		return ast.LoadColumn{Name: name.Draw(t, "column"), Expr: optional(expr).Draw(t, "derived")}
	})
	rapid.Check(t, func(t *rapid.T) {
		c := &ast.CreateRoutineLoad{
			Job:    ast.Name{DB: rapid.OneOf(rapid.Just(""), name).Draw(t, "db"), Name: name.Draw(t, "job")},
			Table:  rapid.OneOf(rapid.Just(""), name).Draw(t, "table"),
			Merge:  rapid.SampledFrom([]ast.MergeType{ast.NoMerge, ast.Append, ast.Delete, ast.Merge}).Draw(t, "merge"),
			Source: ast.DataSource{Type: name.Draw(t, "type"), Properties: properties.Draw(t, "source")},
			Load: ast.LoadProperties{
				ColumnsTerminatedBy: optional(rapid.String()).Draw(t, "separator"),
				PrecedingFilter:     optional(expr).Draw(t, "preceding"),
				Where:               optional(expr).Draw(t, "where"),
				DeleteOn:            optional(expr).Draw(t, "delete"),
				OrderBy:             rapid.OneOf(rapid.Just(""), name).Draw(t, "order"),
			},
			Comment: rapid.String().Draw(t, "comment"),
		}
		if rapid.Bool().Draw(t, "has columns") {
			c.Load.Columns = rapid.SliceOfN(column, 1, 4).Draw(t, "columns")
		}
		if rapid.Bool().Draw(t, "has properties") {
			c.Properties = properties.Draw(t, "properties")
		}
		if rapid.Bool().Draw(t, "has partitions") {
			c.Load.Partitions = &ast.Partitions{Temporary: rapid.Bool().Draw(t, "temporary"), Names: rapid.SliceOfN(name, 1, 3).Draw(t, "names")}
		}
		checkRoundTrip(t, c)
	})
}

// FuzzParse holds that no text makes the parser panic or hang, and that a job
// which was parsed is the same after it was printed and parsed again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"SELECT 1", "/*!40101 SET NAMES utf8mb4 */;", "SHOW FULL TABLES FROM `a` LIKE 'b%'", "SET @@session.x = 1, @y := 'z', NAMES utf8",
		"CREATE TABLE t (a DECIMAL(10,2) NOT NULL DEFAULT '1' COMMENT 'x', b DATETIME(3)) DUPLICATE KEY(a) DISTRIBUTED BY HASH(a) BUCKETS 3 PROPERTIES ('x'='y')",
		`CREATE ROUTINE LOAD d.j ON t WITH MERGE COLUMNS TERMINATED BY '\x01', COLUMNS(a, b = f(a, "x")), PRECEDING FILTER a > 1, WHERE b IN (1), DELETE ON c,
			ORDER BY s, TEMPORARY PARTITIONS (p, q) PROPERTIES("a" = "b") FROM KAFKA ("c" = "d") COMMENT 'e'`,
		"ALTER ROUTINE LOAD FOR j SET TARGET TABLE = 't' COLUMNS(a, b = f(a)), WHERE a > 1 PROPERTIES ('a'='b') FROM KAFKA ('x'='y')",
		"CREATE ROUTINE LOAD `select.1` COMMENT 'x' FROM kafka ('a' = '\\\\x01', 'größe' = \"''\")", "SHOW ALL CREATE ROUTINE LOAD FOR d.`ö`",
		"SHOW ALL ROUTINE LOAD FOR j WHERE State = 'PAUSED' AND `Name` LIKE 'a%'", "SHOW LOAD WARNINGS FROM d WHERE LABEL = 'x' AND LOAD_JOB_ID = 3 LIMIT 1, 2",
		"SHOW LOAD WARNINGS ON 'SELECT 1'", "PAUSE ALL ROUTINE LOAD", "EXPLAIN CREATE ROUTINE LOAD j ON t FROM KAFKA ('a' = 'b')",
		"SHOW ROUTINE LOAD TASK WHERE JobName = 'x'", "KILL QUERY 7", "1e5 0x1f 1a `b` -- c",
		"ALTER TABLE `a`.t ADD COLUMN (a INT KEY, b ARRAY<INT> NOT NULL DEFAULT 'x'), ADD COLUMN c INT FIRST, DROP COLUMN d, RENAME COLUMN e TO f, MODIFY COLUMN g BIGINT AFTER h, MODIFY COMMENT 'i'",
		"ALTER DATABASE a RENAME b", "TRUNCATE TABLE t FORCE", "CREATE FILE 'a' IN b PROPERTIES ('catalog' = 'kafka', 'content' = 'c')", "DROP FILE 'a' FROM b PROPERTIES ('catalog' = 'kafka')", "SHOW FILE IN b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stmt, err := parse.Parse(text)
		if (stmt == nil) == (err == nil) {
			t.Fatalf("got %v and error %v", stmt, err)
		}
		if c, ok := stmt.(*ast.CreateRoutineLoad); ok {
			checkRoundTrip(t, c)
		}
	})
}
