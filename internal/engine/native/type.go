package native

import (
	"fmt"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"shoal/sql/duckdb"
)

// Type is the type of a column or of a part of one.
type Type struct {
	// Name is DuckDB's, such as BIGINT or LIST, without parameters; JSON for
	// texts that are known to be. Empty for a type that cannot be read.
	Name         string
	Width, Scale int      // of a DECIMAL
	Size         int      // of an ARRAY
	Words        []string // of an ENUM, by number
	// Fields are those of a STRUCT and the members of a UNION. A LIST and an
	// ARRAY have one, a MAP two: key and value.
	Fields []Column

	storage bindings.Type // how a DECIMAL or an ENUM is kept
}

// String is the type as DuckDB spells it in a declaration.
func (t Type) String() string {
	switch t.Name {
	case "DECIMAL":
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Width, t.Scale)
	case "LIST":
		return t.Fields[0].Type.String() + "[]"
	case "ARRAY":
		return fmt.Sprintf("%s[%d]", t.Fields[0].Type, t.Size)
	case "MAP":
		return fmt.Sprintf("MAP(%s, %s)", t.Fields[0].Type, t.Fields[1].Type)
	case "STRUCT", "UNION":
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = duckdb.QuoteName(f.Name) + " " + f.Type.String()
		}
		return t.Name + "(" + strings.Join(fields, ", ") + ")"
	}
	return t.Name
}

var typeNames = map[bindings.Type]string{
	bindings.TypeBoolean: "BOOLEAN",
	bindings.TypeTinyInt: "TINYINT", bindings.TypeSmallInt: "SMALLINT", bindings.TypeInteger: "INTEGER", bindings.TypeBigInt: "BIGINT", bindings.TypeHugeInt: "HUGEINT",
	bindings.TypeUTinyInt: "UTINYINT", bindings.TypeUSmallInt: "USMALLINT", bindings.TypeUInteger: "UINTEGER", bindings.TypeUBigInt: "UBIGINT", bindings.TypeUHugeInt: "UHUGEINT",
	bindings.TypeBigNum: "BIGNUM", bindings.TypeFloat: "FLOAT", bindings.TypeDouble: "DOUBLE", bindings.TypeDecimal: "DECIMAL",
	bindings.TypeDate: "DATE", bindings.TypeTime: "TIME", bindings.TypeTimeNS: "TIME_NS", bindings.TypeTimeTZ: "TIMETZ", bindings.TypeInterval: "INTERVAL",
	bindings.TypeTimestamp: "TIMESTAMP", bindings.TypeTimestampS: "TIMESTAMP_S", bindings.TypeTimestampMS: "TIMESTAMP_MS", bindings.TypeTimestampNS: "TIMESTAMP_NS", bindings.TypeTimestampTZ: "TIMESTAMPTZ",
	bindings.TypeVarchar: "VARCHAR", bindings.TypeBlob: "BLOB", bindings.TypeGeometry: "GEOMETRY", bindings.TypeBit: "BIT", bindings.TypeUUID: "UUID", bindings.TypeEnum: "ENUM",
	bindings.TypeList: "LIST", bindings.TypeArray: "ARRAY", bindings.TypeStruct: "STRUCT", bindings.TypeMap: "MAP", bindings.TypeUnion: "UNION", bindings.TypeSQLNull: "NULL",
}

// readType reads a type and frees it.
func readType(logical bindings.LogicalType) Type {
	defer bindings.DestroyLogicalType(&logical)
	kind := bindings.GetTypeId(logical)
	t := Type{Name: typeNames[kind]}
	switch kind {
	case bindings.TypeVarchar:
		if bindings.LogicalTypeGetAlias(logical) == "JSON" {
			t.Name = "JSON"
		}
	case bindings.TypeDecimal:
		t.Width, t.Scale = int(bindings.DecimalWidth(logical)), int(bindings.DecimalScale(logical))
		t.storage = bindings.DecimalInternalType(logical)
	case bindings.TypeEnum:
		t.storage = bindings.EnumInternalType(logical)
		for i := range bindings.EnumDictionarySize(logical) {
			t.Words = append(t.Words, bindings.EnumDictionaryValue(logical, bindings.IdxT(i)))
		}
	default:
		t.readFields(kind, logical)
	}
	return t
}

func (t *Type) readFields(kind bindings.Type, logical bindings.LogicalType) {
	add := func(name string, part bindings.LogicalType) {
		t.Fields = append(t.Fields, Column{Name: name, Type: readType(part)})
	}
	switch kind {
	case bindings.TypeList:
		add("", bindings.ListTypeChildType(logical))
	case bindings.TypeArray:
		t.Size = int(bindings.ArrayTypeArraySize(logical))
		add("", bindings.ArrayTypeChildType(logical))
	case bindings.TypeMap:
		add("key", bindings.MapTypeKeyType(logical))
		add("value", bindings.MapTypeValueType(logical))
	case bindings.TypeStruct:
		for i := range bindings.StructTypeChildCount(logical) {
			add(bindings.StructTypeChildName(logical, i), bindings.StructTypeChildType(logical, i))
		}
	case bindings.TypeUnion:
		for i := range bindings.UnionTypeMemberCount(logical) {
			add(bindings.UnionTypeMemberName(logical, i), bindings.UnionTypeMemberType(logical, i))
		}
	}
}
