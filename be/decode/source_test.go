package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"shoal/be/decode"
	typesv1 "shoal/proto/types/v1"
)

var mapped = []*typesv1.LoadColumn{{Name: "ID"}, {Name: "tmp"}, {Name: "v", Expr: "upper(tmp)"}}

// TestSource: a source row has the plain names of COLUMNS, as they are; what is
// converted later keeps the kind that the source gave it.
func TestSource(t *testing.T) {
	schema := parseTable(t, "id INT not null\nv JSON\nn INT default 7\n")
	load := &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON, LoadColumns: mapped}
	source, err := decode.NewSource(schema, load)
	if err != nil {
		t.Fatal(err)
	}
	if names := fmt.Sprint(source.Names()); names != "[ID tmp]" {
		t.Fatalf("names %s", names)
	}
	rows := source.NewRows()
	for _, message := range []string{
		`{"id":1,"TMP":{"a":[1.50]},"v":"not asked for"}`, `{"id":2.0,"tmp":"x\u00e9\n"}`, `{"id":"3"}`, `{"id":null,"tmp":true}`, `{"id":5,"tmp":"\ud800"}`, `{"x":1}`,
	} {
		source.Start([]byte(message))
		for more := true; more; {
			var bad *decode.RowError
			if more, bad = source.Next(rows); bad != nil {
				t.Logf("%s: %s", message, bad.Reason)
			}
		}
	}
	var got strings.Builder
	for row := range rows.Len {
		for i := range source.Names() {
			text, ok := rows.Fields[i][row].Text()
			fmt.Fprintf(&got, "%q %v ", text, ok)
		}
	}
	if want := `"1" true "{\"a\":[1.50]}" true "2.0" true "xé\n" true "3" true "" false "" false "1" true `; got.String() != want {
		t.Errorf("source rows %s\nwant        %s", got.String(), want)
	}
	convertAll(t, schema, load, rows)
}

func convertAll(t *testing.T, schema *typesv1.Schema, load *typesv1.RoutineLoad, rows *decode.Rows) {
	converter, err := decode.NewConverter(schema, load)
	if err != nil {
		t.Fatal(err)
	}
	b := converter.NewBatch()
	for row := range rows.Len {
		bad := converter.Add(b, []decode.Value{rows.Fields[0][row], rows.Fields[1][row], {}}, rows.Places[row])
		if (bad != nil) != (row == 3) {
			t.Errorf("row %d: %+v", row, bad)
		}
	}
	want := `[[1 "{\"a\":[1.50]}" 7] [2 NULL 7] [3 NULL 7]]`
	if got := fmt.Sprint(cells(b)); got != want {
		t.Errorf("converted %s\nwant      %s", got, want)
	}
	if rows.Reset(); rows.Len != 0 || rows.Full() {
		t.Error("Reset left rows")
	}
}

// Without plain names, the table's columns are the fields of the source, as in
// Doris; a Decoder takes no expression.
func TestSourceOfAllColumns(t *testing.T) {
	schema := parseTable(t, "id INT\nv STRING\n")
	load := &typesv1.RoutineLoad{LoadColumns: mapped[2:]}
	source, err := decode.NewSource(schema, load)
	if err != nil || fmt.Sprint(source.Names()) != "[id v]" {
		t.Fatalf("%v, %v", source, err)
	}
	if _, err := decode.New(schema, load); err == nil || !strings.Contains(err.Error(), "expression of v") {
		t.Errorf("New took an expression: %v", err)
	}
	if _, err := decode.New(schema, &typesv1.RoutineLoad{PrecedingFilter: "id > 1"}); err == nil {
		t.Error("New took a PRECEDING FILTER")
	}
}

// C09: a PRECEDING FILTER sees what is written, expressions what it means.
func TestSourceText(t *testing.T) {
	for _, tt := range []struct {
		format       typesv1.RoutineLoad_Format
		message      string
		source, text string
	}{
		{typesv1.RoutineLoad_FORMAT_CSV, `\N`, `\N`, "NULL"},
		{typesv1.RoutineLoad_FORMAT_CSV, `"\N"`, `\N`, "NULL"},
		{typesv1.RoutineLoad_FORMAT_CSV, `""`, ``, "NULL"},
		{typesv1.RoutineLoad_FORMAT_CSV, `x`, `x`, "x"},
		{typesv1.RoutineLoad_FORMAT_JSON, `{"s":"\\N"}`, `\N`, `\N`},
		{typesv1.RoutineLoad_FORMAT_JSON, `{"s":null}`, "NULL", "NULL"},
		{typesv1.RoutineLoad_FORMAT_JSON, `{"s":true}`, "1", "1"},
	} {
		load := &typesv1.RoutineLoad{Format: tt.format, Enclose: `"`, EmptyFieldAsNull: true}
		src, err := decode.NewSource(parseTable(t, "s STRING\n"), load)
		if err != nil {
			t.Fatal(err)
		}
		rows := src.NewRows()
		src.Start([]byte(tt.message))
		if _, bad := src.Next(rows); bad != nil || rows.Len != 1 {
			t.Fatalf("%s: %d rows, %+v", tt.message, rows.Len, bad)
		}
		v := rows.Fields[0][0]
		if got := orNull(v.Source()); got != tt.source {
			t.Errorf("%s has %s, want %s", tt.message, got, tt.source)
		}
		if got := orNull(v.Text()); got != tt.text {
			t.Errorf("%s is the text %s, want %s", tt.message, got, tt.text)
		}
	}
}

func orNull(s []byte, ok bool) string {
	if !ok {
		return "NULL"
	}
	return string(s)
}

// A job that this process does not know, or that does not fit, is refused.
func TestRefusedJobs(t *testing.T) {
	for _, tt := range []struct {
		schema string
		load   *typesv1.RoutineLoad
		want   string
	}{
		{"a INT\n", &typesv1.RoutineLoad{Format: 99}, "format 99"},
		{"a NOTYPE\n", &typesv1.RoutineLoad{}, "column a"},
		{"a INT\n", &typesv1.RoutineLoad{Timezone: "Nowhere/City"}, "time zone"},
		{"a INT\n", &typesv1.RoutineLoad{Enclose: "é"}, "ASCII"},
		{"a INT\n", &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON, JsonPaths: []string{"a"}}, "begins with $"},
		{"a INT not null\n", &typesv1.RoutineLoad{LoadColumns: []*typesv1.LoadColumn{{Name: "b"}}}, "NOT NULL"},
		{"a INT\n", &typesv1.RoutineLoad{LoadColumns: []*typesv1.LoadColumn{{Name: "a"}, {Name: "A"}}}, "twice"},
	} {
		if _, err := decode.New(parseTable(t, tt.schema), tt.load); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%v) = %v, want %q", tt.load, err, tt.want)
		}
	}
	if _, err := decode.NewSource(parseTable(t, "a INT\n"), &typesv1.RoutineLoad{Format: 99}); err == nil {
		t.Error("NewSource took format 99")
	}
}
