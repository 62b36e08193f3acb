package ast

import "shoal/sql/types"

// CreateDatabase is CREATE DATABASE or CREATE SCHEMA.
type CreateDatabase struct {
	Name        string
	IfNotExists bool
	Properties  Properties
}

// DropDatabase is DROP DATABASE or DROP SCHEMA.
type DropDatabase struct {
	Name     string
	IfExists bool
}

// Use selects the session's database. Catalog is empty unless it was written.
type Use struct{ Catalog, Name string }

// KeyModel is the key clause of CREATE TABLE, in Doris's words.
type KeyModel string

// The key models. No clause is NoKeys, which Doris takes as duplicate keys.
const (
	NoKeys        KeyModel = ""
	DuplicateKeys KeyModel = "DUPLICATE KEY"
	UniqueKeys    KeyModel = "UNIQUE KEY"
	AggregateKeys KeyModel = "AGGREGATE KEY"
)

// CreateTable is CREATE TABLE in Doris's DDL. Unsupported names the clauses
// that were understood and that Shoal cannot honour, in the order met; a
// table with any of them must be refused by name.
type CreateTable struct {
	Table        Name
	IfNotExists  bool
	Columns      []Column
	Engine       string // as written; empty if absent
	KeyModel     KeyModel
	Keys         []string
	Comment      string
	Distribution *Distribution
	Properties   Properties
	Unsupported  []string
}

// Column is a column definition. NotNull is false too where nothing was said.
type Column struct {
	Name    string
	Type    types.Type
	NotNull bool
	Default *Default
	Comment string
}

// Default is a DEFAULT clause: NULL, CURRENT_TIMESTAMP with a scale, or the
// value of a literal as text.
type Default struct {
	Null             bool
	CurrentTimestamp bool
	Scale            int
	Text             string
}

// Distribution is DISTRIBUTED BY: HASH over columns, or RANDOM if there are
// none. Buckets is 0 for AUTO or nothing.
type Distribution struct {
	Columns []string
	Buckets int
}

// DropTable is DROP TABLE.
type DropTable struct {
	Table    Name
	IfExists bool
	Force    bool
}

func (*CreateDatabase) stmt() {}
func (*DropDatabase) stmt()   {}
func (*Use) stmt()            {}
func (*CreateTable) stmt()    {}
func (*DropTable) stmt()      {}
