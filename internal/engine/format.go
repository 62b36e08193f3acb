package engine

import (
	"bytes"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	duckdbgo "github.com/duckdb/duckdb-go/v2"

	"shoal/sql/types"
)

// format turns the values of one column of a result into text. The text lives
// in a buffer of the format's own until the next value.
type format struct {
	duckType string
	digits   int // of the second; -1 is as many as there are: none or six
	zone     *time.Location
	buffer   []byte
}

// describe returns how a column of a result is formatted and described, by
// its name and its type in DuckDB's words.
func describe(name, duckType string, plain plainColumns, zone *time.Location) (format, ResultColumn) {
	f := format{duckType: duckType, digits: -1, zone: zone}
	column := ResultColumn{Name: name, Type: resultType(duckType)}
	if declared, ok := plain.typeOf(name); ok && declared.DuckDB() == duckType {
		column.Type = declared.String()
		if declared.Kind == types.DateTime {
			f.digits = declared.Scale
		}
	}
	return f, column
}

// resultTypes are what MySQL clients are told about DuckDB's types. A boolean
// that is no column of a table is the result of a comparison, which MySQL has
// as an integer; HUGEINT is the sum of integers, which Doris has as BIGINT.
var resultTypes = map[string]string{
	"BOOLEAN": "bigint", "TINYINT": "tinyint", "SMALLINT": "smallint", "INTEGER": "int", "BIGINT": "bigint", "HUGEINT": "bigint",
	"UTINYINT": "smallint", "USMALLINT": "int", "UINTEGER": "bigint", "UBIGINT": "decimal(20,0)", "UHUGEINT": "text",
	"FLOAT": "float", "DOUBLE": "double", "DATE": "date", "TIME": "time", "TIMETZ": "time", "TIME WITH TIME ZONE": "time", "INTERVAL": "time",
	"TIMESTAMP": "datetime(6)", "TIMESTAMPTZ": "datetime(6)", "TIMESTAMP WITH TIME ZONE": "datetime(6)",
	"TIMESTAMP_S": "datetime", "TIMESTAMP_MS": "datetime(3)", "TIMESTAMP_NS": "datetime(6)",
	"BLOB": "blob", "JSON": "json", "NULL": "null", "SQLNULL": "null",
}

func resultType(duckType string) string {
	if t, ok := resultTypes[duckType]; ok {
		return t
	}
	if strings.HasPrefix(duckType, "DECIMAL(") && strings.HasSuffix(duckType, ")") {
		return strings.ToLower(duckType)
	}
	return "text"
}

// cell returns the text of a value, nil for NULL.
func (f *format) cell(value driver.Value) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	out, err := f.append(f.buffer[:0], value)
	if err != nil {
		return nil, err
	}
	if out == nil {
		out = []byte{}
	}
	f.buffer = out
	return out, nil
}

func (f *format) append(b []byte, value any) ([]byte, error) {
	if f.duckType == "JSON" {
		return appendJSON(b, value)
	}
	switch v := value.(type) {
	case bool:
		if v {
			return append(b, '1'), nil
		}
		return append(b, '0'), nil
	case string:
		return append(b, v...), nil
	case []byte:
		return f.appendBytes(b, v), nil
	case float32:
		return appendFloat(b, float64(v), 32), nil
	case float64:
		return appendFloat(b, v, 64), nil
	case time.Time:
		return f.appendTime(b, v), nil
	case *big.Int:
		if f.duckType == "HUGEINT" && !v.IsInt64() {
			return nil, &Error{Kind: Failed, Msg: "BIGINT value is out of range: " + v.String()}
		}
		return v.Append(b, 10), nil
	case duckdbgo.Decimal:
		return appendDecimal(b, v), nil
	case duckdbgo.Interval:
		return appendInterval(b, v), nil
	case int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return fmt.Append(b, v), nil
	}
	return appendNested(b, value)
}

