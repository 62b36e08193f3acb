package parse

import (
	"strings"

	"shoal/sql/ast"
)

func (p *parser) alter() ast.Stmt {
	p.take()
	switch {
	case p.accept("ROUTINE"):
		p.expect("LOAD", "FOR")
		return p.alterRoutineLoad()
	case p.accept("TABLE"):
		return p.alterTable()
	case p.sees("DATABASE"), p.sees("SCHEMA"):
		p.take()
		return p.alterDatabase()
	case p.accept("SYSTEM"):
		return p.alterSystem()
	}
	return p.unsupportedAfter("ALTER")
}

func (p *parser) alterDatabase() ast.Stmt {
	r := &ast.RenameDatabase{Name: p.name("a database name")}
	if !p.accept("RENAME") {
		return p.unsupportedAfter("ALTER DATABASE …")
	}
	p.accept("TO")
	r.NewName = p.name("a database name")
	return r
}

func (p *parser) alterTable() ast.Stmt {
	a := &ast.AlterTable{Table: p.table()}
	for {
		verb := p.peek()
		known := p.alterClause(a)
		if !known {
			return p.unsupportedClause(verb)
		}
		if !p.acceptSymbol(",") {
			return a
		}
	}
}

// unsupportedClause names a clause of ALTER TABLE by its verb and the word
// after it.
func (p *parser) unsupportedClause(verb Token) ast.Stmt {
	if verb.Kind != Word {
		p.fail("expected ADD, DROP, MODIFY or RENAME")
	}
	what := strings.ToUpper(verb.Value)
	if t := p.peek(); t.Kind == Word && t.Pos != verb.Pos {
		what += " " + strings.ToUpper(t.Value)
	}
	return p.unsupportedAs("ALTER TABLE … " + what)
}

// alterClause takes a clause; false, perhaps after its verb, if it is none
// that Shoal knows.
func (p *parser) alterClause(a *ast.AlterTable) bool {
	switch {
	case p.accept("ADD"):
		return p.addColumns(a)
	case p.accept("DROP"):
		if !p.accept("COLUMN") {
			return false
		}
		a.Clauses = append(a.Clauses, &ast.DropColumn{Name: p.name("a column name")})
	case p.accept("RENAME"):
		return p.rename(a)
	case p.accept("MODIFY"):
		return p.modify(a)
	default:
		return false
	}
	return true
}

// addColumns takes what follows ADD: a column with its position, or several in
// parentheses.
func (p *parser) addColumns(a *ast.AlterTable) bool {
	if !p.accept("COLUMN") {
		return false
	}
	if !p.acceptSymbol("(") {
		column, key := p.alterColumn(a)
		a.Clauses = append(a.Clauses, &ast.AddColumn{Column: column, Key: key, Position: p.position()})
		return true
	}
	for {
		column, key := p.alterColumn(a)
		a.Clauses = append(a.Clauses, &ast.AddColumn{Column: column, Key: key})
		if !p.acceptSymbol(",") {
			break
		}
	}
	p.expectSymbol(")")
	return true
}

// rename takes what follows RENAME.
func (p *parser) rename(a *ast.AlterTable) bool {
	ofPart := p.sees("ROLLUP") || p.sees("PARTITION")
	switch {
	case ofPart && p.ahead(1).Kind != EndOfText:
		return false
	case p.accept("COLUMN"):
		r := &ast.RenameColumn{Name: p.name("a column name")}
		p.accept("TO")
		r.NewName = p.name("a column name")
		a.Clauses = append(a.Clauses, r)
	default:
		p.accept("TO")
		a.Clauses = append(a.Clauses, &ast.RenameTable{NewName: p.name("a table name")})
	}
	return true
}

// modify takes what follows MODIFY.
func (p *parser) modify(a *ast.AlterTable) bool {
	if p.accept("COMMENT") {
		a.Clauses = append(a.Clauses, &ast.CommentTable{Comment: p.stringLiteral("a comment")})
		return true
	}
	if !p.accept("COLUMN") {
		return false
	}
	if p.ahead(1).is("COMMENT") {
		c := &ast.CommentColumn{Name: p.name("a column name")}
		p.expect("COMMENT")
		c.Comment = p.stringLiteral("a comment")
		a.Clauses = append(a.Clauses, c)
		return true
	}
	column, key := p.alterColumn(a)
	a.Clauses = append(a.Clauses, &ast.ModifyColumn{Column: column, Key: key, Position: p.position()})
	return true
}

// alterColumn takes a column's definition, which unlike in CREATE TABLE may
// say KEY.
func (p *parser) alterColumn(a *ast.AlterTable) (column ast.Column, key bool) {
	var other ast.CreateTable // takes what no column can have
	column.Name = p.name("a column name")
	column.Type = p.columnType(column.Name)
	for {
		if p.accept("KEY") {
			key = true
		} else if !p.columnOption(&other, &column) {
			break
		}
	}
	a.Unsupported = append(a.Unsupported, other.Unsupported...)
	return column, key
}

func (p *parser) position() ast.Position {
	if p.accept("FIRST") {
		return ast.Position{First: true}
	}
	if p.accept("AFTER") {
		return ast.Position{After: p.name("a column name")}
	}
	return ast.Position{}
}

// truncate parses TRUNCATE TABLE.
func (p *parser) truncate() ast.Stmt {
	p.take()
	p.expect("TABLE")
	t := &ast.TruncateTable{Table: p.table()}
	if p.sees("PARTITION") || p.sees("PARTITIONS") {
		return p.unsupportedAs("TRUNCATE TABLE … PARTITION")
	}
	p.accept("FORCE")
	return t
}
