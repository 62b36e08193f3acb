package parse

import (
	"strings"

	"shoal/sql/ast"
)

// set parses SET with a list of assignments and the forms of its own.
func (p *parser) set() ast.Stmt {
	p.take()
	if p.sees("PASSWORD") || p.sees("PROPERTY") || p.sees("DEFAULT") || p.sees("ROLE") {
		return p.unsupportedAfter("SET")
	}
	s := &ast.Set{Items: []ast.SetItem{p.setItem()}}
	for p.acceptSymbol(",") {
		s.Items = append(s.Items, p.setItem())
	}
	return s
}

func (p *parser) setItem() ast.SetItem {
	switch {
	case p.sees("NAMES") && !p.ahead(1).isSymbol("="):
		p.take()
		return p.setNames()
	case p.accept("CHARACTER", "SET"), p.accept("CHARSET"):
		return &ast.SetCharset{Charset: p.charset()}
	case p.peek().isSymbol("@") && !p.ahead(1).isSymbol("@"):
		p.take()
		name := p.userVariable()
		return &ast.SetUserVariable{Name: name, Value: p.assigned()}
	}
	scope, name := p.systemVariable()
	if name == "" {
		return p.setTransaction(scope)
	}
	return &ast.SetVariable{Scope: scope, Name: name, Value: p.assigned()}
}

func (p *parser) setNames() ast.SetItem {
	n := &ast.SetNames{Charset: p.charset()}
	if p.accept("COLLATE") {
		n.Collate = p.charset()
	}
	return n
}

// charset takes a character set or collation, in quotes or not; empty for
// DEFAULT.
func (p *parser) charset() string {
	switch t := p.peek(); {
	case p.accept("DEFAULT"):
		return ""
	case t.Kind == String || t.Kind == Word || t.Kind == QuotedName:
		return p.take().Value
	}
	p.fail("expected a character set")
	return ""
}

// userVariable takes what follows the @ of a user variable.
func (p *parser) userVariable() string {
	switch p.peek().Kind {
	case Word, QuotedName, String, Number:
		return p.take().Value
	}
	p.fail("expected the name of a variable")
	return ""
}

// systemVariable takes [SESSION | GLOBAL] name or @@[scope.]name. The name is
// empty at TRANSACTION, which has a grammar of its own.
func (p *parser) systemVariable() (ast.Scope, string) {
	if p.acceptSymbol("@") {
		p.expectSymbol("@")
		if scope, ok := p.acceptScope(); ok {
			p.expectSymbol(".")
			return scope, p.anyName("the name of a variable")
		}
		return ast.NoScope, p.anyName("the name of a variable")
	}
	scope, _ := p.acceptScope()
	if p.sees("TRANSACTION") && !p.ahead(1).isSymbol("=") {
		p.take()
		return scope, ""
	}
	return scope, p.name("the name of a variable")
}

// assigned takes = value or := value, where a value ends at a comma.
func (p *parser) assigned() ast.Value {
	if p.acceptSymbol(":") || p.peek().isSymbol("=") {
		p.expectSymbol("=")
	} else {
		p.fail("expected =")
	}
	first := p.next
	expr := p.expr(func() bool { return p.peek().isSymbol(",") })
	value := ast.Value{Expr: *expr}
	switch taken := p.tokens[first:p.next]; {
	case len(taken) == 1 && taken[0].is("DEFAULT"):
		value.Default = true
	case len(taken) == 1 && taken[0].Kind != Symbol:
		value.Literal = &taken[0].Value
	case len(taken) == 2 && taken[1].Kind == Number && (taken[0].isSymbol("-") || taken[0].isSymbol("+")):
		literal := strings.TrimPrefix(taken[0].Value, "+") + taken[1].Value
		value.Literal = &literal
	}
	return value
}

func (p *parser) setTransaction(scope ast.Scope) ast.SetItem {
	s := &ast.SetTransaction{Scope: scope}
	for {
		switch {
		case p.accept("ISOLATION", "LEVEL"):
			s.Isolation = p.isolation()
		case p.accept("READ", "ONLY"), p.accept("READ", "WRITE"):
			readOnly := p.tokens[p.next-1].is("ONLY")
			s.ReadOnly = &readOnly
		default:
			p.fail("expected ISOLATION LEVEL, READ ONLY or READ WRITE")
		}
		if !p.acceptSymbol(",") {
			return s
		}
	}
}

func (p *parser) isolation() string {
	switch {
	case p.accept("READ", "UNCOMMITTED"):
		return "READ-UNCOMMITTED"
	case p.accept("READ", "COMMITTED"):
		return "READ-COMMITTED"
	case p.accept("REPEATABLE", "READ"):
		return "REPEATABLE-READ"
	case p.accept("SERIALIZABLE"):
		return "SERIALIZABLE"
	}
	p.fail("expected an isolation level")
	return ""
}
