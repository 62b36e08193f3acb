package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestHotPartition: 200,000 JSON records, nine of ten in one of three
// partitions, six tasks. Every row arrives once, and every task has worked.
func TestHotPartition(t *testing.T) {
	t.Parallel()
	const rows, chunk = 200_000, 2000
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{partitions: 3, properties: map[string]string{"format": "json", "desired_concurrent_number": "6"}})
	cluster.Eventually(t, limit, func() error {
		if out := mustShoal(t, "admin", "tasks", "--fe", shoal.Ready.RPC); strings.Count(out, "polling") != 6 {
			return fmt.Errorf("not all tasks poll yet:\n%s", out)
		}
		return nil
	})
	client := l.client()
	for first := 0; first < rows; first += chunk {
		var records []*kgo.Record
		for id := first; id < first+chunk; id++ {
			partition := int32(0)
			if id%10 == 9 {
				partition = int32(1 + id/10%2)
			}
			records = append(records, &kgo.Record{Partition: partition, Value: []byte(row(id, partition))})
		}
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	l.waitRows(rows)
	l.checkIDs(rows)
	l.checkLedger()
	for partition, want := range map[int]int64{0: rows / 10 * 9, 1: rows / 20, 2: rows / 20} {
		if got, err := l.count(fmt.Sprintf("count(CASE WHEN part = %d THEN 1 END)", partition)); err != nil || got != want {
			t.Errorf("partition %d: %d rows, %v; want %d", partition, got, err, want)
		}
	}
	tasks := l.inDatabase("SHOW ROUTINE LOAD TASK WHERE JobName = 't'")
	if len(tasks) != 6 {
		t.Errorf("%d tasks, want 6, more than partitions: %v", len(tasks), tasks)
	}
	cluster.Eventually(t, limit, func() error { // statuses come with heartbeats
		for _, line := range strings.Split(strings.TrimSpace(mustShoal(t, "admin", "tasks", "--fe", shoal.Ready.RPC)), "\n")[1:] {
			if committed := strings.Fields(line)[5]; committed == "0" {
				return fmt.Errorf("a task has committed nothing: %s", line)
			}
		}
		return nil
	})
	if s := l.statistic(); s.Loaded != rows || s.Errors != 0 {
		t.Errorf("statistic %+v, want %d rows loaded", s, rows)
	}
}

// TestPauseResumeStop: in the middle of a stream of records a job is paused and
// loads nothing, goes on after RESUME with what it had released, and ends with
// STOP. Every record is loaded once.
func TestPauseResumeStop(t *testing.T) { inBothModes(t, pauseResumeStop) }

func pauseResumeStop(t *testing.T, mode string) {
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{partitions: 2, properties: map[string]string{"load_mode": mode, "format": "json", "desired_concurrent_number": "4"}})
	ctx, stop := context.WithCancel(t.Context())
	produced, wait := l.produceUntil(ctx, 2)
	defer func() { stop(); wait() }()
	l.waitMore(0)

	l.exec("PAUSE ROUTINE LOAD FOR " + l.table)
	if status := l.waitState("PAUSED"); !strings.Contains(status["ReasonOfStateChanged"], "errCode = 100") || status["PauseTime"] == "NULL" {
		t.Errorf("paused by the user: %v", status)
	}
	rows := l.mustCount()
	at := produced.Load()
	cluster.Eventually(t, limit, func() error {
		if now := produced.Load(); now < at+500 {
			return fmt.Errorf("%d records produced, want some more", now)
		}
		return nil
	})
	if now := l.mustCount(); now != rows {
		t.Errorf("a paused job loads: %d rows after %d", now, rows)
	}
	mustFail(t, l.db, "PAUSE ROUTINE LOAD FOR "+l.table)
	l.exec("RESUME ROUTINE LOAD FOR " + l.table)
	l.waitState("RUNNING")
	l.waitMore(rows)
	stop()
	wait()
	l.waitRows(produced.Load())
	l.checkIDs(produced.Load())
	l.checkLedger()

	more, stopMore := context.WithCancel(t.Context())
	_, waitMore := l.produceUntil(more, 2)
	defer func() { stopMore(); waitMore() }()
	l.waitMore(produced.Load())
	l.exec("STOP ROUTINE LOAD FOR " + l.table)
	rows = l.mustCount()
	if lines := l.inDatabase("SHOW ROUTINE LOAD"); len(lines) != 0 {
		t.Errorf("a stopped job is shown without ALL: %v", lines)
	}
	if status := l.status(); status["State"] != "STOPPED" || status["EndTime"] == "NULL" {
		t.Errorf("stopped job: %v", status)
	}
	mustFail(t, l.db, "RESUME ROUTINE LOAD FOR "+l.table)
	if now := l.mustCount(); now != rows {
		t.Errorf("a stopped job loads: %d rows after %d", now, rows)
	}
}

