package loaddef

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/errno"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/parse"
)

var orders = &Target{Table: "orders", Schema: &typesv1.Schema{Columns: []*typesv1.Column{
	{Name: "id", Type: "bigint"},
	{Name: "Name", Type: "varchar(20)", Nullable: true},
	{Name: "größe", Type: "int", Nullable: true},
	{Name: "at", Type: "datetime", DefaultCurrentTimestamp: true},
}}}

// parsed reads a statement of clauses, and job and source properties beside
// those that every job needs.
func parsed(t *testing.T, clauses, job, source string) *ast.CreateRoutineLoad {
	t.Helper()
	text := "CREATE ROUTINE LOAD d.j ON orders " + clauses
	if job != "" {
		text += " PROPERTIES(" + job + ")"
	}
	text += ` FROM KAFKA("kafka_broker_list"="b1:9092, b2:9093", "kafka_topic"="orders"` + source + `)`
	stmt, err := parse.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return stmt.(*ast.CreateRoutineLoad)
}

// defined is the definition that such a statement makes.
func defined(t *testing.T, clauses, job, source string) *Definition {
	t.Helper()
	def, err := Create(parsed(t, clauses, job, source), orders, "SYSTEM")
	if err != nil {
		t.Fatal(err)
	}
	return def
}

// wantError fails unless err has the code and the text.
func wantError(t *testing.T, err error, code errno.Code, text string) {
	t.Helper()
	if err == nil {
		t.Fatal("was taken")
	}
	if e := errno.From(err); e.Code != code || !strings.Contains(e.Msg, text) {
		t.Errorf("error %d %q, want %d and %q", e.Code.Num, e.Msg, code.Num, text)
	}
}

func TestDefaults(t *testing.T) {
	got := defined(t, "", "", "")
	want := &typesv1.RoutineLoad{
		Mode: typesv1.RoutineLoad_MODE_CLASSIC, Format: typesv1.RoutineLoad_FORMAT_CSV, MaxFilterRatio: 1, MaxBatchIntervalS: 60, MaxBatchRows: 20_000_000,
		MaxBatchSize: 1 << 30, Brokers: []string{"b1:9092", "b2:9093"}, Topic: "orders", Timezone: "UTC", ShareLingerMs: 200,
	}
	if !proto.Equal(got.Load, want) {
		t.Errorf("Create = %v\nwant %v", got.Load, want)
	}
	if len(got.Notes) > 0 || got.Offsets != nil || got.Adopt {
		t.Errorf("Create = %+v", got)
	}
}

