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
	used := 0
	bound, err := replace(sql, func(inLimit bool) (string, error) {
		used++
		if used > len(values) {
			return "", nil
		}
		v := values[used-1]
		if inLimit {
			v = rowCount(v)
		}
		return v.SQL()
	})
	if err == nil && used != len(values) {
		err = errno.New(errno.WrongArguments, "Incorrect arguments to EXECUTE: %d parameters for %d placeholders", len(values), used)
	}
	return bound, err
}

// Blank replaces the placeholders of a statement by NULL, in a LIMIT or OFFSET
// by 0, so that it can be described before there are values.
func Blank(sql string) string {
	blanked, _ := replace(sql, func(inLimit bool) (string, error) {
		if inLimit {
			return "0", nil
		}
		return "NULL", nil
	})
	return blanked
}

// replace writes a literal for each placeholder.
func replace(sql string, literal func(inLimit bool) (string, error)) (string, error) {
	var b strings.Builder
	copied, inLimit := 0, false
	for s := (scanner{sql: sql}); s.next(); {
		switch s.kind {
		case placeholder:
			text, err := literal(inLimit)
			if err != nil {
				return "", err
			}
			b.WriteString(sql[copied:s.start])
			writeApart(&b, text, sql[s.end:])
			copied = s.end
		case blank:
		default:
			inLimit = staysInLimit(inLimit, sql[s.start:s.end])
		}
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
	case strings.HasSuffix(before, "-") && strings.HasPrefix(text, "-"):
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
