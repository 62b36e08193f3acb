// Package engine answers SELECTs with DuckDB, shut in: a query reaches the
// tables it is given and nothing else, neither files nor network, settings,
// environment, extensions or other kinds of statement.
//
// Two walls hold that up, each by itself where possible. Before a statement
// runs, DuckDB's own parser serializes it and check.go walks the tree: one
// SELECT, tables of the request only, few table functions, no function that
// looks outside. And the instance it runs in has file access cut down to the
// files of the request, external access off and its configuration locked.
//
// Every query gets an in-memory instance of its own. Opening, locking and
// closing one costs about 10 ms; in return allowed files, memory limit, time
// zone and names are the query's own, and no query can leave a trace for the
// next. A shared instance could not be told of new files once locked.
//
// An Engine is safe for concurrent use and starts no goroutines of its own;
// DuckDB's threads end with the instance, before Query returns. Only this
// package and the pipe import DuckDB.
package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	duckdbgo "github.com/duckdb/duckdb-go/v2"

	"shoal/sql/duckdb"
	"shoal/sql/types"
)

// Config bounds what one query may use.
type Config struct {
	// Threads that work on a query, at least 1.
	Threads int
	// MemoryLimit in bytes, above 0, for one query, result included. One that
	// needs more spills to TempDir, or fails without one.
	MemoryLimit int64
	// TempDir is this engine's alone: queries may spill to it, each to a folder
	// of its own. Empty means nowhere.
	TempDir string
}

// Engine runs queries within its Config.
type Engine struct {
	config Config
	opened atomic.Uint64 // instances so far
}

// New returns an engine.
func New(config Config) *Engine { return &Engine{config: config} }

// Column is a column of a table. ID is its permanent field id in Parquet
// files; files that lack it, because they are older, read as NULL.
type Column struct {
	Name string
	ID   int32
	Type types.Type
}

// Table is a table that a query may name. Its rows are those of Files, by
// absolute path, or Rows: text cells in MySQL's form, nil for NULL. A table
// with neither is empty.
type Table struct {
	DB, Name string
	Columns  []Column
	Files    []string
	Rows     [][][]byte
}

// Request is one query. SQL is DuckDB's, with tables named by
// sql/duckdb.TableName. TimeZone is a name or an offset such as +08:00; empty
// is UTC.
type Request struct {
	SQL      string
	Explain  bool // answer the plan instead of the rows
	Describe bool // answer the columns and no rows
	Tables   []Table
	TimeZone string
}

// ResultColumn describes a column of the result. Type is Doris's spelling, as
// sql/types reads it, or "time", "blob" or "null".
type ResultColumn struct{ Name, Type string }

