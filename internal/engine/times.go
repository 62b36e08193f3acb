package engine

import (
	"time"

	"shoal/internal/engine/native"
)

// time returns what makes text of a date, a time or both.
func (w writer) time(name string) appendFunc {
	read, layout, digits := timestamps[name], time.DateTime, w.digits()
	switch name {
	case "DATE":
		layout, digits = time.DateOnly, 0
	case "TIME", "TIME_NS", "TIMETZ":
		layout = time.TimeOnly
	}
	zone := time.UTC
	if name == "TIMESTAMPTZ" {
		zone = w.zone
	}
	return func(b []byte, v *native.Vector, row int) ([]byte, error) {
		t := read(v, row).In(zone)
		return appendFraction(t.AppendFormat(b, layout), t, digits), nil
	}
}

// timestamps are how dates and times are kept: as a number since 1970, or
// since midnight.
var timestamps = map[string]func(v *native.Vector, row int) time.Time{
	"DATE": func(v *native.Vector, row int) time.Time {
		return time.Unix(int64(native.At[int32](v, row))*24*60*60, 0)
	},
	"TIME":    unixMicro,
	"TIME_NS": unixNano,
	"TIMETZ": func(v *native.Vector, row int) time.Time {
		return time.UnixMicro(int64(native.At[uint64](v, row) >> 24))
	}, // above its zone
	"TIMESTAMP":    unixMicro,
	"TIMESTAMP_S":  func(v *native.Vector, row int) time.Time { return time.Unix(native.At[int64](v, row), 0) },
	"TIMESTAMP_MS": func(v *native.Vector, row int) time.Time { return time.UnixMilli(native.At[int64](v, row)) },
	"TIMESTAMP_NS": unixNano,
	"TIMESTAMPTZ":  unixMicro,
}

func unixMicro(v *native.Vector, row int) time.Time { return time.UnixMicro(native.At[int64](v, row)) }

func unixNano(v *native.Vector, row int) time.Time { return time.Unix(0, native.At[int64](v, row)) }

// appendFraction writes the digits of a second behind the point; -1 of them
// are six, unless there is nothing to write.
func appendFraction(b []byte, t time.Time, digits int) []byte {
	micros := t.Nanosecond() / 1000
	if digits < 0 && micros != 0 {
		digits = 6
	}
	if digits <= 0 {
		return b
	}
	b = append(b, ".000000"[:1+digits]...)
	for i, unit := 0, 100_000; i < digits; i, unit = i+1, unit/10 {
		b[len(b)-digits+i] += byte(micros / unit % 10)
	}
	return b
}
