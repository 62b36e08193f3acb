package pipe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"shoal/internal/loadscope"
	typesv1 "shoal/proto/types/v1"
	spell "shoal/sql/duckdb"
	"shoal/sql/rewrite"
)

// A judgement is what became of a row in an evaluation: above 0 it is the
// number of the derived column that failed on it.
type judgement int32

const (
	selected   judgement = 0
	unselected judgement = -1
	unjudged   judgement = -2 // the condition failed
)

// expressions are a condition and derived columns as DuckDB's SQL, over the
// columns of an input. Each is wrapped so that where it fails on a row, that row
// says so: TRY makes the struct around a value NULL, not the value.
type expressions struct {
	input     []inputColumn
	clause    string // of the condition, for people
	condition string // true, false or NULL; empty for none
	derived   []derivedColumn
}

// derivedColumn is an entry of COLUMNS with an expression.
type derivedColumn struct {
	name  string
	text  string // the expression as the user wrote it
	value string // v of its struct, for the columns after it; empty if none has it
	cell  string // t of its struct, for a column of the table; empty if none has the name
}

// inputColumn is a column of what is evaluated over.
type inputColumn struct {
	name string
	typ  duckdb.TypeInfo
	sql  string // makes the value that expressions see
}

// compiler makes expressions of a job's.
type compiler struct {
	load   *typesv1.RoutineLoad
	schema *typesv1.Schema
	now    time.Time
}

// before compiles PRECEDING FILTER and COLUMNS over fields: as text with NULL
// in the columns s0, s1 …, as PRECEDING FILTER sees them in r0, r1 …
func (c *compiler) before(fields []string) (expressions, error) {
	text, err := duckdb.NewTypeInfo(duckdb.TYPE_VARCHAR)
	if err != nil {
		return expressions{}, err
	}
	e := expressions{clause: "PRECEDING FILTER"}
	for _, kind := range []string{"s", "r"} {
		for i := range fields {
			name := fmt.Sprint(kind, i)
			e.input = append(e.input, inputColumn{name, text, name})
		}
	}
	metadata, err := metadataInput()
	if err != nil {
		return expressions{}, err
	}
	e.input = append(e.input, metadata...)
	raw := slices.Concat(loadscope.Scope(loadscope.Fields(fields), func(i int) string { return fmt.Sprint("r", i) }), metadataScope())
	if e.condition, err = c.condition(e.clause, c.load.PrecedingFilter, raw); err != nil {
		return expressions{}, err
	}
	e.derived, err = c.derive(loadscope.Scope(loadscope.Fields(fields), func(i int) string { return fmt.Sprint("s", i) }))
	return e, err
}

// after compiles WHERE over the table's columns.
func (c *compiler) after() (expressions, error) {
	names, err := loadscope.Columns(c.schema)
	if err != nil {
		return expressions{}, err
	}
	e := expressions{clause: "WHERE"}
	for i, n := range names {
		info, err := vectorType(n.Type)
		if err != nil {
			return expressions{}, fmt.Errorf("column %s: %w", n.Name, err)
		}
		name := fmt.Sprint("c", i)
		e.input = append(e.input, inputColumn{name, info, columnValue(name, n.Type)})
	}
	metadata, err := metadataInput()
	if err != nil {
		return expressions{}, err
	}
	e.input = append(e.input, metadata...)
	scope := slices.Concat(loadscope.Scope(names, func(i int) string { return fmt.Sprint("c", i) }), metadataScope())
	e.condition, err = c.condition(e.clause, c.load.Where, scope)
	return e, err
}

func metadataScope() []rewrite.ScopeColumn {
	names := loadscope.Metadata()
	return loadscope.Scope(names, func(i int) string { return names[i].Name })
}

// condition compiles a filter; none is empty.
func (c *compiler) condition(clause, text string, scope []rewrite.ScopeColumn) (sql string, err error) {
	if text == "" {
		return "", nil
	}
	compiled, err := c.compile(text, scope)
	if err == nil {
		sql, err = compiled.Condition()
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", clause, err)
	}
	return sql, nil
}

