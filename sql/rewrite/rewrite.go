// Package rewrite turns a SELECT in MySQL's spelling into DuckDB's SQL, and so
// the expressions of a routine load.
//
// The text is parsed by TiDB's parser; its tree is then printed in DuckDB's
// words, with names resolved to the database they are in, functions and
// operators replaced by what means the same there, and everything that only
// the session knows (variables, the time, the user) put in as literals. What
// has no counterpart is an *Unsupported error that names it, never dropped;
// only hints, collations and locks have no meaning here and are left out.
// Functions that are neither MySQL's nor Doris's own pass as they are: DuckDB
// may have them, and the engine refuses those that reach outside. A text that TiDB's parser does
// not know passes too, see foreign.go.
//
// A load expression (LoadExpression) goes by stricter rules, because it runs
// unattended over other people's bytes: its names are those of a scope, whose
// types are known, all conversions are written out as Doris does them, and a
// function that is not on the list is an error.
//
// The package neither knows catalogs nor runs anything. It is safe for
// concurrent use.
package rewrite

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pingcap/tidb/pkg/parser"
	tidb "github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the plain literals of the parser

	"shoal/sql/ast"
	"shoal/sql/parse"
	"shoal/sql/types"
)

// Session is what a query may ask its session.
type Session struct {
	Database     string // empty if none is selected
	User         string // as USER() gives it, such as root@localhost
	Version      string
	ConnectionID uint64
	Now          time.Time // when the statement began, in the session's time zone
	Zone         string    // the time zone, as sql/timezone reads it
	LastInsertID int64
	RowCount     int64
	FoundRows    int64
	// SelectLimit is how many rows a SELECT without LIMIT returns, nil for all.
	SelectLimit *uint64
	// SystemVariable and UserVariable return nil for NULL, an int64, a uint64,
	// a float64, a Decimal or a string. An error is passed on.
	SystemVariable func(scope ast.Scope, name string) (any, error)
	UserVariable   func(name string) any
}

// Decimal is an exact number in SQL's spelling.
type Decimal string

// Result is the query for the engine and the tables it reads, each once, in
// the order met. Foreign is nil for MySQL's spelling. A query that is none
// passes with only its names and quotes rewritten, in the hope that it is
// DuckDB's; if the engine cannot parse it either, Foreign is the error for the
// user, with the place in their own text.
type Result struct {
	SQL     string
	Tables  []ast.Name // with their DB; information_schema in small letters
	Foreign *parse.SyntaxError
}

// Unsupported says what part of a query has no counterpart.
type Unsupported struct{ What string }

// Error names the part.
func (e *Unsupported) Error() string { return e.What + " is not supported" }

// NoDatabase says that a table was named without a database while the session
// has none. It is MySQL's error 1046.
type NoDatabase struct{ Table string }

// Error returns MySQL's wording.
func (e *NoDatabase) Error() string { return "No database selected" }

var parsers = sync.Pool{New: func() any { return parser.New() }}

// Select rewrites one query. The error is a *parse.SyntaxError, an
// *Unsupported, a *NoDatabase or what the session answered.
func Select(text string, session *Session) (Result, error) {
	stmt, syntax := parseQuery(text)
	if syntax == nil {
		return printed(session, func(p *printer) string { return p.query(stmt) + p.selectLimit(stmt) })
	}
	tokens, err := parse.Lex(text)
	if err != nil {
		return Result{}, err
	}
	result, err := printed(session, func(p *printer) string { return p.printForeign(tokens) })
	result.Foreign = syntax
	return result, err
}

// Expression rewrites one expression, such as the value of SET or the WHERE of
// SHOW. Result.SQL is the expression; the errors are those of Select.
func Expression(text string, session *Session) (Result, error) {
	stmt, syntax := parseQuery("SELECT " + text)
	if syntax != nil {
		return Result{}, syntax
	}
	query, ok := stmt.(*tidb.SelectStmt)
	if !ok || !isOnlyFields(query) || len(query.Fields.Fields) != 1 || query.Fields.Fields[0].Expr == nil || query.Fields.Fields[0].AsName.O != "" {
		return Result{}, parse.NewSyntaxError(text, 0, "expected one expression and nothing behind it")
	}
	return printed(session, func(p *printer) string { return p.expr(query.Fields.Fields[0].Expr) })
}

// printed runs a printer and catches its faults.
func printed(session *Session, what func(*printer) string) (result Result, err error) {
	p := &printer{session: session, seen: map[string]bool{}, kinds: map[tidb.ExprNode]kind{}}
	err = guard(func() { result.SQL = what(p) })
	if err != nil {
		return Result{}, err
	}
	result.Tables = p.tables
	return result, nil
}

// guard runs a part of the recursive descent and returns its fault.
func guard(run func()) (err error) {
	defer func() {
		if failure := recover(); failure != nil {
			f, ok := failure.(fault)
			if !ok {
				panic(failure)
			}
			err = f.err
		}
	}()
	run()
	return nil
}

// parseQuery reads one statement. The parser panics on decimals of more than 81
// digits, after which it is of no further use.
func parseQuery(text string) (stmt tidb.StmtNode, syntax *parse.SyntaxError) {
	p := parsers.Get().(*parser.Parser)
	defer func() {
		if recover() != nil {
			stmt, syntax = nil, parse.NewSyntaxError(text, 0, "a number has too many digits")
			return
		}
		parsers.Put(p)
	}()
	stmts, _, err := p.ParseSQL(text)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	if len(stmts) != 1 {
		return nil, parse.NewSyntaxError(text, 0, "expected one query")
	}
	return stmts[0], nil
}

// checkQuery is the advice where MySQL's parser gives no reason.
const checkQuery = "check the query"

// syntaxError finds the place of a parser's error, which quotes the rest of
// the text.
func syntaxError(text string, err error) *parse.SyntaxError {
	_, rest, found := strings.Cut(err.Error(), `near "`)
	near := rest[:max(strings.LastIndexByte(rest, '"'), 0)]
	if pos := strings.Index(text, near); found && near != "" && pos >= 0 {
		return parse.NewSyntaxError(text, pos, checkQuery)
	}
	return parse.NewSyntaxError(text, len(text), checkQuery)
}

// fault carries an error out of the recursive descent; only guard sees it.
type fault struct{ err error }

func unsupported(format string, args ...any) {
	panic(fault{&Unsupported{What: fmt.Sprintf(format, args...)}})
}

// maxDepth bounds how deep an expression is nested. DuckDB has a limit of a
// thousand.
const maxDepth = 1000

// printer prints one statement, or one load expression if it has a scope.
type printer struct {
	session *Session
	ctes    []string // names of WITH in scope
	tables  []ast.Name
	seen    map[string]bool
	depth   int
	kinds   map[tidb.ExprNode]kind // found so far

	scope *Scope
	casts []types.Type    // of CAST(… AS BINARY(n)), see prepared
	used  map[string]bool // names of the scope
}

// enter counts a level of nesting until the function that it returns is
// called.
func (p *printer) enter() (leave func()) {
	if p.depth++; p.depth > maxDepth {
		unsupported("an expression nested more than %d deep", maxDepth)
	}
	return func() { p.depth-- }
}
