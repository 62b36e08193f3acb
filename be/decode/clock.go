package decode

import "time"

// clock is a date and time as it is written.
type clock struct {
	year, month, day     int
	hour, minute, second int
	fraction             []byte         // digits of the second's
	zone                 *time.Location // nil where none is written
}

func (c *clock) valid() bool {
	return c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= daysIn(c.year, c.month) &&
		c.hour <= 23 && c.minute <= 59 && c.second <= 59
}

// readClock reads Doris's forms of dates and times, without judging the
// numbers:
//
//	datetime  date [(T | blank) time [blanks] [zone]]
//	          yyyyMMddHHmmss[.fraction] [blanks] [zone]
//	date      yyyyMMdd  yyMMdd  yyyy-MM-dd  yy-MM-dd, day and month of one or two digits
//	time      HH[:mm[:ss[.fraction]]], parts of one or two digits
//	          HH[mm[ss[.fraction]]]
//	zone      Z, UTC, GMT, ZULU, CST (China), the name of a region
//	          ±H, ±HH, ±H:mm, ±HH:mm, ±Hmm, ±HHmm
//
// Years of two digits are 1970 to 2069. The parts of a date may have other
// symbols between them than dashes, and so may those of a time that has all
// three; a date with unusual ones, not slashes, needs such a time if any. s has
// no blanks around it.
func readClock(s []byte, r *rules) (c clock, ok bool) {
	if c.readUsual(s) {
		end := c.readFraction(s, len(usual))
		return c, c.readZone(s[end:], r)
	}
	i, loose := c.readDate(s)
	switch {
	case i == 0:
		return c, false
	case i == 14:
		i = c.readFraction(s, i)
		return c, c.readZone(s[i:], r)
	case i == len(s):
		return c, true
	case s[i] != 'T' && s[i] != ' ':
		return c, false
	}
	i++
	if !loose {
		if end := c.readTime(s, i); end > 0 && c.readZone(s[end:], r) {
			return c, true
		}
	}
	end := c.readLooseTime(s, i)
	return c, end > 0 && c.readZone(s[end:], r)
}

// usual is the form that nearly all texts begin with; a T may stand for the
// blank.
const usual = "0000-00-00 00:00:00"

// readUsual reads a date and time in the usual form.
func (c *clock) readUsual(s []byte) bool {
	if len(s) < len(usual) {
		return false
	}
	for i := range len(usual) {
		if isDigit(usual[i]) {
			if !isDigit(s[i]) {
				return false
			}
		} else if s[i] != usual[i] && (i != 10 || s[i] != 'T') {
			return false
		}
	}
	if len(s) > len(usual) && isDigit(s[len(usual)]) {
		return false
	}
	c.year, c.month, c.day = number4(s), number2(s[5:]), number2(s[8:])
	c.hour, c.minute, c.second = number2(s[11:]), number2(s[14:]), number2(s[17:])
	return true
}

// readDate reads a date, or 14 digits of date and time, and answers where it
// ends, 0 if there is none. loose tells of unusual separators.
func (c *clock) readDate(s []byte) (end int, loose bool) {
	digits := skipDigits(s, 0)
	switch digits {
	case 14:
		c.hour, c.minute, c.second = number2(s[8:]), number2(s[10:]), number2(s[12:])
		fallthrough
	case 8:
		c.year, c.month, c.day = number4(s), number2(s[4:]), number2(s[6:])
		return digits, false
	case 6:
		c.year, c.month, c.day = fullYear(number2(s)), number2(s[2:]), number2(s[4:])
		return digits, false
	case 4:
		c.year = number4(s)
	case 2:
		c.year = fullYear(number2(s))
	default:
		return 0, false
	}
	first := symbolAt(s, digits)
	i := digits + 1
	if c.month, i = readPart(s, i); i == 0 {
		return 0, false
	}
	second := symbolAt(s, i)
	if c.day, i = readPart(s, i+1); i == 0 || first == 0 || second == 0 {
		return 0, false
	}
	return i, first != '-' && first != '/' || second != '-' && second != '/'
}

// readTime reads a time at i and answers where it ends, 0 if there is none.
func (c *clock) readTime(s []byte, i int) (end int) {
	c.hour, c.minute, c.second, c.fraction = 0, 0, 0, nil
	switch skipDigits(s, i) - i {
	case 4:
		c.hour, c.minute = number2(s[i:]), number2(s[i+2:])
		return i + 4
	case 6:
		c.hour, c.minute, c.second = number2(s[i:]), number2(s[i+2:]), number2(s[i+4:])
		return c.readFraction(s, i+6)
	}
	if c.hour, i = readPart(s, i); i == 0 || symbolAt(s, i) != ':' {
		return i
	}
	if c.minute, i = readPart(s, i+1); i == 0 || symbolAt(s, i) != ':' {
		return i
	}
	if c.second, i = readPart(s, i+1); i == 0 {
		return 0
	}
	return c.readFraction(s, i)
}

// readLooseTime reads hour, minute and second with any symbols between.
func (c *clock) readLooseTime(s []byte, i int) (end int) {
	c.fraction = nil
	for part, n := range []*int{&c.hour, &c.minute, &c.second} {
		if part > 0 {
			if symbolAt(s, i) == 0 {
				return 0
			}
			i++
		}
		if *n, i = readPart(s, i); i == 0 {
			return 0
		}
	}
	return c.readFraction(s, i)
}

// readFraction reads a point and digits, if they are there.
func (c *clock) readFraction(s []byte, i int) (end int) {
	if i == len(s) || s[i] != '.' {
		return i
	}
	end = skipDigits(s, i+1)
	c.fraction = s[i+1 : end]
	return end
}

// readZone reads the rest of the text: nothing, or a zone.
func (c *clock) readZone(s []byte, r *rules) (ok bool) {
	s = trimBlanks(s)
	if len(s) == 0 {
		return true
	}
	c.zone = r.zones.find(s)
	return c.zone != nil
}

// readPart reads a number of one or two digits at i, which may be past the
// end. end is 0 if there is none.
func readPart(s []byte, i int) (n, end int) {
	if i >= len(s) {
		return 0, 0
	}
	switch end = skipDigits(s, i); end - i {
	case 1:
		return int(s[i] - '0'), end
	case 2:
		return number2(s[i:]), end
	}
	return 0, 0
}

// symbolAt is the byte at i if it is an ASCII symbol or blank, else 0.
func symbolAt(s []byte, i int) byte {
	if i >= len(s) {
		return 0
	}
	c := s[i]
	if c < ' ' || c >= 0x7f || isDigit(c) || isLetter(c) {
		return 0
	}
	return c
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// fullYear is the year that two digits stand for.
func fullYear(n int) int {
	if n < 70 {
		return 2000 + n
	}
	return 1900 + n
}

func number2(s []byte) int { return int(s[0]-'0')*10 + int(s[1]-'0') }
func number4(s []byte) int { return number2(s)*100 + number2(s[2:]) }
