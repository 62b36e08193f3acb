// Package types has the column types that a Shoal table can have: Doris's
// names and limits for them, what DuckDB and Parquet store for each, and the
// words that MySQL clients read in information_schema.
//
// A Type is a plain comparable value, nested ones too: what they are made of is
// kept as its spelling and read when asked for. The package holds no state,
// starts nothing and knows neither values nor tables.
package types

import (
	"fmt"
	"strings"
)

// Kind is the family of a column type. Its numbers are not stored anywhere;
// a type is stored and sent by its spelling, see Type.String and Parse.
type Kind uint8

// The kinds of columns. Invalid is the zero value and no column has it.
const (
	Invalid Kind = iota
	Boolean
	TinyInt
	SmallInt
	Int
	BigInt
	LargeInt
	Float
	Double
	Decimal
	Date
	DateTime
	Char
	VarChar
	String
	JSON
	Variant
	Array
	Map
	Struct
)

// Limits of the parameters of types, as in Doris's CREATE TABLE page.
const (
	MaxDecimalPrecision = 38
	MaxDateTimeScale    = 6
	MaxCharLength       = 255
	MaxVarCharLength    = 65533
)

// family is what is fixed for all types of one kind.
type family struct {
	name     string // Doris's spelling, lower case
	duckDB   string // storage type; empty if it depends on the parameters
	dataType string // information_schema.COLUMNS.DATA_TYPE
	column   string // COLUMN_TYPE; empty if it is the spelling of the type
}

var families = map[Kind]family{
	Boolean:  {"boolean", "BOOLEAN", "tinyint", "tinyint(1)"},
	TinyInt:  {"tinyint", "INTEGER", "tinyint", "tinyint(4)"},
	SmallInt: {"smallint", "INTEGER", "smallint", "smallint(6)"},
	Int:      {"int", "INTEGER", "int", "int(11)"},
	BigInt:   {"bigint", "BIGINT", "bigint", "bigint(20)"},
	LargeInt: {"largeint", "DECIMAL(38,0)", "bigint unsigned", "bigint(20) unsigned"},
	Float:    {"float", "FLOAT", "float", ""},
	Double:   {"double", "DOUBLE", "double", ""},
	Decimal:  {"decimal", "", "decimal", ""},
	Date:     {"date", "DATE", "date", ""},
	DateTime: {"datetime", "TIMESTAMP", "datetime", ""},
	Char:     {"char", "VARCHAR", "char", ""},
	VarChar:  {"varchar", "VARCHAR", "varchar", ""},
	String:   {"text", "VARCHAR", "text", ""},
	JSON:     {"json", "VARCHAR", "json", ""},
	Variant:  {"variant", "VARCHAR", "variant", ""},
	Array:    {"array", "", "array", ""},
	Map:      {"map", "", "map", ""},
	Struct:   {"struct", "", "struct", ""},
}

// String returns the Doris name of the kind in small letters.
func (k Kind) String() string {
	if f, ok := families[k]; ok {
		return f.name
	}
	return "invalid"
}

// Type is a column type. Only the parameters of its kind are set: Precision
// and Scale of Decimal, Scale (digits of the second) of DateTime, Length (in
// bytes, as Doris counts) of Char and VarChar; what Array, Map and Struct are
// made of is told by Parts.
type Type struct {
	Kind      Kind
	Precision int
	Scale     int
	Length    int
	parts     string // between < and >, as String prints it
}

// String returns the type as Doris's SHOW CREATE TABLE spells it, which Parse
// reads back to the same Type. STRING is spelled text, as Doris has it.
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case Char, VarChar:
		return fmt.Sprintf("%s(%d)", t.Kind, t.Length)
	case DateTime:
		if t.Scale > 0 {
			return fmt.Sprintf("datetime(%d)", t.Scale)
		}
	case Array, Map, Struct:
		return t.Kind.String() + "<" + t.parts + ">"
	}
	return t.Kind.String()
}

// DuckDB returns the DuckDB type that stores the column, and so its Parquet
// type: no small and no 128-bit integers, because readers of Parquet disagree
// about them.
func (t Type) DuckDB() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case Array, Map, Struct:
		return t.nestedDuckDB()
	}
	return families[t.Kind].duckDB
}

// DataType returns the word of information_schema.COLUMNS.DATA_TYPE.
func (t Type) DataType() string { return families[t.Kind].dataType }

// ColumnType returns the text of information_schema.COLUMNS.COLUMN_TYPE.
func (t Type) ColumnType() string {
	if c := families[t.Kind].column; c != "" {
		return c
	}
	return t.String()
}

// IntegerBits returns the width of an integer type in bits, 0 for a type that
// is no integer. The storage type may be wider: range checks use this one.
func (t Type) IntegerBits() int {
	switch t.Kind {
	case TinyInt:
		return 8
	case SmallInt:
		return 16
	case Int:
		return 32
	case BigInt:
		return 64
	case LargeInt:
		return 128
	}
	return 0
}