// derive compiles the derived columns: over fields, and over those before.
func (c *compiler) derive(fields []rewrite.ScopeColumn) (list []derivedColumn, err error) {
	var earlier []rewrite.ScopeColumn
	var values []string
	for _, column := range c.load.LoadColumns {
		if column.Expr == "" {
			continue
		}
		compiled, err := c.compile(column.Expr, slices.Concat(fields, earlier, metadataScope()))
		if err != nil {
			return nil, fmt.Errorf("COLUMNS: %s: %w", column.Name, err)
		}
		for i := range list {
			if slices.Contains(compiled.Columns, list[i].name) {
				list[i].value = values[i]
			}
		}
		cell, err := c.cell(column.Name, compiled)
		if err != nil {
			return nil, fmt.Errorf("COLUMNS: %s: %w", column.Name, err)
		}
		earlier = append(earlier, rewrite.ScopeColumn{Name: column.Name, SQL: fmt.Sprintf("d%d.v", len(list)), Type: compiled.Type})
		list, values = append(list, derivedColumn{name: column.Name, text: column.Expr, cell: cell}), append(values, compiled.SQL)
	}
	return list, nil
}

// cell is a derived column as the text that is converted to the table's column
// of its name; empty if there is none.
func (c *compiler) cell(name string, compiled rewrite.Compiled) (string, error) {
	columns, err := loadscope.Columns(c.schema)
	if err != nil {
		return "", err
	}
	for _, target := range columns {
		if strings.EqualFold(target.Name, name) {
			return compiled.Text(target.Type)
		}
	}
	return "", nil
}

func (c *compiler) compile(text string, scope []rewrite.ScopeColumn) (rewrite.Compiled, error) {
	return rewrite.LoadExpression(text, rewrite.Scope{Columns: scope, Zone: c.load.Timezone, Now: c.now})
}

// empty tells whether there is nothing to evaluate.
func (e *expressions) empty() bool { return e.condition == "" && len(e.derived) == 0 }

// what is what failed, for people.
func (e *expressions) what(failed judgement) string {
	if failed == unjudged {
		return e.clause
	}
	d := e.derived[failed-1]
	return fmt.Sprintf("column %s: %s", d.name, printable([]byte(d.text), expressionLimit))
}

// expressionLimit is how much of an expression an error row shows.
const expressionLimit = 200

// from is the input with the condition and derived columns, each a struct.
// naked is the one that fails the statement where it fails on a row, so that
// DuckDB says why; selected for none.
func (e *expressions) from(id uint64, naked judgement) string {
	var columns []string
	for _, c := range e.input {
		columns = append(columns, c.sql+" AS "+c.name)
	}
	sql := fmt.Sprintf("SELECT %s FROM %s(%d::UBIGINT)", strings.Join(columns, ", "), rowsFunction, id)
	if e.condition != "" {
		sql = fmt.Sprintf("SELECT *, %s AS condition FROM (%s)", attempt(naked == unjudged, "v", e.condition), sql)
	}
	for i, d := range e.derived {
		sql = fmt.Sprintf("SELECT *, %s AS d%d FROM (%s)", attempt(int(naked) == i+1, "v", d.value, "t", d.cell), i, sql)
	}
	return sql
}

// attempt makes a struct of names and values, without those that are empty. It
// is NULL where one fails, unless it is naked.
func attempt(naked bool, parts ...string) string {
	fields := []string{"ok := true"}
	for i := 0; i < len(parts); i += 2 {
		if parts[i+1] != "" {
			fields = append(fields, parts[i]+" := "+parts[i+1])
		}
	}
	sql := "struct_pack(" + strings.Join(fields, ", ") + ")"
	if naked {
		return sql
	}
	return "TRY(" + sql + ")"
}

// query asks for the judgement of each row, and for its derived columns as
// text.
func (e *expressions) query(id uint64) string {
	var judge strings.Builder
	if e.condition != "" {
		fmt.Fprintf(&judge, " WHEN condition IS NULL THEN %d WHEN NOT coalesce(condition.v, false) THEN %d", unjudged, unselected)
	}
	var texts strings.Builder
	for i, d := range e.derived {
		fmt.Fprintf(&judge, " WHEN d%d IS NULL THEN %d", i, i+1)
		if d.cell != "" {
			fmt.Fprintf(&texts, ", d%d.t", i)
		} else {
			texts.WriteString(", NULL")
		}
	}
	return fmt.Sprintf("SELECT CAST(CASE%s ELSE %d END AS INTEGER)%s FROM (%s)", judge.String(), selected, texts.String(), e.from(id, selected))
}

// whyQuery is a statement that fails as the expression fails.
func (e *expressions) whyQuery(id uint64, failed judgement) string {
	column := spell.QuoteName("condition")
	if failed > 0 {
		column = fmt.Sprintf("d%d", failed-1)
	}
	return fmt.Sprintf("SELECT %s FROM (%s)", column, e.from(id, failed))
}
