package stmt_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"shoal/fe/literal"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/stmt"
)

// TestEveryStatementHasAPlace: a new kind of statement must say where it is
// carried out.
func TestEveryStatementHasAPlace(t *testing.T) {
	kinds := statementKinds(t)
	if len(kinds) < 40 {
		t.Fatalf("sql/ast has %d kinds of statements: they were looked for in the wrong way", len(kinds))
	}
	for _, kind := range kinds {
		if !stmt.HasPlace(kind) {
			t.Errorf("*ast.%s is in no row of places", kind)
		}
	}
}

// statementKinds are the types in sql/ast that are statements: with a method
// stmt.
func statementKinds(t *testing.T) (names []string) {
	t.Helper()
	paths, err := filepath.Glob("../../sql/ast/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "stmt" {
				names = append(names, f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name)
			}
		}
	}
	return names
}

// recorder is a cluster in which another frontend leads: it notes what it is
// asked, and carries out nothing.
type recorder struct{ asked string }

func (r *recorder) Sync(context.Context) error { r.asked += "sync "; return nil }

func (r *recorder) Led(context.Context) bool { r.asked += "led "; return true }

func (r *recorder) AtLeader(_ context.Context, _ *session.Session, text string, effects bool, w result.Writer, _ func(context.Context, result.Writer) error) error {
	r.asked += "show at leader "
	if effects {
		r.asked = strings.TrimSuffix(r.asked, "show at leader ") + "change at leader "
	}
	return nil
}

// TestPlaces: what a statement reads and changes decides where it is carried
// out, also where a query says it.
func TestPlaces(t *testing.T) {
	f := newFrontend(t)
	for text, want := range map[string]string{
		"SELECT 1":                                "",
		"SELECT @@version, NOW()":                 "",
		"SET @a = 1 + 1":                          "",
		"SHOW VARIABLES LIKE 'a%'":                "",
		"SHOW PROCESSLIST":                        "",
		"SHOW WARNINGS":                           "",
		"SHOW ENGINES":                            "",
		"BEGIN":                                   "",
		"this is no statement":                    "",
		"SELECT * FROM d.t":                       "sync ",
		"SELECT (SELECT max(a) FROM d.t)":         "sync ",
		"EXPLAIN SELECT * FROM d.t":               "sync ",
		"SELECT * FROM information_schema.tables": "sync ",
		"SELECT * FROM information_schema.routine_load_errors":      "sync ",
		"SET @a = (SELECT count(*) FROM information_schema.tables)": "sync ",
		"USE d":              "sync ",
		"SHOW DATABASES":     "sync ",
		"SHOW TABLES FROM d": "sync ",
		"DESC d.t":           "sync ",
		"SHOW FRONTENDS":     "led ",
		"SHOW LOAD WARNINGS FROM d WHERE LABEL = 'l'":                                      "sync ",
		"SELECT * FROM information_schema.routine_load_jobs":                               "show at leader ",
		"SELECT * FROM d.t, INFORMATION_SCHEMA.ROUTINE_LOAD_JOBS":                          "show at leader ",
		`SELECT * FROM kafka("kafka_broker_list" = "b:9092", "kafka_topic" = "t") LIMIT 5`: "show at leader ",
		"SHOW ROUTINE LOAD":                       "show at leader ",
		"SHOW BACKENDS":                           "led show at leader ",
		"ADMIN CHECK ROUTINE LOAD LEDGER FOR d.j": "show at leader ",
		"CREATE DATABASE e":                       "change at leader ",
		"DROP TABLE IF EXISTS d.t":                "change at leader ",
		"PAUSE ALL ROUTINE LOAD":                  "change at leader ",
		`ALTER SYSTEM DECOMMISSION BACKEND "h:1"`: "change at leader ",
	} {
		cluster := &recorder{}
		e := stmt.New(stmt.Config{Store: f.store, Queries: f.queries, Nodes: nodes{}, Cluster: cluster, Processes: f.processes})
		err := e.Execute(t.Context(), f.connect(), text, nil, &printed{})
		if cluster.asked != want {
			t.Errorf("%s: asked %q (%v), want %q", text, cluster.asked, err, want)
		}
	}
}

// TestForwardedText: what goes to another frontend has the values of its
// placeholders.
func TestForwardedText(t *testing.T) {
	f := newFrontend(t)
	var sent string
	e := stmt.New(stmt.Config{Store: f.store, Queries: f.queries, Cluster: sending{&sent}, Processes: f.processes})
	sql := "SELECT * FROM information_schema.routine_load_jobs WHERE JOB_NAME = ? LIMIT ?"
	if err := e.Execute(t.Context(), f.connect(), sql, []literal.Value{literal.String("o'clock"), literal.Int(5)}, &printed{}); err != nil {
		t.Fatal(err)
	}
	if want := "SELECT * FROM information_schema.routine_load_jobs WHERE JOB_NAME = 'o''clock' LIMIT 5"; sent != want {
		t.Errorf("sent %q, want %q", sent, want)
	}
	columns, err := e.Describe(t.Context(), f.connect(), "PAUSE ROUTINE LOAD FOR j")
	if err != nil || columns != nil {
		t.Errorf("described as %v, %v, and it was sent: %q", columns, err, sent)
	}
}

type sending struct{ text *string }

func (sending) Sync(context.Context) error { return nil }

func (sending) Led(context.Context) bool { return true }

func (s sending) AtLeader(_ context.Context, _ *session.Session, text string, _ bool, _ result.Writer, _ func(context.Context, result.Writer) error) error {
	*s.text = text
	return nil
}
