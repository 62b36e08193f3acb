package literal

import "strings"

// tokenKind is as much as placeholders need to know of a token.
type tokenKind uint8

const (
	blank       tokenKind = iota // white space and comments
	word                         // a name, keyword or number
	quoted                       // a string or quoted name
	symbol                       // any other single byte
	placeholder                  // ?
)

// A scanner splits a statement into tokens by MySQL's rules. Executable
// comments are read as if their contents stood there without the marks.
type scanner struct {
	sql        string
	start, end int // of the current token
	kind       tokenKind
}

// next moves to the next token and tells whether there is one.
func (s *scanner) next() bool {
	s.start = s.end
	if s.start == len(s.sql) {
		return false
	}
	rest := s.sql[s.start:]
	switch c := rest[0]; {
	case c == '?':
		s.take(placeholder, 1)
	case c == '\'' || c == '"' || c == '`':
		s.take(quoted, quotedLen(rest))
	case c == '#', isDashComment(rest):
		s.take(blank, lineLen(rest))
	case strings.HasPrefix(rest, "/*!"):
		s.take(blank, executableMarkLen(rest))
	case strings.HasPrefix(rest, "/*"):
		s.take(blank, commentLen(rest))
	case strings.HasPrefix(rest, "*/"):
		s.take(blank, 2)
	case isSpace(c):
		s.take(blank, 1)
	case isWord(c):
		n := 1
		for n < len(rest) && isWord(rest[n]) {
			n++
		}
		s.take(word, n)
	default:
		s.take(symbol, 1)
	}
	return true
}

func (s *scanner) take(kind tokenKind, n int) { s.kind, s.end = kind, s.start+n }

// quotedLen is the length of the string or quoted name at the start of s. A
// quote is escaped by doubling it and, except in back-quotes, by a backslash;
// a doubled one simply reads as two tokens in a row. One that is not closed
// reaches to the end.
func quotedLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return i + 1
		case s[i] == '\\' && s[0] != '`':
			i++
		}
	}
	return len(s)
}

// isDashComment tells whether s starts a comment: MySQL wants white space
// after the two dashes, so that 5--3 is a subtraction.
func isDashComment(s string) bool {
	return strings.HasPrefix(s, "--") && (len(s) == 2 || isSpace(s[2]))
}

func lineLen(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// executableMarkLen is the length of "/*!" and the version behind it.
func executableMarkLen(s string) int {
	n := len("/*!")
	for n < len(s) && isDigits(s[n:n+1]) {
		n++
	}
	return n
}

func commentLen(s string) int {
	if i := strings.Index(s[2:], "*/"); i >= 0 {
		return i + 4
	}
	return len(s)
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}
