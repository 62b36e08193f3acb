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

// altered is what ALTER ROUTINE LOAD FOR j makes of a job.
func altered(t *testing.T, have *typesv1.RoutineLoad, clauses string) (*Definition, error) {
	t.Helper()
	stmt, err := parse.Parse("ALTER ROUTINE LOAD FOR j " + clauses)
	if err != nil {
		t.Fatalf("%s: %v", clauses, err)
	}
	before := proto.CloneOf(have)
	def, err := Alter(have, stmt.(*ast.AlterRoutineLoad), orders, "SYSTEM")
	if !proto.Equal(before, have) {
		t.Errorf("%s: the former definition has changed", clauses)
	}
	return def, err
}

func TestAlter(t *testing.T) {
	const job, source = `"strict_mode"="true", "max_batch_rows"="300000"`, `, "property.client.id"="c", "property.kafka_default_offsets"="OFFSET_BEGINNING"`
	tests := []struct {
		clauses string
		want    func(l *typesv1.RoutineLoad)
		broker  bool
	}{
		{`PROPERTIES("max_error_number"="9", "strict_mode"="false")`, func(l *typesv1.RoutineLoad) { l.MaxErrorNumber, l.StrictMode = 9, false }, false},
		{`PROPERTIES("max_batch_rows"="")`, func(l *typesv1.RoutineLoad) { l.MaxBatchRows = 20_000_000 }, false},
		{`PROPERTIES("enclose"="'", "timezone"="-03:30")`, func(l *typesv1.RoutineLoad) { l.Enclose, l.Timezone = "'", "-03:30" }, false},
		{`COLUMNS(id, x, name = upper(x)), WHERE id > 2, PRECEDING FILTER x != '', COLUMNS TERMINATED BY ';'`, func(l *typesv1.RoutineLoad) {
			l.LoadColumns = []*typesv1.LoadColumn{{Name: "id"}, {Name: "x"}, {Name: "Name", Expr: "upper(x)"}}
			l.Where, l.PrecedingFilter, l.ColumnSeparator = "id > 2", "x != ''", ";"
		}, false},
		{`PROPERTIES("load_mode"="share_group", "share_linger_ms"="5")`, func(l *typesv1.RoutineLoad) {
			l.Mode, l.ShareLingerMs = typesv1.RoutineLoad_MODE_SHARE_GROUP, 5
		}, true},
		{`PROPERTIES("dead_letter_topic"="bad")`, func(l *typesv1.RoutineLoad) { l.DeadLetterTopic = "bad" }, true},
		{`FROM KAFKA("kafka_broker_list"="b3:1")`, func(l *typesv1.RoutineLoad) { l.Brokers = []string{"b3:1"} }, true},
		{`FROM KINESIS("property.client.id"="", "property.isolation.level"="read_uncommitted")`, func(l *typesv1.RoutineLoad) {
			delete(l.CustomProperties, "client.id")
			l.CustomProperties["isolation.level"], l.ReadUncommitted = "read_uncommitted", true
		}, true},
		{`FROM KAFKA("kafka_topic"="other")`, func(l *typesv1.RoutineLoad) { l.Topic = "other" }, true},
		{`FROM KAFKA("kafka_topic"="other", "kafka_partitions"="1", "kafka_offsets"="4")`, func(l *typesv1.RoutineLoad) {
			l.Topic, l.KafkaPartitions, l.KafkaOffsets = "other", []int32{1}, []string{"4"}
		}, true},
		{`FROM KAFKA("kafka_partitions"="1,0", "kafka_offsets"="4,5")`, func(*typesv1.RoutineLoad) {}, true},
		{`FROM KAFKA("kafka_partitions"="1")`, func(*typesv1.RoutineLoad) {}, true},
	}
	for _, tt := range tests {
		t.Run(tt.clauses, func(t *testing.T) {
			have := defined(t, "", job, source).Load
			want := proto.CloneOf(have)
			tt.want(want)
			got, err := altered(t, have, tt.clauses)
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got.Load, want) || got.NeedsBroker(have) != tt.broker {
				t.Errorf("Alter = %v, broker %v\nwant %v, %v", got.Load, got.NeedsBroker(have), want, tt.broker)
			}
		})
	}
}

func TestAlterStarts(t *testing.T) {
	have := defined(t, "", "", "").Load
	for clauses, want := range map[string]int{
		`FROM KAFKA("kafka_partitions"="1,0", "kafka_offsets"="4,5")`:                                     2,
		`FROM KAFKA("kafka_partitions"="1", "property.kafka_default_offsets"="OFFSET_END")`:               1,
		`FROM KAFKA("kafka_topic"="other", "kafka_partitions"="1,2,3", "kafka_offsets"="1,2,OFFSET_END")`: 3,
		`FROM KAFKA("kafka_topic"="other")`:                                                               0,
		`FROM KAFKA("kafka_topic"="orders")`:                                                              0,
	} {
		def, err := altered(t, have, clauses)
		if err != nil || len(def.Offsets) != want {
			t.Errorf("%s: %+v, %v; want %d offsets", clauses, def, err, want)
		}
	}
}

