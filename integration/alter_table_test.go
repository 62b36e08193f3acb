package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestAlterTableUnderLoad: columns come, go, are renamed and widened while four
// tasks load. The job goes on by itself, no record is lost and none comes
// twice, and older rows are what the schema of the moment says.
func TestAlterTableUnderLoad(t *testing.T) { inBothModes(t, alterTableUnderLoad) }

func alterTableUnderLoad(t *testing.T, mode string) {
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{partitions: 2, properties: map[string]string{"load_mode": mode, "format": "json", "desired_concurrent_number": "4", "max_batch_interval": "5"}})
	ctx, stop := context.WithCancel(t.Context())
	produced, wait := l.produceUntil(ctx, 2)
	defer func() { stop(); wait() }()
	var changed []int64 // how many rows there were at each change
	for _, clause := range []string{
		`ADD COLUMN note VARCHAR(10) NOT NULL DEFAULT "none" AFTER part`,
		"MODIFY COLUMN part BIGINT",
		"RENAME COLUMN name label", // no record has it
		"DROP COLUMN note",
		"ADD COLUMN name VARCHAR(64), DROP COLUMN label",
		"ADD COLUMN (added DATETIME DEFAULT \"2024-02-29 01:02:03\", note BIGINT)",
	} {
		n := l.mustCount()
		l.waitMore(n)
		l.exec("ALTER TABLE " + l.table + " " + clause)
		changed = append(changed, l.mustCount())
	}
	l.waitMore(changed[len(changed)-1])
	stop()
	wait()
	rows := produced.Load()
	l.waitRows(rows)
	l.checkIDs(rows)
	l.checkLedger()
	if s := l.statistic(); s.Loaded != rows || s.Errors != 0 {
		t.Errorf("statistic %+v, want %d rows loaded", s, rows)
	}
	if status := l.status(); status["State"] != "RUNNING" {
		t.Errorf("the job is %s: %s", status["State"], status["ReasonOfStateChanged"])
	}
	// Rows that were loaded after the name came back have it, and no older ones.
	lines := query(t, l.db, "SELECT count(name) AS named, count(CASE WHEN name = concat('row ', id) THEN 1 END) AS ok, count(note) AS notes, "+
		"count(CASE WHEN added = '2024-02-29 01:02:03' THEN 1 END) AS added, count(CASE WHEN part = id % 2 THEN 1 END) AS part FROM "+l.table)
	var named, ok, notes, added, part int64
	for column, target := range map[string]*int64{"named": &named, "ok": &ok, "notes": &notes, "added": &added, "part": &part} {
		if _, err := fmt.Sscan(lines[0][column], target); err != nil {
			t.Fatal(err)
		}
	}
	if named == 0 || named > rows-changed[4] || ok != named || notes != 0 || added != rows || part != rows {
		t.Errorf("of %d rows, %d before the name came back: %v", rows, changed[4], lines[0])
	}
}

// TestTruncateUnderLoad: what a table loses by TRUNCATE does not come again,
// neither at once nor after RESUME and a restart, and what is produced later
// comes. Table and database have other names then.
func TestTruncateUnderLoad(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{partitions: 1, properties: map[string]string{"format": "json", "max_batch_interval": "5"}})
	client := l.client()
	for id := range 100 {
		l.produce(client, 0, row(id, 0))
	}
	l.waitRows(100)
	l.exec("TRUNCATE TABLE " + l.table)
	if n := l.mustCount(); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	l.exec("PAUSE ROUTINE LOAD FOR " + l.table)
	l.exec("ALTER TABLE " + l.table + " RENAME `order`")
	l.exec("ALTER DATABASE " + l.database() + " RENAME `my-db`")
	shoal.Stop()
	shoal.Run()
	l.db, l.table = shoal.DB(), "`my-db`.t" // the job kept its name
	l.exec("RESUME ROUTINE LOAD FOR " + l.table)
	for id := 100; id < 110; id++ {
		l.produce(client, 0, row(id, 0))
	}
	cluster.Eventually(t, limit, func() error {
		lines, err := cluster.Rows(t.Context(), l.db, "SELECT count(*) AS n, min(id) AS low, count(DISTINCT id) AS ids FROM `my-db`.`order`")
		if err == nil && (lines[0]["n"] != "10" || lines[0]["low"] != "100" || lines[0]["ids"] != "10") {
			err = fmt.Errorf("the table has %v, want ids 100 to 109; job: %v", lines[0], l.status())
		}
		return err
	})
	l.checkLedger()
	if status := l.status(); status["DbName"] != "my-db" || status["TableName"] != "order" || !strings.Contains(status["Statistic"], `"loadedRows":110`) {
		t.Errorf("job: %v", status)
	}
}
