package routineload

import (
	"strings"
	"testing"

	"shoal/fe/errno"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/parse"
)

var ordersTable = &raftlogv1.Table{Name: "orders", Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{
	{Name: "id", Type: "bigint"}, {Name: "Name", Type: "varchar(20)", Nullable: true},
}}}}

// create parses a statement made of load properties, job properties and source
// properties beside those that every job needs.
func create(t *testing.T, clauses, job, source string) *ast.CreateRoutineLoad {
	t.Helper()
	text := `CREATE ROUTINE LOAD d.j ON orders ` + clauses + ` PROPERTIES("Load_Mode"="share_group"` + job + `)
		FROM KAFKA("kafka_broker_list"="b1:9092, b2:9093", "kafka_topic"="orders"` + source + `)`
	stmt, err := parse.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return stmt.(*ast.CreateRoutineLoad)
}

func TestDefine(t *testing.T) {
	stmt := create(t, `COLUMNS TERMINATED BY '\x01', COLUMNS(ID, name)`,
		`, "max_batch_rows"="300000", "FORMAT"="CSV", "timezone"="+08:00", "max_error_number"="5", "jsonpaths"="", "strip_outer_array"="FALSE"`,
		`, "property.GROUP.ID"="mine", "property.kafka_default_offsets"="OFFSET_BEGINNING"`)
	def, err := define(stmt, ordersTable, "SYSTEM")
	if err != nil {
		t.Fatal(err)
	}
	load := def.load
	if load.ColumnSeparator != "\x01" || strings.Join(load.Columns, ",") != "id,Name" || load.MaxBatchRows != 300_000 || load.Timezone != "Etc/GMT-8" ||
		load.MaxErrorNumber != 5 || load.GroupId != "mine" || !load.GroupIdGiven || strings.Join(load.Brokers, ",") != "b1:9092,b2:9093" ||
		load.MaxBatchSize != defaultBatchSize || load.MaxFilterRatio != 1 || def.adopt {
		t.Errorf("define = %+v", load)
	}
	def, err = define(create(t, "", "", `, "property.group.id"="mine"`), ordersTable, "Europe/Berlin")
	if err != nil || !def.adopt || def.load.Timezone != "Europe/Berlin" {
		t.Errorf("a group without offsets: %+v, %v; want it adopted", def, err)
	}
}

