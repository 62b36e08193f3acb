package rewrite

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"

	"shoal/sql/ast"
	"shoal/sql/duckdb"
	"shoal/sql/parse"
	"shoal/sql/types"
)

// prepared is an expression whose casts MySQL's parser understands. It knows
// only MySQL's own few types in CAST, so that each of Doris's is written
// BINARY(n) to it, n-th of casts, which nobody else may write.
type prepared struct {
	original, sql string
	edits         []edit
}

// edit is a place where the prepared text begins to be longer than the original.
type edit struct{ from, to, shift int }

// grammar are the reserved words that mean something in an expression, and so
// are no columns unless they are quoted.
var grammar = wordSet(`AND OR XOR NOT IN IS LIKE ILIKE BETWEEN CASE WHEN THEN ELSE DIV MOD REGEXP RLIKE INTERVAL TRUE FALSE NULL AS FROM USING
	CAST CONVERT BINARY COLLATE EXISTS LEADING TRAILING BOTH CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER LOCALTIME LOCALTIMESTAMP
	UTC_DATE UTC_TIME UTC_TIMESTAMP DEFAULT SELECT`)

// reserved are MySQL's other reserved words. To Doris most are names like any.
var reserved = reservedWords()

func reservedWords() map[string]bool {
	words := map[string]bool{}
	for _, k := range parser.Keywords {
		if k.Reserved && !grammar[k.Word] {
			words[k.Word] = true
		}
	}
	return words
}

func wordSet(list string) map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		words[w] = true
	}
	return words
}

// prepare replaces the types of casts, and quotes columns and functions that are
// reserved words to MySQL's parser.
func prepare(text string, scope *Scope) ([]types.Type, prepared, error) {
	tokens, err := parse.Lex(text)
	if err != nil {
		return nil, prepared{}, err
	}
	out := prepared{original: text}
	var casts []types.Type
	var b strings.Builder
	done := 0
	put := func(from, to int, replacement string) {
		b.WriteString(text[done:from] + replacement)
		done = to
		out.edits = append(out.edits, edit{from: from, to: b.Len(), shift: b.Len() - to})
	}
	var inCast []bool // for each open parenthesis
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case isSymbol(t, "("):
			inCast = append(inCast, i > 0 && isWord(tokens[i-1], "CAST", "TRY_CAST"))
		case isSymbol(t, ")") && len(inCast) > 0:
			inCast = inCast[:len(inCast)-1]
		case isWord(t, "TRY_CAST"):
			put(t.Pos, t.End, "CAST")
		case isWord(t, "ARRAY", "CARDINALITY") && isSymbol(tokens[i+1], "("), scope.hasReserved(t) && !isSymbol(tokens[i+1], "("):
			put(t.Pos, t.End, ast.QuoteName(t.Value))
		case isWord(t, "AS") && len(inCast) > 0 && inCast[len(inCast)-1]:
			end := typeEnd(tokens, i+1)
			if isWord(tokens[i+1], "BINARY") {
				return nil, prepared{}, &Unsupported{What: "CAST to BINARY in a load expression"}
			}
			if target, ok := dorisType(tokens[i+1 : end]); ok {
				casts = append(casts, target)
				put(tokens[i+1].Pos, tokens[end-1].End, fmt.Sprintf("BINARY(%d)", len(casts)))
			}
			i = end - 1
		}
	}
	out.sql = b.String() + text[done:]
	return casts, out, nil
}

// hasReserved reports whether a word is a column, but reserved.
func (s *Scope) hasReserved(t parse.Token) bool {
	return t.Kind == parse.Word && reserved[strings.ToUpper(t.Value)] &&
		slices.ContainsFunc(s.Columns, func(c ScopeColumn) bool { return strings.EqualFold(c.Name, t.Value) })
}

// typeEnd returns the index of the token that ends the type at i: the closing
// parenthesis of its cast, or the end of the text.
func typeEnd(tokens []parse.Token, i int) int {
	for depth := 0; ; i++ {
		switch t := tokens[i]; {
		case t.Kind == parse.EndOfText:
			return i
		case isSymbol(t, "("):
			depth++
		case isSymbol(t, ")"):
			if depth--; depth < 0 {
				return i
			}
		}
	}
}

// dorisType reads a type of Doris's. CHAR alone has no length in a cast, and is
// left to MySQL's parser with what types does not know.
func dorisType(tokens []parse.Token) (types.Type, bool) {
	if len(tokens) == 0 || len(tokens) == 1 && isWord(tokens[0], "CHAR", "CHARACTER") {
		return types.Type{}, false
	}
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = t.Value
		switch t.Kind {
		case parse.QuotedName:
			words[i] = ast.QuoteName(t.Value)
		case parse.String:
			words[i] = duckdb.QuoteString(t.Value)
		}
	}
	t, err := types.Parse(strings.Join(words, " "))
	return t, err == nil
}

// syntaxError is an error at a position of the prepared text.
func (t prepared) syntaxError(pos int, msg string) error {
	i := sort.Search(len(t.edits), func(i int) bool { return t.edits[i].to > pos })
	if i > 0 {
		pos -= t.edits[i-1].shift
	}
	if i < len(t.edits) {
		pos = min(pos, t.edits[i].from)
	}
	if msg == checkQuery {
		msg = "check the expression"
	}
	return parse.NewSyntaxError(t.original, pos, msg)
}
