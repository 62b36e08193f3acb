package stmt_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"

	"shoal/fe/errno"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/internal/textrow"
)

// TestStatements runs the scripts of testdata/statements, each on a frontend of its own
// in a bubble, so that it is the year 2000 in all of them. The commands:
//
//	sql [session=name]       one statement; the answer as a client sees it
//	replay [session=name]    a statement on each line; the size of each answer
//	describe                 the columns that PREPARE announces, with types
//	fields                   what COM_FIELD_LIST answers for a table
//	again                    SHOW CREATE TABLE of a table, run again under its name, must print the same
//	load table               the rows of a query in DuckDB's SQL become a rowset of the table
//	errors                   the same for the error rows of a job
//	backend gone|back        queries of tables fail, or work again
//	register                 a backend comes, by node id, host and port
//	assign                   a task runs on a backend, by its id; none, on 0
//	members                  backends and frontends in the state
func TestStatements(t *testing.T) {
	datadriven.Walk(t, "testdata/statements", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			s := &script{frontend: newFrontend(t), sessions: map[string]*session.Session{}}
			datadriven.RunTest(t, path, s.run)
		})
	})
}

// script is a frontend and the sessions of a script.
type script struct {
	*frontend
	sessions map[string]*session.Session
	number   uint64 // of the last txn
	offset   int64  // of the next record
}

func (s *script) session(t *testing.T, d *datadriven.TestData) *session.Session {
	name := ""
	d.MaybeScanArgs(t, "session", &name)
	if s.sessions[name] == nil {
		s.sessions[name] = s.connect()
	}
	return s.sessions[name]
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	sess := s.session(t, d)
	switch d.Cmd {
	case "sql":
		return s.sql(t, sess, d.Input)
	case "replay":
		return s.replay(t, sess, d.Input)
	case "describe":
		columns, err := s.Describe(t.Context(), sess, d.Input)
		return describe(columns, err)
	case "fields":
		columns, err := s.Fields(t.Context(), sess, d.CmdArgs[0].Key)
		return describe(columns, err)
	case "again":
		return s.again(t, sess, d.CmdArgs[0].Key)
	case "load":
		return s.load(t, sess, d.CmdArgs[0].Key, d.Input)
	case "errors":
		return s.loadErrors(t, sess, d.Input)
	case "register":
		return s.register(t, d)
	case "assign":
		return s.assign(t, d)
	case "members":
		return s.members()
	case "backend":
		s.backend.gone = d.HasArg("gone")
		return ""
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return ""
}

func (s *script) sql(t *testing.T, sess *session.Session, text string) string {
	var p printed
	if err := s.Execute(t.Context(), sess, text, nil, &p); err != nil {
		return failure(err)
	}
	return p.String()
}

// replay runs many statements and tells the size of each answer: a client
// reads as many columns as it asked for.
func (s *script) replay(t *testing.T, sess *session.Session, lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		var p printed
		switch err := s.Execute(t.Context(), sess, strings.TrimSuffix(strings.TrimSpace(line), ";"), nil, &p); {
		case err != nil:
			b.WriteString(failure(err))
		case p.columns == nil:
			b.WriteString("OK\n")
		default:
			fmt.Fprintf(&b, "%d columns, %d rows\n", len(p.columns), len(p.rows))
		}
	}
	return b.String()
}

// again makes a table anew from its own SHOW CREATE TABLE.
func (s *script) again(t *testing.T, sess *session.Session, table string) string {
	text := func() string {
		var p printed
		if err := s.Execute(t.Context(), sess, "SHOW CREATE TABLE "+table, nil, &p); err != nil {
			return failure(err)
		}
		return p.rows[0][1]
	}
	before := text()
	for _, sql := range []string{"DROP TABLE " + table, before} {
		if answer := s.sql(t, sess, sql); answer != "OK\n" {
			return answer
		}
	}
	if after := text(); after != before {
		return "the table is another one now:\n" + after
	}
	return "the same\n"
}

func describe(columns []result.Column, err error) string {
	if err != nil {
		return failure(err)
	}
	var b strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&b, "%s: %s\n", c.Name, c.Type)
	}
	if len(columns) == 0 {
		return "no columns\n"
	}
	return b.String()
}

func failure(err error) string {
	e := errno.From(err)
	return fmt.Sprintf("ERROR %d (%s): %s\n", e.Code.Num, e.Code.State, e.Msg)
}

// printed is a Writer that keeps an answer as text.
type printed struct {
	columns []result.Column
	rows    [][]string
	info    string
}

func (p *printed) Columns(columns []result.Column) error {
	p.columns = columns
	return nil
}

func (p *printed) Row(cells [][]byte) error {
	if len(cells) != len(p.columns) {
		return fmt.Errorf("a row of %d cells for %d columns", len(cells), len(p.columns))
	}
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = string(c)
		if c == nil {
			row[i] = "NULL"
		}
	}
	p.rows = append(p.rows, row)
	return nil
}

func (p *printed) EncodedRow(row []byte) error {
	cells := make([][]byte, len(p.columns))
	if _, err := textrow.Next(row, cells); err != nil {
		return err
	}
	return p.Row(cells)
}

func (p *printed) Flush() error { return nil }

func (p *printed) OK(_ uint64, info string) { p.info = info }

func (p *printed) String() string {
	if p.columns == nil {
		return "OK\n" + p.info
	}
	names := make([]string, len(p.columns))
	for i, c := range p.columns {
		names[i] = c.Name
	}
	var b strings.Builder
	for _, row := range append([][]string{names}, p.rows...) {
		b.WriteString(strings.TrimRight(strings.Join(row, " | "), " ") + "\n")
	}
	return b.String()
}
