package jsonpath_test

import (
	"reflect"
	"strings"
	"testing"

	"shoal/internal/jsonpath"
)

func TestCompile(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"$", "$"},
		{"$.", "$"},
		{"$.a", "$.a"},
		{"$.a.b", "$.a.b"},
		{`$."a.b"`, `$."a.b"`},
		{`$."a"`, "$.a"},
		{`$."say \"a\\b\""`, `$."say \"a\\b\""`},
		{`$.""`, `$.""`},
		{`$."*"`, `$."*"`},
		{"$[0]", "$[0]"},
		{"$.[0].a", "$[0].a"},
		{"$.list[1].n", "$.list[1].n"},
		{"$.a[0][12]", "$.a[0][12]"},
		{"$.größe.a b.@type.$", "$.größe.a b.@type.$"},
		{"$.a[2147483647]", "$.a[2147483647]"},
	} {
		path, err := jsonpath.Compile(tt.text)
		if err != nil || path.String() != tt.want {
			t.Errorf("Compile(%q) = %v, %v; want %s", tt.text, path, err, tt.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "begins with $"},
		{"a", "begins with $"},
		{".a", "begins with $"},
		{"$a", "a dot or a bracket is missing"},
		{"$..a", "a key is missing at position 3"},
		{"$.a.", "after the last dot"},
		{"$.a..b", "a key is missing at position 5"},
		{"$.*", "stands for many values"},
		{"$.a[*].b", "name the array itself"},
		{"$.a[-1]", `"-1" is no index`},
		{"$.a[+1]", `"+1" is no index`},
		{"$.a[1:2]", `"1:2" is no index`},
		{"$.a[last]", `"last" is no index`},
		{"$.a[]", `"" is no index`},
		{"$['a']", `"'a'" is no index`},
		{"$.a[2147483648]", "is no index"},
		{"$.a[99999999999999999999]", "is no index"},
		{"$.a[1", "not closed at position 4"},
		{`$."a`, "not closed at position 3"},
		{`$."a"b`, "a dot or a bracket is missing"},
		{`$.a"b"`, "a dot or a bracket is missing"},
		{"$.a]", "a dot or a bracket is missing"},
		{"$" + strings.Repeat(".a", 65), "more than 64"},
	} {
		path, err := jsonpath.Compile(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Compile(%q) = %v, %v; want an error with %q", tt.text, path, err, tt.want)
		}
	}
}

func TestCompileList(t *testing.T) {
	paths, err := jsonpath.CompileList(` ["$.id", "$.\"a.b\"", "$"] `)
	if err != nil || len(paths) != 3 || paths[1].String() != `$."a.b"` || len(paths[2]) != 0 {
		t.Errorf("got %v, %v", paths, err)
	}
	for text, want := range map[string]string{
		"":                  "must be a JSON array",
		"$.a":               "must be a JSON array",
		`{"a":"$.a"}`:       "must be a JSON array",
		`[1]`:               "must be a JSON array",
		`["$.a"`:            "must be a JSON array",
		`[]`:                "has no path",
		`null`:              "has no path",
		`["$.a", null]`:     "path 2",
		`["$.a", "$.b[*]"]`: "path 2",
	} {
		if paths, err := jsonpath.CompileList(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CompileList(%q) = %v, %v; want an error with %q", text, paths, err, want)
		}
	}
}

// FuzzCompile: a path that is taken prints as one that is taken, with the same
// steps.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"$", "$.", "$.a.b[1]", `$."a.b"."c\"\\"`, "$[*]", "$..", "$.[0]", `$."\x"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := jsonpath.Compile(text)
		if err != nil {
			return
		}
		again, err := jsonpath.Compile(path.String())
		if err != nil || !reflect.DeepEqual(again, path) {
			t.Fatalf("%q is %#v, printed as %q and read back as %#v, %v", text, path, path.String(), again, err)
		}
	})
}
