package loaddef

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/parse"
)

// odd is a table whose names need quotes.
var odd = &Target{Table: "order", Random: true, Schema: &typesv1.Schema{Columns: []*typesv1.Column{
	{Name: "id", Type: "bigint"}, {Name: "interval", Type: "int", Nullable: true}, {Name: "größe", Type: "varchar(20)", Nullable: true},
	{Name: "a b`c", Type: "string", Nullable: true}, {Name: "wer\"da'", Type: "json", Nullable: true},
}}}

// TestShowCreateRoundTrip makes 200 jobs, a hundred of each mode: the statement
// that is printed of a job makes an equal one.
func TestShowCreateRoundTrip(t *testing.T) {
	for _, mode := range []string{"classic", "share_group"} {
		t.Run(mode, func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, mode) }) })
	}
}

func checkRoundTrip(t *rapid.T, mode string) {
	stmt := reparsed(t, drawJob(t, mode))
	made, err := Create(stmt, targetOf(stmt), rapid.SampledFrom([]string{"SYSTEM", "+05:30", "Asia/Shanghai"}).Draw(t, "session's zone"))
	if err != nil {
		t.Fatalf("%v, for\n%s", err, stmt)
	}
	checkShown(t, stmt, made)
}

// targetOf is what a statement loads into.
func targetOf(stmt *ast.CreateRoutineLoad) *Target {
	if stmt.Table == "" {
		return nil
	}
	return odd
}

type failer interface{ Fatalf(string, ...any) }

// checkShown makes the job again of the statement that is shown of it.
func checkShown(t failer, stmt *ast.CreateRoutineLoad, made *Definition) {
	printed := Statement(stmt.Job, stmt.Table, made.Load, stmt.Comment)
	second := reparsed(t, printed)
	if second.Job != stmt.Job || second.Table != stmt.Table || second.Comment != stmt.Comment {
		t.Fatalf("job, table or comment of\n%s\nare not those of\n%s", second, stmt)
	}
	remade, err := Create(second, targetOf(second), "America/New_York")
	if err != nil {
		t.Fatalf("%v, for\n%s", err, printed)
	}
	if !proto.Equal(made.Load, remade.Load) || !reflect.DeepEqual(made.Start, remade.Start) || !reflect.DeepEqual(made.Offsets, remade.Offsets) || made.Adopt != remade.Adopt {
		t.Fatalf("made %v %v\nremade %v %v\nby\n%s", made.Load, made.Offsets, remade.Load, remade.Offsets, printed)
	}
}

// FuzzCreate holds that no statement makes Create panic, and that whatever job
// it makes is made again by the statement that is shown.
func FuzzCreate(f *testing.F) {
	for _, seed := range []string{
		"COLUMNS TERMINATED BY '\\x01', COLUMNS(id, x, größe = upper(x)), WHERE id > 1 PROPERTIES('enclose'='\"', 'timezone'='+05:30') FROM KAFKA('kafka_broker_list'='b:1', 'kafka_topic'='t')",
		"PROPERTIES('format'='json', 'jsonpaths'='[\"$.a\"]', 'load_mode'='share_group') FROM KAFKA('kafka_broker_list'='b:1,c:2', 'kafka_topic'='t', 'kafka_partitions'='1,0', 'kafka_offsets'='5,OFFSET_END')",
		"PRECEDING FILTER id = '1', PARTITION(order) FROM KAFKA('kafka_broker_list'='b:1', 'kafka_topic'='t', 'property.kafka_default_offsets'='2026-01-01 00:00:00')",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, table bool) {
		begin := "CREATE ROUTINE LOAD j "
		if table {
			begin += "ON `order` "
		}
		parsed, err := parse.Parse(begin + text)
		stmt, ok := parsed.(*ast.CreateRoutineLoad)
		if err != nil || !ok {
			return
		}
		if made, err := Create(stmt, targetOf(stmt), "SYSTEM"); err == nil {
			checkShown(t, stmt, made)
		}
	})
}

func reparsed(t failer, stmt *ast.CreateRoutineLoad) *ast.CreateRoutineLoad {
	again, err := parse.Parse(stmt.String())
	if err != nil {
		t.Fatalf("%v, for\n%s", err, stmt)
	}
	return again.(*ast.CreateRoutineLoad)
}

// drawJob is a statement that CREATE takes.
func drawJob(t *rapid.T, mode string) *ast.CreateRoutineLoad {
	name := rapid.StringMatching(`\p{L}[\p{L}\p{N}_.-]{0,20}`)
	stmt := &ast.CreateRoutineLoad{
		Job: ast.Name{DB: rapid.SampledFrom([]string{"", "my-db"}).Draw(t, "db"), Name: name.Draw(t, "job")}, Table: "order",
		Comment: rapid.String().Draw(t, "comment"), Properties: ast.Properties{{Key: "Load_Mode", Value: mode}},
		Source: ast.DataSource{Type: "kafka", Properties: ast.Properties{{Key: "kafka_broker_list", Value: "b1:1, [::1]:2"}, {Key: "KAFKA_TOPIC", Value: "my.topic-1"}}},
	}
	csv := rapid.Bool().Draw(t, "csv")
	if !csv {
		stmt.Properties = append(stmt.Properties, ast.Property{Key: "format", Value: "json"})
	}
	properties := drawn(mode, csv)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if rapid.Bool().Draw(t, "has "+key) {
			stmt.Properties = append(stmt.Properties, ast.Property{Key: key, Value: properties[key].Draw(t, key)})
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "multi-table") == 0 {
		stmt.Table = ""
	} else {
		drawMapping(t, stmt)
	}
	if csv && rapid.Bool().Draw(t, "has separator") {
		separator := rapid.SampledFrom([]string{",", "|+|", `\t`, `\x01`, `\x0102`, `\\`, "ü", "\r;", `#\t`, "\x00", `\\x41`}).Draw(t, "separator")
		stmt.Load.ColumnsTerminatedBy = &separator
	}
	drawSource(t, stmt)
	return stmt
}

