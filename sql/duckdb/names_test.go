package duckdb_test

import (
	"testing"

	"shoal/sql/duckdb"
)

func TestTableName(t *testing.T) {
	for _, c := range []struct{ db, table, want string }{
		{"d", "t", `"db:d"."t"`},
		{`a"b`, `c"."d`, `"db:a""b"."c"".""d"`},
		{"Information_Schema", "tables", `"db:information_schema"."tables"`},
	} {
		if got := duckdb.TableName(c.db, c.table); got != c.want {
			t.Errorf("TableName(%q, %q) = %s, want %s", c.db, c.table, got, c.want)
		}
	}
	if got, want := duckdb.QuoteString(`it's \`), `'it''s \'`; got != want {
		t.Errorf("QuoteString = %s, want %s", got, want)
	}
}
