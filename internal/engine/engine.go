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
// Rows leave as DuckDB makes them. It works ahead of the reader by about a
// megabyte and then waits, so that the size of a result needs no memory and
// a reader that stands still holds the query. What has to be seen whole first,
// such as the rows of an ORDER BY, spills when memory is short.
//
// An Engine is safe for concurrent use. A query runs in Query's caller and in
// DuckDB's threads; one goroutine interrupts it when its context ends. All have
// ended when Query returns. DuckDB is reached through internal/engine/native
// only.
package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"shoal/internal/engine/native"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/types"
)

// Config bounds what one query may use.
type Config struct {
	// Threads that work on a query, at least 1.
	Threads int
	// MemoryLimit in bytes, above 0, for one query. One that needs more spills to
	// TempDir, or fails without one.
	MemoryLimit int64
	// TempDir is this engine's alone: queries may spill to it, each to a folder
	// of its own. Empty means nowhere.
	TempDir string
	// Take waits until a query may have its MemoryLimit, which release gives back. An
	// error of it is the user's. Optional: without it queries never wait.
	Take func(ctx context.Context) (release func(), err error)
}

// Engine runs queries within its Config.
type Engine struct {
	config Config
	opened atomic.Uint64 // instances so far
}

// New returns an engine.
func New(config Config) *Engine { return &Engine{config: config} }

// Column is a column of a table. ID is its permanent field id in Parquet
// files. Files that lack it, because they are older, read as Initial, the text
// of a literal, or as NULL without one.
type Column struct {
	Name    string
	ID      int32
	Type    types.Type
	Initial *string
}

// Columns is a schema's columns as the engine takes them.
func Columns(schema *typesv1.Schema) ([]Column, error) {
	var out []Column
	for _, c := range schema.GetColumns() {
		typ, err := types.Parse(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		out = append(out, Column{Name: c.Name, ID: c.FieldId, Type: typ, Initial: c.InitialDefault})
	}
	return out, nil
}

// Table is a table that a query may name. Its rows are those of Files, by
// absolute path, and of Older ones, or Rows: text cells in MySQL's form, nil for
// NULL. A table with none of them is empty.
type Table struct {
	DB, Name string
	Columns  []Column
	Files    []string
	Older    []Older
	Rows     [][][]byte
}

// Older is files from before columns had the types that they have now: Columns
// are the table's at that time.
type Older struct {
	Columns []Column
	Files   []string
}

// files are all that the table's rows are in.
func (t Table) files() []string {
	files := slices.Clone(t.Files)
	for _, o := range t.Older {
		files = append(files, o.Files...)
	}
	return files
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
// valid during the call only and not to be written. An error of either ends the
// query and is returned as it is. When ctx ends, the query is interrupted and the cause is
// returned; what the user did wrong is an *Error.
func (e *Engine) Query(ctx context.Context, req Request, columns func([]ResultColumn) error, row func([][]byte) error) (err error) {
	zone, err := readZone(req.TimeZone)
	if err != nil {
		return err
	}
	if e.config.Take != nil {
		release, err := e.config.Take(ctx)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return cause
		}
		if err != nil {
			return &Error{Kind: OutOfMemory, Msg: err.Error()}
		}
		defer release()
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
	if req.Describe {
		return in.describe(ctx, req.SQL, plain, zone.location, columns)
	}
	text := req.SQL
	if req.Explain {
		text = "EXPLAIN " + text
	}
	result, err := in.query(ctx, text)
	if err != nil {
		return err
	}
	defer result.Close()
	return stream(ctx, result, plain, zone.location, columns, row)
}

// describe hands over the columns of a query's result, without running it.
func (in *instance) describe(ctx context.Context, text string, plain plainColumns, zone *time.Location, columns func([]ResultColumn) error) error {
	prepared, err := in.db.Describe(text)
	if err != nil {
		return classify(ctx, err)
	}
	described, _, err := describe(prepared, plain, zone)
	if err != nil {
		return err
	}
	return columns(described)
}

// stream hands over the rows of a result as DuckDB has them, chunk by chunk.
// What fails before the first row fails before columns is called.
func stream(ctx context.Context, result *native.Result, plain plainColumns, zone *time.Location,
	columns func([]ResultColumn) error, row func([][]byte) error) error {
	described, formats, err := formatsOf(result, plain, zone)
	if err != nil {
		return err
	}
	rows, err := result.Next()
	if err != nil {
		return classify(ctx, err)
	}
	if err := columns(described); err != nil {
		return err
	}
	cells := make([][]byte, len(formats))
	for rows > 0 {
		for i := range rows {
			for j := range formats {
				if cells[j], err = formats[j].cell(i); err != nil {
					return err
				}
			}
			if err := row(cells); err != nil {
				return err
			}
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if rows, err = result.Next(); err != nil {
			return classify(ctx, err)
		}
	}
	return nil
}
