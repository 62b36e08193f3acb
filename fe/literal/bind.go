package literal

import (
	"strings"

	"shoal/fe/errno"
)

// CountParams is the number of placeholders in a statement.
func CountParams(sql string) int {
	n := 0
	for s := (scanner{sql: sql}); s.next(); {
		if s.kind == placeholder {
			n++
		}
	}
	return n
}

// Bind replaces the placeholders of a statement by literals, in order. The
// number of values must be that of the placeholders.
//
// A text or double in a LIMIT or OFFSET is written as the integer it stands
// for, because some drivers know no other types.
func Bind(sql string, values []Value) (string, error) {
	var b strings.Builder
	copied, used, inLimit := 0, 0, false
	for s := (scanner{sql: sql}); s.next(); {
		switch {
		case s.kind == placeholder && used < len(values):
			v := values[used]
			if inLimit {
				v = rowCount(v)
			}
			text, err := v.SQL()
			if err != nil {
				return "", err
			}
			b.WriteString(sql[copied:s.start])
			writeApart(&b, text, sql[s.end:])
			copied = s.end
			used++
		case s.kind == placeholder:
			used++
		case s.kind != blank:
			inLimit = staysInLimit(inLimit, sql[s.start:s.end])
		}
	}
	if used != len(values) {
		return "", errno.New(errno.WrongArguments, "Incorrect arguments to EXECUTE: %d parameters for %d placeholders", len(values), used)
	}
	b.WriteString(sql[copied:])
	return b.String(), nil
}

// writeApart writes a literal so that it stays a token of its own: 'a'? must
// not become one string with a quote in it, nor 1-? a comment.
func writeApart(b *strings.Builder, text, rest string) {
	before := b.String()
	switch {
	case before == "":
	case sticks(before[len(before)-1]):
		b.WriteByte(' ')
	case strings.HasSuffix(before, "-") && text[0] == '-':
		text = "(" + text + ")"
	}
	b.WriteString(text)
	if rest != "" && sticks(rest[0]) {
		b.WriteByte(' ')
	}
}

func sticks(c byte) bool { return isWord(c) || strings.IndexByte("'\"`.", c) >= 0 }

// staysInLimit tells whether a placeholder after token would still be a number
// of rows.
func staysInLimit(in bool, token string) bool {
	switch strings.ToUpper(token) {
	case "LIMIT", "OFFSET":
		return true
	}
	return in && (token == "," || isDigits(token))
}

// rowCount turns a value that stands for a whole number into an integer and
// leaves others, for the parser to refuse.
func rowCount(v Value) Value {
	if n, ok := v.Whole(); ok {
		return Uint(n)
	}
	return v
}
