// Package loadscope has the names that expressions of a routine load may use:
// what a frontend checks at CREATE and ALTER, and what a backend evaluates.
//
// PRECEDING FILTER and COLUMNS see the fields of the source, which are text,
// then what was derived before, then the message's metadata. WHERE sees the
// table's columns, then the metadata. Of equal names the first is meant. There
// is no state here.
package loadscope

import (
	"fmt"

	typesv1 "shoal/proto/types/v1"
	"shoal/sql/rewrite"
	"shoal/sql/types"
)

// The metadata of a message, by their place in Metadata.
const (
	KafkaTopic     = iota
	KafkaPartition // from 0
	KafkaOffset
	KafkaTimestamp // as the record has it, in the job's time zone; NULL where that is no time
	KafkaKey       // NULL where there is none; bytes that are no text as \xHH
	KafkaHeaders   // from name to value, of equal names the last; values as the key
)

// A Name is a name of a scope.
type Name struct {
	Name string
	Type types.Type
}

// Metadata are the names that every message has.
func Metadata() []Name {
	list := make([]Name, KafkaHeaders+1)
	for i, m := range [][2]string{
		KafkaTopic:     {"kafka_topic", "text"},
		KafkaPartition: {"kafka_partition", "int"},
		KafkaOffset:    {"kafka_offset", "bigint"},
		KafkaTimestamp: {"kafka_timestamp", "datetime(3)"},
		KafkaKey:       {"kafka_key", "text"},
		KafkaHeaders:   {"kafka_headers", "map<text,text>"},
	} {
		t, err := types.Parse(m[1])
		if err != nil {
			panic(fmt.Sprintf("loadscope: %v", err)) // a constant of ours
		}
		list[i] = Name{m[0], t}
	}
	return list
}

// Fields are the names of a source's fields.
func Fields(names []string) []Name {
	list := make([]Name, len(names))
	for i, name := range names {
		list[i] = Name{name, types.Type{Kind: types.String}}
	}
	return list
}

// Columns are the names of a table's columns.
func Columns(schema *typesv1.Schema) ([]Name, error) {
	list := make([]Name, len(schema.GetColumns()))
	for i, c := range schema.GetColumns() {
		t, err := types.Parse(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		list[i] = Name{c.Name, t}
	}
	return list, nil
}

// Scope makes names those of an expression: sql says what stands for the i-th
// in DuckDB.
func Scope(names []Name, sql func(i int) string) []rewrite.ScopeColumn {
	list := make([]rewrite.ScopeColumn, len(names))
	for i, n := range names {
		list[i] = rewrite.ScopeColumn{Name: n.Name, SQL: sql(i), Type: n.Type}
	}
	return list
}
