package stmt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"shoal/fe/session"
)

// modelColumn is a column as a list of columns would keep it: in one row, that
// was there before all changes.
type modelColumn struct{ name, typ, value string }

// changes of a type that change no value's text.
var changes = map[string][]string{
	"TINYINT": {"SMALLINT", "INT", "FLOAT"}, "SMALLINT": {"INT", "LARGEINT"}, "INT": {"BIGINT", "DOUBLE", "VARCHAR(11)"}, "BIGINT": {"LARGEINT", "STRING"},
	"LARGEINT": {"VARCHAR(40)"}, "FLOAT": {"DOUBLE"}, "DECIMAL(5,2)": {"DECIMAL(9,2)", "VARCHAR(8)"}, "DECIMAL(9,2)": {"DECIMAL(38,2)", "STRING"},
	"VARCHAR(11)": {"VARCHAR(12)", "STRING"}, "JSON": {"STRING"},
}

// additions are types with a default and how it is shown.
var additions = [][3]string{
	{"TINYINT", "-7", "-7"}, {"INT", "+42", "42"}, {"DECIMAL(5,2)", "1.5", "1.50"}, {"VARCHAR(11)", "it''s", "it's"}, {"JSON", "[1]", "[1]"}, {"SMALLINT", "", "NULL"}, {"STRING", "", "NULL"},
}

// TestAlterModel makes random changes of a table with a row in a file, and after
// each the row is what a plain list of columns says, by all and by a condition.
func TestAlterModel(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := &script{frontend: newFrontend(t), sessions: map[string]*session.Session{}}
		sess := s.connect()
		for _, text := range []string{"CREATE DATABASE d", "USE d", "CREATE TABLE t (k INT, i TINYINT, d DECIMAL(5,2), v VARCHAR(11)) DUPLICATE KEY(k)"} {
			if got := s.sql(t, sess, text); got != "OK\n" {
				t.Fatal(got)
			}
		}
		s.load(t, sess, "t", "SELECT 1, -5, 12.34, 'text'")
		columns := []modelColumn{{"k", "INT", "1"}, {"i", "TINYINT", "-5"}, {"d", "DECIMAL(5,2)", "12.34"}, {"v", "VARCHAR(11)", "text"}}
		for n := range 12 {
			var clause string
			clause, columns = change(r, n, columns)
			if got := s.sql(t, sess, "ALTER TABLE t "+clause); got != "OK\n" {
				t.Fatalf("seed %d: %s: %s", seed, clause, got)
			}
			names, values, conditions := make([]string, len(columns)), make([]string, len(columns)), []string{"k = 1"}
			for i, c := range columns {
				names[i], values[i] = c.name, c.value
				if c.value == "NULL" {
					conditions = append(conditions, c.name+" IS NULL")
				} else if c.typ != "JSON" {
					conditions = append(conditions, c.name+" = '"+strings.ReplaceAll(c.value, "'", "''")+"'")
				}
			}
			want := strings.Join(names, " | ") + "\n" + strings.Join(values, " | ") + "\n"
			if got := s.sql(t, sess, "SELECT * FROM t WHERE "+strings.Join(conditions, " AND ")); got != want {
				t.Fatalf("seed %d, after %s:\n%swant\n%s", seed, clause, got, want)
			}
		}
		if got := s.again(t, sess, "t"); got != "the same\n" {
			t.Errorf("seed %d: %s", seed, got)
		}
	}
}

// change draws the n-th change; the first column, the key, stays where it is.
func change(r *rand.Rand, n int, columns []modelColumn) (clause string, after []modelColumn) {
	columns = slices.Clone(columns)
	at := 1 + r.IntN(max(1, len(columns)-1))
	switch kind := r.IntN(5); {
	case kind == 0 && len(columns) > 2:
		clause = "DROP COLUMN " + columns[at].name
		return clause, slices.Delete(columns, at, at+1)
	case kind == 1 && len(columns) > 2:
		old := columns[at].name
		columns[at].name = fmt.Sprintf("r%d", n)
		return "RENAME COLUMN " + old + " " + columns[at].name, columns
	case kind <= 3 && at < len(columns) && len(changes[columns[at].typ]) > 0:
		to := changes[columns[at].typ]
		c := columns[at]
		c.typ = to[r.IntN(len(to))]
		columns = slices.Delete(columns, at, at+1)
		i := r.IntN(len(columns))
		clause = fmt.Sprintf("MODIFY COLUMN %s %s AFTER %s", c.name, c.typ, columns[i].name)
		return clause, slices.Insert(columns, i+1, c)
	}
	a := additions[r.IntN(len(additions))]
	c := modelColumn{fmt.Sprintf("a%d", n), a[0], a[2]}
	clause = "ADD COLUMN " + c.name + " " + c.typ
	if a[2] != "NULL" {
		clause += " NOT NULL DEFAULT '" + a[1] + "'"
	}
	i := r.IntN(len(columns))
	clause += " AFTER " + columns[i].name
	return clause, slices.Insert(columns, i+1, c)
}