// aliases are the spellings that New accepts, without parameters.
var aliases = map[string]Kind{
	"boolean": Boolean, "bool": Boolean,
	"tinyint": TinyInt, "smallint": SmallInt, "int": Int, "integer": Int, "bigint": BigInt, "largeint": LargeInt,
	"float": Float, "double": Double,
	"decimal": Decimal, "decimalv3": Decimal, "numeric": Decimal,
	"date": Date, "datev2": Date, "datetime": DateTime, "datetimev2": DateTime, "timestamp": DateTime,
	"char": Char, "character": Char, "varchar": VarChar, "string": String, "text": String,
	"json": JSON, "jsonb": JSON, "variant": Variant,
	"array": Array, "map": Map, "struct": Struct, // with parts: Parse reads them
}

// addresses are types that DuckDB and Parquet have only as text, which neither
// sorts nor compares as they do.
var addresses = map[string]string{"ipv4": "VARCHAR(15)", "ipv6": "VARCHAR(39)"}

// foreign are types that Doris or MySQL have and Shoal does not, so that the
// message can tell a missing type from a misspelled one.
var foreign = map[string]bool{
	"bitmap": true, "hll": true, "quantile_state": true,
	"agg_state": true, "varbinary": true, "binary": true, "blob": true, "time": true,
	"year": true, "enum": true, "set": true, "bit": true, "mediumint": true, "decimalv2": true,
	"tinytext": true, "mediumtext": true, "longtext": true, "tinyblob": true, "mediumblob": true, "longblob": true,
}

// New makes the type called name (any case) with the parameters that stood in
// parentheses after it. Absent ones get Doris's defaults: decimal is
// decimal(38,9), datetime has no fraction, char is char(1), varchar is as
// long as varchar can be. The display width of an integer, as in int(11), is
// accepted and dropped. The error says what is allowed.
func New(name string, params ...int) (Type, error) {
	lower := strings.ToLower(name)
	kind, ok := aliases[lower]
	switch instead := addresses[lower]; {
	case instead != "":
		return Type{}, fmt.Errorf("column type %s is not supported: Parquet has no such type; declare it %s", strings.ToUpper(name), instead)
	case foreign[lower]:
		return Type{}, fmt.Errorf("column type %s is not supported yet", strings.ToUpper(name))
	case !ok:
		return Type{}, fmt.Errorf("unknown column type %q", name)
	case forms[kind] != "":
		return Type{}, fmt.Errorf("%s needs its parts: %s", strings.ToUpper(name), forms[kind])
	}
	if most := maxParams(kind); len(params) > most {
		return Type{}, fmt.Errorf("%s takes at most %d parameter(s), got %d", strings.ToUpper(name), most, len(params))
	}
	switch kind {
	case Decimal:
		return newDecimal(params)
	case DateTime:
		return newDateTime(params)
	case Char:
		return newText(kind, params, 1, MaxCharLength)
	case VarChar:
		return newText(kind, params, MaxVarCharLength, MaxVarCharLength)
	}
	return Type{Kind: kind}, nil
}

func maxParams(k Kind) int {
	switch k {
	case Decimal:
		return 2
	case DateTime, Char, VarChar, TinyInt, SmallInt, Int, BigInt, LargeInt:
		return 1
	}
	return 0
}

func newDecimal(params []int) (Type, error) {
	t := Type{Kind: Decimal, Precision: MaxDecimalPrecision, Scale: 9}
	if len(params) > 0 {
		t.Precision, t.Scale = params[0], 0
	}
	if len(params) > 1 {
		t.Scale = params[1]
	}
	if t.Precision < 1 || t.Precision > MaxDecimalPrecision {
		return Type{}, fmt.Errorf("precision of DECIMAL must be between 1 and %d, got %d", MaxDecimalPrecision, t.Precision)
	}
	if t.Scale < 0 || t.Scale > t.Precision {
		return Type{}, fmt.Errorf("scale of DECIMAL(%d,%d) must be between 0 and its precision", t.Precision, t.Scale)
	}
	return t, nil
}

func newDateTime(params []int) (Type, error) {
	t := Type{Kind: DateTime}
	if len(params) > 0 {
		t.Scale = params[0]
	}
	if t.Scale < 0 || t.Scale > MaxDateTimeScale {
		return Type{}, fmt.Errorf("scale of DATETIME must be between 0 and %d, got %d", MaxDateTimeScale, t.Scale)
	}
	return t, nil
}

func newText(kind Kind, params []int, byDefault, most int) (Type, error) {
	t := Type{Kind: kind, Length: byDefault}
	if len(params) > 0 {
		t.Length = params[0]
	}
	if t.Length < 1 || t.Length > most {
		return Type{}, fmt.Errorf("length of %s must be between 1 and %d, got %d", strings.ToUpper(kind.String()), most, t.Length)
	}
	return t, nil
}
