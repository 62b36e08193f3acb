package parse

import (
	"strconv"
	"strings"

	"shoal/sql/ast"
	"shoal/sql/types"
)

func (p *parser) createTable() ast.Stmt {
	c := &ast.CreateTable{IfNotExists: p.accept("IF", "NOT", "EXISTS"), Table: p.table()}
	switch {
	case p.accept("LIKE"):
		return p.unsupportedAs("CREATE TABLE … LIKE")
	case p.sees("AS"), p.ahead(0).isSymbol("(") && p.ahead(1).is("SELECT"):
		return p.unsupportedAs("CREATE TABLE … AS SELECT")
	}
	p.expectSymbol("(")
	p.tableElement(c)
	for p.acceptSymbol(",") {
		p.tableElement(c)
	}
	p.expectSymbol(")")
	for p.tableOption(c) {
	}
	if p.sees("AS") || p.sees("SELECT") {
		return p.unsupportedAs("CREATE TABLE … AS SELECT")
	}
	return c
}

// tableElement takes a column, or an index or key that MySQL would allow
// here.
func (p *parser) tableElement(c *ast.CreateTable) {
	for _, other := range [][]string{{"INDEX"}, {"PRIMARY", "KEY"}, {"UNIQUE", "KEY"}, {"UNIQUE", "INDEX"}, {"FOREIGN", "KEY"}, {"CONSTRAINT"}, {"KEY"}} {
		if p.accept(other...) {
			c.Unsupported = append(c.Unsupported, strings.Join(other, " "))
			p.skipElement()
			return
		}
	}
	column := ast.Column{Name: p.name("a column name")}
	column.Type = p.columnType(column.Name)
	for p.columnOption(c, &column) {
	}
	c.Columns = append(c.Columns, column)
}

// skipElement skips to the comma or parenthesis that ends a table element.
// Any bracket closes any other, since half-open ranges are written [a, b).
func (p *parser) skipElement() {
	for depth := 0; ; p.take() {
		t := p.peek()
		switch {
		case t.Kind == EndOfText || depth == 0 && (t.isSymbol(",") || t.isSymbol(")")):
			return
		case t.isSymbol("(") || t.isSymbol("["):
			depth++
		case t.isSymbol(")") || t.isSymbol("]"):
			depth--
		}
	}
}

// columnType takes a type: a word, perhaps with what is in parentheses or, for
// types made of others, between < and >. The package types knows their form.
func (p *parser) columnType(column string) types.Type {
	if p.peek().Kind != Word {
		p.fail("expected the type of column " + ast.QuoteName(column))
	}
	pos := p.peek().Pos
	var b strings.Builder
	b.WriteString(p.take().Value)
	for depth := 0; depth > 0 || p.peek().isSymbol("(") || p.peek().isSymbol("<"); {
		t := p.peek()
		switch {
		case t.Kind == EndOfText:
			p.fail("the type of column " + ast.QuoteName(column) + " has no end,")
		case t.isSymbol("(") || t.isSymbol("<"):
			depth++
		case t.isSymbol(")") || t.isSymbol(">"):
			depth--
		}
		b.WriteString(" " + p.spelled())
	}
	typ, err := types.Parse(b.String())
	if err != nil {
		p.invalid(pos, "column "+ast.QuoteName(column)+": "+err.Error())
	}
	return typ
}

// spelled takes a token and returns it in the spelling of package types, which
// knows no backslash in a text.
func (p *parser) spelled() string {
	t := p.peek()
	switch t.Kind {
	case QuotedName:
		return ast.QuoteName(p.nameText("a field's name"))
	case String:
		return "'" + strings.ReplaceAll(p.stringLiteral("a comment"), "'", "''") + "'"
	}
	return p.take().Value
}

func (p *parser) integer(what string) int {
	n, err := strconv.Atoi(p.peek().Value)
	if p.peek().Kind != Number || err != nil {
		p.fail("expected " + what)
	}
	p.take()
	return n
}

// columnOption takes one option of a column and reports whether there was one.
func (p *parser) columnOption(c *ast.CreateTable, column *ast.Column) bool {
	switch {
	case p.accept("NOT", "NULL"):
		column.NotNull = true
	case p.accept("NULL"):
		column.NotNull = false
	case p.accept("DEFAULT"):
		column.Default = p.columnDefault()
	case p.accept("COMMENT"):
		column.Comment = p.stringLiteral("a comment")
	case p.sees("CHARACTER"), p.sees("CHARSET"), p.sees("COLLATE"):
		p.charsetOption()
	default:
		return p.foreignColumnOption(c)
	}
	return true
}

// foreignColumnOption takes an option that no column of Shoal can have.
func (p *parser) foreignColumnOption(c *ast.CreateTable) bool {
	for _, option := range [][]string{
		{"KEY"}, {"PRIMARY", "KEY"}, {"UNIQUE"}, {"AUTO_INCREMENT"}, {"UNSIGNED"}, {"ON", "UPDATE"}, {"GENERATED"}, {"AS"},
		{"SUM"}, {"MAX"}, {"MIN"}, {"REPLACE"}, {"REPLACE_IF_NOT_NULL"}, {"HLL_UNION"}, {"BITMAP_UNION"}, {"GENERIC"},
	} {
		if p.accept(option...) {
			c.Unsupported = append(c.Unsupported, strings.Join(option, " ")+" of a column")
			p.skipOptionArgument()
			return true
		}
	}
	return false
}

