package decode_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shoal/be/decode"
	typesv1 "shoal/proto/types/v1"
)

// A row becomes the same, or fails for the same reason, whatever rows are before
// it in the batch.
func TestRowsDoNotTouchEachOther(t *testing.T) {
	schema := parseTable(t, "a int\nb array<int> not null\nc varchar(3)\nd decimal(30,2)\ne struct<x:int,y:text>\nf double not null default 1.5")
	csv := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{`\N`, "1", "x", "[1,null]", "long text", "1e40", `{"x":1,"y":"a\"b"}`, ""}), 5, 7),
		func(fields []string) string { return strings.Join(fields, "|") })
	json := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{`"a":1`, `"a":null`, `"a":"x"`, `"b":[1,2]`, `"b":[]`, `"c":"t\u00e9"`, `"c":"l\u006fng"`,
		`"d":2.5`, `"d":1e40`, `"e":{"y":"\u0061"}`, `"f":"\u0031"`, `"f":null`, `"g":1`}), 0, 6),
		func(fields []string) string { return "{" + strings.Join(fields, ",") + "}" })
	rapid.Check(t, func(rt *rapid.T) {
		load := &typesv1.RoutineLoad{ColumnSeparator: "|", StrictMode: rapid.Bool().Draw(rt, "strict")}
		rows := rapid.SliceOfN(csv, 1, 12)
		begin, between, end := "", "\n", ""
		if rapid.Bool().Draw(rt, "json") {
			load.Format, load.StripOuterArray = typesv1.RoutineLoad_FORMAT_JSON, true
			rows, begin, between, end = rapid.SliceOfN(json, 1, 12), "[", ",", "]"
		}
		dec, err := decode.New(schema, load)
		if err != nil {
			rt.Fatal(err)
		}
		var alone, together []string
		texts := rows.Draw(rt, "rows")
		for _, row := range texts {
			alone = append(alone, outcomes(dec, begin+row+end)...)
		}
		together = outcomes(dec, begin+strings.Join(texts, between)+end)
		slices.Sort(alone)
		slices.Sort(together)
		if !slices.Equal(alone, together) {
			rt.Fatalf("alone\n%s\ntogether\n%s", strings.Join(alone, "\n"), strings.Join(together, "\n"))
		}
	})
}

// outcomes are the rows and the reasons of a message.
func outcomes(dec *decode.Decoder, message string) (list []string) {
	rows, bad := decodeOne(dec, []byte(message))
	for _, r := range rows {
		list = append(list, strings.Join(r, " | "))
	}
	for _, e := range bad {
		list = append(list, e.Column+": "+string(e.Source)+": "+e.Reason)
	}
	return list
}
