package parse

import (
	"strings"

	"shoal/sql/ast"
)

func (p *parser) job() ast.Name { return p.qualified("a job name") }

func (p *parser) createRoutineLoad() ast.Stmt {
	c := &ast.CreateRoutineLoad{Job: p.job()}
	if p.accept("ON") {
		c.Table = p.name("a table name")
	}
	if p.accept("WITH") {
		c.Merge = ast.MergeType(p.expectOne("APPEND", "DELETE", "MERGE"))
	}
	c.Load = p.loadProperties()
	if p.accept("PROPERTIES") {
		c.Properties = p.properties()
	}
	c.Source = p.dataSource()
	if p.accept("COMMENT") {
		c.Comment = p.stringLiteral("a comment")
	}
	return c
}

func (p *parser) alterRoutineLoad() ast.Stmt {
	a := &ast.AlterRoutineLoad{Job: p.job()}
	if p.accept("SET", "TARGET", "TABLE") {
		p.expectSymbol("=")
		a.TargetTable = p.stringLiteral("a table name")
	}
	a.Load = p.loadProperties()
	if p.accept("PROPERTIES") {
		a.Properties = p.properties()
	}
	if p.sees("FROM") {
		source := p.dataSource()
		a.Source = &source
	}
	return a
}

func (p *parser) dataSource() ast.DataSource {
	p.expect("FROM")
	return ast.DataSource{Type: p.name("a data source such as KAFKA"), Properties: p.properties()}
}

// properties takes ( "key" = "value", … ).
func (p *parser) properties() ast.Properties {
	p.expectSymbol("(")
	var out ast.Properties
	for {
		at := p.peek().Pos
		key := p.stringLiteral("a property's key")
		p.expectSymbol("=")
		value := p.stringLiteral("the value of property " + ast.QuoteString(key))
		if _, twice := out.Get(key); twice {
			p.invalid(at, "property "+ast.QuoteString(key)+" is given twice (keys match in any case)")
		}
		out = append(out, ast.Property{Key: key, Value: value})
		if !p.acceptSymbol(",") {
			break
		}
	}
	p.expectSymbol(")")
	return out
}

// loadProperties takes the clauses before PROPERTIES, of which there may be
// none.
func (p *parser) loadProperties() ast.LoadProperties {
	var load ast.LoadProperties
	seen := map[string]bool{}
	if !p.startsLoadProperty() {
		return load
	}
	for {
		at := p.peek().Pos
		kind := p.loadProperty(&load)
		if seen[kind] {
			p.invalid(at, kind+" is given twice")
		}
		seen[kind] = true
		if !p.acceptSymbol(",") {
			return load
		}
	}
}

var loadPropertyStarts = []string{"COLUMNS", "PRECEDING", "WHERE", "DELETE", "ORDER", "TEMPORARY", "PARTITION", "PARTITIONS"}

func (p *parser) startsLoadProperty() bool {
	for _, k := range loadPropertyStarts {
		if p.sees(k) {
			return true
		}
	}
	return false
}

// loadProperty takes one clause and returns its kind.
func (p *parser) loadProperty(load *ast.LoadProperties) string {
	switch {
	case p.accept("COLUMNS", "TERMINATED"):
		p.expect("BY")
		separator := p.separator()
		load.ColumnsTerminatedBy = &separator
		return "COLUMNS TERMINATED BY"
	case p.accept("COLUMNS"):
		load.Columns = p.loadColumns()
		return "COLUMNS"
	case p.accept("PRECEDING"):
		p.expect("FILTER")
		load.PrecedingFilter = p.clauseExpr()
		return "PRECEDING FILTER"
	case p.accept("WHERE"):
		load.Where = p.clauseExpr()
		return "WHERE"
	case p.accept("DELETE"):
		p.expect("ON")
		load.DeleteOn = p.clauseExpr()
		return "DELETE ON"
	case p.accept("ORDER"):
		p.expect("BY")
		load.OrderBy = p.name("a column name")
		return "ORDER BY"
	}
	temporary := p.accept("TEMPORARY")
	if _, ok := p.acceptOne("PARTITION", "PARTITIONS"); !ok {
		p.fail("expected " + strings.Join(loadPropertyStarts, ", "))
	}
	load.Partitions = &ast.Partitions{Temporary: temporary}
	if p.peek().isSymbol("(") {
		load.Partitions.Names = p.names("a partition name")
	} else {
		load.Partitions.Names = []string{p.name("a partition name")}
	}
	return "PARTITION"
}

// separator takes the string of COLUMNS TERMINATED BY. Doris reads escapes
// there by itself, so '\x01' keeps its backslash and means the same as
// '\\x01'.
func (p *parser) separator() string {
	t := p.peek()
	value := p.stringLiteral("a separator")
	if raw := p.text[t.Pos+1 : t.End-1]; strings.HasPrefix(raw, `\x`) {
		return raw
	}
	return value
}

