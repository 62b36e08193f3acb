package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestChangeOfModeUnderLoad: a job goes from one mode to the other and back
// while records come all the time. Each goes on where the other stopped, and no
// record is lost or loaded twice.
func TestChangeOfModeUnderLoad(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	fe, _ := startCluster(t, 2)
	l := setUp(t, fe.DB(), broker, options{partitions: 3, properties: map[string]string{"format": "json", "desired_concurrent_number": "6", "max_batch_interval": "1"}})
	ctx, stop := context.WithCancel(t.Context())
	produced, wait := l.produceUntil(ctx, 3)
	defer func() { stop(); wait() }()
	for _, mode := range []string{"classic", "share_group", "classic", "share_group"} {
		l.waitMore(l.mustCount())
		l.exec("PAUSE ROUTINE LOAD FOR " + l.table)
		l.exec(fmt.Sprintf(`ALTER ROUTINE LOAD FOR %s PROPERTIES("load_mode"="%s")`, l.table, mode))
		l.exec("RESUME ROUTINE LOAD FOR " + l.table)
		l.waitState("RUNNING")
		if status := l.status(); !strings.Contains(status["JobProperties"], fmt.Sprintf(`"load_mode":"%s"`, mode)) {
			t.Fatalf("job properties %s, want mode %s", status["JobProperties"], mode)
		}
		l.waitMore(l.mustCount())
	}
	stop()
	wait()
	l.waitRows(produced.Load())
	l.checkIDs(produced.Load())
	l.waitSettled(produced.Load())
	l.checkLedger()
}

// TestAlterOffsets: ALTER of offsets loads again what it goes back over, and
// tells what it passes over.
func TestAlterOffsets(t *testing.T) { inBothModes(t, alterOffsets) }

func alterOffsets(t *testing.T, mode string) {
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{partitions: 1, properties: map[string]string{"load_mode": mode, "format": "json", "max_batch_interval": "1"}})
	client := l.client()
	l.produce(client, 0, row(0, 0), row(1, 0), row(2, 0), row(3, 0))
	l.waitRows(4)
	alter := func(offset int) {
		t.Helper()
		l.exec("PAUSE ROUTINE LOAD FOR " + l.table)
		l.exec(fmt.Sprintf(`ALTER ROUTINE LOAD FOR %s FROM KAFKA("kafka_partitions"="0","kafka_offsets"="%d")`, l.table, offset))
	}
	alter(2)
	l.exec("RESUME ROUTINE LOAD FOR " + l.table)
	l.waitRows(6)
	l.checkLedger()
	alter(4)
	l.produce(client, 0, row(4, 0), row(5, 0), row(6, 0))
	l.exec(fmt.Sprintf(`ALTER ROUTINE LOAD FOR %s FROM KAFKA("kafka_partitions"="0","kafka_offsets"="6")`, l.table))
	l.exec("RESUME ROUTINE LOAD FOR " + l.table)
	l.waitRows(7)
	cluster.Eventually(t, limit, func() error {
		if msg := l.status()["OtherMsg"]; !strings.Contains(msg, "ALTER passed over 2 offsets of partition 0: 4-5.") {
			return fmt.Errorf("OtherMsg = %s", msg)
		}
		return nil
	})
	if got := query(t, l.db, "SELECT id, count(*) AS n FROM "+l.table+" GROUP BY id ORDER BY id"); fmt.Sprint(got) != "[map[id:0 n:1] map[id:1 n:1] map[id:2 n:2] map[id:3 n:2] map[id:6 n:1]]" {
		t.Errorf("rows %v", got)
	}
	l.checkLedger()
}

// TestDroppedColumn: a column that COLUMNS names goes and comes back. The job
// pauses, says why, and goes on by itself; no record is lost or loaded twice.
func TestDroppedColumn(t *testing.T) { inBothModes(t, droppedColumn) }

func droppedColumn(t *testing.T, mode string) {
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{partitions: 2, clauses: "COLUMNS(id, name = concat('row ', id), part)",
		properties: map[string]string{"load_mode": mode, "format": "json", "max_batch_interval": "1"}})
	ctx, stop := context.WithCancel(t.Context())
	produced, wait := l.produceUntil(ctx, 2)
	defer func() { stop(); wait() }()
	l.waitMore(0)
	l.exec("ALTER TABLE " + l.table + " DROP COLUMN name")
	status := l.waitState("PAUSED")
	if reason := status["ReasonOfStateChanged"]; !strings.Contains(reason, "errCode = 103") || !strings.Contains(reason, "name") {
		t.Errorf("reason %s, want 103 and the column", reason)
	}
	l.exec("ALTER TABLE " + l.table + " ADD COLUMN name VARCHAR(64)")
	rows := l.mustCount()
	l.waitState("RUNNING")
	l.waitMore(rows)
	stop()
	wait()
	l.waitRows(produced.Load())
	l.checkIDs(produced.Load())
	l.checkLedger()
	if status := l.status(); !strings.Contains(status["OtherMsg"], "Resumed by itself at") {
		t.Errorf("OtherMsg = %s", status["OtherMsg"])
	}
}

// TestMultiTable: each message names its table. What names none is an error
// row; a table that is made meanwhile is loaded into from then on.
func TestMultiTable(t *testing.T) { inBothModes(t, multiTable) }

func multiTable(t *testing.T, mode string) {
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := prepare(t, shoal.DB(), broker, options{partitions: 2, table: "(id BIGINT, name VARCHAR(64))"})
	l.exec("CREATE TABLE " + l.table + "2 (id BIGINT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
	o := options{properties: map[string]string{"load_mode": mode, "max_error_number": "10", "max_batch_interval": "1"}, clauses: `COLUMNS TERMINATED BY ","`}
	l.exec(strings.Replace(l.statement(o), " ON t ", " ", 1))
	client := l.client()
	l.produce(client, 0, "t|1,one", "t2|2", "t|3,three", "nothing|4", "|5", "six")
	l.produce(client, 1, "t2|7", "later|8")
	l.waitRows(2)
	ids := func(table string) string {
		lines, err := cluster.Rows(t.Context(), l.db, "SELECT id FROM "+l.database()+"."+table+" ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(lines)
	}
	cluster.Eventually(t, limit, func() error {
		if s := l.statistic(); s.Loaded != 4 || s.Errors != 4 {
			return fmt.Errorf("statistic %+v; %s", s, l.status()["OtherMsg"])
		}
		return nil
	})
	if got := ids("t2"); got != "[map[id:2] map[id:7]]" {
		t.Errorf("t2 has %s", got)
	}
	l.exec("CREATE TABLE " + l.database() + ".later (id BIGINT, x INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
	l.produce(client, 1, "later|9,90", "t|10,ten")
	l.waitRows(3)
	cluster.Eventually(t, limit, func() error {
		if got := ids("later"); got != "[map[id:9]]" {
			return fmt.Errorf("later has %s", got)
		}
		return nil
	})
	if s := l.statistic(); s.Loaded != 6 || s.Errors != 4 {
		t.Errorf("statistic %+v", s)
	}
	l.checkLedger()
}
