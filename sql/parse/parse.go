// Package parse turns the text of one statement into a value of sql/ast.
//
// Statements of Doris's own and those that configure a session are parsed
// whole, by recursive descent over a list of tokens. Queries are recognised
// by their first word and left as text for sql/rewrite. What MySQL or Doris
// has and Shoal does not becomes ast.Unsupported, so that it is refused by
// name; anything else is a SyntaxError. No text makes the parser panic.
//
// The package checks form only: no name is looked up and no range is checked,
// except for the limits of column types. It starts no goroutines and is safe
// for concurrent use.
package parse

import (
	"strings"
	"unicode/utf8"

	"shoal/sql/ast"
)

// Parse reads one statement, which may end in semicolons. Executable comments
// are part of it up to MySQL version 5.7.99. The error is a *SyntaxError or
// an *InvalidError; an empty text is a *SyntaxError, and nothing but comments,
// such as an executable one for a newer server, is nothing to do.
func Parse(text string) (stmt ast.Stmt, err error) {
	unwrapped, syntax := unwrap(text)
	if syntax != nil {
		return nil, syntax
	}
	tokens, syntax := lex(unwrapped)
	if syntax != nil {
		return nil, syntax
	}
	p := &parser{text: unwrapped, tokens: tokens}
	if err := p.cutEnd(); err != nil {
		return nil, err
	}
	defer func() {
		if failure := recover(); failure != nil {
			f, ok := failure.(fault)
			if !ok {
				panic(failure)
			}
			stmt, err = nil, f.err
		}
	}()
	if p.peek().Kind == EndOfText && strings.Trim(text, "; \t\r\n") != "" {
		return &ast.NoOp{What: "COMMENT"}, nil
	}
	stmt = p.statement()
	if p.peek().Kind != EndOfText {
		p.fail("expected the end of the statement,")
	}
	return stmt, nil
}

// fault carries an error out of the recursive descent; only Parse sees it.
type fault struct{ err error }

// parser walks over the tokens of one statement.
type parser struct {
	text   string
	tokens []Token
	next   int
}

// cutEnd drops closing semicolons, so that the rest must be one statement.
func (p *parser) cutEnd() *SyntaxError {
	for i, t := range p.tokens {
		if t.Kind != Symbol || t.Value != ";" {
			continue
		}
		for _, later := range p.tokens[i:] {
			if later.Kind != EndOfText && later.Value != ";" {
				return NewSyntaxError(p.text, later.Pos, "one statement at a time is supported, another one starts")
			}
		}
		p.tokens = append(p.tokens[:i:i], Token{Kind: EndOfText, Pos: t.Pos, End: t.Pos})
		p.text = p.text[:t.Pos]
		return nil
	}
	return nil
}

func (p *parser) peek() Token { return p.tokens[p.next] }

// ahead returns the token n places after the next one.
func (p *parser) ahead(n int) Token {
	return p.tokens[min(p.next+n, len(p.tokens)-1)]
}

func (p *parser) take() Token {
	t := p.tokens[p.next]
	if t.Kind != EndOfText {
		p.next++
	}
	return t
}

// fail ends parsing with a SyntaxError at the next token.
func (p *parser) fail(msg string) {
	panic(fault{NewSyntaxError(p.text, p.peek().Pos, msg)})
}

// invalid ends parsing with an InvalidError at pos.
func (p *parser) invalid(pos int, msg string) {
	panic(fault{&InvalidError{Pos: pos, Line: lineAt(p.text, pos), Msg: msg}})
}

func (t Token) is(keyword string) bool {
	return t.Kind == Word && strings.EqualFold(t.Value, keyword)
}

func (t Token) isSymbol(s string) bool { return t.Kind == Symbol && t.Value == s }

// sees reports whether the next tokens are these keywords.
func (p *parser) sees(keywords ...string) bool {
	for i, k := range keywords {
		if !p.ahead(i).is(k) {
			return false
		}
	}
	return true
}

// accept takes the keywords if all of them come next.
func (p *parser) accept(keywords ...string) bool {
	if !p.sees(keywords...) {
		return false
	}
	p.next += len(keywords)
	return true
}

// acceptOne takes one of the keywords and returns it as given here.
func (p *parser) acceptOne(keywords ...string) (string, bool) {
	for _, k := range keywords {
		if p.accept(k) {
			return k, true
		}
	}
	return "", false
}

func (p *parser) expect(keywords ...string) {
	for _, k := range keywords {
		if !p.accept(k) {
			p.fail("expected " + k)
		}
	}
}

func (p *parser) expectOne(keywords ...string) string {
	k, ok := p.acceptOne(keywords...)
	if !ok {
		p.fail("expected " + strings.Join(keywords, " or "))
	}
	return k
}

func (p *parser) acceptSymbol(s string) bool {
	if p.peek().isSymbol(s) {
		p.next++
		return true
	}
	return false
}

func (p *parser) expectSymbol(s string) {
	if !p.acceptSymbol(s) {
		p.fail("expected " + s)
	}
}

// name takes a name: quoted, or a word that is not reserved. what says what
// is named, for the error.
func (p *parser) name(what string) string {
	t := p.peek()
	bare := t.Kind == Word && !reserved[strings.ToUpper(t.Value)]
	if !bare && t.Kind != QuotedName {
		msg := "expected " + what
		if t.Kind == Word {
			msg += ", and a reserved word must be in backquotes,"
		}
		p.fail(msg)
	}
	return p.nameText(what)
}

// anyName takes a name where even reserved words need no quotes: after a dot.
func (p *parser) anyName(what string) string {
	if k := p.peek().Kind; k != Word && k != QuotedName {
		p.fail("expected " + what)
	}
	return p.nameText(what)
}

func (p *parser) nameText(what string) string {
	t := p.take()
	if t.Value == "" {
		p.invalid(t.Pos, what+" is empty")
	}
	p.checkText(t, what)
	return t.Value
}

// qualified takes [db.]name.
func (p *parser) qualified(what string) ast.Name {
	first := p.name(what)
	if !p.acceptSymbol(".") {
		return ast.Name{Name: first}
	}
	return ast.Name{DB: first, Name: p.anyName(what)}
}

// names takes ( name, … ).
func (p *parser) names(what string) []string {
	p.expectSymbol("(")
	out := []string{p.name(what)}
	for p.acceptSymbol(",") {
		out = append(out, p.name(what))
	}
	p.expectSymbol(")")
	return out
}

// stringLiteral takes a string.
func (p *parser) stringLiteral(what string) string {
	if p.peek().Kind != String {
		p.fail("expected " + what + " in quotes")
	}
	t := p.take()
	p.checkText(t, what)
	return t.Value
}

// checkText refuses what could not be stored or sent as text.
func (p *parser) checkText(t Token, what string) {
	if !utf8.ValidString(t.Value) {
		p.invalid(t.Pos, what+" is not valid UTF-8")
	}
}

// rest takes everything up to the end and returns it as written.
func (p *parser) rest() string {
	start := p.peek().Pos
	p.next = len(p.tokens) - 1
	return strings.TrimSpace(p.text[start:])
}
