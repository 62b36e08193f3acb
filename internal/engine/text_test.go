package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"shoal/internal/engine"
)

// TestValues holds what type and text values of all types have.
func TestValues(t *testing.T) {
	for _, c := range []struct{ sql, typ, text string }{
		{"1 = 1", "bigint", "1"}, {"CAST(NULL AS INTEGER)", "int", "NULL"}, {"'x'", "text", "x"}, {"''", "text", ""},
		{"1.5", "decimal(2,1)", "1.5"}, {"-0.05::DECIMAL(5,3)", "decimal(5,3)", "-0.050"}, {"0::DECIMAL(5,2)", "decimal(5,2)", "0.00"},
		{"1e20", "double", "1e20"}, {"1e15", "double", "1e15"}, {"0.1::DOUBLE", "double", "0.1"}, {"1e-5", "double", "0.00001"}, {"1e-20", "double", "1e-20"}, {"3::DOUBLE", "double", "3"}, {"0.1::FLOAT", "float", "0.1"}, {"'nan'::DOUBLE", "double", "NaN"},
		{"sum(i)::HUGEINT FROM range(3) r(i)", "bigint", "3"}, {"'170141183460469231731687303715884105727'::DECIMAL(38,0) / 1 > 0", "", ""},
		{"DATE '2024-01-02'", "date", "2024-01-02"}, {"TIMESTAMP '2024-01-02 03:04:05'", "datetime(6)", "2024-01-02 03:04:05"}, {"TIMESTAMP '2024-01-02 03:04:05.25'", "datetime(6)", "2024-01-02 03:04:05.250000"},
		{"TIMESTAMPTZ '2024-01-02 03:04:05+00'", "datetime(6)", "2024-01-02 12:04:05"}, {"TIME '03:04:05'", "time", "03:04:05"}, {"INTERVAL '-26:00:01'", "time", "-26:00:01"}, {"INTERVAL 2 DAY", "time", "48:00:00"},
		{`['a"', NULL, 'b']`, "text", `["a\"", null, "b"]`}, {"{'k': 1, 'l': [true]}", "text", `{"k":1, "l":[true]}`}, {"MAP {'x': DATE '2024-01-02'}", "text", `{"x":"2024-01-02"}`}, {"[TIMESTAMP '2024-01-02 00:00:01']", "text", `["2024-01-02 00:00:01"]`},
		{"'a'::BLOB", "blob", "a"}, {"'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::UUID", "text", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}, {`'{"a": "<"}'::JSON`, "json", `{"a":"<"}`}, {"18446744073709551615::UBIGINT", "decimal(20,0)", "18446744073709551615"},
		// Integers and numbers of all sizes.
		{"(-128)::TINYINT", "tinyint", "-128"}, {"255::UTINYINT", "smallint", "255"}, {"(-32768)::SMALLINT", "smallint", "-32768"}, {"65535::USMALLINT", "int", "65535"}, {"4294967295::UINTEGER", "bigint", "4294967295"},
		{"(-9223372036854775808)::BIGINT", "bigint", "-9223372036854775808"}, {"340282366920938463463374607431768211455::UHUGEINT", "text", "340282366920938463463374607431768211455"},
		{"'-123456789012345678901234567890123456789012345678901'::BIGNUM", "text", "-123456789012345678901234567890123456789012345678901"}, {"'12345'::BIGNUM", "text", "12345"}, {"0::BIGNUM", "text", "0"},
		{"-123456789012345.678::DECIMAL(18,3)", "decimal(18,3)", "-123456789012345.678"}, {"-12345678901234567890123456789.123456789::DECIMAL(38,9)", "decimal(38,9)", "-12345678901234567890123456789.123456789"}, {"0.5::DECIMAL(1,1)", "decimal(1,1)", "0.5"},
		{"'-inf'::FLOAT", "float", "-Infinity"}, {"1e15::FLOAT", "float", "1000000000000000"}, {"-0.0::DOUBLE", "double", "-0"},
		// Texts that lie in the vector and beside it, and bytes.
		{"'twelve bytes'", "text", "twelve bytes"}, {"'thirteen byte'", "text", "thirteen byte"}, {"chr(0) || 'x'", "text", "\x00x"}, {"'a\\x00\\xFF'::BLOB", "blob", "a\x00\xff"},
		{"'110100101101'::BIT", "text", "110100101101"}, {"'0'::BIT", "text", "0"}, {"'b'::ENUM('a', 'b')", "text", "b"}, {"'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID", "text", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
		// Dates and times before 1970 and in all units.
		{"DATE '1969-12-31'", "date", "1969-12-31"}, {"TIMESTAMP '1969-12-31 23:59:59.5'", "datetime(6)", "1969-12-31 23:59:59.500000"}, {"TIMESTAMP_S '2024-02-29 12:00:00'", "datetime", "2024-02-29 12:00:00"}, {"TIMESTAMP_MS '2024-02-29 12:00:00.123'", "datetime(3)", "2024-02-29 12:00:00.123000"},
		{"TIMESTAMP_NS '2024-02-29 12:00:00.123456789'", "datetime(6)", "2024-02-29 12:00:00.123456"}, {"TIME '23:59:59.000009'", "time", "23:59:59.000009"}, {"'12:34:56.123456789'::TIME_NS", "time", "12:34:56.123456"}, {"'12:34:56.5+02'::TIMETZ", "time", "12:34:56.500000"}, {"INTERVAL '-1 month'", "time", "-720:00:00"},
		// Nested values: each part has the text of its type.
		{"[]::INTEGER[]", "text", "[]"}, {"[[1], [], NULL]", "text", "[[1], [], null]"}, {"[[1, 2], [3, 4]]::INTEGER[2][2]", "text", "[[1, 2], [3, 4]]"}, {"{'b': 1, 'a': NULL, 'c': {'d': 'x'}}", "text", `{"b":1, "a":null, "c":{"d":"x"}}`},
		{"MAP {2: 'x', 1: 'y'}", "text", `{"2":"x", "1":"y"}`}, {"MAP {[1]: 2}", "text", `{"[1]":2}`}, {"MAP {true: 1.50}", "text", `{"true":1.50}`}, {"MAP {}::MAP(VARCHAR, INTEGER)", "text", "{}"}, {"union_value(n := 2)", "text", "2"}, {"[union_value(s := 'x')]", "text", `["x"]`},
		{"[TIMESTAMPTZ '2024-01-02 03:04:05+00']", "text", `["2024-01-02 12:04:05"]`}, {"[TIME '01:02:03']", "text", `["01:02:03"]`}, {"['6ba7b810-9dad-11d1-80b4-00c04fd430c8'::UUID]", "text", `["6ba7b810-9dad-11d1-80b4-00c04fd430c8"]`}, {"['b'::ENUM('a', 'b')]", "text", `["b"]`}, {"[9223372036854775808::HUGEINT]", "text", "[9223372036854775808]"},
		{"[i, 7] FROM range(5) r(i) WHERE i % 2 = 1", "text", "[1, 7] [3, 7]"}, {"CASE WHEN i % 2 = 0 THEN {'a': i, 'b': 'same', 'c': [i]} END FROM range(3) r(i)", "text", `{"a":0, "b":"same", "c":[0]} NULL {"a":2, "b":"same", "c":[2]}`}, {"unnest([MAP {'a': 1}, NULL])", "text", `{"a":1} NULL`},
		// JSON: names in order, numbers digit by digit, and null that is no NULL.
		{`'{"b": 1.0, "a": 12345678901234567890}'::JSON`, "json", `{"a":12345678901234567890,"b":1.0}`}, {"'null'::JSON", "json", "null"}, {"CAST(NULL AS JSON)", "json", "NULL"}, {`['{"a": 1}'::JSON]`, "text", `[{"a":1}]`},
	} {
		got, err := ask(t.Context(), engine.Request{SQL: "SELECT " + c.sql, TimeZone: "+09:00"})
		if c.typ == "" {
			if err == nil {
				t.Errorf("%s: got %v, want an error", c.sql, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if _, columnType, _ := strings.Cut(got.columns[0], ":"); !strings.HasSuffix(got.columns[0], ":"+c.typ) || fmt.Sprint(got.rows) != "["+c.text+"]" {
			t.Errorf("%s: got %s %v, want %s %s", c.sql, columnType, got.rows, c.typ, c.text)
		}
	}
}

func TestBigIntOutOfRange(t *testing.T) {
	_, err := ask(t.Context(), engine.Request{SQL: "SELECT 9223372036854775808::HUGEINT"})
	var e *engine.Error
	if !errors.As(err, &e) || !strings.Contains(e.Msg, "out of range") {
		t.Errorf("got %v", err)
	}
}

// TestWithoutText holds that a type that cannot be read is refused by name.
func TestWithoutText(t *testing.T) {
	for _, query := range []string{"SELECT 1::VARIANT AS v", "SELECT [1::VARIANT] AS v"} {
		_, err := ask(t.Context(), engine.Request{SQL: query})
		var e *engine.Error
		if !errors.As(err, &e) || e.Kind != engine.Refused || !strings.Contains(e.Msg, "column v") {
			t.Errorf("%s: got %v", query, err)
		}
	}
}
