package routineload

import (
	"testing"

	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

func TestDescribeColumns(t *testing.T) {
	none := "none"
	schema := &typesv1.Schema{Columns: []*typesv1.Column{
		{Name: "id", Type: "int"}, {Name: "At", Type: "datetime", Nullable: true}, {Name: "tag", Type: "text", Nullable: true, DefaultValue: &none},
		{Name: "made", Type: "datetime", Nullable: true, DefaultCurrentTimestamp: true}, {Name: "rest", Type: "json", Nullable: true},
	}}
	columns := func(list ...string) (out []*typesv1.LoadColumn) {
		for i := 0; i < len(list); i += 2 {
			out = append(out, &typesv1.LoadColumn{Name: list[i], Expr: list[i+1]})
		}
		return out
	}
	for name, tt := range map[string]struct {
		load *typesv1.RoutineLoad
		want string
	}{
		"csv": {&typesv1.RoutineLoad{},
			"id int not null = field 1; At datetime = field 2; tag text = field 3; made datetime = field 4; rest json = field 5"},
		"csv with COLUMNS": {&typesv1.RoutineLoad{LoadColumns: columns("x", "", "ID", "", "at", "now()", "id", "x + 1")},
			"id int not null = x + 1; At datetime = now(); tag text = default none; made datetime = default current_timestamp; rest json = null"},
		"only derived": {&typesv1.RoutineLoad{LoadColumns: columns("at", "now()")},
			"id int not null = field 1; At datetime = now(); tag text = field 3; made datetime = field 4; rest json = field 5"},
		"json": {&typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON, LoadColumns: columns("Id", "", "rest", "")},
			"id int not null = key Id; At datetime = null; tag text = default none; made datetime = default current_timestamp; rest json = key rest"},
		"json by paths": {&typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON, JsonPaths: []string{"$.a.id", "$.t"}, LoadColumns: columns("id", "", "at", "", "rest", "")},
			"id int not null = $.a.id; At datetime = $.t; tag text = default none; made datetime = default current_timestamp; rest json = null"},
	} {
		if got := describeColumns(schema, tt.load); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

func TestExplained(t *testing.T) {
	resp := &backendv1.DryRunResponse{Rows: []*backendv1.DryRunRow{
		{Partition: 1, Offset: 5, Line: 2, Outcome: backendv1.DryRunRow_OUTCOME_LOADED, TableName: "t", Raw: "x", Cells: []*backendv1.Cell{{Value: []byte("1")}, {}}},
		{Offset: 6, Outcome: backendv1.DryRunRow_OUTCOME_EMPTY},
		{Offset: 7, Line: 1, Outcome: backendv1.DryRunRow_OUTCOME_ERROR, Reason: "bad", Raw: "y"},
	}}
	schema := &typesv1.Schema{Columns: []*typesv1.Column{{Name: "a", Type: "int"}, {Name: `b"<`, Type: "text"}}}
	show := func(cells []*string) (out []string) {
		for _, c := range cells {
			if c == nil {
				out = append(out, "NULL")
			} else {
				out = append(out, *c)
			}
		}
		return out
	}
	for i, tt := range []struct{ one, all []string }{
		{[]string{"1", "5", "2", "loaded", "NULL", "1", "NULL"}, []string{"1", "5", "2", "loaded", "NULL", "t", `{"a":"1","b\"<":null}`}},
		{[]string{"0", "6", "NULL", "empty", "NULL", "NULL", "NULL"}, []string{"0", "6", "NULL", "empty", "NULL", "NULL", "NULL"}},
		{[]string{"0", "7", "1", "error", "bad; source: y", "NULL", "NULL"}, []string{"0", "7", "1", "error", "bad; source: y", "NULL", "NULL"}},
	} {
		for j, got := range show(explained(schema, resp).Rows[i]) {
			if got != tt.one[j] {
				t.Errorf("row %d, column %d is %q, want %q", i, j, got, tt.one[j])
			}
		}
		tables := []*backendv1.TaskTable{{Name: "t", Schema: schema}}
		for j, got := range show(explainedTables(tables, resp).Rows[i]) {
			if got != tt.all[j] {
				t.Errorf("all tables: row %d, column %d is %q, want %q", i, j, got, tt.all[j])
			}
		}
	}
}
