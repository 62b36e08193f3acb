package decode

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape appends the text of a JSON string, of which s is what stands
// between the quotes, already found to be well formed. It is false for half of
// a surrogate pair: no text has that character. The text is never longer than s.
func unescape(to, s []byte) ([]byte, bool) {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(to, s...), true
		}
		to = append(to, s[:i]...)
		r, n := readEscape(s[i:])
		if n == 0 {
			return nil, false
		}
		to = utf8.AppendRune(to, r)
		s = s[i+n:]
	}
}

// readEscape reads the well-formed escape that s begins with, or the two of a
// surrogate pair. n is 0 for half of one.
func readEscape(s []byte) (r rune, n int) {
	if s[1] != 'u' {
		return plainEscape(s[1]), 2
	}
	r, _ = hex4(s, 2)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if low, ok := hex4(s, 8); ok {
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				return r, 12
			}
		}
	}
	return utf8.RuneError, 0
}

func plainEscape(c byte) rune {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return rune(c)
}

// hex4 reads four hex digits at i.
func hex4(b []byte, i int) (r rune, ok bool) {
	if i+4 > len(b) {
		return 0, false
	}
	for _, c := range b[i : i+4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
