package decode

import (
	"math"
	"math/bits"

	"shoal/sql/types"
)

// decimal is a decimal number as it is written: 0.digits… with the point
// moved. Whole and fraction point into the text.
type decimal struct {
	negative        bool
	whole, fraction []byte // digits before and after the written point
	exponent        int64
}

// maxExponent is where an exponent is held: no message has so many digits that
// a larger one could be made up for.
const maxExponent = 1 << 40

// splitNumber reads [+-]digits[.digits][e[+-]digits], where digits are needed
// on one side of the point.
func splitNumber(s []byte) (d decimal, ok bool) {
	i := 0
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		d.negative, i = s[0] == '-', 1
	}
	start := i
	i = skipDigits(s, i)
	d.whole = s[start:i]
	if i < len(s) && s[i] == '.' {
		start = i + 1
		i = skipDigits(s, start)
		d.fraction = s[start:i]
	}
	if len(d.whole)+len(d.fraction) == 0 {
		return d, false
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i, ok = d.readExponent(s, i+1); !ok {
			return d, false
		}
	}
	return d, i == len(s)
}

func (d *decimal) readExponent(s []byte, i int) (end int, ok bool) {
	negative := false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		negative = s[i] == '-'
		i++
	}
	start := i
	for ; i < len(s) && isDigit(s[i]); i++ {
		d.exponent = min(maxExponent, d.exponent*10+int64(s[i]-'0'))
	}
	if negative {
		d.exponent = -d.exponent
	}
	return i, i > start
}

// skipLeadingZeros drops zeros in front, and answers how many digits stand
// before the point then, which is negative for zeros after the point.
func (d *decimal) skipLeadingZeros() (point int64) {
	for len(d.whole) > 0 && d.whole[0] == '0' {
		d.whole = d.whole[1:]
	}
	point = int64(len(d.whole)) + d.exponent
	if len(d.whole) > 0 {
		return point
	}
	for len(d.fraction) > 0 && d.fraction[0] == '0' {
		d.fraction = d.fraction[1:]
		point--
	}
	return point
}

// digit is the i-th digit, 0 past the end.
func (d *decimal) digit(i int64) uint64 {
	switch {
	case i < int64(len(d.whole)):
		return uint64(d.whole[i] - '0')
	case i < int64(len(d.whole)+len(d.fraction)):
		return uint64(d.fraction[i-int64(len(d.whole))] - '0')
	}
	return 0
}

// unscaled is the first n digits as a number, n at most 38.
func (d *decimal) unscaled(n int64) Int128 {
	var hi, lo uint64
	for i := range n {
		carry, low := bits.Mul64(lo, 10)
		low, c := bits.Add64(low, d.digit(i), 0)
		hi, lo = hi*10+carry+c, low
	}
	return Int128{Hi: int64(hi), Lo: lo}
}

// parseDecimal reads a number as DECIMAL(precision,scale), unscaled. It rounds
// half away from zero. What has too many digits then is outOfRange.
func parseDecimal(s []byte, precision, scale int) (Int128, outcome) {
	d, ok := splitNumber(s)
	if !ok {
		return Int128{}, invalid
	}
	point := d.skipLeadingZeros()
	if len(d.whole)+len(d.fraction) == 0 {
		return Int128{}, good
	}
	keep := point + int64(scale)
	switch {
	case keep > int64(precision):
		return Int128{}, outOfRange
	case keep < 0:
		return Int128{}, good
	}
	u := d.unscaled(keep)
	if d.digit(keep) >= 5 {
		u = u.plusOne()
		if u == powerOfTen(precision) {
			return Int128{}, outOfRange
		}
	}
	if d.negative {
		u = u.negated()
	}
	return u, good
}

// parseWhole reads a number that has no fraction, however it is written (1e3,
// 5.0), of at most 38 digits.
func parseWhole(s []byte) (Int128, outcome) {
	d, ok := splitNumber(s)
	if !ok {
		return Int128{}, invalid
	}
	point := d.skipLeadingZeros()
	digits := int64(len(d.whole) + len(d.fraction))
	for i := max(0, point); i < digits; i++ {
		if d.digit(i) != 0 {
			return Int128{}, invalid
		}
	}
	switch {
	case digits == 0, point <= 0:
		return Int128{}, good
	case point > types.MaxDecimalPrecision:
		return Int128{}, overflow
	}
	u := d.unscaled(point)
	if d.negative {
		u = u.negated()
	}
	return u, good
}

// parseInt reads a whole number of a signed integer of the given width.
func parseInt(s []byte, width int) (int64, outcome) {
	n, ok := parsePlainInt(s)
	if !ok {
		wide, out := parseWhole(s)
		if out != good {
			return 0, out
		}
		n = int64(wide.Lo)
		if wide.Hi != n>>63 {
			return 0, overflow
		}
	}
	if limit := int64(math.MaxInt64) >> (64 - width); n > limit || n < -limit-1 {
		return 0, overflow
	}
	return n, good
}

// parsePlainInt reads what nearly every integer is: a sign and few digits.
func parsePlainInt(s []byte) (n int64, ok bool) {
	digits := s
	if len(s) > 0 && s[0] == '-' {
		digits = s[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) != len(s) {
		n = -n
	}
	return n, true
}

func (i Int128) plusOne() Int128 {
	lo, carry := bits.Add64(i.Lo, 1, 0)
	return Int128{Hi: i.Hi + int64(carry), Lo: lo}
}

func (i Int128) negated() Int128 {
	return Int128{Hi: ^i.Hi, Lo: ^i.Lo}.plusOne()
}

// powerOfTen is 10 to the n, n at most 38.
func powerOfTen(n int) Int128 {
	hi, lo := uint64(0), uint64(1)
	for range n {
		carry, low := bits.Mul64(lo, 10)
		hi, lo = hi*10+carry, low
	}
	return Int128{Hi: int64(hi), Lo: lo}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func skipDigits(s []byte, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}
