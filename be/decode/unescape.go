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
		if s[i+1] != 'u' {
			to = append(to, plainEscape(s[i+1]))
			s = s[i+2:]
			continue
		}
		r, _ := hex4(s, i+2)
		s = s[i+6:]
		if utf16.IsSurrogate(r) {
			low, ok := rune(0), false
			if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
				low, ok = hex4(s, 2)
			}
			if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
				return nil, false
			}
			s = s[6:]
		}
		to = utf8.AppendRune(to, r)
	}
}

func plainEscape(c byte) byte {
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
	return c
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