// appendBytes writes a BLOB as it is, and an UUID, which comes as bytes too,
// as text.
func (f *format) appendBytes(b, v []byte) []byte {
	if f.duckType != "UUID" || len(v) != 16 {
		return append(b, v...)
	}
	for i, part := range [][]byte{v[:4], v[4:6], v[6:8], v[8:10], v[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return b
}

// appendFloat writes the shortest text that reads back as f, with an exponent
// where MySQL has one.
func appendFloat(b []byte, f float64, bits int) []byte {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	case abs != 0 && (abs < 1e-15 || abs >= 1e15):
		text := strconv.FormatFloat(f, 'e', -1, bits)
		text = strings.Replace(text, "e+0", "e", 1)
		return append(b, strings.Replace(text, "e+", "e", 1)...)
	}
	return strconv.AppendFloat(b, f, 'f', -1, bits)
}

// appendDecimal writes all digits of the scale.
func appendDecimal(b []byte, d duckdbgo.Decimal) []byte {
	digits := new(big.Int).Abs(d.Value).String()
	if missing := int(d.Scale) + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	if d.Value.Sign() < 0 {
		b = append(b, '-')
	}
	point := len(digits) - int(d.Scale)
	b = append(b, digits[:point]...)
	if d.Scale > 0 {
		b = append(append(b, '.'), digits[point:]...)
	}
	return b
}

func (f *format) appendTime(b []byte, t time.Time) []byte {
	switch f.duckType {
	case "DATE":
		return t.AppendFormat(b, time.DateOnly)
	case "TIME", "TIMETZ", "TIME WITH TIME ZONE":
		return f.appendFraction(t.AppendFormat(b, time.TimeOnly), t)
	case "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE":
		t = t.In(f.zone)
	}
	return f.appendFraction(t.AppendFormat(b, time.DateTime), t)
}

func (f *format) appendFraction(b []byte, t time.Time) []byte {
	micros := t.Nanosecond() / 1000
	digits := f.digits
	if digits < 0 && micros != 0 {
		digits = 6
	}
	if digits <= 0 {
		return b
	}
	return append(b, fmt.Sprintf(".%06d", micros)[:1+digits]...)
}

// appendInterval writes an interval as MySQL's TIME; months count 30 days.
func appendInterval(b []byte, v duckdbgo.Interval) []byte {
	micros := (int64(v.Months)*30+int64(v.Days))*24*int64(time.Hour/time.Microsecond) + v.Micros
	if micros < 0 {
		b, micros = append(b, '-'), -micros
	}
	seconds := micros / 1_000_000
	b = fmt.Appendf(b, "%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if fraction := micros % 1_000_000; fraction != 0 {
		b = fmt.Appendf(b, ".%06d", fraction)
	}
	return b
}

// appendNested writes lists, structs and maps as JSON with a blank after
// commas, as Doris does.
func appendNested(b []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case []any:
		b = append(b, '[')
		for i, element := range v {
			b = appendComma(b, i)
			var err error
			if b, err = appendElement(b, element); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		return appendMap(b, slices.Sorted(maps.Keys(v)), func(key string) any { return v[key] })
	case duckdbgo.OrderedMap:
		return appendOrdered(b, &v)
	case duckdbgo.Map:
		ordered := map[string]any{}
		for key, element := range v {
			ordered[fmt.Sprint(key)] = element
		}
		return appendNested(b, ordered)
	case fmt.Stringer:
		return append(b, v.String()...), nil
	}
	return fmt.Append(b, value), nil
}

func appendComma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ", "...)
	}
	return b
}

func appendOrdered(b []byte, m *duckdbgo.OrderedMap) ([]byte, error) {
	keys := make([]string, m.Len())
	values := map[string]any{}
	for i, key := range m.Keys() {
		keys[i] = fmt.Sprint(key)
		values[keys[i]] = m.Values()[i]
	}
	return appendMap(b, keys, func(key string) any { return values[key] })
}

func appendMap(b []byte, keys []string, value func(string) any) ([]byte, error) {
	b = append(b, '{')
	for i, key := range keys {
		b = appendComma(b, i)
		var err error
		if b, err = appendJSON(b, key); err != nil {
			return nil, err
		}
		if b, err = appendElement(append(b, ':'), value(key)); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendElement writes a value inside a nested one: texts are quoted and NULL
// is null.
func appendElement(b []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendJSON(b, v)
	case []byte:
		return appendJSON(b, string(v))
	case time.Time:
		text := (&format{digits: -1}).appendTime(nil, v)
		return appendJSON(b, strings.TrimSuffix(string(text), " 00:00:00"))
	}
	return (&format{digits: -1}).append(b, value)
}

func appendJSON(b []byte, value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...), nil
}
