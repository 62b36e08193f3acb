package rewrite

import (
	"regexp"
	"strings"
	"unicode/utf8"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"

	"shoal/sql/duckdb"
)

// like prints LIKE, which has an escape character in MySQL even if none is
// named. With a literal pattern the time is linear in the text: DuckDB's LIKE is
// so where a pattern has nothing but % in it, and regular expressions always
// are. With _ or ESCAPE it tries every place for every %, so that a text of some
// kilobytes that is made for it would take hours.
func (p *printer) like(n *tidb.PatternLikeOrIlikeExpr) string {
	value := p.arg(text, n.Expr)
	pattern, ok := stringLiteral(n.Pattern)
	if !ok || !utf8.ValidString(pattern) {
		return "(" + value + not(n.Not) + likeOperator(n) + p.arg(text, n.Pattern) + likeEscape(n) + ")"
	}
	plain, expression := readPattern([]rune(pattern), rune(n.Escape))
	if n.IsLike && plain != "" {
		return "(" + value + not(n.Not) + " LIKE " + duckdb.QuoteString(plain) + ")"
	}
	flags := "(?s)"
	if !n.IsLike {
		flags = "(?is)"
	}
	return "(" + strings.TrimSpace(not(n.Not)+" regexp_full_match(") + value + ", " + duckdb.QuoteString(flags+expression) + "))"
}

func likeOperator(n *tidb.PatternLikeOrIlikeExpr) string {
	if n.IsLike {
		return " LIKE "
	}
	return " ILIKE "
}

func likeEscape(n *tidb.PatternLikeOrIlikeExpr) string {
	if n.Escape == 0 {
		return ""
	}
	return " ESCAPE " + duckdb.QuoteString(string(rune(n.Escape)))
}

// readPattern is a pattern of LIKE without escapes, empty if it needs them or
// has a _, and as a regular expression. An escape character at the end stands
// for itself; 0 is none.
func readPattern(pattern []rune, escape rune) (plain, expression string) {
	var like, regular strings.Builder
	simple := true
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		escaped := escape != 0 && c == escape && i+1 < len(pattern)
		if escaped {
			i++
			c = pattern[i]
		}
		simple = simple && c != '_' && c != 0 && (c != '%' || !escaped)
		like.WriteRune(c)
		switch {
		case c == '%' && !escaped:
			regular.WriteString(".*")
		case c == '_' && !escaped:
			regular.WriteString(".")
		case c == 0: // which a statement cannot have
			regular.WriteString(`\x00`)
		default:
			regular.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	if !simple {
		return "", regular.String()
	}
	return like.String(), regular.String()
}
