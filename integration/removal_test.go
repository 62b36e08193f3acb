package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestRemoval: backends are killed with -9 in the middle of txns, and tables are
// dropped and truncated while long queries read them at two frontends. The third
// one, which leads at first, is killed meanwhile. The queries answer right, and in
// the end there are exactly the files that the state has.
func TestRemoval(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	first := cluster.Start(t, "fe", "--bootstrap", "--trash-expire", "1s")
	var fes, bes []*cluster.Process
	for range 2 {
		fes = append(fes, cluster.Start(t, "fe", "--join", first.Ready.RPC, "--trash-expire", "1s"))
	}
	for range 2 {
		bes = append(bes, cluster.Start(t, "be", "--fe", first.Ready.RPC+","+fes[0].Ready.RPC))
	}
	l := setUp(t, fes[0].DB(), broker, options{partitions: 3, properties: map[string]string{"format": "json", "desired_concurrent_number": "6"}})
	warehouse := filepath.Join(first.Dir, "warehouse")

	ctx, stop := context.WithCancel(t.Context())
	produced, wait := l.produceUntil(ctx, 3)
	defer func() { stop(); wait() }()
	for i := range 4 {
		before := l.mustCount()
		cluster.Eventually(t, limit, func() error {
			if n := l.openTxns(); n == 0 || l.mustCount() <= before {
				return fmt.Errorf("%d open txns, %d rows", n, l.mustCount())
			}
			return nil
		})
		bes[i%2].Kill()
		bes[i%2].Run()
	}

	others := folders(t, warehouse)
	const rows = 200_000 // more than fits between a backend and a client that does not read
	dropped, truncated := openQuery(t, fes[0].DB(), broker, "dropped", rows), openQuery(t, fes[1].DB(), broker, "truncated", rows)
	l.exec("DROP TABLE " + dropped.table)
	l.exec("TRUNCATE TABLE " + truncated.table)
	gone := folders(t, warehouse)
	maps.DeleteFunc(gone, func(name string, _ int) bool { _, other := others[name]; return other })
	first.Kill()
	first.Run()
	time.Sleep(12 * time.Second) // a leader looks every 5 s
	now := folders(t, warehouse)
	for name, files := range gone {
		if now[name] != files {
			t.Errorf("table %s has %d files, after %d: those that a query reads are gone", name, now[name], files)
		}
	}
	if len(gone) != 2 {
		t.Errorf("the tables are %v", gone)
	}
	for _, q := range []*openRows{dropped, truncated} {
		if n := q.rest(); n != rows {
			t.Errorf("the query of %s had %d rows, want %d", q.table, n, rows)
		}
	}
	stop()
	wait()
	l.waitRows(produced.Load())
	l.checkIDs(produced.Load())
	l.checkLedger()
	l.onlyItsFiles(warehouse)
}

// folders is how many files each table has in the warehouse.
func folders(t *testing.T, warehouse string) map[string]int {
	t.Helper()
	files := map[string]int{}
	tables, err := filepath.Glob(filepath.Join(warehouse, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range tables {
		if n := rowsetFiles(t, dir); n > 0 {
			files[filepath.Base(dir)] = n
		}
	}
	return files
}

// openRows is a query whose client does not read on.
type openRows struct {
	t     *testing.T
	table string
	rows  *sql.Rows
	read  int
}

// openQuery loads a table and begins to read it.
func openQuery(t *testing.T, db *sql.DB, broker *testkafka.Broker, name string, rows int) *openRows {
	t.Helper()
	q := &openRows{t: t, table: loadNoise(t, db, broker, name, rows)}
	var err error
	if q.rows, err = db.QueryContext(t.Context(), "SELECT id, name FROM "+q.table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.rows.Close() })
	if q.rows.Next() {
		q.read++
	}
	return q
}

// rest reads on, and is how many rows there were.
func (q *openRows) rest() int {
	for q.rows.Next() {
		q.read++
	}
	if err := errors.Join(q.rows.Err(), q.rows.Close()); err != nil {
		q.t.Errorf("the query of %s: %v", q.table, err)
	}
	return q.read
}

// onlyItsFiles stops a job, of which all files in a folder are to be, and waits
// until only those are left that the state has: the check of the ledger reads
// them all, and there are no more.
func (l *load) onlyItsFiles(folder string) {
	l.t.Helper()
	l.exec("STOP ROUTINE LOAD FOR " + l.table)
	cluster.Eventually(l.t, limit, func() error {
		want, err := strconv.Atoi(l.mustCheck()["Files"])
		if err != nil {
			return err
		}
		if got := rowsetFiles(l.t, folder); got != want {
			return fmt.Errorf("there are %d files, and the state has %d", got, want)
		}
		if trash := query(l.t, l.db, "SHOW TRASH")[0]; trash["Files"] != "0" {
			return fmt.Errorf("the trash has %v", trash)
		}
		return nil
	})
	l.mustCheck()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) != ".parquet" && d.Name() != "shoal-warehouse.json" {
			l.t.Errorf("left behind is %s", path)
		}
		return err
	})
	if err != nil {
		l.t.Error(err)
	}
}
