package rewrite_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"shoal/internal/engine"
	"shoal/sql/parse"
	"shoal/sql/rewrite"
	"shoal/sql/types"
)

// loadColumns are the scope of the scripts in testdata/load, and one row of it:
// fields of a source, metadata, and typed columns of a table.
var loadColumns = []struct{ name, spelling, value string }{
	{"s", "STRING", "'Hello'"}, {"n", "STRING", "'12'"}, {"ms", "STRING", "'1671408000000'"}, {"ts", "STRING", "'1671408000'"}, {"empty", "STRING", "''"},
	{"missing", "STRING", "NULL"}, {"a", "STRING", "'7'"}, {"b", "STRING", "'0'"}, {"day", "STRING", "'2024-02-29'"}, {"at", "STRING", "'2024-02-29 23:59:58.5'"},
	{"doc", "STRING", `'{"k":{"a.b":[1,2,{"x":"y"}]},"n":9007199254740993,"t":true,"z":null,"f":1.5}'`}, {"tags", "STRING", `'["x","y",null]'`}, {"bad", "STRING", `'"aaa"""'`},
	{"größe", "STRING", "'42'"}, {"order", "STRING", "'o'"}, {"big", "STRING", "'9007199254740993'"}, {"csv", "STRING", "'a,,c'"},
	{"kafka_topic", "STRING", "'orders'"}, {"kafka_partition", "INT", "3"}, {"kafka_offset", "BIGINT", "9007199254740993"},
	{"kafka_timestamp", "DATETIME(3)", "TIMESTAMP '2024-01-02 03:04:05.678'"}, {"kafka_key", "STRING", "NULL"},
	{"kafka_headers", "MAP<STRING,STRING>", "MAP {'trace': 't-1', 'n': '5'}"},
	{"t_int", "INT", "2000000000"}, {"t_dec", "DECIMAL(10,2)", "12.50"}, {"t_double", "DOUBLE", "0.5"}, {"t_bool", "BOOLEAN", "true"}, {"t_date", "DATE", "DATE '2024-02-29'"},
	{"t_at", "DATETIME", "TIMESTAMP '2024-02-29 12:00:00'"}, {"t_array", "ARRAY<INT>", "[3, 1, 2]"}, {"t_map", "MAP<INT,STRING>", "MAP {1: 'one'}"},
	{"t_struct", "STRUCT<x:INT,`y z`:STRING>", "{'x': 1, 'y z': 'w'}"}, {"t_fine", "DECIMAL(38,20)", "1.5"}, {"S2", "STRING", "'capital'"}, {"s2", "STRING", "'small'"},
	{"rank", "STRING", "'1'"}, {"key", "STRING", "'k'"}, {"interval", "STRING", "'i'"}, {"left", "STRING", "'l'"}, {"case", "STRING", "'c'"},
}

func loadScope(t testing.TB, zone string) rewrite.Scope {
	scope := rewrite.Scope{Zone: zone, Now: time.Date(2024, 3, 5, 6, 30, 1, 250_000_000, time.UTC)}
	for i, c := range loadColumns {
		typ, err := types.Parse(c.spelling)
		if err != nil {
			t.Fatal(err)
		}
		scope.Columns = append(scope.Columns, rewrite.ScopeColumn{Name: c.name, SQL: fmt.Sprintf("c%d", i), Type: typ})
	}
	return scope
}

// row is a query of the one row of loadColumns.
func row(t testing.TB, field string) string {
	columns := make([]string, len(loadColumns))
	for i, c := range loadColumns {
		typ, err := types.Parse(c.spelling)
		if err != nil {
			t.Fatal(err)
		}
		columns[i] = fmt.Sprintf("CAST(%s AS %s) AS c%d", c.value, typ.DuckDB(), i)
	}
	return "SELECT " + field + " FROM (SELECT " + strings.Join(columns, ", ") + ")"
}

// values computes fields of the row, as texts in quotes or NULL.
func values(t testing.TB, fields ...string) ([]string, error) {
	small := engine.New(engine.Config{Threads: 1, MemoryLimit: 256 << 20})
	var out []string
	err := small.Query(t.Context(), engine.Request{SQL: row(t, strings.Join(fields, ", "))}, func([]engine.ResultColumn) error { return nil }, func(cells [][]byte) error {
		for _, c := range cells {
			text := "NULL"
			if c != nil {
				text = fmt.Sprintf("%q", c)
			}
			out = append(out, text)
		}
		return nil
	})
	return out, err
}

