package wire

import (
	"encoding/binary"
	"fmt"

	"shoal/fe/result"
	"shoal/sql/types"
)

// A columnType is MySQL's code for the type of a column or parameter.
type columnType uint8

const (
	typeDecimal    columnType = 0
	typeTiny       columnType = 1
	typeShort      columnType = 2
	typeLong       columnType = 3
	typeFloat      columnType = 4
	typeDouble     columnType = 5
	typeNull       columnType = 6
	typeTimestamp  columnType = 7
	typeLongLong   columnType = 8
	typeInt24      columnType = 9
	typeDate       columnType = 10
	typeTime       columnType = 11
	typeDatetime   columnType = 12
	typeYear       columnType = 13
	typeVarchar    columnType = 15
	typeBit        columnType = 16
	typeJSON       columnType = 245
	typeNewDecimal columnType = 246
	typeEnum       columnType = 247
	typeSet        columnType = 248
	typeTinyBlob   columnType = 249
	typeMediumBlob columnType = 250
	typeLongBlob   columnType = 251
	typeBlob       columnType = 252
	typeVarString  columnType = 253
	typeString     columnType = 254
	typeGeometry   columnType = 255
)

// Flags of a column definition.
const (
	flagBlob   uint16 = 16
	flagBinary uint16 = 128
)

// Collation ids of column definitions.
const (
	charsetUTF8MB4 uint16 = 45 // utf8mb4_general_ci, also the greeting's
	charsetBinary  uint16 = 63 // numbers, dates, bytes
)

// A column is a column definition, as clients see it. They choose their own
// types by it, and the binary protocol its encoding.
type column struct {
	name     string
	code     columnType
	charset  uint16
	length   uint32 // in bytes, of the longest text
	flags    uint16
	decimals uint8 // digits after the point; anyDecimals is "as many as it takes"
}

const anyDecimals = 31

func number(name string, code columnType, length, decimals int) column {
	return column{name: name, code: code, charset: charsetBinary, length: uint32(length), decimals: uint8(decimals)}
}

func text(name string, code columnType, chars int) column {
	const maxCharBytes = 4
	return column{name: name, code: code, charset: charsetUTF8MB4, length: uint32(maxCharBytes * chars)}
}

const (
	unknownChars  = 255 // length of a text without a limit
	largeIntChars = 40
	timeDigits    = 6 // a TIME may come with any fraction
)

// defineAll makes the definitions of a result's columns.
func defineAll(columns []result.Column) ([]column, error) {
	defined := make([]column, len(columns))
	for i, c := range columns {
		var err error
		if defined[i], err = define(c); err != nil {
			return nil, fmt.Errorf("handler: column %q: %w", c.Name, err)
		}
	}
	return defined, nil
}

// define makes the definition of a result's column. It follows Doris, except
// where drivers read more out of MySQL's ways: VARCHAR is not CHAR, lengths
// are real, and text has a text's character set, since drivers make bytes of
// anything else.
func define(c result.Column) (column, error) {
	switch c.Type {
	case "time":
		return number(c.Name, typeTime, len("-838:59:59")+fraction(timeDigits), timeDigits), nil
	case "blob":
		return column{name: c.Name, code: typeVarString, charset: charsetBinary, length: unknownChars, flags: flagBinary}, nil
	case "null":
		return number(c.Name, typeNull, 0, 0), nil
	}
	t, err := types.Parse(c.Type)
	if err != nil {
		return column{}, err
	}
	return defineTyped(c.Name, t), nil
}

func defineTyped(name string, t types.Type) column {
	switch t.Kind {
	case types.Boolean:
		// JDBC drivers make a boolean of exactly TINY with length 1, and bytes
		// of it if it had the BINARY flag.
		return number(name, typeTiny, 1, 0)
	case types.TinyInt:
		return number(name, typeTiny, 4, 0)
	case types.SmallInt:
		return number(name, typeShort, 6, 0)
	case types.Int:
		return number(name, typeLong, 11, 0)
	case types.BigInt:
		return number(name, typeLongLong, 20, 0)
	case types.LargeInt:
		return text(name, typeString, largeIntChars)
	case types.Float:
		return number(name, typeFloat, 12, anyDecimals)
	case types.Double:
		return number(name, typeDouble, 22, anyDecimals)
	case types.Decimal:
		return number(name, typeNewDecimal, decimalLength(t), t.Scale)
	case types.Date:
		return number(name, typeDate, len("2006-01-02"), 0)
	case types.DateTime:
		return number(name, typeDatetime, len("2006-01-02 15:04:05")+fraction(t.Scale), t.Scale)
	case types.Char:
		return text(name, typeString, t.Length)
	case types.VarChar:
		return text(name, typeVarString, t.Length)
	case types.JSON, types.Variant:
		return text(name, typeJSON, unknownChars)
	}
	c := text(name, typeBlob, unknownChars)
	c.flags = flagBlob // with a text's character set: TEXT
	return c
}

// decimalLength counts the digits, a sign and perhaps a point.
func decimalLength(t types.Type) int {
	if t.Scale > 0 {
		return t.Precision + 2
	}
	return t.Precision + 1
}

// fraction is the length of a point and digits behind it.
func fraction(digits int) int {
	if digits == 0 {
		return 0
	}
	return digits + 1
}

// appendDefinition appends the column definition packet's payload. Database
// and table are not known here and stay empty.
func (c column) appendDefinition(b []byte) []byte {
	b = appendLenEncString(b, "def")
	b = append(b, 0, 0, 0) // database, table, original table
	b = appendLenEncString(b, c.name)
	b = append(b, 0)    // original name
	b = append(b, 0x0c) // length of what follows
	b = binary.LittleEndian.AppendUint16(b, c.charset)
	b = binary.LittleEndian.AppendUint32(b, c.length)
	b = append(b, byte(c.code))
	b = binary.LittleEndian.AppendUint16(b, c.flags)
	return append(b, c.decimals, 0, 0)
}
