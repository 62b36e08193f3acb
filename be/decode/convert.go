package decode

import (
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
	isNull             // the source is NULL
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

// setScalar converts v into the row of a column that is not text.
func (c *Column) setScalar(row int, v Value, zone *time.Location) (out outcome) {
	if v.Kind == Nested {
		return invalid
	}
	s := trimBlanks(v.raw)
	switch kind := c.Type.Kind; kind {
	case types.Boolean:
		c.Int[row], out = parseBool(s)
	case types.Date, types.DateTime:
		if v.Kind == Boolean {
			return invalid
		}
		c.Int[row], out = parseTime(s, c.Type, zone)
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
func textValue(t types.Type, v Value) ([]byte, outcome) {
	s := v.raw
	if t.Kind == types.JSON {
		if v.Kind == Text && !validJSON(s) {
			return nil, invalid
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

// trimBlanks cuts blanks and tabs off both ends.
func trimBlanks(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
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
