package decode

import (
	"bytes"
	"time"

	"shoal/sql/types"
)

const microsPerDay = int64(24 * time.Hour / time.Microsecond)

// clock is a local date and time as it is written.
type clock struct {
	year, month, day     int
	hour, minute, second int
	micros               int64 // of the second, rounded to the wanted digits: up to 1,000,000
	zoned                bool
	offset               time.Duration // east of UTC
}

// parseTime reads a DATE (answering days since 1970-01-01) or a DATETIME
// (microseconds since then). It takes
//
//	yyyy-MM-dd  yyyyMMdd  yyyyMMddHHmmss
//
// where month, day and hour may have one digit in the first form; after the
// first two, a T or a blank and HH:mm[:ss[.fraction]]; and after a time, Z or
// ±HH:mm or ±HHmm, which converts it to the job's time zone. A DATE drops the
// time of day; a DATETIME rounds the fraction half up to its scale.
func parseTime(s []byte, t types.Type, zone *time.Location) (int64, outcome) {
	if equalFold(s, "infinity") || len(s) > 0 && s[0] == '-' && equalFold(s[1:], "infinity") {
		return 0, outOfRange
	}
	c, ok := readClock(s, t.Scale)
	if !ok || c.month < 1 || c.month > 12 || c.day < 1 || c.day > daysIn(c.year, c.month) ||
		c.hour > 23 || c.minute > 59 || c.second > 59 {
		return 0, invalid
	}
	days := daysSinceEpoch(c.year, c.month, c.day)
	of := int64(c.hour*3600+c.minute*60+c.second) * 1e6
	if t.Kind == types.Date && !c.zoned {
		return days, inYears(days)
	}
	if t.Kind == types.DateTime {
		of += c.micros
	}
	micros := days*microsPerDay + of
	if c.zoned {
		micros = toZone(micros, c.offset, zone)
	}
	days = floorDiv(micros, microsPerDay)
	if t.Kind == types.Date {
		return days, inYears(days)
	}
	return micros, inYears(days)
}

// inYears holds days to the years 1 to 9999, which all readers of Parquet take.
func inYears(days int64) outcome {
	if days < firstDay || days > lastDay {
		return outOfRange
	}
	return good
}

var firstDay, lastDay = daysSinceEpoch(1, 1, 1), daysSinceEpoch(9999, 12, 31)

// toZone converts a local time at an offset from UTC to the local time of zone.
func toZone(micros int64, offset time.Duration, zone *time.Location) int64 {
	micros -= offset.Microseconds()
	_, east := time.UnixMicro(micros).In(zone).Zone()
	return micros + int64(east)*1e6
}

// readClock reads the forms of parseTime, without judging the numbers.
func readClock(s []byte, scale int) (c clock, ok bool) {
	digits := skipDigits(s, 0)
	i := 0
	switch {
	case digits == 14:
		c.year, c.month, c.day = number4(s), number2(s[4:]), number2(s[6:])
		c.hour, c.minute, c.second = number2(s[8:]), number2(s[10:]), number2(s[12:])
		return c, c.readRest(s[14:], scale)
	case digits == 8:
		c.year, c.month, c.day = number4(s), number2(s[4:]), number2(s[6:])
		i = 8
	case digits == 4:
		c.year = number4(s)
		if c.month, i, ok = readPart(s, 4, '-'); !ok {
			return c, false
		}
		if c.day, i, ok = readPart(s, i, '-'); !ok {
			return c, false
		}
	default:
		return c, false
	}
	if i == len(s) {
		return c, true
	}
	if s[i] != 'T' && s[i] != ' ' {
		return c, false
	}
	return c, c.readTimeOfDay(s, i, scale)
}

// readTimeOfDay reads HH:mm[:ss] after the separator at i, and what follows.
func (c *clock) readTimeOfDay(s []byte, i, scale int) (ok bool) {
	if c.hour, i, ok = readPart(s, i, s[i]); !ok {
		return false
	}
	if c.minute, i, ok = readPart(s, i, ':'); !ok {
		return false
	}
	if i < len(s) && s[i] == ':' {
		if c.second, i, ok = readPart(s, i, ':'); !ok {
			return false
		}
	}
	return c.readRest(s[i:], scale)
}

// readRest reads a fraction and a zone, both optional.
func (c *clock) readRest(s []byte, scale int) (ok bool) {
	if len(s) > 1 && s[0] == '.' {
		end := skipDigits(s, 1)
		if end == 1 {
			return false
		}
		c.micros = roundFraction(s[1:end], scale)
		s = s[end:]
	}
	if len(s) == 0 {
		return true
	}
	c.zoned = true
	if len(s) == 1 && s[0]|0x20 == 'z' {
		return true
	}
	c.offset, ok = parseOffset(s)
	return ok
}

// parseOffset reads a sign, hours of one or two digits, and perhaps minutes of
// two, after a colon or not: at most 14 hours, in steps that zones have.
func parseOffset(s []byte) (offset time.Duration, ok bool) {
	if len(s) == 0 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	hours, minutes := s[1:], []byte("00")
	if i := len(s) - 3; i > 1 {
		hours, minutes = s[1:i+1], s[i+1:]
		hours = bytes.TrimSuffix(hours, []byte{':'})
	}
	if len(hours) == 0 || len(hours) > 2 || skipDigits(hours, 0) != len(hours) || skipDigits(minutes, 0) != 2 {
		return 0, false
	}
	h, m := int(hours[len(hours)-1]-'0'), number2(minutes)
	if len(hours) == 2 {
		h = number2(hours)
	}
	if h > 14 || h == 14 && m > 0 || m != 0 && m != 30 && m != 45 {
		return 0, false
	}
	offset = time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if s[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// roundFraction is the microseconds of a written fraction of a second, rounded
// half up to scale digits.
func roundFraction(digits []byte, scale int) int64 {
	n := int64(0)
	for i := range 6 {
		n *= 10
		if i < len(digits) && i < scale {
			n += int64(digits[i] - '0')
		}
	}
	if scale < len(digits) && digits[scale] >= '5' {
		unit := int64(1)
		for range 6 - scale {
			unit *= 10
		}
		n += unit
	}
	return n
}

// readPart reads a separator at i and one or two digits after it.
func readPart(s []byte, i int, separator byte) (n, end int, ok bool) {
	if i >= len(s) || s[i] != separator {
		return 0, i, false
	}
	start := i + 1
	end = skipDigits(s, start)
	if end == start || end-start > 2 {
		return 0, i, false
	}
	for _, c := range s[start:end] {
		n = n*10 + int(c-'0')
	}
	return n, end, true
}

func number2(s []byte) int { return int(s[0]-'0')*10 + int(s[1]-'0') }
func number4(s []byte) int { return number2(s)*100 + number2(s[2:]) }

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSinceEpoch counts days from 1970-01-01 in the proleptic Gregorian
// calendar, by eras of 400 years that begin on the first of March.
func daysSinceEpoch(year, month, day int) int64 {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(y, 400)
	ofEra := y - era*400
	ofYear := (153*(m-3)+2)/5 + int64(day) - 1
	return era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