// takenCases are statements with what their definition has beside the defaults.
var takenCases = []struct {
	name, clauses, job, source string
	want                       func(l *typesv1.RoutineLoad) // what differs from the defaults
}{
	{"numbers", "", `"max_batch_rows"="300000", "MAX_BATCH_SIZE"="104857600", "max_batch_interval"=" 1 ", "max_error_number"="5", "desired_concurrent_number"="3"`, "",
		func(l *typesv1.RoutineLoad) {
			l.MaxBatchRows, l.MaxBatchSize, l.MaxBatchIntervalS, l.MaxErrorNumber, l.DesiredConcurrentNumber = 300_000, 100<<20, 1, 5, 3
		}},
	{"empty is the default", "", `"max_batch_rows"="", "format"="", "timezone"="", "jsonpaths"="", "enclose"="", "strip_outer_array"="", "load_mode"=""`, "",
		func(*typesv1.RoutineLoad) {}},
	{"ratio", "", `"max_filter_ratio"="0.25", "strict_mode"="TRUE"`, "", func(l *typesv1.RoutineLoad) { l.MaxFilterRatio, l.StrictMode = 0.25, true }},
	{"zone", "", `"timezone"="+05:30"`, "", func(l *typesv1.RoutineLoad) { l.Timezone = "+05:30" }},
	{"csv", `COLUMNS TERMINATED BY '|+|'`, `"enclose"="\"", "escape"="\\", "empty_field_as_null"="true", "trim_double_quotes"="true", "ignore_redundant_columns"="true"`, "",
		func(l *typesv1.RoutineLoad) {
			l.ColumnSeparator, l.Enclose, l.Escape, l.EmptyFieldAsNull, l.TrimDoubleQuotes, l.IgnoreRedundantFields = "|+|", `"`, `\`, true, true, true
		}},
	{"enclosing blanks", "", `"enclose"=" "`, "", func(l *typesv1.RoutineLoad) { l.Enclose = " " }},
	{"hex", `COLUMNS TERMINATED BY '\x01\x02'`, "", "", func(l *typesv1.RoutineLoad) { l.ColumnSeparator = "\x01\x02" }},
	{"hex in one", `COLUMNS TERMINATED BY "\\x0102"`, "", "", func(l *typesv1.RoutineLoad) { l.ColumnSeparator = "\x01\x02" }},
	{"json", "", `"format"="JSON", "jsonpaths"="[\"$.id\",\"$.\\\"a.b\\\"\"]", "json_root"="$.data", "strip_outer_array"="true", "num_as_string"="true", "fuzzy_parse"="true"`, "",
		func(l *typesv1.RoutineLoad) {
			l.Format, l.JsonPaths, l.JsonRoot = typesv1.RoutineLoad_FORMAT_JSON, []string{"$.id", `$."a.b"`}, "$.data"
			l.StripOuterArray, l.NumAsString, l.FuzzyParse = true, true, true
		}},
	{"columns", "COLUMNS(ID, tmp, name = upper(tmp), `GRÖSSE`, größe = tmp + 1)", "", "", func(l *typesv1.RoutineLoad) {
		l.LoadColumns = []*typesv1.LoadColumn{{Name: "id"}, {Name: "tmp"}, {Name: "Name", Expr: "upper(tmp)"}, {Name: "GRÖSSE"}, {Name: "größe", Expr: "tmp + 1"}}
	}},
	{"onto its own name", "COLUMNS(id, at, at = from_unixtime(at))", "", "", func(l *typesv1.RoutineLoad) {
		l.LoadColumns = []*typesv1.LoadColumn{{Name: "id"}, {Name: "at"}, {Name: "at", Expr: "from_unixtime(at)"}}
	}},
	{"filters", "PRECEDING FILTER id > 1, WHERE Name = 'x', PARTITION(Orders)", "", "", func(l *typesv1.RoutineLoad) {
		l.PrecedingFilter, l.Where = "id > 1", "Name = 'x'"
	}},
	{"append", "WITH APPEND", "", "", func(*typesv1.RoutineLoad) {}},
	{"out of range", "", `"out_of_range"="skip", "dead_letter_topic"="bad"`, "", func(l *typesv1.RoutineLoad) { l.SkipExpired, l.DeadLetterTopic = true, "bad" }},
	{"share", "", `"load_mode"="share_group", "share_linger_ms"="0", "share_record_lock_duration_ms"="30000", "share_delivery_count_limit"="10", "share_partition_max_record_locks"="4000"`, "",
		func(l *typesv1.RoutineLoad) {
			l.Mode, l.ShareLingerMs, l.ShareLockDurationMs, l.ShareDeliveryLimit, l.ShareMaxRecordLocks = typesv1.RoutineLoad_MODE_SHARE_GROUP, 0, 30_000, 10, 4000
		}},
	{"harmless", "", `"partial_columns"="false", "unique_key_update_mode"="upsert", "partial_update_new_key_behavior"="append", "exec_mem_limit"="2147483648"`, "",
		func(*typesv1.RoutineLoad) {}},
	{"pinned", "", "", `, "kafka_partitions"="2, 0", "kafka_offsets"="offset_end, 7"`, func(l *typesv1.RoutineLoad) {
		l.KafkaPartitions, l.KafkaOffsets = []int32{0, 2}, []string{"7", "OFFSET_END"}
	}},
	{"pinned at the default", "", "", `, "kafka_partitions"="1", "kafka_default_offsets"="OFFSET_BEGINNING"`, func(l *typesv1.RoutineLoad) {
		l.KafkaPartitions, l.CustomProperties = []int32{1}, map[string]string{"kafka_default_offsets": "OFFSET_BEGINNING"}
	}},
	{"share at offsets", "", `"load_mode"="share_group"`, `, "kafka_partitions"="1,0", "kafka_offsets"="5,3"`, func(l *typesv1.RoutineLoad) {
		l.Mode, l.KafkaOffsets = typesv1.RoutineLoad_MODE_SHARE_GROUP, []string{"3", "5"}
	}},
	{"client", "", "", `, "property.isolation.level"="read_uncommitted", "property.GROUP.ID"="mine", "property.client.id"=""`, func(l *typesv1.RoutineLoad) {
		l.ReadUncommitted, l.GroupId, l.GroupIdGiven = true, "mine", true
		l.CustomProperties = map[string]string{"isolation.level": "read_uncommitted", "group.id": "mine"}
	}},
}

func TestCreate(t *testing.T) {
	for _, tt := range takenCases {
		t.Run(tt.name, func(t *testing.T) {
			want := defined(t, "", "", "").Load
			tt.want(want)
			got := defined(t, tt.clauses, tt.job, tt.source)
			if !proto.Equal(got.Load, want) {
				t.Errorf("Create = %v\nwant %v", got.Load, want)
			}
		})
	}
}

// refusedCases are statements with the error that they get.
var refusedCases = []struct {
	name, clauses, job, source string
	code                       errno.Code
	text                       string
}{
	{"misspelt", "", `"max_batch_row"="1"`, "", errno.Unknown, "Invalid job property 'max_batch_row', did you mean 'max_batch_rows'?"},
	{"unlike any", "", `"zzzzzzzzz"="1"`, "", errno.Unknown, "known are load_mode, "},
	{"a clause", "", `"column_separator"=","`, "", errno.Unknown, "COLUMNS TERMINATED BY"},
	{"of the source", "", `"kafka_topic"="x"`, "", errno.Unknown, "belongs into FROM KAFKA"},
	{"mode", "", `"load_mode"="push"`, "", errno.Unknown, "'push'"},
	{"concurrency 0", "", `"desired_concurrent_number"="0"`, "", errno.Unknown, "desired_concurrent_number should be a number >= 1"},
	{"concurrency text", "", `"desired_concurrent_number"="many"`, "", errno.Unknown, "'many'"},
	{"errors", "", `"max_error_number"="-1"`, "", errno.Unknown, ">= 0"},
	{"errors overflow", "", `"max_error_number"="99999999999999999999"`, "", errno.Unknown, ">= 0"},
	{"ratio", "", `"max_filter_ratio"="1.5"`, "", errno.Unknown, "between 0 and 1"},
	{"ratio NaN", "", `"max_filter_ratio"="nan"`, "", errno.Unknown, "between 0 and 1"},
	{"interval", "", `"max_batch_interval"="0"`, "", errno.Unknown, "between 1 and"},
	{"rows", "", `"max_batch_rows"="199999"`, "", errno.Unknown, ">= 200000"},
	{"size small", "", `"max_batch_size"="104857599"`, "", errno.Unknown, "between 104857600 and 10737418240"},
	{"size large", "", `"max_batch_size"="10737418241"`, "", errno.Unknown, "between"},
	{"format", "", `"format"="avro"`, "", errno.Unknown, "'avro'"},
	{"strict", "", `"strict_mode"="yes"`, "", errno.Unknown, "strict_mode should be true or false"},
	{"zone", "", `"timezone"="Moon/Base"`, "", errno.UnknownTimeZone, "Moon/Base"},
	{"memory", "", `"exec_mem_limit"="lots"`, "", errno.Unknown, "exec_mem_limit"},
	{"parallelism", "", `"send_batch_parallelism"="0"`, "", errno.Unknown, "send_batch_parallelism should be a number >= 1"},
	{"single tablet", "", `"load_to_single_tablet"="true"`, "", errno.Unknown, "RANDOM"},
	{"single tablet?", "", `"load_to_single_tablet"="perhaps"`, "", errno.Unknown, "true or false"},
	{"group of work", "", `"workload_group"="etl"`, "", errno.Unknown, "'etl'"},
	{"partial columns", "", `"partial_columns"="true"`, "", errno.NotSupportedYet, "unique keys"},
	{"update mode", "", `"unique_key_update_mode"="UPDATE_FLEXIBLE_COLUMNS"`, "", errno.NotSupportedYet, "unique keys"},
	{"new keys", "", `"partial_update_new_key_behavior"="ERROR"`, "", errno.NotSupportedYet, "unique keys"},
	{"json paths", "", `"format"="json", "jsonpaths"="$.a"`, "", errno.Unknown, "JSON array"},
	{"a json path", "", `"format"="json", "jsonpaths"="[\"$.id\",\"b\"]"`, "", errno.Unknown, "path 2"},
	{"too many paths", "", `"format"="json", "jsonpaths"="[\"$.a\",\"$.b\",\"$.c\",\"$.d\",\"$.e\"]"`, "", errno.Unknown, "5 paths, but there are only 4 fields"},
	{"json root", "", `"format"="json", "json_root"="data"`, "", errno.Unknown, "json_root"},
	{"json for csv", "", `"strip_outer_array"="true"`, "", errno.Unknown, `strip_outer_array is for "format" = "json"`},
	{"csv for json", "", `"enclose"="'", "format"="json"`, "", errno.Unknown, `enclose is for "format" = "csv"`},
	{"share for classic", "", `"share_linger_ms"="1"`, "", errno.Unknown, `share_linger_ms is for "load_mode" = "share_group"`},
	{"lock", "", `"load_mode"="share_group", "share_record_lock_duration_ms"="999"`, "", errno.Unknown, "between 1000 and 3600000"},
	{"deliveries", "", `"load_mode"="share_group", "share_delivery_count_limit"="26"`, "", errno.Unknown, "between 2 and 25"},
	{"window", "", `"load_mode"="share_group", "share_partition_max_record_locks"="99"`, "", errno.Unknown, "between 100 and 10000"},
	{"enclose long", "", `"enclose"="''"`, "", errno.Unknown, "one character"},
	{"enclose of several bytes", "", `"enclose"="«"`, "", errno.Unknown, "one character of ASCII"},
	{"escape long", "", `"escape"="\\\\"`, "", errno.Unknown, "one character"},
	{"enclose a newline", "", `"enclose"="\n"`, "", errno.Unknown, "end of a line"},
	{"enclose in the separator", `COLUMNS TERMINATED BY '@@'`, `"enclose"="@"`, "", errno.Unknown, "enclose = '@' is part of the separator '@@'"},
	{"escape in the separator", `COLUMNS TERMINATED BY ';|'`, `"escape"="|"`, "", errno.Unknown, "escape = '|' is part of the separator"},
	{"out of range", "", `"out_of_range"="latest"`, "", errno.Unknown, "pause or skip"},
	{"own dead letters", "", `"dead_letter_topic"="orders"`, "", errno.Unknown, "the topic that the job reads"},
	{"dead letters", "", `"dead_letter_topic"="a/b"`, "", errno.Unknown, "dead_letter_topic: 'a/b'"},

	{"delete", "WITH DELETE", "", "", errno.NotSupportedYet, "WITH DELETE"},
	{"merge", "WITH MERGE DELETE ON id > 1", "", "", errno.NotSupportedYet, "WITH MERGE"},
	{"delete on", "DELETE ON id > 1", "", "", errno.NotSupportedYet, "DELETE ON"},
	{"order by", "ORDER BY id", "", "", errno.NotSupportedYet, "sequence column"},
	{"order by in share mode", "ORDER BY id", `"load_mode"="share_group"`, "", errno.NotSupportedYet, "in any order"},
	{"partition", "PARTITION(p1)", "", "", errno.Unknown, "Unknown partition 'p1'"},
	{"temporary", "TEMPORARY PARTITION(orders)", "", "", errno.NotSupportedYet, "TEMPORARY PARTITION"},
	{"no such column", "COLUMNS(id, nme = upper(id))", "", "", errno.BadField, "Unknown column 'nme' in orders, did you mean 'Name'?"},
	{"twice", "COLUMNS(id, name, NAME)", "", "", errno.DuplicateColumn, "Duplicate column 'Name'"},
	{"derived twice", "COLUMNS(id, name = 1, NAME = 2)", "", "", errno.DuplicateColumn, "Duplicate column 'Name'"},
	{"must have a value", "COLUMNS(name)", "", "", errno.Unknown, "Column 'id' is NOT NULL"},
	{"separator hex", `COLUMNS TERMINATED BY '\x0'`, "", "", errno.Unknown, "hexadecimal"},
	{"separator hex of nothing", `COLUMNS TERMINATED BY '\x'`, "", "", errno.Unknown, "hexadecimal"},
	{"separator empty", `COLUMNS TERMINATED BY ''`, "", "", errno.Unknown, "empty"},
	{"separator newline", `COLUMNS TERMINATED BY ';\n'`, "", "", errno.Unknown, "newline"},
	{"separator of bytes", `COLUMNS TERMINATED BY '\xff'`, "", "", errno.Unknown, "UTF-8"},
	{"separator for json", `COLUMNS TERMINATED BY ','`, `"format"="json"`, "", errno.Unknown, "the job's format is json"},

	{"source property", "", "", `, "kafka_brokers"="x"`, errno.Unknown, "'kafka_brokers'"},
	{"source property misspelt", "", "", `, "kafka_offset"="x"`, errno.Unknown, "did you mean 'kafka_offsets'?"},
	{"a job property", "", "", `, "format"="json"`, errno.Unknown, "belongs into PROPERTIES"},
	{"aws", "", "", `, "aws.region"="x"`, errno.NotSupportedYet, "aws.region"},
	{"multi-table", "", "", `, "kafka_table_name_format"="TEXT"`, errno.Unknown, "multi-table"},
	{"default offsets", "", "", `, "property.kafka_default_offsets"="YESTERDAY"`, errno.Unknown, "OFFSET_BEGINNING"},
	{"default offset number", "", "", `, "property.kafka_default_offsets"="5"`, errno.Unknown, "'5' is none of OFFSET_BEGINNING"},
	{"default offsets twice", "", "", `, "property.kafka_default_offsets"="OFFSET_END", "kafka_default_offsets"="OFFSET_BEGINNING"`, errno.Unknown, "given twice"},
	{"group", "", "", `, "property.group.id"=" "`, errno.Unknown, "group.id"},
	{"a secret as it is shown", "", "", `, "property.sasl.password"="******"`, errno.Unknown, "write the secret"},
	{"partition number", "", "", `, "kafka_partitions"="0,-1"`, errno.Unknown, "'-1'"},
	{"partition text", "", "", `, "kafka_partitions"="a"`, errno.Unknown, "Invalid kafka partition: 'a'"},
	{"partition twice", "", "", `, "kafka_partitions"="1,1"`, errno.Unknown, "partition 1 twice"},
	{"offset count", "", "", `, "kafka_partitions"="0,1", "kafka_offsets"="5"`, errno.Unknown, "kafka_partitions has 2 and kafka_offsets 1"},
	{"offsets alone", "", "", `, "kafka_offsets"="5"`, errno.Unknown, "needs kafka_partitions"},
	{"offset", "", "", `, "kafka_partitions"="0", "kafka_offsets"="-5"`, errno.Unknown, "partition 0: '-5'"},
	{"offset empty", "", "", `, "kafka_partitions"="0", "kafka_offsets"=""`, errno.Unknown, "partition 0: ''"},
	{"offsets mixed", "", "", `, "kafka_partitions"="0,1", "kafka_offsets"="2026-01-01 00:00:00,5"`, errno.Unknown, "times cannot be mixed"},
	{"offset conflict", "", "", `, "kafka_partitions"="0", "kafka_offsets"="1", "kafka_default_offsets"="OFFSET_END"`, errno.Unknown, "Only one of"},
	{"share and some partitions", "", `"load_mode"="share_group"`, `, "kafka_partitions"="0,2", "kafka_offsets"="1,1"`, errno.Unknown, "1 is missing"},
}

func TestCreateRefuses(t *testing.T) {
	for _, tt := range refusedCases {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Create(parsed(t, tt.clauses, tt.job, tt.source), orders, "SYSTEM")
			wantError(t, err, tt.code, tt.text)
		})
	}
}

func TestSource(t *testing.T) {
	for _, tt := range []struct{ key, value, text string }{
		{"kafka_broker_list", "b1", "'b1' is not host:port"},
		{"kafka_broker_list", "b1:99999", "'b1:99999'"},
		{"kafka_broker_list", "b1:9092,", "'' is not host:port"},
		{"kafka_broker_list", "http://b1:9092", "'http://b1:9092'"},
		{"kafka_topic", "", "kafka_topic is a required property"},
		{"kafka_topic", "a,b", "one topic is supported"},
		{"kafka_topic", "größe", "cannot be a topic's name"},
	} {
		stmt := parsed(t, "", "", "")
		for i := range stmt.Source.Properties {
			if stmt.Source.Properties[i].Key == tt.key {
				stmt.Source.Properties[i].Value = tt.value
			}
		}
		if _, err := Create(stmt, orders, "SYSTEM"); err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s = %q: %v, want %q", tt.key, tt.value, err, tt.text)
		}
	}
	stmt := parsed(t, "", "", "")
	stmt.Source.Type = "KINESIS"
	if _, err := Create(stmt, orders, "SYSTEM"); err == nil || !strings.Contains(err.Error(), "KINESIS") {
		t.Errorf("another source: %v", err)
	}
	stmt.Source = ast.DataSource{Type: "kafka", Properties: ast.Properties{{Key: "kafka_topic", Value: "t"}}}
	if _, err := Create(stmt, orders, "SYSTEM"); err == nil || !strings.Contains(err.Error(), "kafka_broker_list is a required property") {
		t.Errorf("no brokers: %v", err)
	}
}

func TestMultiTable(t *testing.T) {
	create := func(clauses, source string) (*Definition, error) {
		stmt := parsed(t, clauses, "", source)
		stmt.Table = ""
		return Create(stmt, nil, "Europe/Berlin")
	}
	def, err := create(`COLUMNS TERMINATED BY ','`, `, "kafka_table_name_location"="value", "kafka_text_table_name_field_delimiter"="|"`)
	if err != nil || !def.Load.MultiTable || def.Load.Timezone != "Europe/Berlin" {
		t.Errorf("Create = %+v, %v", def, err)
	}
	for _, clause := range []string{"COLUMNS(a)", "WHERE a > 1", "PRECEDING FILTER a > 1", "PARTITION(p)"} {
		_, err := create(clause, "")
		wantError(t, err, errno.Unknown, "is for jobs of one table")
	}
	_, err = create("", `, "kafka_table_name_location"="key"`)
	wantError(t, err, errno.NotSupportedYet, "before its first |")
}

func TestNotes(t *testing.T) {
	for _, tt := range []struct{ clauses, job, want string }{
		{"", `"exec_mem_limit"="1"`, "exec_mem_limit = '1' has no effect"},
		{"", `"workload_group"="normal"`, "workload_group"},
		{"", `"escape"="\\"`, "escape has no effect without enclose"},
		{"", `"format"="json", "jsonpaths"="[\"$.id\"]"`, "nothing fills Name, größe, at"},
		{"COLUMNS(id, nme)", "", "did you mean 'Name', which nothing fills?"},
	} {
		def := defined(t, tt.clauses, tt.job, "")
		if len(def.Notes) != 1 || !strings.Contains(def.Notes[0], tt.want) {
			t.Errorf("%s %s: notes %q, want one with %q", tt.clauses, tt.job, def.Notes, tt.want)
		}
	}
	for _, clean := range []string{"COLUMNS(id, skipped)", "COLUMNS(id, Nme, Name = upper(Nme))"} {
		if def := defined(t, clean, "", ""); len(def.Notes) > 0 {
			t.Errorf("%s: notes %q", clean, def.Notes)
		}
	}
}

func TestAdopt(t *testing.T) {
	const group = `, "property.group.id"="mine"`
	if !defined(t, "", `"load_mode"="share_group"`, group).Adopt {
		t.Error("a group without offsets is not adopted")
	}
	if defined(t, "", `"load_mode"="share_group"`, group+`, "property.kafka_default_offsets"="OFFSET_END"`).Adopt || defined(t, "", "", group).Adopt {
		t.Error("adopted though a start is given, or in classic mode")
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"j", "select.1", "größe-1_x", "作业", "नमूना", strings.Repeat("ü", 64)} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "1j", ".j", "a b", "a/b", "a'b", "a:b", "j\n", strings.Repeat("ü", 65)} {
		wantError(t, CheckName(bad), errno.WrongRoutineLoadName, "Incorrect routine load job name")
	}
}
