package decode

import (
	"time"

	"shoal/sql/types"
)

const microsPerDay = int64(24 * time.Hour / time.Microsecond)

// parseTime reads a DATE (answering days since 1970-01-01) or a DATETIME
// (microseconds since then), in the forms of readClock. A DATETIME with a zone
// is converted to the job's; its fraction is rounded half up to the digits of
// the type. A DATE is the date as it is written, whatever time and zone follow.
func parseTime(s []byte, t types.Type, r *rules) (int64, outcome) {
	if equalFold(s, "infinity") || len(s) > 0 && s[0] == '-' && equalFold(s[1:], "infinity") {
		return 0, outOfRange
	}
	c, ok := readClock(s, r)
	if !ok || !c.valid() {
		return 0, invalid
	}
	days := daysSinceEpoch(c.year, c.month, c.day)
	if t.Kind == types.Date {
		return days, inYears(days)
	}
	micros := days*microsPerDay + int64(c.hour*3600+c.minute*60+c.second)*1e6 + roundFraction(c.fraction, t.Scale)
	if c.zone != nil {
		micros = toZone(fromZone(micros, c.zone), r.zone)
	}
	return micros, inYears(floorDiv(micros, microsPerDay))
}

// inYears holds days to the years 1 to 9999, which all readers of Parquet take.
func inYears(days int64) outcome {
	if days < firstDay || days > lastDay {
		return outOfRange
	}
	return good
}

var firstDay, lastDay = daysSinceEpoch(1, 1, 1), daysSinceEpoch(9999, 12, 31)

// toZone is the local time of an instant.
func toZone(instant int64, zone *time.Location) int64 {
	return instant + eastAt(instant, zone)
}

// fromZone is the instant of a local time: the first of two where clocks were
// set back, and where they were set forward over it, what it would have been.
func fromZone(local int64, zone *time.Location) int64 {
	const far = 15 * 3600 * 1e6 // more than any zone is from UTC
	before, after := eastAt(local-far, zone), eastAt(local+far, zone)
	if before != after && eastAt(local-before, zone) != before && eastAt(local-after, zone) == after {
		return local - after
	}
	return local - before
}

// eastAt is how far a zone is ahead of UTC at an instant, in microseconds.
func eastAt(instant int64, zone *time.Location) int64 {
	_, seconds := time.UnixMicro(instant).In(zone).Zone()
	return int64(seconds) * 1e6
}

// roundFraction is the microseconds of a written fraction of a second, rounded
// half up to scale digits.
func roundFraction(digits []byte, scale int) int64 {
	if len(digits) == 0 {
		return 0
	}
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