// drawn are values of the job properties that concern such a job.
func drawn(mode string, csv bool) map[string]*rapid.Generator[string] {
	number := func(low, high int) *rapid.Generator[string] {
		return rapid.Map(rapid.IntRange(low, high), strconv.Itoa)
	}
	oneOf := func(values ...string) *rapid.Generator[string] { return rapid.SampledFrom(values) }
	flag := oneOf("true", "FALSE", "")
	all := map[string]*rapid.Generator[string]{
		"desired_concurrent_number": number(1, 300), "max_error_number": number(0, 1<<40), "max_filter_ratio": oneOf("0", "0.1", "1.0", "1e-3"),
		"MAX_BATCH_INTERVAL": number(1, 1<<31), "max_batch_rows": number(200_000, 1<<50), "max_batch_size": number(100<<20, 10<<30),
		"strict_mode": flag, "timezone": oneOf("+05:30", "-3:00", "CST", "Europe/Berlin", "utc"), "exec_mem_limit": number(0, 1<<40),
		"send_batch_parallelism": number(1, 9), "load_to_single_tablet": oneOf("false"), "workload_group": oneOf("normal", "NORMAL"),
		"out_of_range": oneOf("skip", "PAUSE"), "dead_letter_topic": oneOf("bad", "", "dead.letters_1"), "partial_columns": oneOf("false"),
	}
	if csv {
		all["enclose"], all["escape"] = oneOf("", `"`, "'", "`", " "), oneOf("", "^", "$", "~")
		all["empty_field_as_null"], all["trim_double_quotes"], all["ignore_redundant_columns"] = flag, flag, flag
	} else {
		all["jsonpaths"] = oneOf("", `["$.id"]`, `[ "$.\"a.b\"", "$.x[1].y" ]`, `["$.id","$.\"<\\\"é'\""]`)
		all["json_root"], all["strip_outer_array"], all["num_as_string"], all["fuzzy_parse"] = oneOf("", "$.data", `$."d'ä\"t"`), flag, flag, flag
	}
	if mode == "share_group" {
		all["share_linger_ms"], all["share_record_lock_duration_ms"] = number(0, 60_000), number(1000, 3_600_000)
		all["share_delivery_count_limit"], all["share_partition_max_record_locks"] = number(2, 25), number(100, 10_000)
	}
	return all
}

// drawMapping draws the clauses of a job with a table. Its first columns are
// enough for the paths that are drawn.
func drawMapping(t *rapid.T, stmt *ast.CreateRoutineLoad) {
	text := func(values ...string) *ast.Expr {
		return &ast.Expr{Text: rapid.SampledFrom(values).Draw(t, "expression")}
	}
	if rapid.Bool().Draw(t, "has columns") {
		stmt.Load.Columns = []ast.LoadColumn{{Name: "ID"}, {Name: rapid.SampledFrom([]string{"tmp", "`", "größer als"}).Draw(t, "field")}}
		if rapid.Bool().Draw(t, "derived") {
			stmt.Load.Columns = append(stmt.Load.Columns, ast.LoadColumn{Name: "INTERVAL", Expr: text("id + 1", "length(concat(id, ',)\"''\\'`'))", "id -- one\n + 1")},
				ast.LoadColumn{Name: "a b`c", Expr: text("upper(id)", "concat('ä', `interval`)", "kafka_topic")})
		}
	}
	if rapid.Bool().Draw(t, "has where") {
		stmt.Load.Where = text("id > 1", "`größe` /* , */ = \"it's\"", "`a b``c` IN ('x', 'PROPERTIES (')")
	}
	if rapid.Bool().Draw(t, "has preceding filter") {
		stmt.Load.PrecedingFilter = text("id > 1", `id = '\\N'`, "kafka_partition = 0")
	}
	if rapid.Bool().Draw(t, "has partition") {
		stmt.Load.Partitions = &ast.Partitions{Names: []string{"Order"}}
	}
}

func drawSource(t *rapid.T, stmt *ast.CreateRoutineLoad) {
	add := func(key, value string) {
		stmt.Source.Properties = append(stmt.Source.Properties, ast.Property{Key: key, Value: value})
	}
	if rapid.Bool().Draw(t, "has group") {
		add("property.group.id", rapid.StringMatching(`[a-z'"\\ä]{1,9}`).Draw(t, "group"))
	}
	if rapid.Bool().Draw(t, "has isolation") {
		add("property.isolation.level", rapid.SampledFrom([]string{"read_committed", "read_uncommitted"}).Draw(t, "isolation"))
	}
	if rapid.Bool().Draw(t, "has default offsets") {
		add("property.kafka_default_offsets", rapid.SampledFrom([]string{"offset_beginning", "OFFSET_END", "2026-01-31 12:00:00", ""}).Draw(t, "default"))
	}
	if rapid.Bool().Draw(t, "has partitions") {
		partitions := rapid.Permutation([]string{"0", "1", "2"}).Draw(t, "partitions")
		add("kafka_partitions", strings.Join(partitions, " , "))
		if rapid.Bool().Draw(t, "has offsets") {
			kinds := [][]string{{"7", "OFFSET_ZERO", "offset_end"}, {"2026-01-31 12:00:00", "2026-01-30 12:00:00", "2026-01-29 00:00:01"}}
			add("kafka_offsets", strings.Join(slices.Clone(rapid.SampledFrom(kinds).Draw(t, "offsets")), ", "))
		}
	}
}
