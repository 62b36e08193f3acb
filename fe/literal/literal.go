// Package literal holds the scalar values that clients hand to the frontend
// outside of a statement's text, and puts them into such a text. Like is
// beside them, for the patterns of SHOW.
//
// Parameters of prepared statements, user variables and system variables are
// Values. A statement with placeholders is carried out as text, in MySQL's
// spelling, so Bind writes each Value as a literal which reads back as the
// same value and type, and finds the placeholders as MySQL does: never inside
// strings, quoted names or comments. CountParams and Bind use one scanner, so
// what PREPARE announced is what EXECUTE replaces.
//
// HideSecrets uses the scanner too, to show statements to others.
//
// Everything here is pure and safe for concurrent use.
package literal

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"shoal/fe/errno"
)

// A Kind is the type of a Value.
type Kind uint8

// The kinds. Decimal, Date, DateTime and Time hold MySQL's text of the value.
const (
	KindNull Kind = iota
	KindInt
	KindUint
	KindFloat
	KindDecimal
	KindString
	KindDate     // 2006-01-02
	KindDateTime // 2006-01-02 15:04:05[.999999]
	KindTime     // [-]15:04:05[.999999]; hours may pass 24
)

// A Value is one scalar. The zero Value is NULL. Values are comparable.
type Value struct {
	kind Kind
	bits uint64 // Int, Uint, Float
	text string // the rest
}

// Null is the NULL value.
func Null() Value { return Value{} }

// Int is a signed integer.
func Int(i int64) Value { return Value{kind: KindInt, bits: uint64(i)} }

// Uint is an unsigned integer.
func Uint(u uint64) Value { return Value{kind: KindUint, bits: u} }

// Float is a double-precision number.
func Float(f float64) Value { return Value{kind: KindFloat, bits: math.Float64bits(f)} }

// String is text. Bytes are text too, since no column type holds others; what
// is not UTF-8 is written as a hexadecimal literal.
func String(s string) Value { return Value{kind: KindString, text: s} }

// Decimal is an exact number from its text, which must be digits with an
// optional sign, point and exponent; anything else is an error.
func Decimal(s string) (Value, error) {
	if !isNumber(s) {
		return Value{}, errno.New(errno.TruncatedValue, "Incorrect DECIMAL value: '%.80s'", s)
	}
	return Value{kind: KindDecimal, text: s}, nil
}

// Date, DateTime and Time take MySQL's text of the value, which the caller
// has formatted itself from numbers.
func Date(s string) Value     { return Value{kind: KindDate, text: s} }
func DateTime(s string) Value { return Value{kind: KindDateTime, text: s} }
func Time(s string) Value     { return Value{kind: KindTime, text: s} }

// Kind is the value's type.
func (v Value) Kind() Kind { return v.kind }

// IsNull tells whether v is NULL.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Text is the value as MySQL's text protocol shows it; empty for NULL.
func (v Value) Text() string {
	switch v.kind {
	case KindInt:
		return strconv.FormatInt(int64(v.bits), 10)
	case KindUint:
		return strconv.FormatUint(v.bits, 10)
	case KindFloat:
		return strconv.FormatFloat(math.Float64frombits(v.bits), 'g', -1, 64)
	}
	return v.text
}

// Whole is the value as a whole number from 0 on, if it stands for one: an
// integer, a double or decimal without fraction, or the text of one.
func (v Value) Whole() (uint64, bool) {
	switch v.kind {
	case KindInt:
		return v.bits, int64(v.bits) >= 0
	case KindUint:
		return v.bits, true
	case KindFloat:
		f := math.Float64frombits(v.bits)
		return uint64(f), f >= 0 && f < 1<<63 && f == math.Trunc(f)
	case KindString, KindDecimal:
		n, err := strconv.ParseUint(v.text, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// SQL is the value as a literal in MySQL's spelling. NaN and the infinities,
// which have none, are an error.
func (v Value) SQL() (string, error) {
	switch v.kind {
	case KindNull:
		return "NULL", nil
	case KindInt, KindUint, KindDecimal:
		return v.Text(), nil
	case KindFloat:
		f := math.Float64frombits(v.bits)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return "", errno.New(errno.WrongArguments, "Incorrect DOUBLE value: '%v' cannot be a parameter", f)
		}
		// The exponent makes it a DOUBLE: without it, MySQL reads a DECIMAL.
		return strconv.FormatFloat(f, 'e', -1, 64), nil
	case KindDate, KindDateTime, KindTime:
		return v.temporal(), nil
	}
	if !utf8.ValidString(v.text) {
		return fmt.Sprintf("x'%X'", v.text), nil
	}
	return quote(v.text), nil
}

// temporal writes a typed literal; MySQL's zero dates, which no typed literal
// can express, stay strings.
func (v Value) temporal() string {
	word := map[Kind]string{KindDate: "DATE ", KindDateTime: "TIMESTAMP ", KindTime: "TIME "}[v.kind]
	if v.kind != KindTime && strings.HasPrefix(v.text, "0000-") {
		word = ""
	}
	return word + "'" + v.text + "'"
}

// quote makes a string literal. Only what would end or change the literal is
// escaped.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('\'')
	for i := range len(s) {
		switch c := s[i]; c {
		case '\'':
			b.WriteString("''")
		case '\\':
			b.WriteString(`\\`)
		case 0:
			b.WriteString(`\0`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// isNumber tells whether s is a number in SQL's spelling.
func isNumber(s string) bool {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(unsign(mantissa), ".")
	if whole+fraction == "" || !isDigits(whole+fraction) {
		return false
	}
	exponent = unsign(exponent)
	return !hasExponent || exponent != "" && isDigits(exponent)
}

func unsign(s string) string {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[1:]
	}
	return s
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
