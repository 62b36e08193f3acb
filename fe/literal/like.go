package literal

import "unicode/utf8"

// Like tells whether s matches a pattern of LIKE, in which % stands for any
// text, _ for one character and a backslash takes the next character as it
// is. ASCII letters match in both cases, as they do in MySQL's SHOW … LIKE.
func Like(pattern, s string) bool {
	// On a mismatch, the last % takes one more character: no recursion, so a
	// pattern of many % costs at most len(pattern) * len(s).
	afterPercent, resume := -1, 0
	p, i := 0, 0
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '%' {
			p++
			afterPercent, resume = p, i
			continue
		}
		if np, ni, ok := likeOne(pattern, p, s, i); ok {
			p, i = np, ni
			continue
		}
		if afterPercent < 0 {
			return false
		}
		resume += runeLen(s[resume:])
		p, i = afterPercent, resume
	}
	for p < len(pattern) && pattern[p] == '%' {
		p++
	}
	return p == len(pattern)
}

// likeOne matches one character and returns the places behind it.
func likeOne(pattern string, p int, s string, i int) (np, ni int, ok bool) {
	switch {
	case p == len(pattern):
		return p, i, false
	case pattern[p] == '_':
		return p + 1, i + runeLen(s[i:]), true
	case pattern[p] == '\\' && p+1 < len(pattern):
		p++
	}
	return p + 1, i + 1, lower(pattern[p]) == lower(s[i])
}

func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
