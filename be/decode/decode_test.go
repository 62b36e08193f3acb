package decode_test

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"shoal/be/decode"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/types"
)

var testNow = time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.UTC)

// TestDecode runs scripts. "table" takes a column a line: a name, a type and
// perhaps "not null" and "default …". "csv" and "json" take a message a line,
// as it is or as a Go string in quotes, and print rows and error rows.
func TestDecode(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var schema *typesv1.Schema
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "table":
				schema = parseTable(t, d.Input)
				return ""
			case "csv", "json":
				return decodeAll(t, schema, d)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func parseTable(t *testing.T, input string) *typesv1.Schema {
	schema := &typesv1.Schema{Version: 1}
	for line := range strings.Lines(input) {
		line, fallback, hasDefault := strings.Cut(strings.TrimSpace(line), " default ")
		line, notNull := strings.CutSuffix(line, " not null")
		name, typ, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("column %q", line)
		}
		c := &typesv1.Column{FieldId: int32(len(schema.Columns) + 1), Name: name, Type: typ, Nullable: !notNull}
		switch {
		case fallback == "current_timestamp":
			c.DefaultCurrentTimestamp = true
		case hasDefault:
			c.DefaultValue = &fallback
		}
		schema.Columns = append(schema.Columns, c)
	}
	return schema
}

// loadOf makes the job of a command: csv or json, with properties as arguments.
func loadOf(t *testing.T, d *datadriven.TestData) *typesv1.RoutineLoad {
	load := &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_CSV, ColumnSeparator: ","}
	if d.Cmd == "json" {
		load.Format = typesv1.RoutineLoad_FORMAT_JSON
	}
	for _, arg := range d.CmdArgs {
		value := ""
		if len(arg.Vals) == 1 {
			value = message(t, `"`+arg.Vals[0]+`"`)
		}
		switch arg.Key {
		case "strict":
			load.StrictMode = true
		case "separator":
			load.ColumnSeparator = value
		case "columns":
			load.Columns = arg.Vals
		case "zone":
			load.Timezone = value
		case "enclose":
			load.Enclose = value
		case "escape":
			load.Escape = value
		case "trim_double_quotes":
			load.TrimDoubleQuotes = true
		case "empty_field_as_null":
			load.EmptyFieldAsNull = true
		case "ignore_redundant_fields":
			load.IgnoreRedundantFields = true
		case "jsonpaths":
			load.JsonPaths = arg.Vals
		case "json_root":
			load.JsonRoot = value
		case "strip_outer_array":
			load.StripOuterArray = true
		case "num_as_string":
			load.NumAsString = true
		case "fuzzy_parse":
			load.FuzzyParse = true
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	return load
}

func decodeAll(t *testing.T, schema *typesv1.Schema, d *datadriven.TestData) string {
	dec, err := decode.New(schema, loadOf(t, d))
	if err != nil {
		return fmt.Sprintln("refused:", err)
	}
	dec.SetNow(testNow)
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		rows, bad := decodeOne(dec, []byte(message(t, strings.TrimSuffix(line, "\n"))))
		if len(rows)+len(bad) == 0 {
			out.WriteString("no row\n")
		}
		for _, r := range rows {
			fmt.Fprintln(&out, strings.Join(r, " | "))
		}
		for _, e := range bad {
			fmt.Fprintf(&out, "error: line %d: %s", e.Line, e.Reason)
			if e.Source != nil {
				fmt.Fprintf(&out, "; value %q", e.Source)
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func message(t *testing.T, line string) string {
	if !strings.HasPrefix(line, `"`) {
		return line
	}
	s, err := strconv.Unquote(line)
	if err != nil {
		t.Fatalf("message %s: %v", line, err)
	}
	return s
}

func decodeOne(dec *decode.Decoder, msg []byte) (rows [][]string, bad []*decode.RowError) {
	b := dec.NewBatch()
	dec.Start(msg)
	for {
		more, e := dec.Next(b)
		if !more {
			break
		}
		if e != nil {
			bad = append(bad, e)
		}
		if b.Full() {
			rows = append(rows, cells(b)...)
			b.Reset()
		}
	}
	return append(rows, cells(b)...), bad
}

func cells(b *decode.Batch) (rows [][]string) {
	for i := range b.Rows {
		var r []string
		for c := range b.Columns {
			r = append(r, cell(&b.Columns[c], i))
		}
		rows = append(rows, r)
	}
	return rows
}

func cell(c *decode.Column, i int) string {
	switch {
	case c.Null[i]:
		return "NULL"
	case c.Nested != nil:
		return part(c.Type, c.Nested[i])
	case c.Text != nil:
		return strconv.Quote(string(c.Text[i]))
	case c.Float != nil:
		return strconv.FormatFloat(c.Float[i], 'g', -1, 64)
	case c.Wide != nil:
		return scaled(c.Wide[i].Big(), c.Type.Scale)
	case c.Type.Kind == types.Decimal:
		return scaled(big.NewInt(c.Int[i]), c.Type.Scale)
	case c.Type.Kind == types.Date:
		return time.Unix(c.Int[i]*86400, 0).UTC().Format("2006-01-02")
	case c.Type.Kind == types.DateTime:
		return time.UnixMicro(c.Int[i]).UTC().Format("2006-01-02 15:04:05.999999")
	}
	return strconv.FormatInt(c.Int[i], 10)
}

// part prints a value in a nested column.
func part(t types.Type, v any) string {
	parts := t.Parts()
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []any:
		list := make([]string, len(v))
		for i := range v {
			list[i] = part(parts[0].Type, v[i])
		}
		return "[" + strings.Join(list, ", ") + "]"
	case decode.Pairs:
		list := make([]string, len(v.Keys))
		for i := range v.Keys {
			list[i] = part(parts[0].Type, v.Keys[i]) + ": " + part(parts[1].Type, v.Values[i])
		}
		return "{" + strings.Join(list, ", ") + "}"
	case map[string]any:
		list := make([]string, len(parts))
		for i, p := range parts {
			list[i] = p.Name + " " + part(p.Type, v[p.Name])
		}
		return "(" + strings.Join(list, ", ") + ")"
	case string:
		return strconv.Quote(v)
	case time.Time:
		return v.Format("2006-01-02 15:04:05.999999")
	case *big.Int:
		return scaled(v, t.Scale)
	case int64:
		if t.Kind == types.Decimal {
			return scaled(big.NewInt(v), t.Scale)
		}
	}
	return fmt.Sprint(v)
}

func scaled(n *big.Int, scale int) string {
	s := fmt.Sprintf("%0*d", scale+1, new(big.Int).Abs(n))
	if s = s[:len(s)-scale] + "." + s[len(s)-scale:]; n.Sign() < 0 {
		s = "-" + s
	}
	return strings.TrimSuffix(s, ".")
}
