package cases

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/internal/testkafka"
)

// A quoted field holds the separator.
func TestC01(t *testing.T) {
	runBoth(t, map[string]kase{"": {
		load: load{columns: "(id INT, b STRING, c STRING)", clauses: `COLUMNS TERMINATED BY "|"`,
			properties: map[string]string{"enclose": `"`, "trim_double_quotes": "true"}},
		messages: texts(`1|"left|right"|end`, `2|plain|"x"`, `3|"|"|""`),
		want:     outcome{rows: [][]string{{"1", "left|right", "end"}, {"2", "plain", "x"}, {"3", "|", ""}}},
	}})
}

// A line break inside quotes; a quote left open does not leak into the next
// message.
func TestC03(t *testing.T) {
	runBoth(t, map[string]kase{
		"enclosed": {
			load:     load{columns: "(id INT, s STRING, x STRING)", properties: map[string]string{"enclose": "'"}},
			messages: texts("1,'line one\nline two',a", "2,'never closed,b", "3,'ok',c"),
			want:     outcome{rows: [][]string{{"1", "line one\nline two", "a"}, {"3", "ok", "c"}}, errors: []string{"'"}},
		},
		"lines": {
			load:     load{columns: "(id INT, s STRING, x STRING)"},
			messages: texts("4,a,b\n5,c,d"), lines: 2,
			want: outcome{rows: [][]string{{"4", "a", "b"}, {"5", "c", "d"}}},
		},
	})
}

// Separators of several bytes.
func TestC05(t *testing.T) {
	const columns = "(id INT, a STRING, b STRING)"
	runBoth(t, map[string]kase{
		"plus": {
			load: load{columns: columns, clauses: `COLUMNS TERMINATED BY "|+|"`}, messages: texts("1|+|a|b|+|c+|d"),
			want: outcome{rows: [][]string{{"1", "a|b", "c+|d"}}},
		},
		"hex": {
			load: load{columns: columns, clauses: `COLUMNS TERMINATED BY "\x01"`}, messages: texts("2\x01x\x01y"),
			want: outcome{rows: [][]string{{"2", "x", "y"}}},
		},
	})
}

// A separator that begins with the enclosing character is refused, or read
// right; columns never shift.
func TestC05SeparatorBeginsWithEnclose(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		j := prepare(t, connect(t), testkafka.Shared(t), mode, load{
			columns: "(id INT, a STRING, b STRING)", clauses: `COLUMNS TERMINATED BY "@@"`, properties: map[string]string{"enclose": "@"}})
		if err := j.refused(); !strings.Contains(err.Message, "enclose") || !strings.Contains(err.Message, "TERMINATED BY") {
			t.Errorf("error %v, want one that names both", err)
		}
	})
}

// A byte order mark is dropped at the start of a message, and only there.
func TestC06(t *testing.T) {
	const mark = "\xEF\xBB\xBF"
	runBoth(t, map[string]kase{
		"csv": {
			load:     load{columns: "(id INT, s STRING)", properties: map[string]string{"enclose": `"`}},
			messages: texts(mark+`"10",ok`, "11,ok", "12,a"+mark+"b"),
			want:     outcome{rows: [][]string{{"10", "ok"}, {"11", "ok"}, {"12", "a" + mark + "b"}}},
		},
		"json": {
			load: load{columns: "(id INT, s STRING)", properties: json()}, messages: texts(mark + `{"id":13,"s":"ok"}`),
			want: outcome{rows: [][]string{{"13", "ok"}}},
		},
	})
}

// A separator at the end of the row makes one column too many.
func TestC08(t *testing.T) {
	const columns = "(id INT, a STRING, b STRING)"
	messages := texts("1|north|0|", "2|south|0", "3|east")
	runBoth(t, map[string]kase{
		"refused": {
			load: load{columns: columns, clauses: `COLUMNS TERMINATED BY "|"`}, messages: messages,
			want: outcome{rows: [][]string{{"2", "south", "0"}}, errors: []string{"found 4, wanted 3", "found 2, wanted 3"}},
		},
		"redundant fields ignored": {
			load:     load{columns: columns, clauses: `COLUMNS TERMINATED BY "|"`, properties: map[string]string{"ignore_redundant_columns": "true"}},
			messages: messages,
			want:     outcome{rows: [][]string{{"1", "north", "0"}, {"2", "south", "0"}}, errors: []string{"found 2, wanted 3"}},
		},
	})
}

// The four kinds of nothing.
func TestC09(t *testing.T) {
	const columns = "(id INT NOT NULL, s STRING NULL, n INT NULL)"
	messages := texts(`1,\N,\N`, "2,,5", "3,null,", `4,x,\N`, `\N,a,1`)
	runBoth(t, map[string]kase{
		"loose": {
			load: load{columns: columns}, messages: messages,
			want: outcome{rows: [][]string{{"1", null, null}, {"2", "", "5"}, {"3", "null", null}, {"4", "x", null}}, errors: []string{"NULL"}},
		},
		"strict": {
			load: load{columns: columns, properties: map[string]string{"strict_mode": "true"}}, messages: messages,
			want: outcome{rows: [][]string{{"1", null, null}, {"2", "", "5"}, {"4", "x", null}}, errors: []string{"column n: the value is no int", "NULL"}},
		},
		"filter": {
			load: load{columns: columns, clauses: `PRECEDING FILTER s = '\\N'`}, messages: messages,
			want: outcome{rows: [][]string{{"1", null, null}}, unselected: 4},
		},
	})
}

// Empty messages and tombstones are skipped, counted and done with.
func TestC11(t *testing.T) {
	messages := func(value string) []*kgo.Record {
		return append(append(times(10, value), &kgo.Record{Value: []byte{}}, &kgo.Record{Key: []byte("k9")}), times(9, value)...)
	}
	var rows [][]string
	for range 19 {
		rows = append(rows, []string{"1", "2"})
	}
	runBoth(t, map[string]kase{
		"json": {
			load: load{columns: "(k INT, v INT)", properties: json()}, messages: messages(`{"k":1,"v":2}`),
			want: outcome{rows: rows, empties: 2},
		},
		"csv": {
			load: load{columns: "(k INT, v INT)"}, messages: messages("1,2"), want: outcome{rows: rows, empties: 2},
		},
	})
}
