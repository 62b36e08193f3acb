package bench

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"shoal/sql/types"
)

// batchRows is how many rows DuckDB alone turns into one Parquet file.
const batchRows = 10_000

// writeFiles writes the first rows records into files of batchRows lines.
func (d dataset) writeFiles(tb testing.TB, rows int) []string {
	tb.Helper()
	dir := tb.TempDir()
	var paths []string
	var file *os.File
	var out *bufio.Writer
	finish := func() {
		if file == nil {
			return
		}
		if err := errors.Join(out.Flush(), file.Close()); err != nil {
			tb.Fatal(err)
		}
	}
	for i, record := range d.records(rows) {
		if i%batchRows == 0 {
			finish()
			var err error
			if file, err = os.Create(filepath.Join(dir, fmt.Sprintf("%d.%s", i, d.format))); err != nil {
				tb.Fatal(err)
			}
			paths = append(paths, file.Name())
			out = bufio.NewWriter(file)
		}
		out.Write(record)
		out.WriteByte('\n')
	}
	finish()
	return paths
}

// convert measures DuckDB alone: its own reader from a file to Parquet, as the
// pipe writes it, but not made durable.
func convert(tb testing.TB, d dataset, files []string, rows, workers int) float64 {
	tb.Helper()
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	// More threads are no help with such files, and cost a third: whoever waits
	// for another thread's work spins.
	for _, statement := range []string{"SET preserve_insertion_order = false", "SET threads = 1"} {
		if _, err := db.Exec(statement); err != nil {
			tb.Fatal(err)
		}
	}
	dir := tb.TempDir()
	todo := make(chan string, len(files))
	for _, path := range files {
		todo <- path
	}
	close(todo)
	began := time.Now()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			if err := convertAll(tb.Context(), db, d, todo, dir); err != nil {
				tb.Error(err)
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	var got int
	if err := db.QueryRow(fmt.Sprintf("SELECT count(*) FROM read_parquet('%s/*.parquet')", dir)).Scan(&got); err != nil || got != rows {
		tb.Errorf("%d rows were converted, want %d: %v", got, rows, err)
	}
	return float64(rows) / took.Seconds()
}

// convertAll is one worker, with a connection of its own.
func convertAll(ctx context.Context, db *sql.DB, d dataset, todo <-chan string, dir string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for path := range todo {
		out := filepath.Join(dir, filepath.Base(path)+".parquet")
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("COPY (FROM %s) TO '%s' (FORMAT parquet, COMPRESSION zstd)", d.reader(path), out)); err != nil {
			return err
		}
	}
	return nil
}

// reader is DuckDB's table function over a file.
func (d dataset) reader(path string) string {
	var columns []string
	for _, c := range d.columns {
		typ, err := types.Parse(c.typ)
		if err != nil {
			panic(err)
		}
		columns = append(columns, fmt.Sprintf("%s: '%s'", c.name, typ.DuckDB()))
	}
	list := strings.Join(columns, ", ")
	if d.format == "csv" {
		return fmt.Sprintf("read_csv('%s', auto_detect = false, header = false, delim = ',', columns = {%s})", path, list)
	}
	return fmt.Sprintf("read_json('%s', format = 'newline_delimited', columns = {%s})", path, list)
}

// duckDBVersion is that of the library linked in.
func duckDBVersion() string {
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return err.Error()
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var version string
	if err := db.QueryRow("SELECT version()").Scan(&version); err != nil {
		return err.Error()
	}
	return "DuckDB " + version
}
