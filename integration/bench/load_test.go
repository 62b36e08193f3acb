package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"shoal/integration/cluster"
)

// loadTimeout is generous: a run takes seconds.
const loadTimeout = 5 * time.Minute

// load measures the whole path: a fresh `shoal standalone`, a table and a job
// made by SQL, from its first row in the table to its last.
func load(tb testing.TB, d dataset, t *topic, tasks int) sample {
	tb.Helper()
	p := cluster.Start(tb, "standalone")
	defer p.Stop()
	db := p.DB()
	ctx, cancel := context.WithTimeout(tb.Context(), loadTimeout)
	defer cancel()
	for _, statement := range []string{"CREATE DATABASE bench", d.createTable("bench.events"), d.createJob(t, tasks)} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
	var loaded pace
	tick := time.NewTicker(50 * time.Millisecond) // at 10 ms SHOW alone takes a twentieth of the process's time
	defer tick.Stop()
	for loaded.count() < t.rows {
		select {
		case <-ctx.Done():
			tb.Fatalf("%d of %d rows were loaded in %v", loaded.count(), t.rows, loadTimeout)
		case <-tick.C:
			loaded.reach(loadedRows(ctx, tb, db))
		}
	}
	usage := p.Usage()
	var got int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM bench.events").Scan(&got); err != nil || got != t.rows {
		tb.Fatalf("the table has %d rows, want %d: %v", got, t.rows, err)
	}
	return sample{rate: loaded.rate(), peakRSS: usage.PeakRSS, cpu: usage.CPU.Seconds() / float64(t.rows)}
}

func (d dataset) createJob(t *topic, tasks int) string {
	separator := ""
	if d.format == "csv" {
		separator = "COLUMNS TERMINATED BY ','"
	}
	return fmt.Sprintf(`CREATE ROUTINE LOAD bench.load_events ON events %s
		PROPERTIES("load_mode"="share_group", "format"="%s", "desired_concurrent_number"="%d")
		FROM KAFKA("kafka_broker_list"="%s", "kafka_topic"="%s", "property.kafka_default_offsets"="OFFSET_BEGINNING")`,
		separator, d.format, tasks, t.broker.Addr(), t.name)
}

// loadedRows is the job's own count of rows that are visible.
func loadedRows(ctx context.Context, tb testing.TB, db *sql.DB) int {
	tb.Helper()
	job := showJob(ctx, tb, db)
	if state := job["State"]; state != "RUNNING" && state != "NEED_SCHEDULE" {
		tb.Fatalf("the job is %s: %s %s", state, job["ReasonOfStateChanged"], job["OtherMsg"])
	}
	var statistic struct{ LoadedRows int }
	if err := json.Unmarshal([]byte(job["Statistic"]), &statistic); err != nil {
		tb.Fatalf("Statistic %q: %v", job["Statistic"], err)
	}
	return statistic.LoadedRows
}

// showJob is the row of SHOW ROUTINE LOAD by column.
func showJob(ctx context.Context, tb testing.TB, db *sql.DB) map[string]string {
	tb.Helper()
	rows, err := db.QueryContext(ctx, "SHOW ROUTINE LOAD FOR bench.load_events")
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if !rows.Next() {
		tb.Fatalf("SHOW ROUTINE LOAD has no row: %v", rows.Err())
	}
	if err := rows.Scan(into...); err != nil {
		tb.Fatal(err)
	}
	job := make(map[string]string)
	for i, name := range names {
		job[name] = values[i].String
	}
	return job
}