// TestCSV: separators, column lists, and rows that are spread over lines.
func TestCSV(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{
		partitions: 1, table: "(id BIGINT, part INT, name VARCHAR(64))",
		clauses: `COLUMNS TERMINATED BY "|", COLUMNS(name, id, part)`, properties: map[string]string{"max_error_number": "1"},
	})
	l.produce(l.client(), 0, "zero|0|0", "one|1|0\ntwo|2|0\n", "only|two")
	l.waitRows(3)
	l.checkIDs(3)
	if got := query(t, l.db, "SELECT name FROM "+l.table+" ORDER BY id"); len(got) != 3 || got[2]["name"] != "two" {
		t.Errorf("rows %v", got)
	}
	cluster.Eventually(t, limit, func() error {
		errorRows := query(t, l.db, "SELECT kafka_offset, reason, raw FROM information_schema.routine_load_errors WHERE db_name = 'testcsv'")
		if len(errorRows) != 1 || errorRows[0]["kafka_offset"] != "2" || errorRows[0]["raw"] != "only|two" {
			return fmt.Errorf("error rows %v, want the message of offset 2", errorRows)
		}
		return nil
	})
}

// TestErrorLimit: ten bad rows among a thousand. A limit of ten loads the rest
// and keeps the bad ones readable; a limit of five pauses the job with samples
// and loads nothing that it would have to take back.
func TestErrorLimit(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	for _, tt := range []struct {
		limit string
		state string
	}{{"10", "RUNNING"}, {"5", "PAUSED"}} {
		t.Run(tt.limit, func(t *testing.T) {
			l := prepare(t, shoal.DB(), broker, options{partitions: 1})
			var values []string
			for id := range 1000 {
				if id%100 == 50 {
					values = append(values, fmt.Sprintf(`{"id":%d,`, id))
					continue
				}
				values = append(values, row(id, 0))
			}
			l.produce(l.client(), 0, values...)
			l.create(options{properties: map[string]string{"format": "json", "max_error_number": tt.limit, "desired_concurrent_number": "1"}})
			if tt.state == "PAUSED" {
				status := l.waitState("PAUSED")
				if reason := status["ReasonOfStateChanged"]; !strings.Contains(reason, "errCode = 102") || !strings.Contains(reason, `{"id":50,`) {
					t.Errorf("reason %q, want code 102 and a sample of the first bad message", reason)
				}
				return
			}
			l.waitRows(990)
			if s := l.statistic(); s.Errors != 10 || s.Loaded != 990 || s.Total != 1000 {
				t.Errorf("statistic %+v, want 990 loaded and 10 errors", s)
			}
			rows := query(t, l.db, "SELECT kafka_offset, raw FROM information_schema.routine_load_errors WHERE job_name = 't' AND db_name = '"+l.database()+"' ORDER BY kafka_offset")
			if len(rows) != 10 || rows[0]["kafka_offset"] != "50" || rows[0]["raw"] != `{"id":50,` {
				t.Errorf("%d error rows, the first %v; want 10 from offset 50 on", len(rows), rows)
			}
			l.checkLedger()
		})
	}
}

// TestCreateIsChecked: what cannot work is refused at CREATE, by name.
func TestCreateIsChecked(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := prepare(t, shoal.DB(), broker, options{partitions: 1})
	good := l.statement(options{properties: map[string]string{"format": "json"}})
	for _, tt := range []struct{ name, old, new, want string }{
		{"topic", l.topic, "no_such_topic", "no_such_topic"},
		{"broker", broker.Addr(), "127.0.0.1:1", "127.0.0.1:1"},
		{"table", " ON t ", " ON nothing ", "nothing"},
		{"property", `"format"="json"`, `"frmat"="json"`, "frmat"},
		{"range", `"format"="json"`, `"max_batch_interval"="0"`, "max_batch_interval"},
		{"column", `PROPERTIES("format"`, `COLUMNS(id, id) PROPERTIES("format"`, "id"},
		{"condition", `PROPERTIES("format"`, `WHERE idd > 1 PROPERTIES("format"`, "idd"},
		{"client property", `"property.kafka_default_offsets"="OFFSET_BEGINNING"`, `"property.security.protocal"="ssl"`, "security.protocol"},
		{"mode", `"load_mode"="share_group"`, `"load_mode"="shared"`, "shared"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := mustFail(t, l.db, strings.Replace(good, tt.old, tt.new, 1))
			var refused *mysql.MySQLError
			if !errors.As(err, &refused) || !strings.Contains(refused.Message, tt.want) {
				t.Errorf("error %v, want one that names %s", err, tt.want)
			}
		})
	}
	if lines := l.inDatabase("SHOW ALL ROUTINE LOAD"); len(lines) != 0 {
		t.Errorf("refused jobs left %v", lines)
	}
	l.exec(strings.Replace(good, "load_mode", "LOAD_MODE", 1)) // keys match in any case
	l.waitState("RUNNING")
}
