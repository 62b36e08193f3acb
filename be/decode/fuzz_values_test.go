package decode_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"
	"unicode/utf8"

	"shoal/be/decode"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/types"
)

// fuzzTypes has each kind of type, and each way of storing it.
var fuzzTypes = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT", "FLOAT", "DOUBLE", "DECIMAL(5,2)", "DECIMAL(38,10)",
	"DATE", "DATETIME", "DATETIME(6)", "CHAR(3)", "VARCHAR(5)", "STRING", "JSON", "VARIANT",
	"ARRAY<INT>", "ARRAY<ARRAY<VARCHAR(3)>>", "MAP<STRING,DOUBLE>", "MAP<INT,ARRAY<BOOLEAN>>", "MAP<DECIMAL(20,2),JSON>",
	"STRUCT<a:INT,b:STRUCT<c:DATE,d:DECIMAL(30,1)>>", "ARRAY<MAP<DATE,DATETIME(3)>>",
}

// FuzzConversions puts any text into every type: whatever it is, strict mode
// turns what failed into error rows and changes nothing else, and what is
// stored is a value of the type.
func FuzzConversions(f *testing.F) {
	for _, seed := range []string{
		"", " ", "7", "-0.5e3", "99.95", "1e38", "true", "NaN", "infinity", "2024-05-01T10:11:12.5+08:00", "24/5/1 1.2.3 CST", "0000-01-01",
		"2024-03-31 02:30:00 Europe/Berlin", "0001-01-01T00:00:00+14", "日本語", `\N`, `{"a":1,"b":{"c":"2024-05-01","d":1.25}}`, `[1,[2,"x"],null]`,
		`[['a', "b,c", d e], []]`, `{1:[true,0], 2:null, 'k':x}`, `{1, {2024-05-01, 3}}`, `{"\ud83d":"\ud800"}`, `["[1]"]`, "[[[", `{{{"`, `{a:'`, `[{2024-01-01:10:00}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		for _, typ := range fuzzTypes {
			value, failed := convertText(t, typ, s, false)
			strict, strictFailed := convertText(t, typ, s, true)
			switch {
			case failed && !strictFailed:
				t.Fatalf("%q into %s fails, but not in strict mode: %s", s, typ, strict)
			case !failed && !strictFailed && value != strict:
				t.Fatalf("%q into %s is %s, in strict mode %s", s, typ, value, strict)
			}
		}
	})
}

// convertText converts one text, checks what is stored and prints it.
func convertText(t *testing.T, typ, s string, strict bool) (value string, failed bool) {
	schema := oneColumn(typ)
	converter, err := decode.NewConverter(schema, &typesv1.RoutineLoad{StrictMode: strict, Timezone: "America/New_York"})
	if err != nil {
		t.Fatal(err)
	}
	b := converter.NewBatch()
	if bad := converter.Add(b, []decode.Value{decode.TextValue([]byte(s))}, decode.Place{Line: 1}); bad != nil {
		if bad.Reason == "" || bad.Column != "a" || b.Rows != 0 {
			t.Fatalf("%q into %s: %+v, %d rows", s, typ, bad, b.Rows)
		}
		return "", true
	}
	c := &b.Columns[0]
	if !c.Null[0] {
		checkStored(t, c)
	}
	return cell(c, 0), false
}

func checkStored(t *testing.T, c *decode.Column) {
	switch kind := c.Type.Kind; {
	case c.Nested != nil:
		checkPart(t, c.Type, c.Nested[0])
	case c.Text != nil && kind != types.JSON && kind != types.Variant && kind != types.String:
		if len(c.Text[0]) > c.Type.Length || !utf8.Valid(c.Text[0]) {
			t.Fatalf("%q in a %v", c.Text[0], c.Type)
		}
	case kind == types.Date || kind == types.DateTime:
		checkYear(t, cell(c, 0))
	}
}

func checkYear(t *testing.T, text string) {
	if text < "0001-01-01" || len(text) > 4 && text[4] != '-' {
		t.Fatalf("stored %s", text)
	}
}

// checkPart holds a value in a nested column to what Column promises.
func checkPart(t *testing.T, typ types.Type, v any) {
	ok := false
	switch v := v.(type) {
	case nil:
		return
	case []any:
		ok = typ.Kind == types.Array
		for _, e := range v {
			checkPart(t, typ.Parts()[0].Type, e)
		}
	case decode.Pairs:
		ok = typ.Kind == types.Map && len(v.Keys) == len(v.Values)
		checkPairs(t, typ, v)
	case map[string]any:
		ok = typ.Kind == types.Struct && len(v) == len(typ.Parts())
		for _, p := range typ.Parts() {
			field, there := v[p.Name]
			ok = ok && there
			checkPart(t, p.Type, field)
		}
	case bool:
		ok = typ.Kind == types.Boolean
	case float64:
		ok = typ.Kind == types.Double
	case string:
		ok = utf8.ValidString(v) && (typ.Length == 0 || len(v) <= typ.Length)
	case time.Time:
		ok = v.Location() == time.UTC && v.Year() >= 1 && v.Year() <= 9999
	case int64:
		ok = typ.IntegerBits() > 0
	case *big.Int:
		ok = typ.Kind == types.Decimal && typ.Precision > 18
	}
	if !ok {
		t.Fatalf("%T %v in a %v", v, v, typ)
	}
}

func checkPairs(t *testing.T, typ types.Type, m decode.Pairs) {
	seen := map[string]bool{}
	for i, key := range m.Keys {
		id := fmt.Sprint(key)
		if key == nil || seen[id] {
			t.Fatalf("key %v in %v", key, m.Keys)
		}
		seen[id] = true
		checkPart(t, typ.Parts()[0].Type, key)
		checkPart(t, typ.Parts()[1].Type, m.Values[i])
	}
}

// FuzzDateTime holds dates that are written in many forms to package time.
func FuzzDateTime(f *testing.F) {
	for _, seed := range []int64{0, 1714557599_999999, -62135596800_000000, 253402300799_999999, 951782400_000000, 1711848600_000000, 1729989000_500000} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, micros int64) {
		at := time.UnixMicro(micros).UTC()
		if at.Year() < 2 || at.Year() > 9998 {
			return
		}
		want := at.Format("2006-01-02 15:04:05.999999")
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		local := at.In(berlin)
		for _, written := range []string{
			at.Format("2006-01-02 15:04:05.000000"), at.Format("2006-1-2T15:4:5.000000"), at.Format("20060102 150405.000000"),
			at.Format("20060102150405.000000"), at.Format("2006.01.02 15.04.05.000000"), at.Format(time.RFC3339Nano),
			local.Format("2006-01-02T15:04:05.000000-07"), at.In(time.FixedZone("", -12600)).Format("20060102T150405.000000 -07:00"),
		} {
			_, offset := local.Zone()
			if offset%1800 != 0 && written == local.Format("2006-01-02T15:04:05.000000-07") {
				continue // Berlin's own time of old
			}
			got, failed := convertUTC(t, written)
			if failed || got != want {
				t.Fatalf("%s is %s, failed %v; want %s", written, got, failed, want)
			}
		}
		checkNamedZone(t, local, want)
	})
}

// checkNamedZone: a local time with its zone's name is the instant it came
// from, unless the zone had it twice.
func checkNamedZone(t *testing.T, local time.Time, want string) {
	for _, hours := range []time.Duration{-1, 1} {
		other := local.Add(hours * time.Hour)
		if other.Format(time.DateTime) == local.Format(time.DateTime) {
			return
		}
	}
	if local.Year() < 1950 {
		return // changes of less than an hour
	}
	written := local.Format("2006-01-02 15:04:05.000000") + " Europe/Berlin"
	if got, failed := convertUTC(t, written); failed || got != want {
		t.Fatalf("%s is %s, failed %v; want %s", written, got, failed, want)
	}
}

func convertUTC(t *testing.T, s string) (value string, failed bool) {
	converter, err := decode.NewConverter(oneColumn("DATETIME(6)"), &typesv1.RoutineLoad{StrictMode: true})
	if err != nil {
		t.Fatal(err)
	}
	b := converter.NewBatch()
	if bad := converter.Add(b, []decode.Value{decode.TextValue([]byte(s))}, decode.Place{}); bad != nil {
		return bad.Reason, true
	}
	return cell(&b.Columns[0], 0), false
}
