package coord

import (
	"fmt"
	"testing"

	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// Only a change of how a column is stored sets files apart: not renames, new
// and dropped columns, longer texts, nor TINYINT to INT.
func TestDivide(t *testing.T) {
	schema := func(version uint32, columns ...string) *typesv1.Schema {
		s := &typesv1.Schema{Version: version}
		for i, typ := range columns {
			if typ != "" {
				s.Columns = append(s.Columns, &typesv1.Column{FieldId: int32(i + 1), Name: fmt.Sprintf("v%d_%d", version, i), Type: typ})
			}
		}
		return s
	}
	table := &raftlogv1.Table{Schemas: []*typesv1.Schema{
		schema(1, "tinyint", "varchar(5)"),
		schema(2, "int", "varchar(5)", "date"),
		schema(3, "bigint", "varchar(9)", "date"),
		schema(4, "bigint", "", "date"),
		schema(5, "bigint", "", "datetime(3)", "int"),
	}}
	var rowsets []*raftlogv1.TableRowset
	for i, version := range []uint32{1, 1, 2, 3, 5, 4, 5, 2} {
		rowsets = append(rowsets, &raftlogv1.TableRowset{Rowset: &typesv1.Rowset{Path: fmt.Sprint(i), SchemaVersion: version}})
	}
	paths, older, err := divide(table, rowsets)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(paths)
	for _, o := range older {
		got += fmt.Sprintf(" %d%v", o.Schema.Version, o.Paths)
	}
	// Of version 1 there was no third column, so it is as it is now.
	if want := "[4 6] 1[0 1] 2[2 7] 3[3 5]"; got != want {
		t.Errorf("divided into %s, want %s", got, want)
	}
}
