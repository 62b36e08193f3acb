package infoschema_test

import (
	"testing"

	"shoal/fe/infoschema"
	"shoal/sql/types"
)

var catalog = &infoschema.Catalog{
	Databases: []infoschema.Database{{Name: "shop", Tables: []infoschema.TableInfo{{
		Name: "orders", Comment: "all of them", Created: "2026-11-30 12:00:00", Rows: 10, Bytes: 250,
		Columns: []infoschema.ColumnInfo{
			{Name: "id", Type: types.Type{Kind: types.Int}, Key: true},
			{Name: "price", Type: types.Type{Kind: types.Decimal, Precision: 10, Scale: 2}, Nullable: true},
			{Name: "at", Type: types.Type{Kind: types.DateTime, Scale: 3}, Nullable: true},
		},
	}}}},
	Processes: []infoschema.Process{{ID: 7, User: "root", Host: "127.0.0.1", Command: "Query", Info: "SELECT 1"}},
	Variables: []infoschema.Variable{{Name: "autocommit", Value: "ON"}},
	Globals:   []infoschema.Variable{{Name: "autocommit", Value: "OFF"}},
}

// Every row must have a cell for each column, or a client reads shifted ones.
func TestRowsFitTheirColumns(t *testing.T) {
	for _, name := range infoschema.Names() {
		table := infoschema.Lookup(name)
		seen := map[string]bool{}
		for _, c := range table.Columns {
			if seen[c.Name] {
				t.Errorf("%s has column %s twice", name, c.Name)
			}
			seen[c.Name] = true
		}
		for _, row := range table.Rows(catalog) {
			if len(row) != len(table.Columns) {
				t.Errorf("%s: a row of %d cells for %d columns", name, len(row), len(table.Columns))
			}
		}
	}
}

func TestCells(t *testing.T) {
	for _, tt := range []struct{ table, where, is, column, want string }{
		{"schemata", "SCHEMA_NAME", "shop", "CATALOG_NAME", "def"},
		{"Tables", "TABLE_NAME", "orders", "AVG_ROW_LENGTH", "25"},
		{"TABLES", "TABLE_NAME", "orders", "TABLE_TYPE", "BASE TABLE"},
		{"TABLES", "TABLE_NAME", "COLUMNS", "TABLE_TYPE", "SYSTEM VIEW"},
		{"COLUMNS", "COLUMN_NAME", "id", "IS_NULLABLE", "NO"},
		{"COLUMNS", "COLUMN_NAME", "price", "NUMERIC_SCALE", "2"},
		{"COLUMNS", "COLUMN_NAME", "price", "COLUMN_TYPE", "decimal(10,2)"},
		{"COLUMNS", "COLUMN_NAME", "at", "DATETIME_PRECISION", "3"},
		{"COLUMNS", "COLUMN_NAME", "at", "ORDINAL_POSITION", "3"},
		{"PROCESSLIST", "ID", "7", "INFO", "SELECT 1"},
		{"SESSION_VARIABLES", "VARIABLE_NAME", "autocommit", "VARIABLE_VALUE", "ON"},
		{"GLOBAL_VARIABLES", "VARIABLE_NAME", "autocommit", "VARIABLE_VALUE", "OFF"},
		{"COLLATIONS", "ID", "45", "COLLATION_NAME", "utf8mb4_general_ci"},
	} {
		table := infoschema.Lookup(tt.table)
		if table == nil {
			t.Fatalf("no table %s", tt.table)
		}
		index := map[string]int{}
		for i, c := range table.Columns {
			index[c.Name] = i
		}
		found := false
		for _, row := range table.Rows(catalog) {
			if cell := row[index[tt.where]]; cell == nil || *cell != tt.is {
				continue
			}
			found = true
			if got := row[index[tt.column]]; got == nil || *got != tt.want {
				t.Errorf("%s of %s = %s: got %v, want %s", tt.column, tt.where, tt.is, got, tt.want)
			}
		}
		if !found {
			t.Errorf("%s has no row with %s = %s", tt.table, tt.where, tt.is)
		}
	}
}

func TestLookupUnknown(t *testing.T) {
	if infoschema.Lookup("nothing") != nil {
		t.Error("found a table that is not there")
	}
}
