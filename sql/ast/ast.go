// Package ast has the statements that Shoal knows, as values: what the user
// named and gave, after unquoting, with no meaning checked.
//
// Statements are made by sql/parse and carried out by the frontend. Values
// that are expressions stay source text: the SELECT rewriter or the pipe
// reads them later. String is defined for what must be printed again, and
// sql/parse reads its output back to an equal value.
package ast

import "strings"

// Stmt is one statement.
type Stmt interface{ stmt() }

// Name is the name of something in a database. An empty DB stands for the
// database of the session.
type Name struct{ DB, Name string }

// String returns the name quoted for a statement.
func (n Name) String() string {
	if n.DB == "" {
		return QuoteName(n.Name)
	}
	return QuoteName(n.DB) + "." + QuoteName(n.Name)
}

// Expr is an expression as the user wrote it. Pos is the byte offset of its
// first character in the statement.
type Expr struct {
	Text string
	Pos  int
}

// Filter is the tail of a SHOW statement: LIKE has a pattern, WHERE an
// expression over the columns of the result, and neither means all rows.
type Filter struct {
	Like  *string
	Where *Expr
}

// Property is one "key" = "value" pair with the key as written.
type Property struct{ Key, Value string }

// Properties is a list of pairs in the order written. Keys match in any case,
// and no two of them match each other.
type Properties []Property

// Get returns the value of the key, in whatever case it was written.
func (ps Properties) Get(key string) (string, bool) {
	for _, p := range ps {
		if strings.EqualFold(p.Key, key) {
			return p.Value, true
		}
	}
	return "", false
}

// QuoteName returns s in backquotes.
func QuoteName(s string) string {
	return "`" + strings.ReplaceAll(s, "`", "``") + "`"
}

var stringEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\x00", `\0`, "\x1a", `\Z`)

// QuoteString returns s as a string literal in double quotes, on one line.
func QuoteString(s string) string {
	return `"` + stringEscaper.Replace(s) + `"`
}

// Select is a query: SELECT, WITH, VALUES, TABLE or a parenthesis with one of
// them. Text is the statement without a closing semicolon, with the markers
// of executable comments blanked out.
type Select struct{ Text string }

// Explain asks for the plan of the query in Text.
type Explain struct{ Text string }

// ExplainRoutineLoad asks what CREATE ROUTINE LOAD would load.
type ExplainRoutineLoad struct{ Create *CreateRoutineLoad }

// Unsupported is a statement that MySQL or Doris has and Shoal does not (yet).
// What names it, such as "INSERT" or "CREATE VIEW".
type Unsupported struct{ What string }

func (*Select) stmt()             {}
func (*Explain) stmt()            {}
func (*ExplainRoutineLoad) stmt() {}
func (*Unsupported) stmt()        {}
