package types

import (
	"fmt"
	"strings"

	"shoal/sql/duckdb"
)

// MaxDepth is how deep types may be nested, as in Doris: an ARRAY<INT> is one
// deep.
const MaxDepth = 9

// maxParts bounds the parts of one column, so that each gets a field id.
const maxParts = 1<<partBits - 1

// Field is a field of a STRUCT. Type may be nested itself.
type Field struct {
	Name    string
	Type    Type
	Comment string
}

// IsNested reports whether the type is made of others: ARRAY, MAP or STRUCT.
func (t Type) IsNested() bool { return t.Kind == Array || t.Kind == Map || t.Kind == Struct }

// Parts returns what a nested type is made of, nil for any other: the element
// of an ARRAY, key and value of a MAP, the fields of a STRUCT. The first three
// are called as Parquet calls them: element, key, value.
func (t Type) Parts() []Field {
	if !t.IsNested() {
		return nil
	}
	r := reader{text: t.parts}
	switch t.Kind {
	case Array:
		return []Field{{Name: "element", Type: r.typeOrPanic()}}
	case Map:
		key := r.typeOrPanic()
		r.symbol(',')
		return []Field{{Name: "key", Type: key}, {Name: "value", Type: r.typeOrPanic()}}
	}
	fields, err := r.fields(0)
	if err != nil {
		panic(fmt.Sprintf("types: the parts %q were read before: %v", t.parts, err))
	}
	return fields
}

// typeOrPanic reads a type that was printed by String.
func (r *reader) typeOrPanic() Type {
	t, err := r.typ(0)
	if err != nil {
		panic(fmt.Sprintf("types: the parts %q were read before: %v", r.text, err))
	}
	return t
}

// NewArray makes ARRAY<element>.
func NewArray(element Type) Type { return Type{Kind: Array, parts: element.String()} }

// NewMap makes MAP<key, value>. The error says what cannot be a key.
func NewMap(key, value Type) (Type, error) {
	if key.IsNested() || key.Kind == JSON || key.Kind == Variant {
		return Type{}, fmt.Errorf("the key of a MAP cannot be %s: Doris allows numbers, dates, booleans and strings", strings.ToUpper(key.Kind.String()))
	}
	return Type{Kind: Map, parts: key.String() + "," + value.String()}, nil
}

// NewStruct makes STRUCT<name:type, …>. The names must differ by more than case.
func NewStruct(fields []Field) (Type, error) {
	if len(fields) == 0 {
		return Type{}, fmt.Errorf("a STRUCT needs a field")
	}
	seen := map[string]bool{}
	spelled := make([]string, len(fields))
	for i, f := range fields {
		lower := strings.ToLower(f.Name)
		switch {
		case f.Name == "":
			return Type{}, fmt.Errorf("a field of a STRUCT needs a name")
		case seen[lower]:
			return Type{}, fmt.Errorf("a STRUCT has two fields named %q: names must differ by more than case", f.Name)
		}
		seen[lower] = true
		spelled[i] = quoteField(f.Name) + ":" + f.Type.String()
		if f.Comment != "" {
			spelled[i] += " comment " + duckdb.QuoteString(f.Comment)
		}
	}
	return Type{Kind: Struct, parts: strings.Join(spelled, ",")}, nil
}

// quoteField puts a name into backquotes unless it is a plain word.
func quoteField(name string) string {
	for i := range len(name) {
		if !isWordByte(name[i]) {
			return "`" + strings.ReplaceAll(name, "`", "``") + "`"
		}
	}
	return name
}

// nestedDuckDB is DuckDB for types with parts.
func (t Type) nestedDuckDB() string {
	parts := t.Parts()
	switch t.Kind {
	case Array:
		return parts[0].Type.DuckDB() + "[]"
	case Map:
		return "MAP(" + parts[0].Type.DuckDB() + ", " + parts[1].Type.DuckDB() + ")"
	}
	spelled := make([]string, len(parts))
	for i, f := range parts {
		spelled[i] = duckdb.QuoteName(f.Name) + " " + f.Type.DuckDB()
	}
	return "STRUCT(" + strings.Join(spelled, ", ") + ")"
}

// Field ids of parts have bit 30 set, then the id of their column, then their
// number in it, from 1, in the order in which they are written. So they are
// fixed by column and type, and never a column's: those count up from 1.
const (
	partIDs  = 1 << 30
	partBits = 12
)

// FieldIDs returns the Parquet field ids of a column of this type as COPY's
// FIELD_IDS spells them: id alone, or with one for each part.
func (t Type) FieldIDs(id int32) string {
	next := partIDs | id<<partBits
	return t.fieldIDs(id, &next)
}

func (t Type) fieldIDs(id int32, next *int32) string {
	parts := t.Parts()
	if len(parts) == 0 {
		return fmt.Sprint(id)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "{__duckdb_field_id: %d", id)
	for _, f := range parts {
		*next++
		b.WriteString(", " + duckdb.QuoteName(f.Name) + ": " + f.Type.fieldIDs(*next, next))
	}
	return b.String() + "}"
}

// countParts counts the parts of a type and theirs.
func (t Type) countParts() int {
	n := 0
	for _, f := range t.Parts() {
		n += 1 + f.Type.countParts()
	}
	return n
}