// TestLoadExpression runs the scripts in testdata/load through DuckDB: eval
// prints what each expression is for the row, as the text that becomes a value
// of the column type named; sql the SQL it becomes.
func TestLoadExpression(t *testing.T) {
	datadriven.Walk(t, "testdata/load", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			zone, target := "+05:30", "STRING"
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "zone":
					zone = arg.Vals[0]
				case "as":
					target = arg.Vals[0]
				}
			}
			typ, err := types.Parse(target)
			if err != nil {
				t.Fatal(err)
			}
			switch d.Cmd {
			case "sql":
				return shown(t, strings.Split(d.Input, "\n"), zone)
			case "chain":
				return chained(t, strings.Split(d.Input, "\n"), loadScope(t, zone))
			}
			return evaluated(t, d.Cmd, strings.Split(d.Input, "\n"), zone, typ)
		})
	})
}

// chained is what derived columns are that use those before them.
func chained(t *testing.T, lines []string, scope rewrite.Scope) string {
	var out strings.Builder
	for _, line := range lines {
		name, text, _ := strings.Cut(line, " = ")
		compiled, err := rewrite.LoadExpression(text, scope)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		as, err := compiled.Text(types.Type{Kind: types.String})
		if err != nil {
			t.Fatal(err)
		}
		got, err := values(t, as, "typeof("+compiled.SQL+")")
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		fmt.Fprintf(&out, "%s  =  %s, %s as %s\n", line, got[0], compiled.Type, got[1])
		scope.Columns = append([]rewrite.ScopeColumn{{Name: name, SQL: "(" + compiled.SQL + ")", Type: compiled.Type}}, scope.Columns...)
	}
	return out.String()
}

// shown is what expressions become.
func shown(t *testing.T, texts []string, zone string) string {
	var out strings.Builder
	for _, text := range texts {
		compiled, err := rewrite.LoadExpression(text, loadScope(t, zone))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %v %s\n", compiled.SQL, compiled.Columns, compiled.Type)
	}
	return out.String()
}

// evaluated is what expressions are for the row. Each may fail by itself.
func evaluated(t *testing.T, command string, texts []string, zone string, target types.Type) string {
	lines := make([]string, len(texts))
	var fields []string
	var at []int // the line of each field
	for i, text := range texts {
		compiled, err := rewrite.LoadExpression(text, loadScope(t, zone))
		sql := ""
		if err == nil && command == "condition" {
			sql, err = compiled.Condition()
		} else if err == nil {
			sql, err = compiled.Text(target)
		}
		if err != nil {
			lines[i] = "ERROR " + err.Error()
			continue
		}
		fields, at = append(fields, sql), append(at, i)
	}
	for f, got := range attempts(t, fields) {
		lines[at[f]] = texts[at[f]] + got
	}
	return strings.Join(lines, "\n") + "\n"
}

// attempts computes fields, of which some fail.
func attempts(t *testing.T, fields []string) []string {
	got, err := values(t, fields...)
	switch half := len(fields) / 2; {
	case err == nil:
		for i := range got {
			got[i] = "  =  " + got[i]
		}
		return got
	case half == 0:
		return []string{"  FAILS " + err.Error()}
	default:
		return append(attempts(t, fields[:half]), attempts(t, fields[half:])...)
	}
}

