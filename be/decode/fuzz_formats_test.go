package decode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"shoal/be/decode"
	"shoal/internal/jsonpath"
	typesv1 "shoal/proto/types/v1"
)

func twoColumns() *typesv1.Schema {
	return &typesv1.Schema{Columns: []*typesv1.Column{
		{FieldId: 1, Name: "a", Type: "STRING", Nullable: true}, {FieldId: 2, Name: "b", Type: "STRING", Nullable: true}}}
}

// FuzzEnclosed: what was enclosed is read back, whatever it holds; and no
// message reaches into the next.
func FuzzEnclosed(f *testing.F) {
	for _, seed := range [][3]string{
		{"left|right", "end", `"`}, {"a\nb", "\r\n", "'"}, {"", `say "hi"`, `"`}, {`\`, `\'`, "'"}, {"\x01", "@@", "@"}, {"'", "", "|"}, {"x\r", "y", "x"},
	} {
		f.Add(seed[0], seed[1], seed[2], "|", `\`)
		f.Add(seed[0], seed[1], seed[2], "@|", "")
	}
	f.Fuzz(func(t *testing.T, a, b, enclose, separator, escape string) {
		load := &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_CSV, Enclose: enclose, Escape: escape, ColumnSeparator: separator}
		dec, err := decode.New(twoColumns(), load)
		if err != nil || enclose == "" || strings.ContainsAny(separator, "\r\n") {
			return
		}
		rows, bad := decodeOne(dec, []byte(a)) // anything
		if len(rows)+len(bad) > strings.Count(a, "\n")+1 {
			t.Fatalf("%d rows and %d errors of %q", len(rows), len(bad), a)
		}
		if separator == "" {
			separator = "\t"
		}
		if enclose == "\n" || enclose == "\r" || !utf8.ValidString(strings.Join([]string{enclose, separator, a, b}, " ")) || strings.Contains(separator, enclose) || a == `\N` || b == `\N` {
			return
		}
		msg := encloseField(a, enclose, escape) + separator + encloseField(b, enclose, escape)
		rows, bad = decodeOne(dec, []byte(msg+"\r\n"+msg))
		if len(bad) > 0 || len(rows) != 2 || rows[0][0] != csvCell(a) || rows[1][1] != csvCell(b) {
			t.Fatalf("%q gave %q, %+v", msg, rows, bad)
		}
	})
}

func encloseField(s, enclose, escape string) string {
	if escape != "" && escape != enclose {
		s = strings.ReplaceAll(s, escape, escape+escape)
	}
	return enclose + strings.ReplaceAll(s, enclose, enclose+enclose) + enclose
}

// FuzzPaths holds jsonpaths to a plain walk over what encoding/json reads.
func FuzzPaths(f *testing.F) {
	for _, seed := range [][3]string{
		{`{"a":{"b":[1,{"c":"x"}]},"a":2}`, "$.a.b[1].c", "$.a"}, {`{"a.b":1,"a":{"b":2}}`, `$."a.b"`, "$.a.b"}, {`{"x":[[],[1]]}`, "$.x[1][0]", "$"},
		{`{"":0,"\u0061":{"":1}}`, `$.""`, `$.a.""`}, {`{"a":[{"b":1},{"b":2}],"b":[`, "$.a[0].b", "$.b"}, {"{}", "$.", "$.a"},
	} {
		f.Add([]byte(seed[0]), seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, msg []byte, first, second string) {
		paths, err := compileAll(first, second)
		if err != nil || bytes.HasPrefix(msg, []byte("\xef\xbb\xbf")) || strings.Contains(first+second, "\ufffd") {
			return // encoding/json reads half a surrogate pair as U+FFFD
		}
		dec := newDecoder(t, twoColumns(), &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON, JsonPaths: []string{first, second}})
		rows, bad := decodeOne(dec, msg)
		if again, badAgain := decodeOne(dec, msg); fmt.Sprint(again, len(badAgain)) != fmt.Sprint(rows, len(bad)) {
			t.Fatalf("the second time %v, %d errors; the first %v, %+v", again, len(badAgain), rows, bad)
		}
		body := bytes.TrimSpace(msg)
		if !utf8.Valid(msg) || !json.Valid(msg) || len(body) == 0 || body[0] != '{' {
			if len(rows) > 0 {
				t.Fatalf("%q gave %q", msg, rows)
			}
			return
		}
		want, found := []string{"NULL", "NULL"}, false
		for i, path := range paths {
			if v := walk(t, body, path); v != nil {
				want[i], found = loaded(t, v), true
			}
		}
		switch {
		case len(bad) == 1 && strings.Contains(bad[0].Reason, "half of a surrogate"):
		case found != (len(rows) == 1), found && fmt.Sprint(rows[0]) != fmt.Sprint(want):
			t.Fatalf("%s by %s and %s gave %v, %+v; want %v", msg, first, second, rows, bad, want)
		}
	})
}

func compileAll(texts ...string) (paths []jsonpath.Path, err error) {
	for _, text := range texts {
		path, err := jsonpath.Compile(text)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// walk is the value that a path leads to, nil where there is none.
func walk(t *testing.T, v json.RawMessage, path jsonpath.Path) json.RawMessage {
	for _, step := range path {
		if v = bytes.TrimSpace(v); step.IsIndex && v[0] != '[' || !step.IsIndex && v[0] != '{' {
			return nil
		}
		if v = child(t, v, step); v == nil {
			return nil
		}
	}
	return v
}

func child(t *testing.T, v json.RawMessage, step jsonpath.Step) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(v))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for i := 0; d.More(); i++ {
		key := json.Token(nil)
		if !step.IsIndex {
			var err error
			if key, err = d.Token(); err != nil {
				t.Fatal(err)
			}
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if step.IsIndex && i == step.Index || !step.IsIndex && key == step.Key {
			return value
		}
	}
	return nil
}

// FuzzArrays: with strip_outer_array each element is a row or an error row, and
// a message that is not well formed is one error row.
func FuzzArrays(f *testing.F) {
	for _, seed := range []string{`[{"a":1},{"b":[2]}]`, `{"r":[{"a":1},5,{"r":null}]}`, `[{"r":{"a":1}},{"r":[]},{}]`, "[]", "[ ]", `{"r":null}`, `[{"a":1}`, `[1]x`, "null"} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, msg []byte, root bool) {
		load := &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON, StripOuterArray: true}
		if root {
			load.JsonRoot = "$.r"
		}
		if bytes.HasPrefix(msg, []byte("\xef\xbb\xbf")) {
			return
		}
		rows, bad := decodeOne(newDecoder(t, twoColumns(), load), msg)
		body := json.RawMessage(bytes.Trim(msg, " \t\r\n"))
		want := 1 // error row
		switch {
		case len(body) == 0:
			want = 0
		case !utf8.Valid(msg) || !json.Valid(msg):
			if len(rows) > 0 {
				t.Fatalf("%q gave rows %q", msg, rows)
			}
		default:
			if root && body[0] == '{' {
				body = child(t, body, jsonpath.Step{Key: "r"})
			}
			var elements []json.RawMessage
			if len(body) > 0 && body[0] == '[' && json.Unmarshal(body, &elements) == nil {
				want = len(elements)
			}
		}
		if len(rows)+len(bad) != want {
			t.Fatalf("%q gave %q and %d errors, want %d", msg, rows, len(bad), want)
		}
	})
}
