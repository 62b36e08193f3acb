package types_test

import (
	"strings"
	"testing"

	"shoal/sql/types"
)

// TestCheckChange: each pair of types, and why it is refused.
func TestCheckChange(t *testing.T) {
	const (
		ok     = ""
		none   = "no such change"
		fit    = "not fit"
		rounds = "rounded"
		unread = "could not be read"
		lost   = "lost"
		long   = "bytes long"
	)
	for _, tt := range []struct{ from, to, want string }{
		{"int", "int", ok},
		{"tinyint", "smallint", ok}, {"tinyint", "largeint", ok}, {"smallint", "int", ok}, {"int", "bigint", ok}, {"bigint", "largeint", ok},
		{"bigint", "int", fit}, {"largeint", "bigint", fit}, {"smallint", "tinyint", fit},
		{"tinyint", "float", ok}, {"smallint", "float", ok}, {"int", "float", rounds}, {"int", "double", ok}, {"bigint", "double", rounds}, {"largeint", "double", rounds},
		{"tinyint", "varchar(4)", ok}, {"tinyint", "varchar(3)", long}, {"int", "varchar(11)", ok}, {"int", "varchar(10)", long},
		{"bigint", "varchar(20)", ok}, {"bigint", "text", ok}, {"largeint", "varchar(39)", ok}, {"largeint", "varchar(38)", long},
		{"int", "decimal(20,0)", none}, {"int", "date", none}, {"int", "boolean", none}, {"int", "json", none},
		{"float", "double", ok}, {"double", "float", none}, {"float", "text", none}, {"double", "varchar(100)", none},
		{"decimal(10,2)", "decimal(12,2)", ok}, {"decimal(10,2)", "decimal(12,4)", ok}, {"decimal(10,2)", "decimal(12,5)", fit},
		{"decimal(10,2)", "decimal(9,2)", fit}, {"decimal(10,2)", "decimal(10,1)", lost}, {"decimal(10,2)", "varchar(13)", ok},
		{"decimal(2,2)", "varchar(5)", ok}, {"decimal(10,2)", "varchar(12)", long}, {"decimal(10,2)", "double", none},
		{"date", "datetime", ok}, {"date", "datetime(6)", ok}, {"datetime", "date", lost}, {"datetime", "datetime(3)", ok}, {"datetime(3)", "datetime", lost},
		{"date", "varchar(20)", none}, {"datetime", "text", none},
		{"char(5)", "char(6)", ok}, {"char(5)", "char(4)", none}, {"int", "char(20)", none}, {"char(5)", "varchar(5)", ok}, {"char(5)", "text", ok}, {"char(5)", "int", unread},
		{"varchar(5)", "varchar(6)", ok}, {"varchar(5)", "varchar(4)", long}, {"varchar(5)", "char(6)", none}, {"varchar(5)", "text", ok},
		{"varchar(5)", "bigint", unread}, {"varchar(5)", "double", unread}, {"varchar(5)", "date", unread}, {"varchar(5)", "json", unread},
		{"text", "varchar(65533)", none}, {"text", "json", unread}, {"json", "text", ok}, {"json", "varchar(10)", none},
		{"boolean", "int", none}, {"int", "array<int>", none}, {"array<int>", "array<bigint>", none}, {"array<int>", "array<int>", ok},
	} {
		from, err := types.Parse(tt.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := types.Parse(tt.to)
		if err != nil {
			t.Fatal(err)
		}
		switch err := from.CheckChange(to); {
		case tt.want == ok && err != nil:
			t.Errorf("%s to %s: %v, want it allowed", tt.from, tt.to, err)
		case tt.want != ok && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s to %s: %v, want %q", tt.from, tt.to, err, tt.want)
		}
	}
}