func TestDefineRefuses(t *testing.T) {
	tests := []struct {
		name, clauses, job, source string
		code                       errno.Code
		text                       string
	}{
		{"unknown property", "", `, "max_batch_row"="1"`, "", errno.Unknown, "'max_batch_row'"},
		{"classic", "", `, "load_mode"="classic"`, "", errno.NotSupportedYet, "share_group"},
		{"mode", "", `, "load_mode"="push"`, "", errno.Unknown, "'push'"},
		{"concurrency 0", "", `, "desired_concurrent_number"="0"`, "", errno.Unknown, "desired_concurrent_number should be a number >= 1"},
		{"concurrency text", "", `, "desired_concurrent_number"="many"`, "", errno.Unknown, "'many'"},
		{"errors", "", `, "max_error_number"="-1"`, "", errno.Unknown, ">= 0"},
		{"ratio", "", `, "max_filter_ratio"="1.5"`, "", errno.Unknown, "between 0 and 1"},
		{"ratio NaN", "", `, "max_filter_ratio"="nan"`, "", errno.Unknown, "between 0 and 1"},
		{"interval", "", `, "max_batch_interval"="0"`, "", errno.Unknown, "between 1 and"},
		{"rows", "", `, "max_batch_rows"="199999"`, "", errno.Unknown, ">= 200000"},
		{"size small", "", `, "max_batch_size"="104857599"`, "", errno.Unknown, "between 104857600 and 10737418240"},
		{"size large", "", `, "max_batch_size"="10737418241"`, "", errno.Unknown, "between"},
		{"format", "", `, "format"="avro"`, "", errno.Unknown, "'avro'"},
		{"strict", "", `, "strict_mode"="yes"`, "", errno.Unknown, "strict_mode"},
		{"zone", "", `, "timezone"="Moon/Base"`, "", errno.UnknownTimeZone, "Moon/Base"},
		{"half an hour", "", `, "timezone"="+05:30"`, "", errno.UnknownTimeZone, "region"},
		{"json paths", "", `, "format"="json", "jsonpaths"="[]"`, "", errno.NotSupportedYet, "'jsonpaths'"},
		{"where", "WHERE id > 1", "", "", errno.NotSupportedYet, "WHERE"},
		{"preceding filter", "PRECEDING FILTER id > 1", "", "", errno.NotSupportedYet, "PRECEDING FILTER"},
		{"order by", "ORDER BY id", "", "", errno.NotSupportedYet, "ORDER BY"},
		{"partition", "PARTITION(p1)", "", "", errno.NotSupportedYet, "PARTITION"},
		{"derived", "COLUMNS(id, name = upper(id))", "", "", errno.NotSupportedYet, "upper(id)"},
		{"no such column", "COLUMNS(id, nam)", "", "", errno.BadField, "'nam' in 'orders'"},
		{"twice", "COLUMNS(id, name, NAME)", "", "", errno.Unknown, "Duplicate column 'Name'"},
		{"must have a value", "COLUMNS(name)", "", "", errno.Unknown, "Column 'id' is NOT NULL"},
		{"separator hex", `COLUMNS TERMINATED BY '\x0'`, "", "", errno.Unknown, "hexadecimal"},
		{"separator empty", `COLUMNS TERMINATED BY ''`, "", "", errno.Unknown, "empty"},
		{"separator for json", `COLUMNS TERMINATED BY ','`, `, "format"="json"`, "", errno.Unknown, "json"},
		{"partitions", "", "", `, "kafka_partitions"="0,1"`, errno.NotSupportedYet, "kafka_partitions"},
		{"misspelt", "", "", `, "property.security.protocal"="ssl"`, errno.Unknown, "property.security.protocol?"},
		{"source property", "", "", `, "kafka_brokers"="x"`, errno.Unknown, "'kafka_brokers'"},
		{"offsets", "", "", `, "property.kafka_default_offsets"="YESTERDAY"`, errno.Unknown, "OFFSET_BEGINNING"},
		{"group", "", "", `, "property.group.id"=" "`, errno.Unknown, "group.id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stmt := create(t, tt.clauses, "", tt.source)
			for pair := range strings.SplitSeq(tt.job, `, `) {
				if key, value, ok := strings.Cut(strings.Trim(pair, `"`), `"="`); ok {
					stmt.Properties = setProperty(stmt.Properties, key, value)
				}
			}
			_, err := define(stmt, ordersTable, "SYSTEM")
			if err == nil {
				t.Fatal("was taken")
			}
			if e := errno.From(err); e.Code != tt.code || !strings.Contains(e.Msg, tt.text) {
				t.Errorf("error %d %q, want %d and %q", e.Code.Num, e.Msg, tt.code.Num, tt.text)
			}
		})
	}
}

// setProperty replaces or adds a property.
func setProperty(properties ast.Properties, key, value string) ast.Properties {
	for i := range properties {
		if strings.EqualFold(properties[i].Key, key) {
			properties[i].Value = value
			return properties
		}
	}
	return append(properties, ast.Property{Key: key, Value: value})
}

func TestDefineSource(t *testing.T) {
	for _, tt := range []struct{ key, value, text string }{
		{"kafka_broker_list", "b1", "'b1' is not host:port"},
		{"kafka_broker_list", "b1:99999", "'b1:99999'"},
		{"kafka_broker_list", "b1:9092,", "'' is not host:port"},
		{"kafka_topic", "", "kafka_topic is a required property"},
	} {
		stmt := create(t, "", "", "")
		stmt.Source.Properties = setProperty(stmt.Source.Properties, tt.key, tt.value)
		if _, err := define(stmt, ordersTable, "SYSTEM"); err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s = %q: %v, want %q", tt.key, tt.value, err, tt.text)
		}
	}
	stmt := create(t, "", "", "")
	stmt.Source.Type = "KINESIS"
	if _, err := define(stmt, ordersTable, "SYSTEM"); err == nil || !strings.Contains(err.Error(), "KINESIS") {
		t.Errorf("another source: %v", err)
	}
}
