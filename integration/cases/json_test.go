package cases

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shoal/internal/testkafka"
)

// Nested paths and arrays.
func TestC15(t *testing.T) {
	runBoth(t, map[string]kase{"": {
		load: load{columns: "(a_id VARCHAR(24), tags STRING, n INT)", clauses: "COLUMNS(a_id, tags, n)",
			properties: json("jsonpaths", `["$.a.id","$.a.tags","$.a.list[1].n"]`)},
		messages: texts(`{"id":"top","a":{"id":"11:22:33","tags":["x"],"list":[{"n":1},{"n":2}]}}`, `{"a":{"id":"z","tags":[],"list":[{"n":1}]}}`),
		want:     outcome{rows: [][]string{{"11:22:33", `["x"]`, "2"}, {"z", "[]", null}}},
	}})
}

// Root arrays and json_root. A null under json_root is an error row, which
// RESUME neither loses nor doubles anything for.
func TestC17(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		t.Run("paused", func(t *testing.T) {
			t.Parallel()
			j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: "(k INT, v INT)",
				properties: json("json_root", "$.data", "strip_outer_array", "true", "max_error_number", "0")})
			const good = `{"data":[{"k":1,"v":2},{"k":3,"v":4}]}`
			j.produce(slices.Concat(times(10, good), times(5, `{"data":null}`), texts(`{"data":[]}`), times(10, good))...)
			j.create()
			j.waitState("PAUSED", "errCode = 102", `{"data":null}`)
			j.alterAndResume(map[string]string{"max_error_number": "10"})
			j.waitRows(40)
			j.waitNoLag()
			if got := j.counters(); got.Loaded != 40 || got.Errors != 5 {
				t.Errorf("counters %+v, want 40 rows and 5 errors", got)
			}
			j.checkErrors(slices.Repeat([]string{"json_root"}, 5))
			j.waitLedger()
			j.waitState("RUNNING")
		})
		t.Run("not stripped", func(t *testing.T) {
			t.Parallel()
			runCase(t, mode, kase{load: load{columns: "(k INT, v INT)", properties: json()}, messages: texts(`[{"k":5,"v":6}]`),
				want: outcome{errors: []string{"strip_outer_array"}}})
		})
	})
}

// The whole message in one column.
func TestC18(t *testing.T) {
	const message = `{"id":1,"name":"n","extra":{"x":[1,2]}}`
	cases := map[string]kase{}
	for name, path := range map[string]string{"dot": "$.", "dollar": "$"} {
		for _, kind := range []string{"JSON", "STRING"} {
			cases[name+" "+kind] = kase{
				load: load{columns: "(id INT, name STRING, doc " + kind + ")", clauses: "COLUMNS(id, name, doc)",
					properties: json("jsonpaths", fmt.Sprintf(`["$.id","$.name","%s"]`, path))},
				messages: texts(message),
				want: outcome{query: "SELECT id, name, doc, json_extract(doc, '$.extra.x[1]') FROM t",
					rows: [][]string{{"1", "n", message, "2"}}},
			}
		}
	}
	runBoth(t, cases)
}

// Duplicate keys: the first value wins, by either way of reading.
func TestC20(t *testing.T) {
	messages := texts(`{"id":1,"d":"2022-09-09","d":"other"}`, `{"id":2,"d":"x"}`)
	want := outcome{rows: [][]string{{"1", "2022-09-09"}, {"2", "x"}}}
	runBoth(t, map[string]kase{
		"names": {load: load{columns: "(id INT, d STRING)", properties: json()}, messages: messages, want: want},
		"paths": {load: load{columns: "(id INT, d STRING)", clauses: "COLUMNS(id, d)", properties: json("jsonpaths", `["$.id","$.d"]`)}, messages: messages, want: want},
	})
}

// The case of keys, and dots in keys.
func TestC21(t *testing.T) {
	runBoth(t, map[string]kase{
		"case": {
			load:     load{columns: "(id INT, userName STRING)", properties: json()},
			messages: texts(`{"ID":1,"UserName":"x"}`, `{"id":2,"userName":"y","username":"z"}`, `{"foo":1}`),
			want:     outcome{rows: [][]string{{"1", "x"}, {"2", "y"}}, errors: []string{"column"}},
		},
		"dots": {
			load:     load{columns: "(p INT, q INT)", clauses: "COLUMNS(p, q)", properties: json("jsonpaths", `["$.\"a.b\"","$.a.b"]`)},
			messages: texts(`{"a.b":1,"a":{"b":2}}`),
			want:     outcome{rows: [][]string{{"1", "2"}}},
		},
		"inside": {
			load: load{columns: "(id INT, doc STRING)", properties: json()}, messages: texts(`{"ID":1,"DOC":{"Key":1,"kEY":2}}`),
			want: outcome{rows: [][]string{{"1", `{"Key":1,"kEY":2}`}}},
		},
	})
}

// Broken JSON among good messages.
func TestC23(t *testing.T) {
	const good, bad = `{"key1":1,"key2":2}`, `{"key1":1,"key2":2`
	messages := slices.Concat(times(3, good), times(2, bad), times(3, good))
	rows := slices.Repeat([][]string{{"1", "2"}}, 6)
	both(t, func(t *testing.T, mode string) {
		t.Run("none allowed", func(t *testing.T) {
			t.Parallel()
			j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: "(key1 INT, key2 INT)", properties: json("max_error_number", "0")})
			j.produce(copies(messages)...)
			j.create()
			reason := j.waitState("PAUSED", "errCode = 102", bad, "partition 0")["ReasonOfStateChanged"]
			if strings.Count(reason, bad) < 2 || !strings.Contains(reason, "offset 3") || !strings.Contains(reason, "offset 4") {
				t.Errorf("%s, want a sample of both messages with their offsets", reason)
			}
			j.alterAndResume(map[string]string{"max_error_number": "2"})
			j.settle(outcome{rows: rows, errors: []string{"JSON", "JSON"}}, len(messages), 0)
		})
		t.Run("two allowed", func(t *testing.T) {
			t.Parallel()
			runCase(t, mode, kase{load: load{columns: "(key1 INT, key2 INT)", properties: json("max_error_number", "2")}, messages: messages,
				want: outcome{rows: rows, errors: []string{"JSON", "JSON"}}})
		})
	})
}

// Very large messages: each is read, alone if it must be, and loaded or told
// of.
func TestC24(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: "(id INT, s STRING)", properties: json(),
			topic: map[string]string{"max.message.bytes": "16777216"}})
		message := func(id, bytes int) string { return fmt.Sprintf(`{"id":%d,"s":"%s"}`, id, strings.Repeat("x", bytes)) }
		for _, m := range texts(message(1, 5<<10), message(2, 8<<20), message(3, 3), message(4, 12<<20), message(5, 3)) {
			j.produce(m)
		}
		j.create()
		j.eventually(func() error {
			if c := j.counters(); c.Loaded+c.Errors != 5 {
				return fmt.Errorf("counters %+v, want 5 messages done with; %s", c, j.status()["OtherMsg"])
			}
			return nil
		})
		j.checkRows("SELECT id, LENGTH(s) FROM t", [][]string{{"1", "5120"}, {"2", "8388608"}, {"3", "3"}, {"4", "12582912"}, {"5", "3"}})
		j.waitNoLag()
		j.waitLedger()
	})
}
