package engine

import (
	"fmt"
	"strings"

	"shoal/sql/duckdb"
	"shoal/sql/types"
)

// plainColumns tells which columns of a result are columns of a table as they
// are, so that they can be described by their declared types: DuckDB only
// knows what it stores. The zero value knows none.
type plainColumns struct {
	sources  map[string]string // result's name to column's, in small letters
	computed map[string]bool   // names in the result of anything else
	star     bool              // every other name is the column's own
	declared map[string]types.Type
}

// typeOf returns the declared type of the result's column called name.
func (p plainColumns) typeOf(name string) (types.Type, bool) {
	name = strings.ToLower(name)
	source, ok := p.sources[name]
	if !ok && p.star {
		source, ok = name, true
	}
	if !ok || p.computed[name] {
		return types.Type{}, false
	}
	t, ok := p.declared[source]
	return t, ok && t.Kind != types.Invalid
}

// findPlainColumns reads the select list of a query, given as DuckDB's parse
// tree. Only queries over nothing but tables are looked at: a name that comes
// out of a subquery may be anything.
func findPlainColumns(node map[string]any, tables []Table) plainColumns {
	p := plainColumns{sources: map[string]string{}, computed: map[string]bool{}, declared: map[string]types.Type{}}
	from, _ := node["from_table"].(map[string]any)
	if node["type"] != "SELECT_NODE" || !p.declare(from, tables) {
		return plainColumns{}
	}
	list, _ := node["select_list"].([]any)
	for _, e := range list {
		item, _ := e.(map[string]any)
		alias, _ := item["alias"].(string)
		names, _ := item["column_names"].([]any)
		switch {
		case item["class"] == "STAR":
			p.star = true
		case item["class"] == "COLUMN_REF" && len(names) > 0:
			source := strings.ToLower(fmt.Sprint(names[len(names)-1]))
			if alias == "" {
				alias = source
			}
			p.sources[strings.ToLower(alias)] = source
		default:
			p.computed[strings.ToLower(alias)] = true
		}
	}
	return p
}

// declare notes the columns of the tables that a FROM joins, and reports
// whether there is nothing else in it. A name with two types gets none.
func (p *plainColumns) declare(from map[string]any, tables []Table) bool {
	switch from["type"] {
	case "JOIN":
		left, _ := from["left"].(map[string]any)
		right, _ := from["right"].(map[string]any)
		return p.declare(left, tables) && p.declare(right, tables)
	case "BASE_TABLE":
	default:
		return false
	}
	key := tableKey(fmt.Sprint(from["schema_name"]), fmt.Sprint(from["table_name"]))
	for _, t := range tables {
		if tableKey(duckdb.SchemaName(t.DB), t.Name) != key {
			continue
		}
		for _, c := range t.Columns {
			name := strings.ToLower(c.Name)
			typ := c.Type
			if had, ok := p.declared[name]; ok && had != typ {
				typ = types.Type{}
			}
			p.declared[name] = typ
		}
		return true
	}
	return false
}