// skipOptionArgument skips what may follow a foreign option: words and an
// expression in parentheses.
func (p *parser) skipOptionArgument() {
	p.acceptOne("CURRENT_TIMESTAMP", "ALWAYS")
	p.accept("AS")
	if p.acceptSymbol("(") {
		p.skipElement()
		for p.acceptSymbol(",") {
			p.skipElement()
		}
		p.expectSymbol(")")
	}
}

func (p *parser) columnDefault() *ast.Default {
	switch {
	case p.accept("NULL"):
		return &ast.Default{Null: true}
	case p.accept("CURRENT_TIMESTAMP"), p.accept("NOW"):
		d := &ast.Default{CurrentTimestamp: true}
		if p.acceptSymbol("(") {
			if !p.peek().isSymbol(")") {
				d.Scale = p.integer("the digits of the second")
			}
			p.expectSymbol(")")
		}
		if d.Scale < 0 || d.Scale > types.MaxDateTimeScale {
			p.invalid(p.peek().Pos, "CURRENT_TIMESTAMP takes 0 to 6 digits")
		}
		return d
	}
	literal, ok := p.literal()
	if !ok {
		p.fail("expected a literal, NULL or CURRENT_TIMESTAMP as default")
	}
	return &ast.Default{Text: literal}
}

// literal takes a string, a number with perhaps a sign, TRUE or FALSE.
func (p *parser) literal() (string, bool) {
	t := p.peek()
	switch {
	case t.Kind == String:
		return p.stringLiteral("a literal"), true
	case t.Kind == Number || t.is("TRUE") || t.is("FALSE"):
		return p.take().Value, true
	case (t.isSymbol("-") || t.isSymbol("+")) && p.ahead(1).Kind == Number:
		sign := strings.TrimPrefix(p.take().Value, "+")
		return sign + p.take().Value, true
	}
	return "", false
}

// tableOption takes one clause after the columns and reports whether there
// was one.
func (p *parser) tableOption(c *ast.CreateTable) bool {
	switch {
	case p.accept("ENGINE"):
		p.acceptSymbol("=")
		c.Engine = p.name("an engine")
	case p.accept("DUPLICATE", "KEY"):
		p.keys(c, ast.DuplicateKeys)
	case p.accept("UNIQUE", "KEY"):
		p.keys(c, ast.UniqueKeys)
	case p.accept("AGGREGATE", "KEY"):
		p.keys(c, ast.AggregateKeys)
	case p.accept("COMMENT"):
		p.acceptSymbol("=")
		c.Comment = p.stringLiteral("a comment")
	case p.accept("DISTRIBUTED", "BY"):
		c.Distribution = p.distribution()
	case p.accept("PROPERTIES"):
		c.Properties = p.properties()
	case p.accept("DEFAULT"), p.sees("CHARACTER"), p.sees("CHARSET"), p.sees("COLLATE"):
		p.charsetOption()
	default:
		return p.foreignTableOption(c)
	}
	return true
}

func (p *parser) foreignTableOption(c *ast.CreateTable) bool {
	for _, option := range [][]string{{"AUTO", "PARTITION", "BY"}, {"PARTITION", "BY"}, {"ROLLUP"}, {"CLUSTER", "BY"}, {"ORDER", "BY"}, {"BROKER", "PROPERTIES"}} {
		if p.accept(option...) {
			c.Unsupported = append(c.Unsupported, strings.Join(option, " "))
			p.skipClause()
			return true
		}
	}
	return false
}

// skipClause skips words and balanced parentheses up to the next clause.
func (p *parser) skipClause() {
	for {
		t := p.peek()
		switch {
		case t.isSymbol("("):
			p.take()
			p.skipElement()
			for p.acceptSymbol(",") {
				p.skipElement()
			}
			p.expectSymbol(")")
		case t.is("RANGE"), t.is("LIST"), t.Kind == Number, t.Kind == QuotedName, t.isSymbol(","):
			p.take()
		default:
			return
		}
	}
}

func (p *parser) keys(c *ast.CreateTable, model ast.KeyModel) {
	if c.KeyModel != ast.NoKeys {
		p.invalid(p.peek().Pos, "the table has two key clauses, "+string(c.KeyModel)+" and "+string(model))
	}
	c.KeyModel, c.Keys = model, p.names("a column name")
}

func (p *parser) distribution() *ast.Distribution {
	d := &ast.Distribution{}
	if p.expectOne("HASH", "RANDOM") == "HASH" {
		d.Columns = p.names("a column name")
	}
	if p.accept("BUCKETS") && !p.accept("AUTO") {
		d.Buckets = p.integer("a number of buckets or AUTO")
		if d.Buckets < 1 {
			p.invalid(p.peek().Pos, "BUCKETS must be at least 1")
		}
	}
	return d
}
