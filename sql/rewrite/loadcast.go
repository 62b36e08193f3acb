package rewrite

import (
	"fmt"
	"sort"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

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

// prepareCasts replaces the types of casts, and quotes the names of functions
// that are reserved words to MySQL's parser.
func prepareCasts(text string) ([]types.Type, prepared, error) {
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
		case isWord(t, "ARRAY", "CARDINALITY") && isSymbol(tokens[i+1], "("):
			put(t.Pos, t.End, "`"+t.Value+"`")
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
			words[i] = "`" + strings.ReplaceAll(t.Value, "`", "``") + "`"
		case parse.String:
			words[i] = duckdb.QuoteString(t.Value)
		}
	}
	t, err := types.Parse(strings.Join(words, " "))
	return t, err == nil
}

// syntaxError is an error at a position of the prepared text.
func (t prepared) syntaxError(pos int, msg string, scope *Scope) error {
	i := sort.Search(len(t.edits), func(i int) bool { return t.edits[i].to > pos })
	if i > 0 {
		pos -= t.edits[i-1].shift
	}
	if i < len(t.edits) {
		pos = min(pos, t.edits[i].from)
	}
	if msg != checkQuery {
		return parse.NewSyntaxError(t.original, pos, msg)
	}
	syntax := parse.NewSyntaxError(t.original, pos, "check the expression")
	word, _, _ := strings.Cut(strings.TrimSpace(syntax.Near), " ")
	for _, c := range scope.Columns {
		if strings.EqualFold(c.Name, word) {
			syntax.Msg = "the name " + word + " is a reserved word here and must be in backquotes"
		}
	}
	return syntax
}

// castTarget is the type of a CAST.
func (p *printer) castTarget(n *tidb.FuncCastExpr) types.Type {
	length := n.Tp.GetFlen()
	switch n.Tp.GetType() {
	case mysql.TypeLonglong:
		if n.Tp.GetFlag()&mysql.UnsignedFlag != 0 {
			return types.Type{Kind: types.LargeInt}
		}
		return types.Type{Kind: types.BigInt}
	case mysql.TypeVarString, mysql.TypeString, mysql.TypeVarchar:
		if n.Tp.GetCharset() == "binary" && n.FunctionType != tidb.CastBinaryOperator && length >= 1 && length <= len(p.casts) {
			return p.casts[length-1]
		}
		if length >= 0 && n.FunctionType != tidb.CastBinaryOperator {
			return types.Type{Kind: types.VarChar, Length: length}
		}
		return types.Type{Kind: types.String}
	case mysql.TypeDate:
		return types.Type{Kind: types.Date}
	case mysql.TypeDatetime, mysql.TypeTimestamp:
		return types.Type{Kind: types.DateTime, Scale: max(n.Tp.GetDecimal(), 0)}
	case mysql.TypeNewDecimal:
		return types.Type{Kind: types.Decimal, Precision: min(length, types.MaxDecimalPrecision), Scale: max(n.Tp.GetDecimal(), 0)}
	case mysql.TypeDouble:
		return types.Type{Kind: types.Double}
	case mysql.TypeFloat:
		return types.Type{Kind: types.Float}
	case mysql.TypeJSON:
		return types.Type{Kind: types.JSON}
	}
	unsupported("CAST to %s in a load expression", n.Tp)
	return types.Type{}
}

// loadCast prints a cast by Doris's rules: what cannot be cast is NULL, numbers
// are cut off at the point to be integers.
func (p *printer) loadCast(n *tidb.FuncCastExpr) string {
	target, from, x := p.castTarget(n), p.kind(n.Expr), p.expr(n.Expr)
	switch target.Kind {
	case types.Boolean:
		return toTruth(x, from)
	case types.TinyInt:
		return toWhole(x, from, "TINYINT")
	case types.SmallInt:
		return toWhole(x, from, "SMALLINT")
	case types.Int, types.BigInt, types.LargeInt:
		return toWhole(x, from, target.DuckDB())
	case types.Float, types.Double:
		return tryCast(toNumber(x, from), target.DuckDB())
	case types.Decimal:
		if from == text { // digit by digit
			return tryCast(x, target.DuckDB())
		}
		return tryCast(toNumber(x, from), target.DuckDB())
	case types.Date:
		return p.convert(x, from, date)
	case types.DateTime:
		return roundSecond(p.toTimestamp(x, from), target.Scale)
	case types.Char, types.VarChar:
		return fmt.Sprintf("substr(%s, 1, %d)", toText(x, from), target.Length)
	case types.String:
		return toText(x, from)
	case types.JSON, types.Variant:
		return castJSON(x, from)
	}
	switch from {
	case text:
		return tryCast(tryCast(x, "JSON"), target.DuckDB())
	case json, null, kinds[target.Kind]:
		return tryCast(x, target.DuckDB())
	}
	mismatch(from, kinds[target.Kind])
	return ""
}

// castJSON reads a text as JSON, and makes JSON of anything else. It is kept as
// text, as columns keep it.
func castJSON(x string, from kind) string {
	switch from {
	case text:
		x = tryCast(x, "JSON")
	case json:
	default:
		x = "to_json(" + x + ")"
	}
	return cast(x, "VARCHAR")
}

// roundSecond rounds a time to so many digits of the second.
func roundSecond(x string, digits int) string {
	if digits >= types.MaxDateTimeScale {
		return x
	}
	unit := 1
	for range types.MaxDateTimeScale - digits {
		unit *= 10
	}
	return fmt.Sprintf("time_bucket(to_microseconds(%d), %s + to_microseconds(%d))", unit, x, unit/2)
}
