package pipe

import (
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"shoal/be/decode"
	spell "shoal/sql/duckdb"
	"shoal/sql/types"
)

// Values travel to DuckDB in vectors of the types here, and columnValue makes of
// them what a column stores. Times are the integers that decode.Column has, but
// times in nested values. A MAP is a STRUCT of the lists of its keys and its
// values, since the binding looks for each key among all before it.

// vectorType is the type of the vectors that a column's values are copied into.
func vectorType(t types.Type) (duckdb.TypeInfo, error) {
	switch t.Kind {
	case types.DateTime:
		return duckdb.NewTypeInfo(duckdb.TYPE_BIGINT)
	case types.Date:
		return duckdb.NewTypeInfo(duckdb.TYPE_INTEGER)
	}
	return partType(t)
}

// partType is vectorType for a part of a nested value.
func partType(t types.Type) (duckdb.TypeInfo, error) {
	switch t.Kind {
	case types.Array, types.Map, types.Struct:
		return nestedType(t)
	case types.LargeInt:
		return duckdb.NewDecimalInfo(types.MaxDecimalPrecision, 0)
	case types.Decimal:
		return duckdb.NewDecimalInfo(uint8(t.Precision), uint8(t.Scale))
	}
	plain, ok := plainTypes[t.Kind]
	if !ok {
		return nil, fmt.Errorf("type %s is not known to this backend", t)
	}
	return duckdb.NewTypeInfo(plain)
}

var plainTypes = map[types.Kind]duckdb.Type{
	types.Boolean: duckdb.TYPE_BOOLEAN, types.TinyInt: duckdb.TYPE_INTEGER, types.SmallInt: duckdb.TYPE_INTEGER, types.Int: duckdb.TYPE_INTEGER,
	types.BigInt: duckdb.TYPE_BIGINT, types.Float: duckdb.TYPE_FLOAT, types.Double: duckdb.TYPE_DOUBLE,
	types.Date: duckdb.TYPE_DATE, types.DateTime: duckdb.TYPE_TIMESTAMP,
	types.Char: duckdb.TYPE_VARCHAR, types.VarChar: duckdb.TYPE_VARCHAR, types.String: duckdb.TYPE_VARCHAR,
	types.JSON: duckdb.TYPE_VARCHAR, types.Variant: duckdb.TYPE_VARCHAR,
}

// The fields of the STRUCT that a MAP travels in.
const (
	mapKeys   = "k"
	mapValues = "v"
)

func nestedType(t types.Type) (duckdb.TypeInfo, error) {
	var fields []duckdb.StructEntry
	for _, part := range t.Parts() {
		info, err := partType(part.Type)
		if err != nil {
			return nil, err
		}
		name := part.Name
		switch t.Kind {
		case types.Array:
			return duckdb.NewListInfo(info)
		case types.Map:
			if info, err = duckdb.NewListInfo(info); err != nil {
				return nil, err
			}
			name = []string{mapKeys, mapValues}[len(fields)]
		}
		field, err := duckdb.NewStructEntry(info, name)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
	}
	return duckdb.NewStructInfo(fields[0], fields[1:]...)
}

// columnValue makes the value of a column of what its vector holds.
func columnValue(source string, t types.Type) string {
	switch t.Kind {
	case types.Date:
		return "DATE '1970-01-01' + " + source
	case types.DateTime:
		return "make_timestamp(" + source + ")"
	}
	return partValue(source, t, 0)
}

// partValue makes maps of what travels for them, anywhere in a value; depth
// makes the names of lambdas' parameters differ.
func partValue(source string, t types.Type, depth int) string {
	if !hasMap(t) {
		return source
	}
	parts := t.Parts()
	switch t.Kind {
	case types.Array:
		return eachValue(source, parts[0].Type, depth)
	case types.Map:
		return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN map(%s.%s, %s) END", source, source, mapKeys,
			eachValue(source+"."+mapValues, parts[1].Type, depth))
	}
	fields := make([]string, len(parts))
	for i, f := range parts {
		name := spell.QuoteName(f.Name)
		fields[i] = name + " := " + partValue(source+"."+name, f.Type, depth)
	}
	return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN struct_pack(%s) END", source, strings.Join(fields, ", "))
}

// eachValue is partValue for the elements of a list.
func eachValue(list string, element types.Type, depth int) string {
	if !hasMap(element) {
		return list
	}
	parameter := fmt.Sprint("e", depth)
	return fmt.Sprintf("list_transform(%s, lambda %s: %s)", list, parameter, partValue(parameter, element, depth+1))
}

func hasMap(t types.Type) bool {
	if t.Kind == types.Map {
		return true
	}
	for _, part := range t.Parts() {
		if hasMap(part.Type) {
			return true
		}
	}
	return false
}

// travelling is a value of type t as it travels.
func travelling(v any, t types.Type) any {
	if v == nil || !hasMap(t) {
		return v
	}
	parts := t.Parts()
	switch v := v.(type) {
	case []any:
		return travellingList(v, parts[0].Type)
	case decode.Pairs:
		return map[string]any{mapKeys: v.Keys, mapValues: travellingList(v.Values, parts[1].Type)}
	case map[string]any:
		fields := make(map[string]any, len(parts))
		for _, f := range parts {
			fields[f.Name] = travelling(v[f.Name], f.Type)
		}
		return fields
	}
	return v
}

func travellingList(list []any, element types.Type) []any {
	if !hasMap(element) {
		return list
	}
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = travelling(v, element)
	}
	return out
}
