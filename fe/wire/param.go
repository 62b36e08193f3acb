package wire

import (
	"fmt"
	"math"

	"shoal/fe/errno"
	"shoal/fe/literal"
)

// A paramType is how EXECUTE encodes a parameter.
type paramType struct {
	code     columnType
	unsigned bool
}

// decodeArgs reads the values of an EXECUTE: a bitmap of NULLs, types unless
// those of the last execution still hold, and the values that are neither NULL
// nor came ahead as long data.
func (p *prepared) decodeArgs(d *decoder) ([]literal.Value, error) {
	if p.longErr != nil {
		return nil, p.longErr
	}
	if p.params == 0 {
		return nil, d.err()
	}
	nulls := d.bytes(uint64(p.params+7) / 8)
	if d.uint8() == 1 {
		p.types = decodeTypes(d, p.params)
	}
	if err := d.err(); err != nil {
		p.types = nil
		return nil, err
	}
	if p.types == nil {
		return nil, errno.New(errno.WrongArguments, "Incorrect arguments to mysqld_stmt_execute: the first execution must name the parameters' types")
	}
	args := make([]literal.Value, p.params)
	for i := range args {
		data, long := p.longData[uint16(i)]
		switch {
		case long:
			args[i] = literal.String(string(data))
		case nulls[i/8]&(1<<(i%8)) != 0:
		default:
			var err error
			if args[i], err = decodeParam(d, p.types[i]); err != nil {
				return nil, err
			}
		}
	}
	return args, d.err()
}

func decodeTypes(d *decoder, n int) []paramType {
	const unsignedFlag = 0x80
	types := make([]paramType, n)
	for i := range types {
		types[i] = paramType{code: columnType(d.uint8()), unsigned: d.uint8()&unsignedFlag != 0}
	}
	return types
}

// decodeParam reads one value. What is missing shows in the decoder.
func decodeParam(d *decoder, t paramType) (literal.Value, error) {
	switch t.code {
	case typeNull:
		return literal.Null(), nil
	case typeTiny, typeShort, typeYear, typeLong, typeInt24, typeLongLong:
		return decodeInteger(d, t), nil
	case typeFloat:
		return literal.Float(float64(math.Float32frombits(d.uint32()))), nil
	case typeDouble:
		return literal.Float(math.Float64frombits(d.uint64())), nil
	case typeDecimal, typeNewDecimal:
		text := string(d.lenEncBytes())
		if err := d.err(); err != nil {
			return literal.Null(), err
		}
		return literal.Decimal(text)
	case typeDate:
		date, _ := decodeDate(d)
		return literal.Date(date), nil
	case typeDatetime, typeTimestamp:
		date, clock := decodeDate(d)
		return literal.DateTime(date + " " + clock), nil
	case typeTime:
		return literal.Time(decodeTime(d)), nil
	case typeVarchar, typeVarString, typeString, typeJSON, typeEnum, typeSet, typeBit, typeGeometry,
		typeTinyBlob, typeMediumBlob, typeLongBlob, typeBlob:
		return literal.String(string(d.lenEncBytes())), nil
	}
	return literal.Null(), errno.New(errno.WrongArguments, "Incorrect arguments to mysqld_stmt_execute: no parameter type %d", t.code)
}

func decodeInteger(d *decoder, t paramType) literal.Value {
	var u uint64
	var i int64
	switch t.code {
	case typeTiny:
		u = uint64(d.uint8())
		i = int64(int8(u))
	case typeShort, typeYear:
		u = uint64(d.uint16())
		i = int64(int16(u))
	case typeLong, typeInt24:
		u = uint64(d.uint32())
		i = int64(int32(u))
	case typeLongLong:
		u = d.uint64()
		i = int64(u)
	}
	if t.unsigned {
		return literal.Uint(u)
	}
	return literal.Int(i)
}

// decodeDate reads a date and time of day in its forms of 0, 4, 7 and 11
// bytes: what is left out is zero.
func decodeDate(d *decoder) (date, clock string) {
	v := decodeTemporal(d, 0, 4, 7, 11)
	date = fmt.Sprintf("%04d-%02d-%02d", v.uint16(), v.uint8(), v.uint8())
	clock = fmt.Sprintf("%02d:%02d:%02d", v.uint8(), v.uint8(), v.uint8())
	return date, clock + micros(v.uint32())
}

// decodeTime reads a duration in its forms of 0, 8 and 12 bytes.
func decodeTime(d *decoder) string {
	v := decodeTemporal(d, 0, 8, 12)
	sign := ""
	if v.uint8() != 0 {
		sign = "-"
	}
	hours := uint64(v.uint32())*24 + uint64(v.uint8())
	return fmt.Sprintf("%s%02d:%02d:%02d", sign, hours, v.uint8(), v.uint8()) + micros(v.uint32())
}

func micros(n uint32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(".%06d", n)
}

// decodeTemporal takes a value whose length byte must be one of sizes, and
// pads it with the zeros that were left out.
func decodeTemporal(d *decoder, sizes ...uint8) *decoder {
	size := d.uint8()
	for _, s := range sizes {
		if s == size {
			const longest = 12
			padded := make([]byte, longest)
			copy(padded, d.bytes(uint64(size)))
			return &decoder{rest: padded}
		}
	}
	d.failed = true
	return &decoder{}
}
