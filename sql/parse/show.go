package parse

import (
	"strings"

	"shoal/sql/ast"
)

// show parses SHOW.
func (p *parser) show() ast.Stmt {
	p.take()
	if all := p.accept("ALL"); all || p.sees("ROUTINE") || p.sees("CREATE", "ROUTINE") {
		if p.accept("CREATE") {
			p.expect("ROUTINE", "LOAD", "FOR")
			return &ast.ShowCreateRoutineLoad{All: all, Job: p.job()}
		}
		p.expect("ROUTINE", "LOAD")
		return p.showRoutineLoad(all)
	}
	if p.accept("CREATE") {
		return p.showCreate()
	}
	if scope, ok := p.acceptScope(); ok {
		return p.showScoped(scope)
	}
	full := false
	for {
		if _, ok := p.acceptOne("EXTENDED", "STORAGE"); ok {
			continue
		}
		if !p.accept("FULL") {
			break
		}
		full = true
	}
	if s := p.showKnown(full); s != nil {
		return s
	}
	if what, ok := p.list(); ok {
		return p.showList(what)
	}
	return p.unsupportedAfter("SHOW")
}

func (p *parser) showCreate() ast.Stmt {
	switch {
	case p.accept("TABLE"):
		return &ast.ShowCreateTable{Table: p.table()}
	case p.accept("VIEW"):
		return &ast.ShowCreateTable{Table: p.table(), View: true}
	case p.accept("DATABASE"), p.accept("SCHEMA"):
		p.accept("IF", "NOT", "EXISTS")
		return &ast.ShowCreateDatabase{Name: p.name("a database name")}
	}
	return p.unsupportedAfter("SHOW CREATE")
}

func (p *parser) acceptScope() (ast.Scope, bool) {
	k, ok := p.acceptOne("GLOBAL", "SESSION", "LOCAL")
	if !ok {
		return ast.NoScope, false
	}
	if k == "GLOBAL" {
		return ast.Global, true
	}
	return ast.Session, true
}

func (p *parser) showScoped(scope ast.Scope) ast.Stmt {
	if p.expectOne("VARIABLES", "STATUS") == "STATUS" {
		return &ast.ShowStatus{Scope: scope, Filter: p.filter()}
	}
	return &ast.ShowVariables{Scope: scope, Filter: p.filter()}
}

// showKnown parses the statements with a type of their own; nil if it is none.
func (p *parser) showKnown(full bool) ast.Stmt {
	switch {
	case p.accept("DATABASES"), p.accept("SCHEMAS"):
		return &ast.ShowDatabases{Filter: p.filter()}
	case p.accept("TABLES"):
		return &ast.ShowTables{DB: p.fromDatabase(), Full: full, Filter: p.filter()}
	case p.accept("TABLE", "STATUS"):
		return &ast.ShowTableStatus{DB: p.fromDatabase(), Filter: p.filter()}
	case p.accept("COLUMNS"), p.accept("FIELDS"):
		return &ast.ShowColumns{Table: p.fromTable(), Full: full, Filter: p.filter()}
	case p.accept("INDEX"), p.accept("INDEXES"), p.accept("KEYS"), p.accept("KEY"):
		return &ast.ShowIndex{Table: p.fromTable(), Filter: p.filter()}
	case p.sees("VARIABLES"), p.sees("STATUS"):
		return p.showScoped(ast.NoScope)
	case p.accept("PROCESSLIST"):
		return &ast.ShowProcesslist{Full: full}
	case p.accept("GRANTS"):
		return p.showGrants()
	case p.accept("LOAD", "WARNINGS"):
		return p.showLoadWarnings()
	case p.accept("FILE"):
		return &ast.ShowFiles{DB: p.fromDatabase()}
	}
	return p.showWarnings()
}

// showWarnings parses SHOW WARNINGS, ERRORS and the counts of them.
func (p *parser) showWarnings() ast.Stmt {
	s := &ast.ShowWarnings{Limit: -1}
	if p.sees("COUNT") {
		p.take()
		p.expectSymbol("(")
		p.expectSymbol("*")
		p.expectSymbol(")")
		s.Count = true
		s.Errors = p.expectOne("WARNINGS", "ERRORS") == "ERRORS"
		return s
	}
	k, ok := p.acceptOne("WARNINGS", "ERRORS")
	if !ok {
		return nil
	}
	s.Errors = k == "ERRORS"
	s.Offset, s.Limit = p.limit()
	return s
}

