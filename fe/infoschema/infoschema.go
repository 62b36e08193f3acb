// Package infoschema is information_schema: the tables that clients read to
// learn what databases, tables and columns there are.
//
// Its columns are MySQL 5.7's (the version that the greeting names), in
// capitals, since drivers go by them. The tables are pure functions of a
// Catalog, a picture of the metadata at one moment; tables about things that
// Shoal does not have exist and are empty, so that clients' joins bind.
package infoschema

import (
	"strings"

	typesv1 "shoal/proto/types/v1"
	"shoal/sql/types"
)

// Schema is the name of the schema, which matches in any case.
const Schema = "information_schema"

// RoutineLoadErrors is the table of jobs' error rows. Its rows are in rowsets,
// so it is listed here and read elsewhere. Its columns, which no client of
// MySQL's knows, are in small letters.
const RoutineLoadErrors = "routine_load_errors"

// RoutineLoadJobs is the table of jobs, with Doris's columns.
const RoutineLoadJobs = "routine_load_jobs"

// Catalog is what the tables are made of.
type Catalog struct {
	Databases []Database
	Processes []Process
	Variables []Variable // of the session
	Globals   []Variable
	// RoutineLoads are the rows of RoutineLoadJobs, as fe/routineload makes them.
	RoutineLoads [][]Cell
}

// Database is one database with its tables.
type Database struct {
	Name   string
	Tables []TableInfo
}

// TableInfo is one table.
type TableInfo struct {
	Name    string
	Comment string
	Created string // as a DATETIME
	Updated string // as a DATETIME, empty if never
	Rows    int64
	Bytes   int64
	Columns []ColumnInfo
}

// ColumnInfo is one column of a table.
type ColumnInfo struct {
	Name     string
	Type     types.Type
	Nullable bool
	Default  *string
	Key      bool
	Comment  string
}

// Process is one connection.
type Process struct {
	ID                      int64
	User, Host, DB, Command string
	Seconds                 int64
	Info                    string
}

// Variable is a system variable with its value as SHOW prints it.
type Variable struct{ Name, Value string }

// Cell is a cell in text form; nil is NULL.
type Cell = *string

// Column is a column of an information_schema table.
type Column struct {
	Name string
	Type types.Type
}

// Table is a table of information_schema.
type Table struct {
	Name    string // in capitals
	Columns []Column
}

// Rows is the table's rows; each has a cell for each column.
func (t *Table) Rows(c *Catalog) [][]Cell {
	if source := sources[t.Name]; source != nil {
		return source(c)
	}
	return nil
}

// Schema is the table's columns as those of a stored one.
func (t *Table) Schema() *typesv1.Schema {
	schema := &typesv1.Schema{}
	for i, c := range t.Columns {
		schema.Columns = append(schema.Columns, &typesv1.Column{FieldId: int32(i + 1), Name: c.Name, Type: c.Type.String(), Nullable: true})
	}
	return schema
}

// Lookup finds a table by name in any case, nil if there is none.
func Lookup(name string) *Table { return tables[strings.ToUpper(name)] }

// Names lists the tables in the order of their names.
func Names() []string { return names }

// The types that the tables are made of.
var (
	text   = types.Type{Kind: types.VarChar, Length: 512}
	whole  = types.Type{Kind: types.BigInt}
	truth  = types.Type{Kind: types.Boolean}
	moment = types.Type{Kind: types.DateTime}
)

// columns reads a list of names, see definitions.
func columns(list string) []Column {
	var out []Column
	for _, name := range strings.Fields(list) {
		typ := text
		switch name[0] {
		case '#':
			name, typ = name[1:], whole
		case '@':
			name, typ = name[1:], moment
		case '?':
			name, typ = name[1:], truth
		}
		out = append(out, Column{name, typ})
	}
	return out
}