func TestAlterMode(t *testing.T) {
	share := defined(t, "", `"load_mode"="share_group", "share_linger_ms"="7", "share_delivery_count_limit"="4"`, `, "kafka_partitions"="0,1", "kafka_offsets"="3,4"`).Load
	def, err := altered(t, share, `PROPERTIES("load_mode"="classic")`)
	if err != nil || def.Load.ShareLingerMs != 200 || def.Load.ShareDeliveryLimit != 0 || def.Load.KafkaOffsets != nil || len(def.Notes) != 2 {
		t.Errorf("to classic: %+v, %v", def, err)
	}
	pinned := defined(t, "", "", `, "kafka_partitions"="1", "kafka_offsets"="3"`).Load
	_, err = altered(t, pinned, `PROPERTIES("load_mode"="share_group")`)
	wantError(t, err, errno.Unknown, "kafka_partitions is '1'")
	def, err = altered(t, pinned, `PROPERTIES("load_mode"="share_group") FROM KAFKA("kafka_partitions"="")`)
	if err != nil || len(def.Load.KafkaPartitions) > 0 || def.Offsets != nil {
		t.Errorf("no longer pinned: %+v, %v", def, err)
	}
}

func TestAlterRefuses(t *testing.T) {
	for _, tt := range []struct {
		clauses string
		code    errno.Code
		text    string
	}{
		{`PROPERTIES("format"="json")`, errno.Unknown, "Invalid property 'format': it cannot be altered"},
		{`PROPERTIES("exec_mem_limit"="1")`, errno.Unknown, "cannot be altered"},
		{`PROPERTIES("send_batch_parallelism"="1")`, errno.Unknown, "cannot be altered"},
		{`PROPERTIES("load_to_single_tablet"="false")`, errno.Unknown, "cannot be altered"},
		{`PROPERTIES("partial_update_new_key_behavior"="APPEND")`, errno.Unknown, "cannot be altered"},
		{`PROPERTIES("max_batch_row"="1")`, errno.Unknown, "did you mean 'max_batch_rows'?"},
		{`PROPERTIES("max_batch_rows"="1")`, errno.Unknown, ">= 200000"},
		{`PROPERTIES("strict_mode"="perhaps")`, errno.Unknown, "true or false"},
		{`PROPERTIES("jsonpaths"="[\"$.a\"]")`, errno.Unknown, `jsonpaths is for "format" = "json"`},
		{`PROPERTIES("share_linger_ms"="5")`, errno.Unknown, `"load_mode" = "share_group"`},
		{`COLUMNS(name)`, errno.Unknown, "Column 'id' is NOT NULL"},
		{`ORDER BY id`, errno.NotSupportedYet, "sequence column"},
		{`DELETE ON id > 1`, errno.NotSupportedYet, "unique keys"},
		{`FROM KAFKA("kafka_offsets"="4")`, errno.Unknown, "needs kafka_partitions"},
		{`FROM KAFKA("kafka_partitions"="0")`, errno.Unknown, "Must set kafka_offsets"},
		{`FROM KAFKA("property.group.id"="other")`, errno.Unknown, "property.group.id cannot be altered"},
		{`FROM KAFKA("kafka_broker_list"="")`, errno.Unknown, "not host:port"},
		{`FROM KAFKA("kafka_topic"="")`, errno.Unknown, "kafka_topic is a required property"},
		{`FROM KAFKA("kafka_topik"="t")`, errno.Unknown, "did you mean 'kafka_topic'?"},
	} {
		t.Run(tt.clauses, func(t *testing.T) {
			_, err := altered(t, defined(t, "", "", "").Load, tt.clauses)
			wantError(t, err, tt.code, tt.text)
		})
	}
}

// TestAlterOldDefinition: a definition as an earlier release wrote it.
func TestAlterOldDefinition(t *testing.T) {
	have := defined(t, "", "", "").Load
	have.Columns, have.JobProperties, have.CustomProperties = []string{"id", "Name"}, nil, nil
	def, err := altered(t, have, `PROPERTIES("max_error_number"="1")`)
	if err != nil || def.Load.Columns != nil || len(def.Load.LoadColumns) != 2 || Columns(have) != "id,Name" {
		t.Errorf("Alter = %v, %v", def, err)
	}
}

func TestCheckFit(t *testing.T) {
	load := defined(t, "COLUMNS(id, x, name = upper(x)), WHERE größe > 1", "", "").Load
	without := func(name string) *typesv1.Schema {
		schema := proto.CloneOf(orders.Schema)
		for i, c := range schema.Columns {
			if c.Name == name {
				schema.Columns = append(schema.Columns[:i], schema.Columns[i+1:]...)
				break
			}
		}
		return schema
	}
	if err := CheckFit(load, orders.Schema); err != nil {
		t.Errorf("the schema it was made for: %v", err)
	}
	if err := CheckFit(load, without("at")); err != nil {
		t.Errorf("a column that nothing names was dropped: %v", err)
	}
	if err := CheckFit(load, without("Name")); err == nil || !strings.Contains(err.Error(), "'Name'") {
		t.Errorf("a derived column was dropped: %v", err)
	}
	added := proto.CloneOf(orders.Schema)
	added.Columns = append(added.Columns, &typesv1.Column{Name: "new", Type: "int"})
	if err := CheckFit(load, added); err == nil || !strings.Contains(err.Error(), "'new' is NOT NULL") {
		t.Errorf("a column that must have a value was added: %v", err)
	}
	load.MultiTable = true
	if err := CheckFit(load, nil); err != nil {
		t.Errorf("a multi-table job: %v", err)
	}
}
