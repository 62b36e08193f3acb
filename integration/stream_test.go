package integration

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestResultsStream reads results of a gigabyte, made by the frontend's own
// engine and by a backend over a loaded table, in less memory than that. Of
// results of a hundred gigabytes, which nobody could have made in advance, the
// first rows come too; a client that then goes away takes its query with it.
func TestResultsStream(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	db := shoal.DB()
	l := loadMany(t, db, broker, 100_000)
	const rows = 1_000_000
	for name, from := range map[string]string{"frontend": "generate_series(1, 1000000) s", "backend": l.table + ", generate_series(1, 10) s"} {
		t.Run(name, func(t *testing.T) {
			statement := "SELECT repeat('x', 1000) FROM " + from
			readAll(t, db, statement, rows)
			if peak := peakMB(t, shoal.PID()); peak > rows*1000*3/4>>20 {
				t.Errorf("the process used %d MB at its peak", peak)
			} else {
				t.Logf("the process used %d MB at its peak", peak)
			}
			before := residentMB(t, shoal.PID())
			for range 10 {
				leave(t, db, statement+", generate_series(1, 100) more")
			}
			if after := residentMB(t, shoal.PID()); after > before+200 {
				t.Errorf("%d MB are in use after ten clients that went away, %d MB before", after, before)
			}
		})
	}
}

// loadMany loads a table of that many rows.
func loadMany(t *testing.T, db *sql.DB, broker *testkafka.Broker, rows int) *load {
	t.Helper()
	l := prepare(t, db, broker, options{partitions: 1})
	records := make([]*kgo.Record, rows)
	for id := range records {
		records[id] = &kgo.Record{Value: []byte(row(id, 0))}
	}
	if err := l.client().ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	l.create(options{properties: map[string]string{"format": "json"}})
	l.waitRows(int64(rows))
	return l
}

// readAll reads all rows of a query.
func readAll(t *testing.T, db *sql.DB, statement string, want int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
	}
	if rows.Err() != nil || n != want {
		t.Errorf("%s: %d rows, %v; want %d", statement, n, rows.Err(), want)
	}
}

// leave goes away in the middle of a result, and waits until its query is gone.
func leave(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	ctx, hangUp := context.WithCancel(t.Context()) // which closes the connection
	defer hangUp()
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for range 1000 {
		if !rows.Next() {
			t.Fatalf("%s: no more rows, %v", statement, rows.Err())
		}
	}
	if n := running(t, db, statement); n != 1 {
		t.Fatalf("%d connections run the query, want 1", n)
	}
	hangUp()
	cluster.Eventually(t, limit, func() error {
		if n := running(t, db, statement); n != 0 {
			return fmt.Errorf("%d connections run the query of a client that is gone", n)
		}
		return nil
	})
}

// running is how many connections run a statement.
func running(t *testing.T, db *sql.DB, statement string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = ?", statement).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// residentMB is the memory that a process has resident now, in MiB.
func residentMB(t *testing.T, pid int) int {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize() >> 20
}
