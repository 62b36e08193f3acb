package loaddef

import (
	"testing"

	"shoal/fe/errno"
)

// TestExpressions: what an expression may name in each clause.
func TestExpressions(t *testing.T) {
	for _, clauses := range []string{
		"COLUMNS(id, at, at = from_unixtime(at))",
		"COLUMNS(id, ms, sec = ms / 1000, at = from_unixtime(sec))",
		"COLUMNS(name = upper(name))", // the fields are the table's columns
		"COLUMNS(id, größe = length(kafka_key), name = element_at(kafka_headers, 'trace'))",
		"COLUMNS(id, kafka_key, name = kafka_key)",
		"PRECEDING FILTER name = '\\\\N' AND kafka_partition > 0",
		"COLUMNS(id, raw), PRECEDING FILTER raw LIKE 'a%', WHERE größe > 1 OR kafka_timestamp > '2026-01-01'",
	} {
		if _, err := Create(parsed(t, clauses, "", ""), orders, "SYSTEM"); err != nil {
			t.Errorf("%s: %v", clauses, err)
		}
	}
}

func TestExpressionsRefused(t *testing.T) {
	for _, tt := range []struct {
		clauses string
		code    errno.Code
		text    string
	}{
		{"COLUMNS(id, v, name = upperr(v))", errno.NoSuchProcedure, "COLUMNS, Name: unknown function 'upperr', did you mean 'upper'?"},
		{"COLUMNS(id, value, name = upper(valu))", errno.BadField, "unknown column 'valu', did you mean 'value'?"},
		{"COLUMNS(id, v, name = upper(größe))", errno.BadField, "unknown column 'größe'"}, // no field of the source
		{"COLUMNS(id, name = later, later = id + 1)", errno.BadField, "unknown column 'later'"},
		{"COLUMNS(id, v, name = max(v))", errno.NotSupportedYet, "MAX"},
		{"COLUMNS(id, v, name = (SELECT 1))", errno.NotSupportedYet, ""},
		{"COLUMNS(id, v, name = v +)", errno.Syntax, "COLUMNS, Name: "},
		{"COLUMNS(id, v, name = rand())", errno.NotSupportedYet, "RAND"},
		{"WHERE nme = 'x'", errno.BadField, "WHERE: unknown column 'nme', did you mean 'Name'?"},
		{"COLUMNS(id, v), WHERE v > 1", errno.BadField, "WHERE: unknown column 'v'"}, // over the table's columns
		{"COLUMNS(id, v), PRECEDING FILTER größe > 1", errno.BadField, "PRECEDING FILTER: unknown column 'größe'"},
		{"COLUMNS(id, unused = id + 1)", errno.BadField, "Unknown column 'unused' in orders"},
		{"COLUMNS(id, nme, nme = upper(nme))", errno.BadField, "Unknown column 'nme' in orders, did you mean 'Name'?"}, // later expressions have the field
		{"COLUMNS(id, nme, nme = upper(nme), name = nme)", errno.BadField, "Unknown column 'nme' in orders, did you mean 'Name'?"},
	} {
		t.Run(tt.clauses, func(t *testing.T) {
			_, err := Create(parsed(t, tt.clauses, "", ""), orders, "SYSTEM")
			wantError(t, err, tt.code, tt.text)
		})
	}
}
