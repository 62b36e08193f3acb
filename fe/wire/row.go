package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// appendBinaryRow appends a row of the binary protocol. It fails on a cell
// which is not a text of its column's type.
func appendBinaryRow(b []byte, columns []column, cells [][]byte) ([]byte, error) {
	b = append(b, 0x00)
	nulls := len(b)
	b = append(b, make([]byte, (len(columns)+7+2)/8)...)
	for i, cell := range cells {
		if cell == nil || columns[i].code == typeNull {
			b[nulls+(i+2)/8] |= 1 << ((i + 2) % 8)
			continue
		}
		var err error
		if b, err = appendBinaryCell(b, &columns[i], cell); err != nil {
			return b, fmt.Errorf("column %q: %.80q is not a text of column type %d: %w", columns[i].name, cell, columns[i].code, err)
		}
	}
	return b, nil
}

func appendBinaryCell(b []byte, c *column, cell []byte) ([]byte, error) {
	switch c.code {
	case typeTiny:
		n, err := parseInteger(cell, 8)
		return append(b, byte(n)), err
	case typeShort:
		n, err := parseInteger(cell, 16)
		return binary.LittleEndian.AppendUint16(b, uint16(n)), err
	case typeLong:
		n, err := parseInteger(cell, 32)
		return binary.LittleEndian.AppendUint32(b, uint32(n)), err
	case typeLongLong:
		n, err := parseInteger(cell, 64)
		return binary.LittleEndian.AppendUint64(b, uint64(n)), err
	case typeFloat:
		f, err := strconv.ParseFloat(string(cell), 32)
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f))), err
	case typeDouble:
		f, err := strconv.ParseFloat(string(cell), 64)
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(f)), err
	case typeDate, typeDatetime:
		return appendBinaryDate(b, string(cell))
	case typeTime:
		return appendBinaryTime(b, string(cell))
	}
	return appendLenEncString(b, cell), nil
}

func parseInteger(cell []byte, bits int) (int64, error) {
	return strconv.ParseInt(string(cell), 10, bits)
}

// appendBinaryDate appends a date or datetime in the shortest of its forms of
// 0, 4, 7 and 11 bytes: what is zero at the end is left out.
func appendBinaryDate(b []byte, text string) ([]byte, error) {
	date, clock, hasClock := strings.Cut(text, " ")
	ymd, err := parseFields(date, "-", math.MaxUint16)
	if err != nil {
		return b, err
	}
	var hms [3]uint32
	var micros uint32
	if hasClock {
		if hms, micros, err = parseClock(clock); err != nil {
			return b, err
		}
	}
	value := binary.LittleEndian.AppendUint16(nil, uint16(ymd[0]))
	value = append(value, byte(ymd[1]), byte(ymd[2]), byte(hms[0]), byte(hms[1]), byte(hms[2]))
	value = binary.LittleEndian.AppendUint32(value, micros)
	n := 11
	switch {
	case micros != 0:
	case hms != [3]uint32{}:
		n = 7
	case ymd != [3]uint32{}:
		n = 4
	default:
		n = 0
	}
	return append(append(b, byte(n)), value[:n]...), nil
}

// appendBinaryTime appends a duration in its form of 0, 8 or 12 bytes.
func appendBinaryTime(b []byte, text string) ([]byte, error) {
	text, negative := strings.CutPrefix(text, "-")
	hms, micros, err := parseClock(text)
	if err != nil {
		return b, err
	}
	if hms == [3]uint32{} && micros == 0 {
		return append(b, 0), nil
	}
	value := []byte{0}
	if negative {
		value[0] = 1
	}
	value = binary.LittleEndian.AppendUint32(value, hms[0]/24)
	value = append(value, byte(hms[0]%24), byte(hms[1]), byte(hms[2]))
	if micros != 0 {
		value = binary.LittleEndian.AppendUint32(value, micros)
	}
	return append(append(b, byte(len(value))), value...), nil
}

// parseClock reads h:m:s with an optional fraction of up to 6 digits.
func parseClock(text string) (hms [3]uint32, micros uint32, err error) {
	whole, digits, _ := strings.Cut(text, ".")
	if hms, err = parseFields(whole, ":", math.MaxUint32); err != nil || digits == "" {
		return hms, 0, err
	}
	if len(digits) > 6 {
		return hms, 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseUint(digits+"000000"[len(digits):], 10, 32)
	return hms, uint32(n), err
}

// parseFields reads three numbers, the first of which is at most most and the
// others a byte.
func parseFields(text, separator string, most uint64) (fields [3]uint32, err error) {
	for i := range fields {
		part := text
		if i < 2 {
			var ok bool
			if part, text, ok = strings.Cut(text, separator); !ok {
				return fields, strconv.ErrSyntax
			}
		}
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return fields, err
		}
		if n > most {
			return fields, strconv.ErrRange
		}
		fields[i], most = uint32(n), math.MaxUint8
	}
	return fields, nil
}
