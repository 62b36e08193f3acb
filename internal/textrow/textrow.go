// Package textrow is the form in which query results cross from a backend to a
// frontend: rows of text cells exactly as MySQL's text protocol has them, each
// cell a length-encoded string or the byte 0xFB for NULL. So a frontend can
// hand a row on to a client without looking into it.
package textrow

import (
	"encoding/binary"
	"errors"
)

// null is MySQL's mark of a NULL cell.
const null = 0xFB

// ErrMalformed is data that is no sequence of rows.
var ErrMalformed = errors.New("malformed row data")

// Append appends one row to dst. A nil cell is NULL, an empty one is not.
func Append(dst []byte, cells [][]byte) []byte {
	for _, cell := range cells {
		if cell == nil {
			dst = append(dst, null)
			continue
		}
		dst = appendLength(dst, uint64(len(cell)))
		dst = append(dst, cell...)
	}
	return dst
}

func appendLength(dst []byte, n uint64) []byte {
	switch {
	case n < 251:
		return append(dst, byte(n))
	case n < 1<<16:
		return binary.LittleEndian.AppendUint16(append(dst, 0xFC), uint16(n))
	case n < 1<<24:
		return append(dst, 0xFD, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint64(append(dst, 0xFE), n)
}

// Next reads one row of len(cells) cells from data into cells and returns what
// is left. Cells point into data.
func Next(data []byte, cells [][]byte) (rest []byte, err error) {
	for i := range cells {
		if len(data) == 0 {
			return nil, ErrMalformed
		}
		if data[0] == null {
			cells[i], data = nil, data[1:]
			continue
		}
		n, size := length(data)
		if size == 0 || uint64(len(data)-size) < n {
			return nil, ErrMalformed
		}
		end := size + int(n)
		cells[i], data = data[size:end:end], data[end:]
	}
	return data, nil
}

// length reads a length-encoded integer and how many bytes it takes, 0 if data
// does not begin with a whole one.
func length(data []byte) (n uint64, size int) {
	switch first := data[0]; {
	case first < 251:
		return uint64(first), 1
	case first == 0xFC && len(data) >= 3:
		return uint64(binary.LittleEndian.Uint16(data[1:])), 3
	case first == 0xFD && len(data) >= 4:
		return uint64(data[1]) | uint64(data[2])<<8 | uint64(data[3])<<16, 4
	case first == 0xFE && len(data) >= 9:
		return binary.LittleEndian.Uint64(data[1:]), 9
	}
	return 0, 0
}
