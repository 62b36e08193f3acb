package decode_test

import (
	"fmt"
	"testing"

	"shoal/be/decode"
	typesv1 "shoal/proto/types/v1"
)

// Rows that are kept keep their values, and what is dropped leaves no NULL to
// the rows that come next.
func TestKeep(t *testing.T) {
	schema := &typesv1.Schema{}
	for _, typ := range []string{"int", "largeint", "double", "text"} {
		schema.Columns = append(schema.Columns, &typesv1.Column{Name: typ, Type: typ, Nullable: true})
	}
	c, err := decode.NewConverter(schema, &typesv1.RoutineLoad{})
	if err != nil {
		t.Fatal(err)
	}
	b := c.NewBatch()
	add := func(s string) {
		v := decode.TextValue([]byte(s))
		if s == "" {
			v = decode.Value{Kind: decode.Null}
		}
		if bad := c.Add(b, []decode.Value{v, v, v, v}, decode.Place{}); bad != nil {
			t.Fatal(bad)
		}
	}
	show := func() (out string) {
		for row := range b.Rows {
			var cells []any
			for i := range b.Columns {
				part := b.Columns[i].Slice(row, row+1)
				switch {
				case part.Null[0]:
					cells = append(cells, "NULL")
				case part.Text != nil:
					cells = append(cells, string(part.Text[0]))
				case part.Float != nil:
					cells = append(cells, part.Float[0])
				case part.Wide != nil:
					cells = append(cells, part.Wide[0].Big())
				default:
					cells = append(cells, part.Int[0])
				}
			}
			out += fmt.Sprint(cells...) + ";"
		}
		return out
	}
	for _, s := range []string{"1", "", "3", "4", ""} {
		add(s)
	}
	b.Keep([]bool{false, true, false, true, false})
	if got, want := show(), fmt.Sprint("NULL", "NULL", "NULL", "NULL")+";"+fmt.Sprint(int64(4), 4, 4.0, "4")+";"; got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
	add("5")
	if got := show(); b.Rows != 3 || got[len(got)-len(fmt.Sprint(int64(5), 5, 5.0, "5"))-1:] != fmt.Sprint(int64(5), 5, 5.0, "5")+";" {
		t.Errorf("after another row: %q", got)
	}
}