func (p *parser) loadColumns() []ast.LoadColumn {
	p.expectSymbol("(")
	columns := []ast.LoadColumn{p.loadColumn()}
	for p.acceptSymbol(",") {
		columns = append(columns, p.loadColumn())
	}
	p.expectSymbol(")")
	return columns
}

// loadColumn takes name [= expression], perhaps in parentheses.
func (p *parser) loadColumn() ast.LoadColumn {
	inParentheses := p.acceptSymbol("(")
	c := ast.LoadColumn{Name: p.name("a column name")}
	if p.acceptSymbol("=") {
		c.Expr = p.expr(func() bool { return p.peek().isSymbol(",") || p.peek().isSymbol(")") })
	}
	if inParentheses {
		p.expectSymbol(")")
	}
	return c
}

// clauseExpr takes the expression of a clause: up to the next clause.
func (p *parser) clauseExpr() *ast.Expr {
	return p.expr(func() bool {
		return p.peek().isSymbol(",") || p.sees("FROM") || p.sees("PROPERTIES") && p.ahead(1).isSymbol("(")
	})
}

var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

// expr takes an expression as text: up to the first token outside all
// brackets at which ends is true, or the end of the statement.
func (p *parser) expr(ends func() bool) *ast.Expr {
	start := p.peek().Pos
	end := start
	var open []string
	for p.peek().Kind != EndOfText && (len(open) > 0 || !ends()) {
		t := p.peek()
		if t.Kind == Symbol {
			if closer, ok := closing[t.Value]; ok {
				open = append(open, closer)
			} else if t.Value == ")" || t.Value == "]" || t.Value == "}" {
				if len(open) == 0 || open[len(open)-1] != t.Value {
					p.fail("this bracket closes none,")
				}
				open = open[:len(open)-1]
			}
		}
		p.checkText(t, "an expression")
		end = p.take().End
	}
	if len(open) > 0 {
		p.fail("expected " + open[len(open)-1])
	}
	if end == start {
		p.fail("expected an expression")
	}
	// A minus at the end would begin a comment when the text is printed again.
	if p.text[end-1] == '-' {
		p.fail("expected an operand")
	}
	return &ast.Expr{Text: p.text[start:end], Pos: start}
}

// control parses PAUSE, RESUME and STOP.
func (p *parser) control() ast.Stmt {
	verb := strings.ToUpper(p.take().Value)
	all := verb != "STOP" && p.accept("ALL")
	if !p.sees("ROUTINE") && p.peek().Kind == Word {
		return p.unsupportedAfter(verb)
	}
	p.expect("ROUTINE", "LOAD")
	var job ast.Name
	if !all {
		p.expect("FOR")
		job = p.job()
	}
	switch verb {
	case "PAUSE":
		return &ast.PauseRoutineLoad{Job: job, All: all}
	case "RESUME":
		return &ast.ResumeRoutineLoad{Job: job, All: all}
	}
	return &ast.StopRoutineLoad{Job: job}
}

// showRoutineLoad parses what follows SHOW [ALL] ROUTINE LOAD.
func (p *parser) showRoutineLoad(all bool) ast.Stmt {
	switch {
	case !all && p.accept("TASK"):
		return p.showRoutineLoadTask()
	case !all && p.accept("LEDGER"):
		p.expect("FOR")
		return &ast.ShowRoutineLoadLedger{Job: p.job()}
	}
	show := &ast.ShowRoutineLoad{All: all}
	if p.accept("FOR") {
		job := p.job()
		show.Job = &job
	}
	show.Filter = p.filter()
	return show
}

func (p *parser) showRoutineLoadTask() ast.Stmt {
	s := &ast.ShowRoutineLoadTask{Job: ast.Name{DB: p.fromDatabase()}}
	p.expect("WHERE")
	if !strings.EqualFold(p.peek().Value, "JobName") {
		p.fail("expected JobName, the only condition of this statement,")
	}
	p.take()
	p.expectSymbol("=")
	s.Job.Name = p.stringLiteral("a job name")
	return s
}

// admin parses what follows ADMIN: CHECK ROUTINE LOAD LEDGER, or the rest as it
// is.
func (p *parser) admin() ast.Stmt {
	if !p.peek().is("CHECK") || !p.ahead(1).is("ROUTINE") {
		return &ast.Admin{Text: p.rest()}
	}
	p.expect("CHECK", "ROUTINE", "LOAD", "LEDGER", "FOR")
	return &ast.CheckRoutineLoadLedger{Job: p.job()}
}
