package decode

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"shoal/sql/types"
)

// outcome tells how a conversion ended.
type outcome uint8

const (
	good       outcome = iota
	isNull             // the source is NULL or missing
	invalid            // not a value of the type
	overflow           // too big for an integer or float
	cut                // text too long; its start was taken
	outOfRange         // too big for a decimal, or a year that no reader takes
	badEscape          // a JSON string that is no text
)

const halfSurrogate = `has a \u escape that is half of a surrogate pair, which is no text`

// alwaysBad tells whether the row is an error row whatever the mode.
func (o outcome) alwaysBad() bool { return o == outOfRange || o == badEscape }

// describe continues "the value …".
func (o outcome) describe(t types.Type) string {
	name := t.String()
	switch o {
	case isNull:
		return "is NULL, and the column is NOT NULL"
	case overflow, outOfRange:
		return "is out of the range of " + name
	case cut:
		return fmt.Sprintf("is longer than the %d bytes of %s", t.Length, name)
	case badEscape:
		return halfSurrogate
	}
	return "is no " + name
}

// rules is what conversions depend on besides value and type.
type rules struct {
	strict bool
	zone   *time.Location
	zones  *zones // that texts may name
}

// set converts v into a row. Unescaped text gets room from a.
func (c *Column) set(row int, v *Value, a *arena, r *rules) (out outcome) {
	if v.Kind <= Null {
		return isNull
	}
	if !v.unescape(a) {
		return badEscape
	}
	switch {
	case c.Text != nil:
		c.Text[row], out = textValue(c.Type, v)
		return out
	case c.Nested != nil:
		c.Nested[row], out = c.shape.convert(v, a, r)
		return out
	case v.Kind == Nested:
		return invalid
	}
	return c.setScalar(row, v, r)
}

// setScalar converts v into the row of a column that is neither text nor nested.
func (c *Column) setScalar(row int, v *Value, r *rules) (out outcome) {
	s := trimBlanks(v.raw)
	switch kind := c.Type.Kind; kind {
	case types.Boolean:
		c.Int[row], out = parseBool(s)
	case types.Date, types.DateTime:
		if v.Kind == Boolean {
			return invalid
		}
		c.Int[row], out = parseTime(s, c.Type, r)
	default:
		if v.Kind == Boolean {
			s = digitOf(s)
		}
		out = c.setNumber(row, s)
	}
	return out
}

// setNumber converts s into the row of a numeric column.
func (c *Column) setNumber(row int, s []byte) (out outcome) {
	switch c.Type.Kind {
	case types.Float, types.Double:
		bits := 64
		if c.Type.Kind == types.Float {
			bits = 32
		}
		c.Float[row], out = parseFloat(s, bits)
	case types.Decimal:
		if c.Wide != nil {
			c.Wide[row], out = parseDecimal(s, c.Type.Precision, c.Type.Scale)
			return out
		}
		var wide Int128
		wide, out = parseDecimal(s, c.Type.Precision, c.Type.Scale)
		c.Int[row] = int64(wide.Lo)
	case types.LargeInt:
		c.Wide[row], out = parseWhole(s)
		if out == overflow { // more than the 38 digits that are stored
			return outOfRange
		}
	default:
		c.Int[row], out = parseInt(s, c.Type.IntegerBits())
	}
	return out
}

// textValue converts v for a text column.
func textValue(t types.Type, v *Value) ([]byte, outcome) {
	s := v.raw
	if t.Kind == types.JSON || t.Kind == types.Variant {
		if v.Kind == Text && !validJSON(s) {
			return nil, invalid
		}
		if !wholeSurrogates(s) {
			return nil, badEscape
		}
		return s, good
	}
	if v.Kind == Boolean {
		s = digitOf(s)
	}
	if t.Kind == types.String || len(s) <= t.Length {
		return s, good
	}
	end := t.Length
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end], cut
}

// wholeSurrogates tells whether the strings in JSON text have no half of a
// surrogate pair. Functions that read JSON refuse such text, and with it every
// query that meets it.
func wholeSurrogates(s []byte) bool {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return true
		}
		_, n := readEscape(s[i:])
		if n == 0 {
			return false
		}
		s = s[i+n:]
	}
}

// isBlank tells whether c is what Doris trims off numbers and times.
func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// trimBlanks cuts blanks off both ends.
func trimBlanks(s []byte) []byte {
	for len(s) > 0 && isBlank(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// parseBool takes true, false (in any case), 1 and 0.
func parseBool(s []byte) (int64, outcome) {
	switch {
	case len(s) == 1 && (s[0] == '0' || s[0] == '1'):
		return int64(s[0] - '0'), good
	case equalFold(s, "true"):
		return 1, good
	case equalFold(s, "false"):
		return 0, good
	}
	return 0, invalid
}

// equalFold compares s with a word of small letters, in any case.
func equalFold(s []byte, word string) bool {
	if len(s) != len(word) {
		return false
	}
	for i, c := range s {
		if c|0x20 != word[i] {
			return false
		}
	}
	return true
}

// parseFloat takes decimal numbers that are finite in the given width. NaN and
// the infinities are no numbers here: MySQL's clients cannot read them.
func parseFloat(s []byte, bits int) (float64, outcome) {
	if _, ok := splitNumber(s); !ok {
		return 0, invalid
	}
	f, err := strconv.ParseFloat(unsafe.String(&s[0], len(s)), bits)
	if err != nil || math.IsInf(f, 0) {
		return 0, overflow
	}
	return f, good
}
