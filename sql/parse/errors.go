package parse

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError says that a text is no statement, and where that shows. It is
// MySQL's error 1064.
type SyntaxError struct {
	Pos  int    // byte offset in the text
	Line int    // from 1
	Near string // the text from Pos on, at most 80 characters
	Msg  string // what was expected or is wrong
}

// Error returns MySQL's wording followed by what was expected.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("You have an error in your SQL syntax; %s near '%s' at line %d", e.Msg, e.Near, e.Line)
}

// InvalidError says that a well-formed statement cannot mean anything, such
// as one that gives a property twice or a type that cannot exist.
type InvalidError struct {
	Pos  int // byte offset in the text
	Line int // from 1
	Msg  string
}

// Error returns the message with the line.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s (line %d)", e.Msg, e.Line)
}

const nearLength = 80

// NewSyntaxError returns the error for a fault at byte pos of text, which may
// be its end.
func NewSyntaxError(text string, pos int, msg string) *SyntaxError {
	pos = min(max(pos, 0), len(text))
	near := text[pos:]
	count := 0
	for i := range near {
		if count == nearLength {
			near = near[:i]
			break
		}
		count++
	}
	if !utf8.ValidString(near) {
		near = strings.ToValidUTF8(near, "\uFFFD")
	}
	return &SyntaxError{Pos: pos, Line: lineAt(text, pos), Near: near, Msg: msg}
}

func lineAt(text string, pos int) int {
	return 1 + strings.Count(text[:pos], "\n")
}