// limit takes [LIMIT [offset,] count]; the count is -1 without.
func (p *parser) limit() (offset, count int) {
	if !p.accept("LIMIT") {
		return 0, -1
	}
	count = p.integer("a number of rows")
	if p.acceptSymbol(",") {
		offset, count = count, p.integer("a number of rows")
	}
	return offset, count
}

func (p *parser) showGrants() ast.Stmt {
	if !p.accept("FOR") {
		return &ast.ShowGrants{}
	}
	user := strings.TrimSuffix(p.rest(), "()")
	if strings.EqualFold(user, "CURRENT_USER") {
		user = ""
	}
	return &ast.ShowGrants{User: user}
}

func (p *parser) showLoadWarnings() ast.Stmt {
	if p.accept("ON") {
		return &ast.ShowLoadWarnings{URL: p.stringLiteral("an URL"), Limit: -1}
	}
	s := &ast.ShowLoadWarnings{DB: p.fromDatabase()}
	if p.accept("WHERE") {
		s.Where = append(s.Where, p.equality())
		for p.accept("AND") {
			s.Where = append(s.Where, p.equality())
		}
	}
	s.Offset, s.Limit = p.limit()
	return s
}

// equality takes column = literal.
func (p *parser) equality() ast.Equality {
	e := ast.Equality{Column: p.name("a column name")}
	p.expectSymbol("=")
	if t := p.peek(); t.Kind == Number {
		e.Value = p.take().Value
		return e
	}
	e.Value = p.stringLiteral("a value")
	return e
}

var lists = map[ast.List][][]string{
	ast.Engines:         {{"ENGINES"}},
	ast.Charsets:        {{"CHARACTER", "SET"}, {"CHARSET"}, {"CHAR", "SET"}},
	ast.Collations:      {{"COLLATION"}},
	ast.Plugins:         {{"PLUGINS"}},
	ast.Privileges:      {{"PRIVILEGES"}},
	ast.Triggers:        {{"TRIGGERS"}},
	ast.Events:          {{"EVENTS"}},
	ast.ProcedureStatus: {{"PROCEDURE", "STATUS"}},
	ast.FunctionStatus:  {{"FUNCTION", "STATUS"}},
	ast.OpenTables:      {{"OPEN", "TABLES"}},
	ast.Frontends:       {{"FRONTENDS"}},
	ast.Backends:        {{"BACKENDS"}},
	ast.Catalogs:        {{"CATALOGS"}},
	ast.Trash:           {{"TRASH"}},
}

func (p *parser) list() (ast.List, bool) {
	for what, spellings := range lists {
		for _, words := range spellings {
			if p.accept(words...) {
				return what, true
			}
		}
	}
	return "", false
}

// showList parses what follows the name of a list. Those of things in databases
// may say of which; the trash is of all backends, so that of one is refused.
func (p *parser) showList(what ast.List) ast.Stmt {
	list := &ast.ShowList{What: what}
	switch what {
	case ast.Triggers, ast.Events, ast.OpenTables:
		list.DB = p.fromDatabase()
	case ast.Trash:
		if p.sees("ON") {
			return p.unsupportedAs("SHOW TRASH … ON")
		}
	}
	list.Filter = p.filter()
	return list
}

// fromDatabase takes [FROM | IN] database; empty if there is none.
func (p *parser) fromDatabase() string {
	if _, ok := p.acceptOne("FROM", "IN"); !ok {
		return ""
	}
	n := p.qualified("a database name")
	return n.Name
}

// fromTable takes FROM table [FROM database].
func (p *parser) fromTable() ast.Name {
	p.expectOne("FROM", "IN")
	table := p.table()
	if db := p.fromDatabase(); db != "" {
		table.DB = db
	}
	return table
}

// filter takes [LIKE pattern | WHERE expression].
func (p *parser) filter() ast.Filter {
	switch {
	case p.accept("LIKE"):
		pattern := p.stringLiteral("a pattern")
		return ast.Filter{Like: &pattern}
	case p.accept("WHERE"):
		return ast.Filter{Where: p.expr(func() bool { return false })}
	}
	return ast.Filter{}
}
