package literal_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"shoal/fe/errno"
	"shoal/fe/literal"
)

func decimal(t *testing.T, s string) literal.Value {
	t.Helper()
	v, err := literal.Decimal(s)
	if err != nil {
		t.Fatalf("Decimal(%q): %v", s, err)
	}
	return v
}

func TestSQL(t *testing.T) {
	tests := []struct {
		value literal.Value
		want  string
	}{
		{literal.Null(), "NULL"},
		{literal.Int(math.MinInt64), "-9223372036854775808"},
		{literal.Uint(math.MaxUint64), "18446744073709551615"},
		{literal.Float(1.5), "1.5e+00"},
		{decimal(t, "-12.50"), "-12.50"},
		{literal.String(`it's a \ and "`), `'it''s a \\ and "'`},
		{literal.String("a\x00b"), `'a\0b'`},
		{literal.String("\xff?"), `x'FF3F'`},
		{literal.Date("2024-02-29"), "DATE '2024-02-29'"},
		{literal.DateTime("2023-11-14 22:13:20.123456"), "TIMESTAMP '2023-11-14 22:13:20.123456'"},
		{literal.DateTime("0000-00-00 00:00:00"), "'0000-00-00 00:00:00'"},
		{literal.Time("-100:00:01"), "TIME '-100:00:01'"},
	}
	for _, tt := range tests {
		if got, err := tt.value.SQL(); err != nil || got != tt.want {
			t.Errorf("SQL(%v) = %q, %v; want %q", tt.value, got, err, tt.want)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := literal.Float(f).SQL(); !errors.Is(err, errno.WrongArguments) {
			t.Errorf("SQL of %v: %v, want 1210", f, err)
		}
	}
}

func TestDecimalRefusesOtherText(t *testing.T) {
	for _, s := range []string{"", ".", "1; DROP TABLE t", "1e", "--1", "1.2.3", "NaN", "0x10"} {
		if v, err := literal.Decimal(s); err == nil {
			t.Errorf("Decimal(%q) = %v", s, v)
		}
	}
	for _, s := range []string{"0", "+1", "-.5", "1.", "1e10", "1E-7"} {
		decimal(t, s)
	}
}

func TestBind(t *testing.T) {
	x := literal.String("x")
	tests := []struct {
		name, sql string
		values    []literal.Value
		want      string
	}{
		{"plain", "select ?, ?", []literal.Value{literal.Int(1), literal.Null()}, "select 1, NULL"},
		{"value with a mark", "select ?, ?", []literal.Value{literal.String("?"), x}, "select '?', 'x'"},
		{"in strings", `select '?', "?", 'it''s ?', 'a\'?', ?`, []literal.Value{x}, `select '?', "?", 'it''s ?', 'a\'?', 'x'`},
		{"in names", "select `?` from `a\\` where b = ?", []literal.Value{x}, "select `?` from `a\\` where b = 'x'"},
		{"in comments", "select /* ? */ ? -- ?\n, # ?\n ?", []literal.Value{x, x}, "select /* ? */ 'x' -- ?\n, # ?\n 'x'"},
		{"minus minus", "select 5--?", []literal.Value{literal.Int(3)}, "select 5--3"},
		{"stays apart", "select 'a'?'b', ??, 1-?-1", []literal.Value{x, x, x, literal.Int(-3)}, "select 'a' 'x' 'b', 'x' 'x', 1-(-3)-1"},
		{"executable comment", "select /*!40100 ? */, /*M! ? */ ?", []literal.Value{x, x}, "select /*!40100 'x' */, /*M! ? */ 'x'"},
		{"limit", "select a from t limit ?, ?", []literal.Value{literal.String("5"), literal.Float(10)}, "select a from t limit 5, 10"},
		{"limit offset", "select a limit ? offset ?", []literal.Value{literal.String("5"), decimal(t, "7")}, "select a limit 5 offset 7"},
		{"after limit", "(select a limit 1) union select ?", []literal.Value{literal.String("5")}, "(select a limit 1) union select '5'"},
		{"no number in limit", "select a limit ?", []literal.Value{x}, "select a limit 'x'"},
		{"open string", "select 'a?", nil, "select 'a?"},
		{"open comment", "select 1 /* ?", nil, "select 1 /* ?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if n := literal.CountParams(tt.sql); n != len(tt.values) {
				t.Errorf("CountParams = %d, want %d", n, len(tt.values))
			}
			got, err := literal.Bind(tt.sql, tt.values)
			if err != nil || got != tt.want {
				t.Errorf("Bind = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestBlank(t *testing.T) {
	const sql, want = "select ?, '?' from t where a = ? limit ?, 10", "select NULL, '?' from t where a = NULL limit 0, 10"
	if got := literal.Blank(sql); got != want {
		t.Errorf("Blank = %q, want %q", got, want)
	}
}

func TestBindWantsAsManyValuesAsMarks(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		if got, err := literal.Bind("select ?, ?", make([]literal.Value, n)); !errors.Is(err, errno.WrongArguments) {
			t.Errorf("%d values: %q, %v; want 1210", n, got, err)
		}
	}
}

// FuzzBind: a bound value can never add a placeholder or change what surrounds
// it.
func FuzzBind(f *testing.F) {
	f.Add("select ?, '?' -- ?", "it's")
	f.Add("/*! ? */ `?` limit ?", "\\")
	f.Add("select '", "'")
	f.Fuzz(func(t *testing.T, sql, value string) {
		n := literal.CountParams(sql)
		values := make([]literal.Value, n)
		for i := range values {
			values[i] = literal.String(value)
		}
		bound, err := literal.Bind(sql, values)
		if err != nil {
			t.Fatalf("Bind: %v", err)
		}
		if n == 0 && bound != sql {
			t.Fatalf("%q became %q", sql, bound)
		}
		if left := literal.CountParams(bound); n > 0 && left != 0 && !strings.ContainsAny(sql, "'") {
			t.Fatalf("%q still has %d placeholders", bound, left)
		}
	})
}
