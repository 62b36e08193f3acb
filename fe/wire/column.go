package wire

import "encoding/binary"

// A ColumnType is MySQL's code for the type of a column or parameter.
type ColumnType uint8

const (
	TypeDecimal    ColumnType = 0
	TypeTiny       ColumnType = 1
	TypeShort      ColumnType = 2
	TypeLong       ColumnType = 3
	TypeFloat      ColumnType = 4
	TypeDouble     ColumnType = 5
	TypeNull       ColumnType = 6
	TypeTimestamp  ColumnType = 7
	TypeLongLong   ColumnType = 8
	TypeInt24      ColumnType = 9
	TypeDate       ColumnType = 10
	TypeTime       ColumnType = 11
	TypeDatetime   ColumnType = 12
	TypeYear       ColumnType = 13
	TypeVarchar    ColumnType = 15
	TypeBit        ColumnType = 16
	TypeJSON       ColumnType = 245
	TypeNewDecimal ColumnType = 246
	TypeEnum       ColumnType = 247
	TypeSet        ColumnType = 248
	TypeTinyBlob   ColumnType = 249
	TypeMediumBlob ColumnType = 250
	TypeLongBlob   ColumnType = 251
	TypeBlob       ColumnType = 252
	TypeVarString  ColumnType = 253
	TypeString     ColumnType = 254
	TypeGeometry   ColumnType = 255
)

// Flags of a column definition.
const (
	FlagNotNull  uint16 = 1
	FlagPriKey   uint16 = 2
	FlagBlob     uint16 = 16
	FlagUnsigned uint16 = 32
	FlagBinary   uint16 = 128
)

// Collation ids of column definitions.
const (
	charsetUTF8MB4 uint16 = 45 // utf8mb4_general_ci, also the greeting's
	charsetBinary  uint16 = 63 // numbers, dates, bytes
)

// A Column is the definition of a result's column, as clients see it. Make one
// by the function for its SQL type and set names and flags afterwards.
type Column struct {
	Schema   string // database, empty for expressions
	Table    string // alias of the table
	OrgTable string // its real name
	Name     string // label of the column
	OrgName  string // its real name
	Type     ColumnType
	Charset  uint16
	Length   uint32 // in bytes, of the longest text
	Flags    uint16
	Decimals uint8 // digits after the point; 31 is "as many as it takes"
}

func numeric(name string, t ColumnType, length uint32, decimals uint8) Column {
	return Column{Name: name, Type: t, Charset: charsetBinary, Length: length, Decimals: decimals, Flags: FlagBinary}
}

func textual(name string, t ColumnType, chars uint32) Column {
	const maxChars = 1 << 30 // times 4 bytes would pass the field's end
	return Column{Name: name, Type: t, Charset: charsetUTF8MB4, Length: 4 * min(chars, maxChars-1)}
}

// unknownChars is the length of a text whose limit is not known.
const unknownChars = 255

// Boolean is a TINY of length 1: JDBC drivers make a boolean of exactly that.
// Cells are 1 and 0.
func Boolean(name string) Column { return numeric(name, TypeTiny, 1, 0) }

// TinyInt, SmallInt, Int and BigInt are the signed integers of 1, 2, 4 and 8
// bytes.
func TinyInt(name string) Column  { return numeric(name, TypeTiny, 4, 0) }
func SmallInt(name string) Column { return numeric(name, TypeShort, 6, 0) }
func Int(name string) Column      { return numeric(name, TypeLong, 11, 0) }
func BigInt(name string) Column   { return numeric(name, TypeLongLong, 20, 0) }

// LargeInt is the integer of 16 bytes: text, as in Doris.
func LargeInt(name string) Column { return textual(name, TypeString, 40) }

// Float and Double have as many digits as read back the same.
func Float(name string) Column  { return numeric(name, TypeFloat, 12, 31) }
func Double(name string) Column { return numeric(name, TypeDouble, 22, 31) }

// Decimal has precision digits, scale of them after the point.
func Decimal(name string, precision, scale uint8) Column {
	length := uint32(precision) + 1 // the sign
	if scale > 0 {
		length++ // the point
	}
	return numeric(name, TypeNewDecimal, length, scale)
}

// Date cells are 2006-01-02.
func Date(name string) Column { return numeric(name, TypeDate, 10, 0) }

// DateTime cells are 2006-01-02 15:04:05 with digits (0 to 6) after a point.
func DateTime(name string, digits uint8) Column {
	return numeric(name, TypeDatetime, 19+fraction(digits), digits)
}

// Time cells are [-]15:04:05 with digits (0 to 6) after a point.
func Time(name string, digits uint8) Column {
	return numeric(name, TypeTime, 10+fraction(digits), digits)
}

func fraction(digits uint8) uint32 {
	if digits == 0 {
		return 0
	}
	return uint32(digits) + 1
}

// Char and Varchar hold up to chars characters; 0 is an unknown number.
func Char(name string, chars uint32) Column    { return textual(name, TypeString, orUnknown(chars)) }
func Varchar(name string, chars uint32) Column { return textual(name, TypeVarString, orUnknown(chars)) }

func orUnknown(chars uint32) uint32 {
	if chars == 0 {
		return unknownChars
	}
	return chars
}

// String is text without limit: with the BLOB flag and a text's charset,
// drivers make TEXT of it and not bytes.
func String(name string) Column {
	c := textual(name, TypeBlob, unknownChars)
	c.Flags = FlagBlob
	return c
}

// JSON is JSON text. MySQL says charset binary here, of which some drivers
// make bytes.
func JSON(name string) Column { return textual(name, TypeJSON, unknownChars) }

// Nested is an array, map or struct in its text form.
func Nested(name string) Column { return textual(name, TypeString, unknownChars) }

// Binary is bytes without limit.
func Binary(name string) Column {
	return Column{Name: name, Type: TypeVarString, Charset: charsetBinary, Length: unknownChars, Flags: FlagBinary}
}

// Null is the type of the literal NULL; all its cells must be NULL.
func Null(name string) Column { return numeric(name, TypeNull, 0, 0) }

// Unsigned is the unsigned form of an integer column.
func (c Column) Unsigned() Column {
	c.Flags |= FlagUnsigned
	switch c.Type {
	case TypeTiny:
		c.Length = 3
	case TypeShort:
		c.Length = 5
	case TypeLong:
		c.Length = 10
	}
	return c
}

// appendDefinition appends the column definition packet's payload.
func (c Column) appendDefinition(b []byte) []byte {
	b = appendLenEncString(b, "def")
	for _, s := range []string{c.Schema, c.Table, c.OrgTable, c.Name, c.OrgName} {
		b = appendLenEncString(b, s)
	}
	b = append(b, 0x0c) // length of what follows
	b = binary.LittleEndian.AppendUint16(b, c.Charset)
	b = binary.LittleEndian.AppendUint32(b, c.Length)
	b = append(b, byte(c.Type))
	b = binary.LittleEndian.AppendUint16(b, c.Flags)
	return append(b, c.Decimals, 0, 0)
}
