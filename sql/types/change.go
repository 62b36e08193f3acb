package types

import (
	"fmt"
	"strings"
)

// CheckChange tells why a column of type t cannot become one of type to; nil if
// it can. A change is allowed if Doris has it in its list and every value that
// the column may hold stays what it is: rows that are stored are not written
// again, but read as the new type. So a value may get more room, and numbers
// and texts may become longer texts; what could be rounded, cut or fail to be
// read is refused.
func (t Type) CheckChange(to Type) error {
	if t == to {
		return nil
	}
	why := t.changeFault(to)
	if why == "" {
		return nil
	}
	return fmt.Errorf("%s cannot become %s: %s", strings.ToUpper(t.String()), strings.ToUpper(to.String()), why)
}

// Reasons that several changes have.
const (
	noChange   = "there is no such change"
	wouldRound = "large values would be rounded"
	mayNotRead = "rows that hold anything else could not be read any more"
)

// changeFault is why a change is refused, empty if it is not.
func (t Type) changeFault(to Type) string {
	switch {
	case t.IntegerBits() > 0:
		return t.integerFault(to)
	case t.Kind == Float && to.Kind == Double:
		return ""
	case t.Kind == Decimal:
		return t.decimalFault(to)
	case t.Kind == Date && to.Kind == DateTime:
		return ""
	case t.Kind == DateTime:
		return t.dateTimeFault(to)
	case t.Kind == Char || t.Kind == VarChar:
		return t.textFault(to)
	case t.Kind == String && (to.Kind == JSON || to.Kind == Variant):
		return mayNotRead
	case t.Kind == JSON && to.Kind == String:
		return ""
	}
	return noChange
}

// Bits of the numbers that the floating types hold exactly.
const (
	floatBits  = 24
	doubleBits = 53
)

// digits are the characters of the longest number of an integer type, by its
// bits; a LARGEINT has as many digits as a DECIMAL.
var digits = map[int]int{8: len("-128"), 16: len("-32768"), 32: len("-2147483648"), 64: len("-9223372036854775808"), 128: MaxDecimalPrecision + 1}

func (t Type) integerFault(to Type) string {
	switch bits := t.IntegerBits(); {
	case to.IntegerBits() >= bits:
		return ""
	case to.IntegerBits() > 0:
		return "large values would not fit"
	case to.Kind == Float && bits > floatBits, to.Kind == Double && bits > doubleBits:
		return wouldRound
	case to.Kind == Float, to.Kind == Double:
		return ""
	default:
		return textRoom(to, digits[bits])
	}
}

func (t Type) decimalFault(to Type) string {
	switch {
	case to.Kind != Decimal:
		return textRoom(to, t.Precision+len("-0."))
	case to.Precision-to.Scale < t.Precision-t.Scale:
		return "large values would not fit"
	case to.Scale < t.Scale:
		return "digits after the point would be lost"
	}
	return ""
}

func (t Type) dateTimeFault(to Type) string {
	switch {
	case to.Kind == Date:
		return "the time of day would be lost"
	case to.Kind != DateTime:
		return noChange
	case to.Scale < t.Scale:
		return "digits of the second would be lost"
	}
	return ""
}

func (t Type) textFault(to Type) string {
	switch {
	case to.IntegerBits() > 0, to.Kind == Float, to.Kind == Double, to.Kind == Date, to.Kind == JSON && t.Kind == VarChar:
		return mayNotRead
	case to.Kind == Char && t.Kind == Char && to.Length > t.Length:
		return ""
	}
	return textRoom(to, t.Length)
}

// textRoom is why a text of up to length bytes does not fit a type.
func textRoom(to Type, length int) string {
	switch {
	case to.Kind == String:
		return ""
	case to.Kind != VarChar:
		return noChange
	case to.Length < length:
		return fmt.Sprintf("values may be %d bytes long", length)
	}
	return ""
}
