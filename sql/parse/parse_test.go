package parse_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"shoal/sql/ast"
	"shoal/sql/parse"
	"shoal/sql/types"
)

// TestParse runs the scripts in testdata: each gives a statement and the
// value, or the error, that it becomes.
func TestParse(t *testing.T) {
	datadriven.Walk(t, "testdata/statements", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			stmt, err := parse.Parse(d.Input)
			if err != nil {
				return fmt.Sprintf("%T: %v\n", err, err)
			}
			return describe(reflect.ValueOf(stmt), "") + "\n"
		})
	})
}

// describe prints a value without its zero fields.
func describe(v reflect.Value, indent string) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return describe(v.Elem(), indent)
	case reflect.Slice:
		var b strings.Builder
		for i := range v.Len() {
			fmt.Fprintf(&b, "\n%s- %s", indent, describe(v.Index(i), indent+"  "))
		}
		return b.String()
	case reflect.Struct:
		if typ, ok := v.Interface().(types.Type); ok {
			return typ.String()
		}
		if name, ok := v.Interface().(ast.Name); ok {
			return name.String()
		}
		var b strings.Builder
		b.WriteString(v.Type().Name())
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				fmt.Fprintf(&b, "\n%s  %s: %s", indent, v.Type().Field(i).Name, describe(f, indent+"  "))
			}
		}
		return b.String()
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v.Interface())
}

func TestErrorPositions(t *testing.T) {
	_, err := parse.Parse("SHOW\nROUTINE\nLODE x")
	var syntax *parse.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("got %v, want a SyntaxError", err)
	}
	if syntax.Pos != 13 || syntax.Line != 3 || syntax.Near != "LODE x" {
		t.Errorf("got %+v", syntax)
	}
	_, err = parse.Parse(`CREATE TABLE t (a INT,` + "\n" + `b DECIMAL(39))`)
	var invalid *parse.InvalidError
	if !errors.As(err, &invalid) || invalid.Line != 2 || invalid.Pos != 25 {
		t.Errorf("got %v, want an InvalidError in line 2", err)
	}
}

func TestNearIsShort(t *testing.T) {
	_, err := parse.Parse("SHOE " + strings.Repeat("ä", 1000))
	var syntax *parse.SyntaxError
	if !errors.As(err, &syntax) || len([]rune(syntax.Near)) != 80 {
		t.Errorf("got %v, want 80 characters of the text", err)
	}
}

// TestDeepNesting holds that depth costs memory, not stack.
func TestDeepNesting(t *testing.T) {
	deep := strings.Repeat("(", 1_000_000)
	for _, text := range []string{
		"CREATE ROUTINE LOAD j ON t COLUMNS(" + deep,
		"CREATE ROUTINE LOAD j ON t WHERE " + deep,
		"CREATE TABLE t (a INT AS " + deep,
		"SET a = " + deep,
	} {
		if _, err := parse.Parse(text); err == nil {
			t.Errorf("%.40q… was parsed", text)
		}
	}
}
