// Package duckdb says how names and texts are spelled in DuckDB's SQL. The
// rewriter of queries and the engine that runs them both use it, so that they
// mean the same table. It is pure and imports no DuckDB.
package duckdb

import "strings"

// QuoteName returns s as an identifier in double quotes.
func QuoteName(s string) string {
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// QuoteString returns s as a string literal. DuckDB knows no escapes in it.
func QuoteString(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// SchemaName returns the DuckDB schema that stands for a database. The prefix
// keeps databases apart from DuckDB's own schemas, such as main and its
// information_schema. Ours of that name matches in any case, as in MySQL.
func SchemaName(db string) string {
	if strings.EqualFold(db, "information_schema") {
		db = "information_schema"
	}
	return "db:" + db
}

// TableName returns the quoted, qualified name of a table.
func TableName(db, table string) string {
	return QuoteName(SchemaName(db)) + "." + QuoteName(table)
}
