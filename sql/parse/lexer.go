package parse

import (
	"strings"
	"unicode/utf8"
)

// TokenKind is the kind of a token.
type TokenKind uint8

// The kinds of tokens.
const (
	EndOfText  TokenKind = iota
	Word                 // bare identifier or keyword
	QuotedName           // `name`
	String               // 'text' or "text"
	Number               // digits with perhaps fraction, exponent, 0x, 0b
	Symbol               // one character of anything else
)

// Token is a piece of a text, from byte Pos to before End. Value is what it
// stands for: the name or text without quotes and escapes, and for the rest
// the text as written.
type Token struct {
	Kind     TokenKind
	Pos, End int
	Value    string
}

// Lex splits a text, as Parse left it in ast.Select, into tokens. Comments are
// none, and the last token is EndOfText. The error is nil or a *SyntaxError.
func Lex(text string) ([]Token, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	return tokens, nil
}

// lex is Lex for texts whose executable comments were unwrapped.
func lex(text string) ([]Token, *SyntaxError) {
	var tokens []Token
	for pos := 0; ; {
		start, err := skipBlank(text, pos)
		if err != nil {
			return nil, err
		}
		if start == len(text) {
			return append(tokens, Token{Kind: EndOfText, Pos: start, End: start}), nil
		}
		t, err := lexOne(text, start)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		pos = t.End
	}
}

func lexOne(text string, pos int) (Token, *SyntaxError) {
	c := text[pos]
	switch {
	case c == '`':
		return lexQuoted(text, pos, QuotedName)
	case c == '\'' || c == '"':
		return lexQuoted(text, pos, String)
	case isDigit(c):
		return lexNumber(text, pos), nil
	case isWordByte(c):
		end := wordEnd(text, pos)
		return Token{Word, pos, end, text[pos:end]}, nil
	}
	return Token{Symbol, pos, pos + 1, text[pos : pos+1]}, nil
}

// skipBlank returns the position of the next token at or after pos.
func skipBlank(text string, pos int) (int, *SyntaxError) {
	for pos < len(text) {
		rest := text[pos:]
		switch {
		case isSpace(rest[0]):
			pos++
		case isLineComment(rest):
			pos += lineLength(rest)
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return 0, NewSyntaxError(text, pos, "this comment has no end,")
			}
			pos += n + 4
		default:
			return pos, nil
		}
	}
	return pos, nil
}

// isLineComment reports whether rest starts with #, or with -- and a blank:
// without one, as in 1--1, they are two minus signs to MySQL.
func isLineComment(rest string) bool {
	if rest[0] == '#' {
		return true
	}
	return strings.HasPrefix(rest, "--") && (len(rest) == 2 || isSpace(rest[2]))
}

func lineLength(rest string) int {
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		return n + 1
	}
	return len(rest)
}

func lexQuoted(text string, pos int, kind TokenKind) (Token, *SyntaxError) {
	end := quotedEnd(text, pos)
	if end < 0 {
		what := "this string has no end,"
		if kind == QuotedName {
			what = "this name has no closing backquote,"
		}
		return Token{}, NewSyntaxError(text, pos, what)
	}
	return Token{kind, pos, end, unquote(text[pos:end])}, nil
}

// quotedEnd returns the position after the quoted text that starts at pos, or
// -1 if it has no end. A quote is doubled to stand for itself; except in
// backquotes a backslash takes the next character with it.
func quotedEnd(text string, pos int) int {
	quote := text[pos]
	for i := pos + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] == quote:
			if i+1 == len(text) || text[i+1] != quote {
				return i + 1
			}
			i++
		}
	}
	return -1
}

// unquote returns what a quoted text stands for, by MySQL's rules.
func unquote(quoted string) string {
	quote, inner := quoted[0], quoted[1:len(quoted)-1]
	if strings.IndexByte(inner, quote) < 0 && strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch {
		case inner[i] == '\\' && quote != '`':
			i++
			b.WriteString(unescape(inner[i]))
		case inner[i] == quote:
			i++ // doubled
			b.WriteByte(quote)
		default:
			b.WriteByte(inner[i])
		}
	}
	return b.String()
}

// unescape returns what a backslash and c stand for. The wildcards of LIKE
// keep their backslash, because LIKE reads it.
func unescape(c byte) string {
	switch c {
	case '0':
		return "\x00"
	case 'b':
		return "\b"
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case 'Z':
		return "\x1a"
	case '%', '_':
		return `\` + string(rune(c))
	}
	return string([]byte{c})
}

// lexNumber reads a number, or a name that starts with digits, which MySQL
// allows as long as it is not all digits.
func lexNumber(text string, pos int) Token {
	end := pos
	for end < len(text) && isDigit(text[end]) {
		end++
	}
	if all := wordEnd(text, pos); all > end && !isExponent(text[end:]) {
		if kind := text[pos:min(pos+2, len(text))]; kind == "0x" || kind == "0b" {
			return Token{Number, pos, all, text[pos:all]}
		}
		return Token{Word, pos, all, text[pos:all]}
	}
	if end+1 < len(text) && text[end] == '.' && isDigit(text[end+1]) {
		for end++; end < len(text) && isDigit(text[end]); end++ {
		}
	}
	if n := exponentLength(text[end:]); n > 0 {
		end += n
	}
	return Token{Number, pos, end, text[pos:end]}
}

func isExponent(rest string) bool { return exponentLength(rest) > 0 }

// exponentLength returns the length of an exponent such as e+10 at the start
// of rest, or 0.
func exponentLength(rest string) int {
	if rest == "" || rest[0]|0x20 != 'e' {
		return 0
	}
	n := 1
	if n < len(rest) && (rest[n] == '+' || rest[n] == '-') {
		n++
	}
	digits := n
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	if n == digits || n < len(rest) && isWordByte(rest[n]) {
		return 0
	}
	return n
}

func wordEnd(text string, pos int) int {
	for pos < len(text) && isWordByte(text[pos]) {
		pos++
	}
	return pos
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= utf8.RuneSelf || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