// Query answers a request: it calls columns once and then row for each row,
// with cells in the form of MySQL's text protocol, nil for NULL, that are
// valid during the call only. An error of either ends the query and is
// returned as it is. When ctx ends, the query is interrupted and the cause is
// returned; what the user did wrong is an *Error.
func (e *Engine) Query(ctx context.Context, req Request, columns func([]ResultColumn) error, row func([][]byte) error) (err error) {
	zone, err := readZone(req.TimeZone)
	if err != nil {
		return err
	}
	in, err := e.open(ctx, req, zone)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	defer func() {
		if closing := in.close(); closing != nil {
			err = errors.Join(err, closing)
		}
	}()
	plain, err := in.check(ctx, req)
	if err != nil {
		return err
	}
	if err := in.createTables(ctx, req.Tables); err != nil {
		return err
	}
	text := req.SQL
	switch {
	case req.Explain:
		text = "EXPLAIN " + text
	case req.Describe:
		text = "SELECT * FROM (" + text + ") LIMIT 0"
	}
	rows, err := in.query(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	names := rows.Columns()
	if req.Describe { // a subquery's names are made to differ
		if names, err = in.columnNames(ctx, req.SQL); err != nil {
			return err
		}
	}
	return stream(ctx, rows, names, plain, zone.location, columns, row)
}

// instance is a locked DuckDB with one connection.
type instance struct {
	connector *duckdbgo.Connector
	conn      driver.Conn
	spill     string // folder of its own, empty for none
}

// open starts an instance that can read the files of the request only.
func (e *Engine) open(ctx context.Context, req Request, zone timeZone) (*instance, error) {
	connector, err := duckdbgo.NewConnector(":memory:", nil)
	if err != nil {
		return nil, fmt.Errorf("opening DuckDB: %w", err)
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening DuckDB: %w", err), connector.Close())
	}
	in := &instance{connector: connector, conn: conn}
	if e.config.TempDir != "" {
		// DuckDB makes it when it is needed. Instances name their files alike and
		// would write into each other's.
		in.spill = filepath.Join(e.config.TempDir, fmt.Sprintf("query-%d", e.opened.Add(1)))
	}
	for _, setting := range e.settings(req, zone, in.spill) {
		if err := in.exec(ctx, "SET "+setting); err != nil {
			return nil, errors.Join(fmt.Errorf("locking DuckDB, %s: %w", setting, err), in.close())
		}
	}
	return in, nil
}

// settings are in the order in which DuckDB accepts them: what needs access
// first, then access off, then the lock.
func (e *Engine) settings(req Request, zone timeZone, spill string) []string {
	var files []string
	for _, t := range req.Tables {
		for _, f := range t.Files {
			files = append(files, duckdb.QuoteString(f))
		}
	}
	return []string{
		fmt.Sprintf("threads = %d", max(e.config.Threads, 1)),
		fmt.Sprintf("memory_limit = '%dB'", e.config.MemoryLimit),
		"temp_directory = " + duckdb.QuoteString(spill),
		"allow_persistent_secrets = false",
		"autoinstall_known_extensions = false",
		"autoload_known_extensions = false",
		"allow_community_extensions = false",
		"allowed_paths = [" + strings.Join(files, ", ") + "]",
		"enable_external_access = false",
		"TimeZone = " + duckdb.QuoteString(zone.duckDB),
		"lock_configuration = true",
	}
}

func (in *instance) close() error {
	err := errors.Join(in.conn.Close(), in.connector.Close())
	if in.spill == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(in.spill))
}

func (in *instance) exec(ctx context.Context, text string) error {
	_, err := in.conn.(driver.ExecerContext).ExecContext(ctx, text, nil)
	return err
}

// query runs a statement; its error is fit for the user.
func (in *instance) query(ctx context.Context, text string) (driver.Rows, error) {
	rows, err := in.conn.(driver.QueryerContext).QueryContext(ctx, text, nil)
	if err != nil {
		return nil, classify(ctx, err)
	}
	return rows, nil
}

// columnNames prepares a query and returns the names of its result's columns.
func (in *instance) columnNames(ctx context.Context, text string) (names []string, err error) {
	prepared, err := in.conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return nil, classify(ctx, err)
	}
	defer func() { err = errors.Join(err, prepared.Close()) }()
	stmt := prepared.(*duckdbgo.Stmt)
	count, err := stmt.ColumnCount()
	if err != nil {
		return nil, err
	}
	names = make([]string, count)
	for i := range names {
		if names[i], err = stmt.ColumnName(i); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// stream hands over the rows of a result, under the given names.
func stream(ctx context.Context, rows driver.Rows, names []string, plain plainColumns, zone *time.Location,
	columns func([]ResultColumn) error, row func([][]byte) error) error {
	formats := make([]format, len(names))
	described := make([]ResultColumn, len(names))
	for i, name := range names {
		duckType := rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i)
		formats[i], described[i] = describe(name, duckType, plain, zone)
	}
	if err := columns(described); err != nil {
		return err
	}
	values := make([]driver.Value, len(formats))
	cells := make([][]byte, len(formats))
	for {
		switch err := rows.Next(values); {
		case err == io.EOF:
			return nil
		case err != nil:
			return classify(ctx, err)
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		for i, v := range values {
			cell, err := formats[i].cell(v)
			if err != nil {
				return err
			}
			cells[i] = cell
		}
		if err := row(cells); err != nil {
			return err
		}
	}
}