func TestLoadErrors(t *testing.T) {
	scope := loadScope(t, "+05:30")
	for text, want := range map[string]string{
		"nosuch":                        "unknown column 'nosuch'",
		"kafka_ofset":                   "unknown column 'kafka_ofset', did you mean 'kafka_offset'?",
		"t.n":                           "unknown column 't.n'",
		"uper(s)":                       "unknown function 'uper', did you mean 'upper'?",
		"read_csv('/etc/passwd')":       "unknown function 'read_csv'",
		"getenv('HOME')":                "unknown function 'getenv'",
		"rand()":                        "RAND, which gives something else each time, in a load expression is not supported",
		"uuid()":                        "UUID, which gives something else each time, in a load expression is not supported",
		"sleep(1)":                      "SLEEP, which",
		"sum(n)":                        "the aggregate function SUM in a load expression is not supported",
		"row_number() OVER ()":          "the window function ROW_NUMBER in a load expression",
		"(SELECT 1)":                    "a subquery in a load expression",
		"n IN (SELECT 1)":               "a subquery in a load expression",
		"EXISTS (SELECT 1)":             "a subquery in a load expression",
		"SELECT 1":                      "a subquery in a load expression",
		"n > ALL (SELECT 1)":            "a subquery in a load expression",
		"@x":                            "the variable @x in a load expression",
		"@@version":                     "the variable @version in a load expression",
		"database()":                    "function DATABASE in a load expression",
		"?":                             "a parameter without a value",
		"left(s)":                       "function LEFT with 1 argument(s) of this form",
		"abs(t_date)":                   "a date where a floating-point number is expected is not supported",
		"year(t_array)":                 "an array where a date with time is expected",
		"CAST(s AS BINARY(1))":          "CAST to BINARY",
		"CAST(s AS STRNG)":              "near 'STRNG)' at line 1",
		"convert_tz(at, 'Mars', 'UTC')": "the unknown time zone 'Mars' is not supported",
		"date_format(at, s)":            "a date format that is no literal",
		"json_extract(doc, '$.*')":      `the JSON path "$.*"`,
		"json_extract(doc, s)":          "a JSON path that is no literal",
		"struct_element(t_struct, 'q')": "unknown field of a struct 'q'",
		"n +":                           "at line 1",
		"n, s":                          "expected one expression",
		"n) + (s":                       "expected one expression",
		"n) FROM (t":                    "expected one expression",
		"n); SELECT (1":                 "near 'n); SELECT (1'",
		"":                              "check the expression",
		strings.Repeat("json_unquote(", 40) + "s" + strings.Repeat(")", 40): "longer than 1048576 bytes",
		strings.Repeat("nullif(", 40) + "s" + strings.Repeat(", 1)", 40):    "longer than 1048576 bytes",
		"n + " + strings.Repeat("1", 90) + ".5":                             "a number has too many digits",
		"'open":                                                             "this string has no end",
		"n AND\n  case = 1":                                                 "check the expression near '= 1' at line 2",
		"CAST(n AS BIGINT) + CAST(n AS STRING) AND )":                       "near ')' at line 1",
	} {
		got, err := rewrite.LoadExpression(text, scope)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v\nwant an error with %s", text, got.SQL, err, want)
		}
	}
	if _, err := rewrite.LoadExpression("1", rewrite.Scope{Zone: "Nowhere/At_All"}); err == nil || !strings.Contains(err.Error(), "unknown time zone") {
		t.Errorf("got %v, want the time zone to be unknown", err)
	}
	var unknown *rewrite.UnknownName
	if _, err := rewrite.LoadExpression("nosuch", scope); !errors.As(err, &unknown) || unknown.What != "column" || unknown.Name != "nosuch" {
		t.Errorf("got %v", err)
	}
	var syntax *parse.SyntaxError
	if _, err := rewrite.LoadExpression("CAST(a AS BIGINT) = 1 AND AND b", scope); !errors.As(err, &syntax) || syntax.Pos != len("CAST(a AS BIGINT) = 1 AND ") {
		t.Errorf("got %v, want the place of the second AND", err)
	}
}

// arguments of every kind, for calls of every function.
var arguments = []string{
	"s", "missing", "NULL", "1", "-1.5", "2e0", "TRUE", "n", "t_int", "t_dec", "t_double", "t_bool", "t_date", "t_at", "t_array", "t_map", "t_struct", "t_fine",
	"kafka_headers", "kafka_offset", "json_parse(doc)", "now()", "'$.k'", "'%Y'", "curtime()", "element_at(array(1, 2), 1)",
}

