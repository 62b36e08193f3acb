package routineload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"shoal/fe/kafka"
	"shoal/fe/loaddef"
	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/parse"
)

func TestJobProperties(t *testing.T) {
	stmt, err := parse.Parse(`CREATE ROUTINE LOAD j ON orders COLUMNS TERMINATED BY '|', COLUMNS(id, n, Name = upper(n)), WHERE id > 1
		PROPERTIES("load_mode"="share_group", "max_filter_ratio"="0.5") FROM KAFKA("kafka_broker_list"="b:1", "kafka_topic"="t")`)
	if err != nil {
		t.Fatal(err)
	}
	def, err := loaddef.Create(stmt.(*ast.CreateRoutineLoad), &loaddef.Target{Table: "orders", Schema: ordersTable.Schemas[0]}, "SYSTEM")
	if err != nil {
		t.Fatal(err)
	}
	text := jobProperty(&raftlogv1.Job{Load: def.Load, Starts: make([]*raftlogv1.LedgerStart, 3)})
	for _, want := range []string{`"column_separator":"'|'"`, `"columnToColumnExpr":"id,n,Name=upper(n)"`, `"whereExpr":"id > 1"`, `"precedingFilter":"*"`, `"format":"csv"`, `"max_filter_ratio":"0.5"`,
		`"desired_concurrent_number":"6"`, `"max_batch_rows":"20000000"`, `"timezone":"UTC"`, `"load_mode":"share_group"`} {
		if !strings.Contains(text, want) {
			t.Errorf("JobProperties has no %s: %s", want, text)
		}
	}
	if strings.Contains(text, "jsonpaths") {
		t.Errorf("JobProperties of a csv job: %s", text)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	job := &raftlogv1.Job{Load: &typesv1.RoutineLoad{GroupId: "g", CustomProperties: map[string]string{"sasl.password": "hunter2", "sasl.username": "u"}}}
	if got := custom(job); got != `{"group.id":"g","sasl.password":"******","sasl.username":"u"}` {
		t.Errorf("CustomProperties = %s", got)
	}
	if job.Load.CustomProperties["sasl.password"] != "hunter2" {
		t.Error("showing changed the job")
	}
}

func TestResumeAt(t *testing.T) {
	topic := kafka.Topic{Name: "orders", ID: kafka.TopicID{1}}
	logs := map[int32]kafka.Log{0: {Start: 5, End: 20}, 1: {Start: 0, End: 9}}
	ledgerAt := func(id byte, partition int32, settled int64) (v []ledger.View) {
		return []ledger.View{{Key: ledger.Key{TopicID: kafka.TopicID{id}, Partition: partition}, Settled: settled}}
	}
	for _, tt := range []struct {
		name    string
		ledgers []ledger.View
		want    string
	}{
		{"settled", ledgerAt(1, 0, 12), "map[0:12 1:0]"},
		{"retention went further", ledgerAt(1, 0, 2), "map[0:5 1:0]"},
		{"another topic's ledger", ledgerAt(2, 0, 12), "map[0:5 1:0]"},
		{"truncated", ledgerAt(1, 1, 10), "the log of topic 'orders', partition 1, ends at offset 9"},
	} {
		starts, err := resumeAt(topic, logs, tt.ledgers)
		if got := fmt.Sprint(starts); err == nil && got != tt.want || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v; want %s", tt.name, got, err, tt.want)
		}
	}
}

// A job that leaders with other clocks paused and resumed does not wait until
// this clock has come to theirs.
func TestResumableByAnotherClock(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	for _, tt := range []struct {
		paused, resumed int64
		tries           int32
		want            bool
	}{
		{paused: 999_000, want: true},
		{paused: 999_000, resumed: 990_000, tries: 1, want: false},
		{paused: 999_000, resumed: 900_000, tries: 1, want: true},
		{paused: 9_000_000, want: true},
		{paused: 9_000_000, resumed: 8_990_000, tries: 3, want: true},
		{paused: 999_000, resumed: 9_000_000, tries: 1, want: true},
	} {
		job := &raftlogv1.Job{
			State: raftlogv1.JobState_JOB_STATE_PAUSED, ReasonCode: 101,
			PausedMs: tt.paused, AutoResumedMs: tt.resumed, AutoResumes: tt.tries,
		}
		if got := resumable(job, now); got != tt.want {
			t.Errorf("paused at %d, resumed %d times, at %d: resumable = %v", tt.paused, tt.tries, tt.resumed, got)
		}
	}
}

// Nor does one whose CREATE a leader with another clock did not finish.
func TestAbandonedByAnotherClock(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	for _, tt := range []struct {
		created int64
		started bool
		want    bool
	}{
		{created: 990_000, want: false}, // its CREATE may be at it
		{created: 900_000, want: true},
		{created: 900_000, started: true, want: false},
		{created: 9_000_000, want: true},
		{created: 9_000_000, started: true, want: false},
	} {
		job := &raftlogv1.Job{State: raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE, CreatedMs: tt.created, Started: tt.started}
		if got := abandoned(job, now); got != tt.want {
			t.Errorf("made at %d, started %v: abandoned = %v", tt.created, tt.started, got)
		}
	}
}
