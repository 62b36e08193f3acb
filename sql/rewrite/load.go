package rewrite

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"

	"shoal/sql/nearest"
	"shoal/sql/parse"
	"shoal/sql/timezone"
	"shoal/sql/types"
)

// Scope is what a load expression may name, and its time.
type Scope struct {
	// Columns by precedence: of those of one name the first is meant, and one
	// spelled exactly as in the expression before all that differ in case.
	Columns []ScopeColumn
	// Zone is the job's time zone, as sql/timezone reads it.
	Zone string
	// Now is what now() answers.
	Now time.Time
}

// ScopeColumn is a name of a Scope. SQL is what stands for it in DuckDB, such
// as a quoted name, with values of the DuckDB type of Type; fields of a source
// are STRING.
type ScopeColumn struct {
	Name string
	SQL  string
	Type types.Type
}

// Compiled is a load expression in DuckDB's SQL.
type Compiled struct {
	// SQL is the value, in the DuckDB type of Type. It fails for rows that have
	// none, such as those whose JSON is broken, and then must not fail others:
	// wrap it in TRY, with DuckDB's optimizer common_subexpressions off, which
	// takes what occurs twice out of it.
	SQL string
	// Columns are the names of the scope that it reads, as the scope spells
	// them, sorted.
	Columns []string
	// Type is what a ScopeColumn of the value is declared as: numbers of the same
	// kind if not of the same digits, arrays and maps of texts unless they are
	// columns, and STRING for JSON, times of day and structs.
	Type types.Type

	raw  string // the value in its own type
	kind kind
}

// LoadExpression compiles an expression of COLUMNS, PRECEDING FILTER or WHERE
// of a routine load from MySQL's and Doris's spelling. What a value is converted
// to implicitly, and that a cast that cannot be done is NULL, is as in Doris.
// Everything of a row that may be computed differently the next time is
// refused, and so is what looks beyond the row: subqueries, aggregates, windows
// and variables. The error is a *parse.SyntaxError with the position in text,
// an *UnknownName, an *Unsupported, or that of timezone.Load.
func LoadExpression(text string, scope Scope) (Compiled, error) {
	casts, prepared, err := prepare(text, &scope)
	if err != nil {
		return Compiled{}, err
	}
	node, err := parseExpression(prepared)
	if err != nil {
		return Compiled{}, err
	}
	location, err := timezone.Load(scope.Zone)
	if err != nil {
		return Compiled{}, err
	}
	p := &printer{session: &Session{Now: scope.Now.In(location), Zone: scope.Zone}, scope: &scope, casts: casts, kinds: map[tidb.ExprNode]kind{}, used: map[string]bool{}}
	var compiled Compiled
	err = guard(func() {
		compiled = Compiled{raw: p.expr(node), kind: p.kind(node)}
		compiled.SQL, compiled.Type = p.result(node, compiled.raw)
		compiled.Columns = slices.Sorted(maps.Keys(p.used))
	})
	return compiled, err
}

// Condition is the value as true, false or NULL, as a filter has it.
func (c Compiled) Condition() (string, error) { return c.as(boolean) }

// Text is the value as the text that is converted to a column of type target:
// a whole number without a point where the column is of integers, 1 and 0 for
// true and false, JSON for what has parts.
func (c Compiled) Text(target types.Type) (string, error) {
	if c.kind == decimal || c.kind == double {
		switch target.Kind {
		case types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.LargeInt: // Doris cuts numbers off
			return "coalesce(" + cast(tryCast("trunc("+c.raw+")", "HUGEINT"), "VARCHAR") + ", " + cast(c.raw, "VARCHAR") + ")", nil
		}
	}
	return c.as(text)
}

func (c Compiled) as(to kind) (sql string, err error) {
	err = guard(func() { sql = convert(c.raw, c.kind, to) })
	return sql, err
}

// UnknownName says that an expression names something that there is not.
type UnknownName struct {
	What       string // "column", "function" or "field of a struct"
	Name       string
	candidates []string
}

// Error names the nearest that there is.
func (e *UnknownName) Error() string {
	return fmt.Sprintf("unknown %s '%s'%s", e.What, e.Name, nearest.Hint(e.Name, e.candidates))
}