// TestLoadExpressionsBind holds that what compiles can be run: an expression
// that DuckDB refuses would fail whole batches, where one that has no value for
// a row fails the row.
func TestLoadExpressionsBind(t *testing.T) {
	scope := loadScope(t, "Europe/Berlin")
	var fields []string
	add := func(text string) {
		compiled, err := rewrite.LoadExpression(text, scope)
		if err != nil {
			return
		}
		field, err := compiled.Text(types.Type{Kind: types.BigInt})
		if err != nil {
			t.Errorf("%s has no text: %v", text, err)
			return
		}
		fields = append(fields, "TRY("+field+") AS \""+strings.ReplaceAll(text, `"`, `""`)+`"`)
	}
	for i, a := range arguments {
		for j, b := range arguments {
			if (i+j)%2 == 0 { // half is enough, and all would take a minute
				continue
			}
			for _, operator := range []string{"+", "*", "/", "DIV", "%", "=", "<=>", "<", "AND", "XOR", "&", "<<", "LIKE", "REGEXP", "^"} {
				add(a + " " + operator + " " + b)
			}
			add(a + " IN (" + b + ", 1)")
			add("CASE " + a + " WHEN " + b + " THEN " + a + " ELSE " + b + " END")
			add(a + " BETWEEN " + b + " AND '5'")
		}
		for _, target := range []string{"INT", "LARGEINT", "STRING", "DECIMAL(10,2)", "DATE", "DATETIME(3)", "BOOLEAN", "JSON", "ARRAY<INT>", "MAP<STRING,INT>", "CHAR", "SIGNED", "DOUBLE", "TIME"} {
			add("CAST(" + a + " AS " + target + ")")
		}
	}
	for _, name := range rewrite.LoadFunctions() {
		add(name + "()")
		for i, a := range arguments {
			add(name + "(" + a + ")")
			for j, b := range arguments {
				if (i+2*j)%5 == 0 {
					add(name + "(" + a + ", " + b + ")")
				}
				if (i+3*j)%7 == 0 {
					add(fmt.Sprintf("%s(%s, %s, %s)", name, a, b, arguments[(3*i+7*j)%len(arguments)]))
				}
			}
		}
	}
	checkBinds(t, fields)
}

// checkBinds has DuckDB plan all fields, and finds those that it cannot.
func checkBinds(t *testing.T, fields []string) {
	small := engine.New(engine.Config{Threads: 1, MemoryLimit: 1 << 30})
	binds := func(fields []string) error {
		request := engine.Request{SQL: row(t, strings.Join(fields, ", ")), Describe: true}
		return small.Query(t.Context(), request, func([]engine.ResultColumn) error { return nil }, nil)
	}
	seen := map[string]bool{}
	var find func(fields []string)
	find = func(fields []string) {
		err := binds(fields)
		switch half := len(fields) / 2; {
		case err == nil:
		case half > 0:
			find(fields[:half])
			find(fields[half:])
		case !seen[err.Error()]:
			seen[err.Error()] = true
			t.Errorf("%s\n%v", fields[0], err)
		}
	}
	for part := range slices.Chunk(fields, 500) {
		find(part)
	}
	t.Logf("%d expressions", len(fields))
}

// TestFunctionsPage holds docs/functions.md to the functions that there are.
func TestFunctionsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, line := range strings.Split(string(page), "\n") {
		if name := regexp.MustCompile("^\\| `([a-z0-9_]+)").FindStringSubmatch(line); name != nil {
			for _, n := range regexp.MustCompile("`([a-z0-9_]+)[(`]").FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
				documented = append(documented, n[1])
			}
		}
	}
	for _, name := range rewrite.LoadFunctions() {
		if !slices.Contains(documented, name) {
			t.Errorf("function %s is not in docs/functions.md", name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(rewrite.LoadFunctions(), name) {
			t.Errorf("docs/functions.md has %s, which is no function of load expressions", name)
		}
	}
}

// TestFunctionsAreTried holds that the scripts in testdata/load try each.
func TestFunctionsAreTried(t *testing.T) {
	script, err := os.ReadFile("testdata/load/functions")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range rewrite.LoadFunctions() {
		if !strings.Contains(string(script), "\n"+name+"(") {
			t.Errorf("function %s is not tried in testdata/load/functions", name)
		}
	}
}

// FuzzLoadExpression holds that no text makes the compiler panic, and that what
// it compiles is one field to DuckDB.
func FuzzLoadExpression(f *testing.F) {
	for _, seed := range []string{
		"from_unixtime(ms/1000)", "IF(n > 1, s, 'x')", "CAST(CAST(n AS INT) AS ARRAY<STRING>)", "CASE a WHEN 1 THEN b ELSE 'c' END", "json_unquote(doc -> '$.k')",
		"`größe` + 1 -- x", "a) FROM (b", "TRY_CAST(n AS DECIMAL(10, 2)) IN ('1', 2) AND kafka_offset <=> b'1'", "element_at(kafka_headers, 'trace')", "concat(s, /* ) */ n)",
	} {
		f.Add(seed)
	}
	scope := loadScope(f, "+05:30")
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := rewrite.LoadExpression(text, scope)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a message")
			}
			return
		}
		if sql, err := compiled.Text(types.Type{Kind: types.String}); err != nil || sql == "" {
			t.Errorf("%q has no text: %v", text, err)
		}
	})
}
