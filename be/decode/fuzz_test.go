package decode_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"shoal/be/decode"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/types"
)

func oneColumn(typ string) *typesv1.Schema {
	return &typesv1.Schema{Columns: []*typesv1.Column{{FieldId: 1, Name: "a", Type: typ, Nullable: true}}}
}

func newDecoder(t testing.TB, schema *typesv1.Schema, load *typesv1.RoutineLoad) *decode.Decoder {
	t.Helper()
	d, err := decode.New(schema, load)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// FuzzJSON holds the decoder to encoding/json: what is JSON, and what the
// first value of key "a" is.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":"x"}`, `{"a":"\u00e9\ud83d\ude00\n"}`, `{"b":[1,{"a":2}],"a":1.50,"a":2}`, `{"A":1}`, `[]`, `{"a":1e5}`, `{"a":null} `,
		`{"a":{"b":[true,false,null]}}`, `{`, `{"a":"\ud800"}`, `-0`, `01`, "{\"a\":\"01234567\t\"}", "\xef\xbb\xbf{}", `{"a":"012345678\"1234567"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		dec := newDecoder(t, oneColumn("STRING"), &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON})
		rows, bad := decodeOne(dec, msg)
		if again, badAgain := decodeOne(dec, msg); len(again) != len(rows) || len(badAgain) != len(bad) {
			t.Fatalf("the second time %v %v, the first %v %v", again, badAgain, rows, bad)
		}
		body := bytes.TrimPrefix(msg, []byte("\xef\xbb\xbf"))
		if len(bytes.Trim(body, " \t\r\n")) == 0 {
			if len(rows)+len(bad) != 0 {
				t.Fatalf("blank message gave %v %v", rows, bad)
			}
			return
		}
		if len(rows)+len(bad) != 1 {
			t.Fatalf("%d rows and %d errors", len(rows), len(bad))
		}
		rejected := len(bad) == 1 && (strings.HasPrefix(bad[0].Reason, "not valid JSON") || strings.HasPrefix(bad[0].Reason, "not UTF-8"))
		if valid := utf8.Valid(body) && json.Valid(body); valid == rejected {
			t.Fatalf("valid JSON: %v, but %v %+v", valid, rows, bad)
		}
		if len(rows) == 1 {
			checkFirst(t, body, rows[0][0])
		}
	})
}

// checkFirst compares the value that was loaded with that of the first key
// "a", or of the first in another case where there is none.
func checkFirst(t *testing.T, body []byte, got string) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	var want json.RawMessage
	exact := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		switch name := key.(string); {
		case name == "a" && !exact:
			want, exact = v, true
		case name == "A" && want == nil:
			want = v
		}
	}
	if text := loaded(t, want); got != text {
		t.Fatalf("loaded %s, want %s of %s", got, text, want)
	}
}

// loaded is how a STRING column prints a JSON value.
func loaded(t *testing.T, v json.RawMessage) string {
	var s string
	switch v[0] {
	case 'n':
		return "NULL"
	case 't':
		s = "1"
	case 'f':
		s = "0"
	case '"':
		if err := json.Unmarshal(v, &s); err != nil {
			t.Fatal(err)
		}
	default:
		s = string(v)
	}
	return strconv.Quote(s)
}

// FuzzCSV holds the splitter to the plain definition of lines and fields.
func FuzzCSV(f *testing.F) {
	for _, seed := range [][2]string{{"1,a\n2,b", ","}, {"\r\n,\\N\r", ","}, {"a||b||||c", "||"}, {"", "\t"}, {"\xff\x01\n", "\x01"}, {"aXaXa", "aXa"}} {
		f.Add([]byte(seed[0]), seed[1])
	}
	schema := &typesv1.Schema{Columns: []*typesv1.Column{
		{FieldId: 1, Name: "a", Type: "STRING", Nullable: true}, {FieldId: 2, Name: "b", Type: "STRING", Nullable: true}}}
	f.Fuzz(func(t *testing.T, msg []byte, separator string) {
		dec := newDecoder(t, schema, &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_CSV, ColumnSeparator: separator})
		if separator == "" {
			separator = "\t"
		}
		var want [][]string
		wrong := 0
		for line := range strings.SplitSeq(strings.TrimPrefix(string(msg), "\xef\xbb\xbf"), "\n") {
			line = strings.TrimSuffix(line, "\r")
			fields := strings.Split(line, separator)
			switch {
			case line == "":
			case utf8.ValidString(separator) && !utf8.ValidString(line) || len(fields) != 2 || !utf8.ValidString(fields[0]) || !utf8.ValidString(fields[1]):
				wrong++
			default:
				want = append(want, []string{csvCell(fields[0]), csvCell(fields[1])})
			}
		}
		rows, bad := decodeOne(dec, msg)
		if len(rows) != len(want) || len(bad) != wrong {
			t.Fatalf("%d rows, %d errors; want %d, %d", len(rows), len(bad), len(want), wrong)
		}
		for i := range rows {
			if rows[i][0] != want[i][0] || rows[i][1] != want[i][1] {
				t.Fatalf("row %d is %q, want %q", i, rows[i], want[i])
			}
		}
	})
}

func csvCell(s string) string {
	if s == `\N` {
		return "NULL"
	}
	return strconv.Quote(s)
}

// FuzzDecimal holds the conversion of numbers to math/big.
func FuzzDecimal(f *testing.F) {
	for _, seed := range []string{"99.95", "-1e-3", "1234567890123456789012345678901234567.5", "0.000000", "+5.", ".5", "1e400", "-0", "x", "4999e-4"} {
		f.Add(seed, uint8(20), uint8(3))
	}
	f.Fuzz(func(t *testing.T, s string, p, sc uint8) {
		precision := int(p)%types.MaxDecimalPrecision + 1
		scale := int(sc) % (precision + 1)
		exact, ok := new(big.Rat).SetString(s)
		if !ok || strings.ContainsAny(s, "/_xXpPoObB \t,\n") || len(s) > 60 {
			return
		}
		if e := strings.IndexAny(s, "eE"); e >= 0 && len(s)-e > 5 {
			return // big.Rat would build the number
		}
		typ := types.Type{Kind: types.Decimal, Precision: precision, Scale: scale}
		dec := newDecoder(t, oneColumn(typ.String()), &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_CSV})
		rows, bad := decodeOne(dec, []byte(s))
		want, fits := roundHalfUp(exact, precision, scale)
		switch {
		case fits != (len(rows) == 1 && len(bad) == 0):
			t.Fatalf("%s as %v: fits is %v, got %v %+v", s, typ, fits, rows, bad)
		case fits && rows[0][0] != want:
			t.Fatalf("%s as %v is %s, want %s", s, typ, rows[0][0], want)
		}
	})
}

func roundHalfUp(r *big.Rat, precision, scale int) (string, bool) {
	ten := func(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
	scaledUp := new(big.Rat).Mul(new(big.Rat).Abs(r), new(big.Rat).SetInt(ten(scale)))
	scaledUp.Add(scaledUp, big.NewRat(1, 2))
	n := new(big.Int).Quo(scaledUp.Num(), scaledUp.Denom())
	if n.Cmp(ten(precision)) >= 0 {
		return "", false
	}
	if r.Sign() < 0 {
		n.Neg(n)
	}
	return scaled(n, scale), true
}
