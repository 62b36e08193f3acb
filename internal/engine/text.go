package engine

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"shoal/internal/engine/native"
	"shoal/sql/types"
)

// appendFunc appends the text of a row, which is not NULL, to b.
type appendFunc func(b []byte, v *native.Vector, row int) ([]byte, error)

// writer makes text of values as MySQL's text protocol has it. Values of a
// column of a table have its declared type, all others the zero Type.
type writer struct {
	zone     *time.Location
	declared types.Type
}

// digits is how many of the second are written; -1 is as many as there are:
// none or six.
func (w writer) digits() int {
	if w.declared.Kind == types.DateTime {
		return w.declared.Scale
	}
	return -1
}

// part is the writer of a part of a value.
func (w writer) part(i int) writer {
	parts := w.declared.Parts()
	w.declared = types.Type{}
	if i < len(parts) {
		w.declared = parts[i].Type
	}
	return w
}

// text returns what makes text of a type, nil if nothing can.
func (w writer) text(t native.Type) appendFunc {
	if f, ok := scalars[t.Name]; ok {
		return f
	}
	switch t.Name {
	case "DECIMAL":
		return appendDecimal(t.Scale)
	case "DATE", "TIME", "TIME_NS", "TIMETZ", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ":
		return w.time(t.Name)
	}
	return w.nested(t)
}

// scalars are the types whose text is the same everywhere.
var scalars = map[string]appendFunc{
	"NULL":    func(b []byte, _ *native.Vector, _ int) ([]byte, error) { return b, nil },
	"BOOLEAN": appendBoolean,
	"TINYINT": appendSigned[int8], "SMALLINT": appendSigned[int16], "INTEGER": appendSigned[int32], "BIGINT": appendSigned[int64],
	"UTINYINT": appendUnsigned[uint8], "USMALLINT": appendUnsigned[uint16], "UINTEGER": appendUnsigned[uint32], "UBIGINT": appendUnsigned[uint64],
	"HUGEINT": appendHugeInt, "UHUGEINT": appendUHugeInt, "BIGNUM": appendBigNum,
	"FLOAT": appendFloat32, "DOUBLE": appendFloat64,
	"VARCHAR": appendBytes, "BLOB": appendBytes, "GEOMETRY": appendBytes, "BIT": appendBit, "UUID": appendUUID, "ENUM": appendWord,
	"JSON": appendJSON, "INTERVAL": appendInterval,
}

func appendBoolean(b []byte, v *native.Vector, row int) ([]byte, error) {
	if native.At[bool](v, row) {
		return append(b, '1'), nil
	}
	return append(b, '0'), nil
}

func appendSigned[T int8 | int16 | int32 | int64](b []byte, v *native.Vector, row int) ([]byte, error) {
	return strconv.AppendInt(b, int64(native.At[T](v, row)), 10), nil
}

func appendUnsigned[T uint8 | uint16 | uint32 | uint64](b []byte, v *native.Vector, row int) ([]byte, error) {
	return strconv.AppendUint(b, uint64(native.At[T](v, row)), 10), nil
}

func appendHugeInt(b []byte, v *native.Vector, row int) ([]byte, error) {
	return appendInteger(b, native.At[native.HugeInt](v, row)), nil
}

func appendInteger(b []byte, h native.HugeInt) []byte {
	if n, ok := h.Int64(); ok {
		return strconv.AppendInt(b, n, 10)
	}
	return h.Big().Append(b, 10)
}

// appendSum is appendHugeInt for whole columns, which are described as BIGINT.
func appendSum(b []byte, v *native.Vector, row int) ([]byte, error) {
	h := native.At[native.HugeInt](v, row)
	if _, ok := h.Int64(); !ok {
		return nil, &Error{Kind: Failed, Msg: "BIGINT value is out of range: " + h.Big().String()}
	}
	return appendInteger(b, h), nil
}

