package native

import (
	"math/big"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Vector is a column of a chunk, or a part of one. Rows are counted from 0;
// methods other than Null are for rows that are not NULL.
type Vector struct {
	typ      Type
	data     unsafe.Pointer
	validity unsafe.Pointer // a bit for each row, nil if none is NULL
	// parts are the vectors of the type's fields. Those of a LIST, an ARRAY and
	// a MAP have rows of their own; see Elements.
	parts []Vector
	tag   *Vector // of a UNION: which member
}

func newVector(t Type) Vector {
	v := Vector{typ: t, parts: make([]Vector, len(t.Fields))}
	for i, field := range t.Fields {
		v.parts[i] = newVector(field.Type)
	}
	if t.Name == "UNION" {
		v.tag = &Vector{}
	}
	return v
}

// point points at the memory of a chunk's vector.
func (v *Vector) point(at bindings.Vector) {
	v.data, v.validity = bindings.VectorGetData(at), bindings.VectorGetValidity(at)
	switch v.typ.Name {
	case "LIST":
		v.parts[0].point(bindings.ListVectorGetChild(at))
	case "ARRAY":
		v.parts[0].point(bindings.ArrayVectorGetChild(at))
	case "MAP":
		v.pointParts(bindings.ListVectorGetChild(at), 0)
	case "STRUCT":
		v.pointParts(at, 0)
	case "UNION":
		v.tag.point(bindings.StructVectorGetChild(at, 0))
		v.pointParts(at, 1)
	}
}

// pointParts points the parts at the children of a struct, from one on.
func (v *Vector) pointParts(at bindings.Vector, from int) {
	for i := range v.parts {
		v.parts[i].point(bindings.StructVectorGetChild(at, bindings.IdxT(from+i)))
	}
}

// Null tells whether a row is NULL.
func (v *Vector) Null(row int) bool {
	if v.validity == nil {
		return false
	}
	word := *(*uint64)(unsafe.Add(v.validity, row/64*8))
	return word>>(row%64)&1 == 0
}

// At is a row of a vector whose rows are of fixed size and kept as T: numbers,
// and dates and times, which are numbers of days, microseconds and so on.
func At[T any](v *Vector, row int) T {
	var size T
	return *(*T)(unsafe.Add(v.data, uintptr(row)*unsafe.Sizeof(size)))
}

// inlined is the length up to which a text lies in the vector itself.
const inlined = 12

// Bytes is a row of a VARCHAR, JSON, BLOB, GEOMETRY, BIT or BIGNUM. It is
// DuckDB's memory: not to be written, gone with the chunk.
func (v *Vector) Bytes(row int) []byte {
	// A length of 4 bytes, then 12 bytes of text, or 4 of them and where it is.
	text := unsafe.Add(v.data, row*16)
	length := *(*uint32)(text)
	if length <= inlined {
		return unsafe.Slice((*byte)(unsafe.Add(text, 4)), length)
	}
	return unsafe.Slice(*(**byte)(unsafe.Add(text, 8)), length)
}

// Elements tells which rows of the parts belong to a row of a LIST, an ARRAY
// or a MAP: count of them, from first on.
func (v *Vector) Elements(row int) (first, count int) {
	if v.typ.Name == "ARRAY" {
		return row * v.typ.Size, v.typ.Size
	}
	entry := At[struct{ offset, length uint64 }](v, row)
	return int(entry.offset), int(entry.length)
}

// Part is the vector of the type's field of that number.
func (v *Vector) Part(i int) *Vector { return &v.parts[i] }

// Member is the number of the member that a row of a UNION has.
func (v *Vector) Member(row int) int { return int(At[uint8](v.tag, row)) }

// Word is a row of an ENUM.
func (v *Vector) Word(row int) string {
	switch v.typ.storage {
	case bindings.TypeUTinyInt:
		return v.typ.Words[At[uint8](v, row)]
	case bindings.TypeUSmallInt:
		return v.typ.Words[At[uint16](v, row)]
	}
	return v.typ.Words[At[uint32](v, row)]
}

// Unscaled is a row of a DECIMAL without the point.
func (v *Vector) Unscaled(row int) HugeInt {
	var n int64
	switch v.typ.storage {
	case bindings.TypeSmallInt:
		n = int64(At[int16](v, row))
	case bindings.TypeInteger:
		n = int64(At[int32](v, row))
	case bindings.TypeBigInt:
		n = At[int64](v, row)
	default:
		return At[HugeInt](v, row)
	}
	return HugeInt{Lower: uint64(n), Upper: n >> 63}
}

// HugeInt is an integer of 128 bits in two's complement, as DuckDB keeps it.
type HugeInt struct {
	Lower uint64
	Upper int64
}

// Int64 is h, if it fits.
func (h HugeInt) Int64() (n int64, fits bool) {
	n = int64(h.Lower)
	return n, n>>63 == h.Upper
}

// Big is h.
func (h HugeInt) Big() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(h.Upper), 64)
	return n.Add(n, new(big.Int).SetUint64(h.Lower))
}

// Interval is a row of an INTERVAL.
type Interval struct {
	Months, Days int32
	Micros       int64
}
