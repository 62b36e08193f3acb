package decode_test

import (
	"strings"
	"testing"

	typesv1 "shoal/proto/types/v1"
)

// TestNestingIsBounded: deep nesting is an error row, and costs linear work.
func TestNestingIsBounded(t *testing.T) {
	dec := newDecoder(t, oneColumn("STRING"), &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON})
	const depth = 5 << 20
	_, bad := decodeOne(dec, []byte(`{"a":`+strings.Repeat("[", depth)+strings.Repeat("]", depth)+"}"))
	if len(bad) != 1 || !strings.Contains(bad[0].Reason, "nested too deep") {
		t.Fatalf("got %+v", bad)
	}
}

// TestHugeText: a message of 16 MiB is loaded whole, and fills the batch.
func TestHugeText(t *testing.T) {
	dec := newDecoder(t, oneColumn("STRING"), &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON})
	b := dec.NewBatch()
	huge := strings.Repeat("0123456789abcde\\n", 1<<20)
	dec.Start([]byte(`{"a":"` + huge + `"}`))
	if more, bad := dec.Next(b); !more || bad != nil {
		t.Fatalf("more %v, bad %v", more, bad)
	}
	if !b.Full() || string(b.Columns[0].Text[0]) != strings.ReplaceAll(huge, `\n`, "\n") {
		t.Fatalf("full %v, %d bytes", b.Full(), len(b.Columns[0].Text[0]))
	}
	b.Reset()
	if b.Full() || b.Rows != 0 {
		t.Fatal("Reset left rows")
	}
}

// TestHostileTexts: what is 4 MiB of brackets, quotes or separators takes
// linear work, in every format and type. Anything else would take minutes.
func TestHostileTexts(t *testing.T) {
	const size = 4 << 20
	csv := &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_CSV, Enclose: `"`, Escape: `\`, ColumnSeparator: "||", IgnoreRedundantFields: true}
	paths := &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON, JsonPaths: []string{"$.a[1].b", "$.a[1000000].b"}}
	arrays := &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON, JsonRoot: "$.a", StripOuterArray: true}
	for _, tt := range []struct {
		load           *typesv1.RoutineLoad
		typ            string
		before, repeat string
	}{
		{csv, "STRING", "", `"`}, {csv, "STRING", `"`, `""`}, {csv, "STRING", `"`, `\`}, {csv, "STRING", "", "|"}, {csv, "STRING", "", "x\r"},
		{csv, "STRING", `"`, "\r\n"}, {csv, "STRING", "", `"x"||`}, {csv, "STRING", "", "x||"},
		{csv, "ARRAY<ARRAY<INT>>", "", "["}, {csv, "ARRAY<STRING>", "[    x", "'"}, {csv, "ARRAY<STRING>", "[", " "}, {csv, "ARRAY<STRING>", "[", "[],"},
		{csv, "MAP<INT,INT>", "{", "1:2,"}, {csv, "MAP<INT,INT>", "{", "{"}, {csv, "STRUCT<a:INT>", "{", ":"}, {csv, "JSON", `"`, `\u0020`}, {csv, "INT", "", " "},
		{csv, "DECIMAL(38,10)", "", "9"}, {csv, "DOUBLE", "1e", "9"}, {csv, "DATETIME", "2024-01-01 00:00:00.", "9"}, {csv, "DATETIME", "2024-01-01 00:00:00", " "},
		{paths, "INT", `{"a":`, "["}, {paths, "INT", `{`, `"a":[1,{"b":2}],`}, {paths, "INT", `{"a":[`, "0,"}, {paths, "INT", `{"`, `\u0061`},
		{arrays, "INT", `{"a":[`, "{},"}, {arrays, "INT", `[`, `{"a":{"a":1}},`}, {arrays, "INT", `{`, `"a":[],`},
	} {
		schema := parseTable(t, "a "+tt.typ+"\nb "+tt.typ+"\n")
		dec := newDecoder(t, schema, tt.load)
		decodeOne(dec, []byte(tt.before+strings.Repeat(tt.repeat, size/len(tt.repeat))))
		for _, end := range []string{`"`, "]", "}", "0]", "]}", `":1}`, `"":0}`, `{}]}`} {
			decodeOne(dec, []byte(tt.before+strings.Repeat(tt.repeat, size/len(tt.repeat)/8)+end))
		}
	}
}

// TestLongKeys: a path may name a key of any length, and what is longer than
// all of them costs little.
func TestLongKeys(t *testing.T) {
	long := strings.Repeat("k", 5000)
	dec := newDecoder(t, twoColumns(), &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON, JsonPaths: []string{"$." + long, "$.b"}})
	for _, key := range []string{long, strings.Repeat(`\u006b`, 5000)} {
		rows, bad := decodeOne(dec, []byte(`{"`+strings.Repeat("x", 1<<20)+`":0,"`+key+`":1,"b":2}`))
		if len(bad) != 0 || len(rows) != 1 || rows[0][0] != `"1"` || rows[0][1] != `"2"` {
			t.Fatalf("%q, %+v", rows, bad)
		}
	}
}