func appendUHugeInt(b []byte, v *native.Vector, row int) ([]byte, error) {
	halves := native.At[[2]uint64](v, row) // the lower one first
	n := new(big.Int).SetUint64(halves[1])
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(halves[0])).Append(b, 10), nil
}

// appendBigNum writes an integer of any size. It is kept as a head of 3 bytes,
// whose first bit is set unless the number is below 0, and the absolute value,
// highest byte first; all bits of a number below 0 are inverted.
func appendBigNum(b []byte, v *native.Vector, row int) ([]byte, error) {
	const head = 3
	kept := slices.Clone(v.Bytes(row))
	negative := kept[0]&0x80 == 0
	if negative {
		for i := range kept {
			kept[i] = ^kept[i]
		}
		b = append(b, '-')
	}
	return new(big.Int).SetBytes(kept[head:]).Append(b, 10), nil
}

func appendFloat32(b []byte, v *native.Vector, row int) ([]byte, error) {
	return appendFloat(b, float64(native.At[float32](v, row)), 32), nil
}

func appendFloat64(b []byte, v *native.Vector, row int) ([]byte, error) {
	return appendFloat(b, native.At[float64](v, row), 64), nil
}

// appendFloat writes the shortest text that reads back as f, with an exponent
// where MySQL has one.
func appendFloat(b []byte, f float64, bits int) []byte {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	case abs != 0 && (abs < 1e-15 || abs >= 1e15):
		text := strconv.FormatFloat(f, 'e', -1, bits)
		text = strings.Replace(text, "e+0", "e", 1)
		return append(b, strings.Replace(text, "e+", "e", 1)...)
	}
	return strconv.AppendFloat(b, f, 'f', -1, bits)
}

// appendDecimal writes all digits of the scale.
func appendDecimal(scale int) appendFunc {
	return func(b []byte, v *native.Vector, row int) ([]byte, error) {
		first := len(b)
		b = appendInteger(b, v.Unscaled(row))
		if scale == 0 {
			return b, nil
		}
		if b[first] == '-' {
			first++
		}
		for len(b)-first <= scale {
			b = slices.Insert(b, first, '0')
		}
		return slices.Insert(b, len(b)-scale, '.'), nil
	}
}

func appendBytes(b []byte, v *native.Vector, row int) ([]byte, error) {
	return append(b, v.Bytes(row)...), nil
}

// appendBit writes bits as 0 and 1. They are kept highest first, behind a byte
// that tells how many bits of the next are not used.
func appendBit(b []byte, v *native.Vector, row int) ([]byte, error) {
	kept := v.Bytes(row)
	for i := int(kept[0]); i < 8*(len(kept)-1); i++ {
		b = append(b, '0'+kept[1+i/8]>>(7-i%8)&1)
	}
	return b, nil
}

// appendUUID writes an UUID, which is kept with its first bit inverted.
func appendUUID(b []byte, v *native.Vector, row int) ([]byte, error) {
	h := native.At[native.HugeInt](v, row)
	var id [16]byte
	for i := range 8 {
		id[i] = byte(uint64(h.Upper) >> (56 - 8*i))
		id[8+i] = byte(h.Lower >> (56 - 8*i))
	}
	id[0] ^= 0x80
	for i, part := range [][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return b, nil
}

func appendWord(b []byte, v *native.Vector, row int) ([]byte, error) {
	return append(b, v.Word(row)...), nil
}

// appendInterval writes an interval as MySQL's TIME; months count 30 days.
func appendInterval(b []byte, v *native.Vector, row int) ([]byte, error) {
	i := native.At[native.Interval](v, row)
	micros := (int64(i.Months)*30+int64(i.Days))*24*int64(time.Hour/time.Microsecond) + i.Micros
	if micros < 0 {
		b, micros = append(b, '-'), -micros
	}
	seconds := micros / 1_000_000
	b = fmt.Appendf(b, "%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if fraction := micros % 1_000_000; fraction != 0 {
		b = fmt.Appendf(b, ".%06d", fraction)
	}
	return b, nil
}