// column finds a column by name.
func (s *Scope) column(n *tidb.ColumnName) *ScopeColumn {
	name := n.Name.O
	if n.Table.O == "" {
		at := slices.IndexFunc(s.Columns, func(c ScopeColumn) bool { return c.Name == name })
		if at < 0 {
			at = slices.IndexFunc(s.Columns, func(c ScopeColumn) bool { return strings.EqualFold(c.Name, name) })
		}
		if at >= 0 {
			return &s.Columns[at]
		}
	} else {
		name = n.Table.O + "." + name
	}
	names := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		names[i] = c.Name
	}
	panic(fault{&UnknownName{What: "column", Name: name, candidates: names}})
}

func (p *printer) unknownFunction(name string) {
	panic(fault{&UnknownName{What: "function", Name: strings.ToLower(name), candidates: LoadFunctions()}})
}

// LoadFunctions returns the names of the functions of load expressions, sorted,
// in small letters.
func LoadFunctions() []string {
	names := map[string]bool{}
	maps.Copy(names, loadNames)
	maps.Copy(names, namesOf(templates, dorisTemplates))
	for name := range specials {
		names[name] = true
	}
	for name := range loadSpecials {
		names[name] = true
	}
	for _, name := range sessionFunctions {
		delete(names, name)
	}
	for written, name := range map[string]string{"char_func": "char", tidb.DateLiteral: "", tidb.TimeLiteral: "", tidb.TimestampLiteral: ""} {
		delete(names, written)
		if name != "" {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// loadNames are the functions that only load expressions know.
var loadNames map[string]bool

// onlyInQueries refuses a part of a load expression.
func (p *printer) onlyInQueries(what string) {
	if p.scope != nil {
		unsupported("%s in a load expression", what)
	}
}

// loadTypes are what columns of a kind are declared as.
var loadTypes = map[kind]types.Type{
	boolean: {Kind: types.Boolean}, integer: {Kind: types.BigInt}, decimal: {Kind: types.Decimal, Precision: types.MaxDecimalPrecision, Scale: types.MaxDecimalPrecision},
	double: {Kind: types.Double}, date: {Kind: types.Date}, datetime: {Kind: types.DateTime, Scale: types.MaxDateTimeScale},
}

// result is an expression as a value of a type that columns can have.
func (p *printer) result(node tidb.ExprNode, printed string) (string, types.Type) {
	k := p.kind(node)
	if t := p.partType(node); t.Kind != types.Invalid && k != structure {
		return printed, t
	}
	if t, ok := loadTypes[k]; ok {
		return printed, t
	}
	text := types.Type{Kind: types.String}
	switch k {
	case list:
		array := types.NewArray(text)
		return cast(printed, array.DuckDB()), array
	case mapping:
		if pairs, err := types.NewMap(text, text); err == nil {
			return cast(printed, pairs.DuckDB()), pairs
		}
	}
	return toText(printed, k), text
}

// parseExpression reads one expression. Its SQL is put into parentheses, so
// that nothing of the rest of a SELECT can follow.
func parseExpression(text prepared) (tidb.ExprNode, error) {
	const before, after = "SELECT (", "\n)"
	stmt, syntax := parseQuery(before + text.sql + after)
	if syntax != nil {
		return nil, text.syntaxError(syntax.Pos-len(before), syntax.Msg)
	}
	if query, ok := stmt.(*tidb.SelectStmt); ok && isOnlyFields(query) && len(query.Fields.Fields) == 1 {
		field := query.Fields.Fields[0]
		if inner, ok := field.Expr.(*tidb.ParenthesesExpr); ok && field.AsName.O == "" {
			return inner.Expr, nil
		}
		if _, ok := field.Expr.(*tidb.SubqueryExpr); ok {
			return nil, &Unsupported{What: "a subquery in a load expression"}
		}
	}
	return nil, parse.NewSyntaxError(text.original, 0, "expected one expression")
}

// isOnlyFields reports whether a query is a list of fields and nothing else.
func isOnlyFields(q *tidb.SelectStmt) bool {
	return q.From == nil && q.Where == nil && q.GroupBy == nil && q.Having == nil && q.OrderBy == nil && q.Limit == nil && q.LockInfo == nil &&
		q.SelectIntoOpt == nil && q.With == nil && len(q.WindowSpecs) == 0 && !q.Distinct && q.Kind == tidb.SelectStmtKindSelect
}
