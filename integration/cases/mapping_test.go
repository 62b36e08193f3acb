package cases

import (
	"fmt"
	"strings"
	"testing"

	"shoal/internal/testkafka"
)

// Functions in COLUMNS: a mapping onto the field's own name, one that fails on
// a row, a division by zero.
func TestC31(t *testing.T) {
	runBoth(t, map[string]kase{
		"own name": {
			load:     load{columns: "(id INT, ts DATETIME, dev STRING)", clauses: "COLUMNS(id, ts, dev, ts=from_unixtime(ts))", properties: map[string]string{"timezone": "Etc/UTC"}},
			messages: texts("1,1671408000,a"),
			want:     outcome{rows: [][]string{{"1", "2022-12-19 00:00:00", "a"}}},
		},
		"one row fails": {
			load:     load{columns: "(id INT, v STRING)", clauses: "COLUMNS(id, tmp, v=json_unquote(tmp))"},
			messages: texts(`1,"ok"`, `2,"aaa"""`, `3,"on"`),
			want:     outcome{rows: [][]string{{"1", "ok"}, {"3", "on"}}, errors: []string{"column v: json_unquote(tmp) failed"}},
		},
		"by zero": {
			load:     load{columns: "(id INT, v DOUBLE)", clauses: "COLUMNS(id, a, b, v=a/b)"},
			messages: texts("1,6,3", "2,1,0"),
			want:     outcome{rows: [][]string{{"1", "2"}, {"2", null}}},
		},
	})
}

// A mapping that names what is not there is refused.
func TestC31Unknown(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: "(id INT, v STRING)"})
		for name, mapping := range map[string]string{"no_such_function": "v=no_such_function(id)", "no_such_column": "v=upper(no_such_column)"} {
			j.clauses = fmt.Sprintf("COLUMNS(id, tmp, %s)", mapping)
			if err := j.refused(); !strings.Contains(err.Message, name) {
				t.Errorf("%s: error %v, want one that names %s", mapping, err, name)
			}
		}
	})
}
