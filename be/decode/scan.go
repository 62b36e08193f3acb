package decode

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// maxDepth is how deep arrays and objects may be nested.
const maxDepth = 10000

// scanner walks over JSON (RFC 8259) in a byte slice that is valid UTF-8. Its
// methods take a position and answer the position behind what they read; what
// is wrong, and where, is kept in problem, and then positions mean nothing.
type scanner struct {
	b       []byte
	stack   []byte // of open '{' and '['
	problem string
	at      int
}

func (s *scanner) fail(at int, problem string) int {
	if s.problem == "" {
		s.problem, s.at = problem, at
	}
	return len(s.b)
}

// complaint says what is wrong.
func (s *scanner) complaint() string {
	return fmt.Sprintf("not valid JSON: %s at position %d", s.problem, s.at+1)
}

// end demands that nothing but blanks follow from i.
func (s *scanner) end(i int) {
	if i = s.space(i); i < len(s.b) {
		s.fail(i, "something follows the value")
	}
}

// space is the position of the next byte from i that is no blank.
func (s *scanner) space(i int) int {
	if i < len(s.b) && s.b[i] > ' ' {
		return i
	}
	return s.blanks(i)
}

func (s *scanner) blanks(i int) int {
	for i < len(s.b) && (s.b[i] == ' ' || s.b[i] == '\t' || s.b[i] == '\n' || s.b[i] == '\r') {
		i++
	}
	return i
}

// peek is the byte at i, 0 at the end. A zero byte never is part of JSON.
func (s *scanner) peek(i int) byte {
	if i < len(s.b) {
		return s.b[i]
	}
	return 0
}

// str reads a string whose opening quote is at i.
func (s *scanner) str(i int) (end int, escaped bool) {
	for i++; ; {
		i = skipPlain(s.b, i)
		switch c := s.peek(i); {
		case i >= len(s.b):
			return s.fail(i, "a string is not closed"), false
		case c == '"':
			return i + 1, escaped
		case c != '\\':
			return s.fail(i, "a control character in a string"), false
		}
		escaped = true
		switch s.peek(i + 1) {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if _, ok := hex4(s.b, i+2); !ok {
				return s.fail(i, `a \u escape without four hex digits`), false
			}
			i += 6
		default:
			return s.fail(i, "an unknown escape in a string"), false
		}
	}
}

// skipPlain is the position of the next byte from i that means something in a
// string: a quote, a backslash or a control character.
func skipPlain(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// A byte's high bit is set where it is zero, or below 0x20; false hits
		// come only above a true one, and the lowest is taken.
		hits := ((quote - ones) &^ quote) | ((slash - ones) &^ slash) | ((w - ones*0x20) &^ w)
		if hits &= highs; hits != 0 {
			return i + bits.TrailingZeros64(hits)/8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
		i++
	}
	return i
}

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? at i.
func (s *scanner) number(i int) int {
	if s.peek(i) == '-' {
		i++
	}
	if s.peek(i) == '0' {
		i++
	} else {
		i = s.digits(i)
	}
	if s.peek(i) == '.' {
		i = s.digits(i + 1)
	}
	if s.peek(i)|0x20 == 'e' {
		i++
		if c := s.peek(i); c == '+' || c == '-' {
			i++
		}
		i = s.digits(i)
	}
	return i
}

func (s *scanner) digits(i int) int {
	end := skipDigits(s.b, i)
	if end == i {
		return s.fail(i, "a digit is missing")
	}
	return end
}

func (s *scanner) literal(i int, word string) int {
	if len(s.b)-i < len(word) || string(s.b[i:i+len(word)]) != word {
		return s.fail(i, "an unknown word")
	}
	return i + len(word)
}

// scalar reads a value that is neither object nor array.
func (s *scanner) scalar(i int) int {
	switch c := s.peek(i); {
	case c == '"':
		end, _ := s.str(i)
		return end
	case c == '-' || isDigit(c):
		return s.number(i)
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	case i >= len(s.b):
		return s.fail(i, "the text ends early")
	}
	return s.fail(i, "a value is missing")
}

// value reads any value at i into v.
func (s *scanner) value(i int, v *Value) (end int) {
	*v = Value{}
	switch s.peek(i) {
	case '"':
		end, escaped := s.str(i)
		if s.problem == "" {
			*v = Value{Kind: Text, escaped: escaped, raw: s.b[i+1 : end-1]}
		}
		return end
	case '{', '[':
		v.Kind, end = Nested, s.any(i)
	case 't', 'f':
		v.Kind, end = Boolean, s.scalar(i)
	case 'n':
		v.Kind = Null
		return s.scalar(i)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		v.Kind, end = Number, s.number(i)
	default:
		return s.scalar(i)
	}
	v.raw = s.b[i:end]
	return end
}

// any reads any value at i, without recursion.
func (s *scanner) any(i int) int {
	s.stack = s.stack[:0]
	for {
		if c := s.peek(i); c == '{' || c == '[' {
			if i = s.open(i, c); s.problem != "" {
				return i
			}
			if len(s.stack) > 0 && s.peek(i) != closing(s.stack) {
				i = s.element(i)
				continue
			}
		} else {
			i = s.scalar(i)
		}
		var more bool
		if i, more = s.closeAll(i); !more {
			return i
		}
	}
}

// open pushes the bracket at i.
func (s *scanner) open(i int, bracket byte) int {
	if len(s.stack) == maxDepth {
		return s.fail(i, "nested too deep")
	}
	s.stack = append(s.stack, bracket)
	return s.space(i + 1)
}

// element stands at an element of the innermost bracket, and answers where
// its value begins.
func (s *scanner) element(i int) int {
	if s.stack[len(s.stack)-1] == '{' {
		_, _, i = s.key(i)
	}
	return i
}

// closeAll goes on behind a value: over closing brackets, and over a comma to
// the next element's value. more is false when nothing is open any longer.
func (s *scanner) closeAll(i int) (end int, more bool) {
	for len(s.stack) > 0 {
		if s.problem != "" {
			return i, false
		}
		i = s.space(i)
		switch s.peek(i) {
		case closing(s.stack):
			s.stack = s.stack[:len(s.stack)-1]
			i++
		case ',':
			return s.element(s.space(i + 1)), s.problem == ""
		default:
			return s.fail(i, "a comma or a closing bracket is missing"), false
		}
	}
	return i, false
}

func closing(stack []byte) byte { return stack[len(stack)-1] + 2 } // '[' and ']', '{' and '}' are 2 apart

// key reads a string and the colon behind it. raw is what stands between the
// quotes; end is where the value begins.
func (s *scanner) key(i int) (raw []byte, escaped bool, end int) {
	if s.peek(i) != '"' {
		return nil, false, s.fail(i, "a key is missing")
	}
	end, escaped = s.str(i)
	if s.problem != "" {
		return nil, false, end
	}
	return s.b[i+1 : end-1], escaped, s.colon(end)
}

// colon reads the colon behind a key that ends at i, and answers where the
// value begins.
func (s *scanner) colon(i int) (end int) {
	if i = s.space(i); s.peek(i) != ':' {
		return s.fail(i, "a colon is missing after a key")
	}
	return s.space(i + 1)
}

// validJSON tells whether b, which is valid UTF-8, is one JSON value.
func validJSON(b []byte) bool {
	s := scanner{b: b}
	end := s.space(s.any(s.space(0)))
	return s.problem == "" && end == len(b)
}
