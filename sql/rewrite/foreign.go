package rewrite

import (
	"strings"

	"shoal/sql/duckdb"
	"shoal/sql/parse"
)

// foreign prints a query that is not MySQL's, because it uses what only DuckDB
// has (EXCLUDE, QUALIFY, lists, ::casts, …): token by token, in MySQL's quotes
// no more, with the names after FROM and JOIN resolved. Functions are DuckDB's
// then, and so is every other word.
type foreign struct {
	*printer
	tokens []parse.Token
	ctes   map[string]bool
	frames []frame // one for each open parenthesis, and the statement itself
	out    strings.Builder
}

// frame is what is known between two parentheses.
type frame struct {
	table bool // a table's name comes next
	from  bool // in a list of tables, where a comma starts another
	call  bool // in the arguments of a function that has FROM among them
}

// printForeign prints the query in text. Its tokens are known to be well
// formed.
func (p *printer) printForeign(tokens []parse.Token) string {
	f := &foreign{printer: p, tokens: tokens, ctes: map[string]bool{}, frames: []frame{{}}}
	f.findCTEs()
	for i := 0; f.tokens[i].Kind != parse.EndOfText; {
		if i > 0 && f.tokens[i].Pos > f.tokens[i-1].End {
			f.out.WriteByte(' ')
		}
		i = f.token(i)
	}
	return f.out.String() + f.selectLimit()
}

// selectLimit prints the session's limit for a query that has none of its own.
func (f *foreign) selectLimit() string {
	depth := 0
	for _, t := range f.tokens {
		switch {
		case isSymbol(t, "("):
			depth++
		case isSymbol(t, ")"):
			depth--
		case depth == 0 && isWord(t, "LIMIT", "FETCH"):
			return ""
		}
	}
	return f.sessionLimit()
}

func isName(t parse.Token) bool { return t.Kind == parse.Word || t.Kind == parse.QuotedName }

func isWord(t parse.Token, words ...string) bool {
	for _, w := range words {
		if t.Kind == parse.Word && strings.EqualFold(t.Value, w) {
			return true
		}
	}
	return false
}

func isSymbol(t parse.Token, s string) bool { return t.Kind == parse.Symbol && t.Value == s }

// at returns the token at i, or the end of the text beside the list.
func (f *foreign) at(i int) parse.Token {
	if i < 0 || i >= len(f.tokens) {
		return parse.Token{}
	}
	return f.tokens[i]
}

// findCTEs collects the names before AS and a parenthesis, perhaps with
// columns between.
func (f *foreign) findCTEs() {
	for i, t := range f.tokens {
		if !isName(t) || !isWord(f.at(i-1), "WITH", "RECURSIVE") && !isSymbol(f.at(i-1), ",") {
			continue
		}
		next := i + 1
		if isSymbol(f.at(next), "(") {
			for next < len(f.tokens) && !isSymbol(f.at(next), ")") {
				next++
			}
			next++
		}
		if isWord(f.at(next), "AS") && (isSymbol(f.at(next+1), "(") || isWord(f.at(next+1), "NOT", "MATERIALIZED")) {
			f.ctes[strings.ToLower(t.Value)] = true
		}
	}
}

// token prints the token at i, or the table's name that starts there, and
// returns where to go on.
func (f *foreign) token(i int) int {
	t := f.tokens[i]
	top := &f.frames[len(f.frames)-1]
	switch t.Kind {
	case parse.Symbol:
		f.symbol(i, top)
		return i + 1
	case parse.String:
		top.table = false
		f.out.WriteString(quoteText(t.Value))
		return i + 1
	case parse.Word, parse.QuotedName:
		if top.table && !isWord(t, "SELECT", "VALUES", "LATERAL", "WITH", "TABLE", "FROM") {
			top.table = false
			return f.tableName(i)
		}
	}
	f.word(i, top)
	return i + 1
}

func (f *foreign) symbol(i int, top *frame) {
	switch f.tokens[i].Value {
	case "(":
		inner := frame{table: top.table, from: top.table, call: isWord(f.at(i-1), "EXTRACT", "TRIM", "SUBSTRING", "OVERLAY")}
		top.table = false
		f.frames = append(f.frames, inner)
	case ")":
		if len(f.frames) > 1 {
			f.frames = f.frames[:len(f.frames)-1]
		}
	case ",":
		top.table = top.from
	}
	f.out.WriteString(f.tokens[i].Value)
}

func (f *foreign) word(i int, top *frame) {
	t := f.tokens[i]
	switch {
	case isWord(t, "FROM") && !top.call && !isWord(f.at(i-1), "DISTINCT"), isWord(t, "JOIN"):
		top.table, top.from = true, true
	case isWord(t, "SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "QUALIFY", "WINDOW", "UNION", "EXCEPT", "INTERSECT", "VALUES", "WITH"):
		top.table, top.from = false, false
	}
	if t.Kind == parse.QuotedName {
		f.out.WriteString(duckdb.QuoteName(t.Value))
		return
	}
	f.out.WriteString(t.Value)
}

// tableName prints the name at i, of one or two parts. What is called is a
// table function and stays.
func (f *foreign) tableName(i int) int {
	var parts []string
	next := i
	for isName(f.at(next)) {
		parts = append(parts, f.at(next).Value)
		next++
		if !isSymbol(f.at(next), ".") {
			break
		}
		next++
	}
	switch {
	case isSymbol(f.at(next), "(") || len(parts) > 2:
		for ; i < next; i++ {
			f.word(i, &frame{})
		}
	case len(parts) == 2:
		f.out.WriteString(f.resolve(parts[0], parts[1]))
	case f.ctes[strings.ToLower(parts[0])]:
		f.out.WriteString(duckdb.QuoteName(parts[0]))
	default:
		f.out.WriteString(f.resolve("", parts[0]))
	}
	return next
}
