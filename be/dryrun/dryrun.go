// Package dryrun takes a few records through a job's whole mapping and says
// what would become of each of their rows: for EXPLAIN CREATE ROUTINE LOAD.
//
// It is the load itself: the pipe of a task writes rowsets, into a folder that
// is gone afterwards, and the engine of queries reads them, so that what people
// see is what they would get. No warehouse, table or group is touched. Run
// starts nothing that outlives it.
package dryrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"shoal/be/pipe"
	"shoal/be/source"
	"shoal/internal/engine"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/duckdb"
)

// A Runner runs jobs dry. It is safe for concurrent use.
type Runner struct {
	Pipes   *pipe.Engine
	Queries *engine.Engine
	Dir     string // folders for rowsets are made below it, and removed
	Logger  *slog.Logger
}

// MaxRows is how many rows an answer has at most: one message may make millions.
const MaxRows = 10_000

// Run loads records as a task of that spec would, and answers with a row for
// each row and each empty message, ordered by partition, offset and line: the
// first MaxRows of them, while the counters are of all. The
// cells of a loaded row are its table's columns as a SELECT gives them. An error
// means that such a task cannot run.
func (r *Runner) Run(ctx context.Context, spec *backendv1.TaskSpec, parts []source.Partition) (_ *backendv1.DryRunResponse, err error) {
	dir, err := os.MkdirTemp(r.Dir, "dry-run-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := warehouse.Open("file://" + dir)
	if err == nil {
		err = w.Bootstrap(ctx, "dry-run")
	}
	if err != nil {
		return nil, err
	}
	run := &run{spec: spec, warehouse: w, loaded: map[string][]*backendv1.DryRunRow{}}
	written, err := run.write(ctx, r, parts)
	if err != nil {
		return nil, err
	}
	if err := run.read(ctx, r.Queries, written); err != nil {
		return nil, err
	}
	slices.SortStableFunc(run.rows, func(a, b *backendv1.DryRunRow) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Line, b.Line))
	})
	return &backendv1.DryRunResponse{Rows: run.rows, Counters: written.Counters}, nil
}

// run is one dry run.
type run struct {
	spec      *backendv1.TaskSpec
	warehouse *warehouse.Warehouse
	rows      []*backendv1.DryRunRow
	loaded    map[string][]*backendv1.DryRunRow // by table, in the order of its rowset
}

func (r *run) write(ctx context.Context, runner *Runner, parts []source.Partition) (written pipe.Result, err error) {
	p, err := pipe.New(ctx, pipe.Config{Spec: r.spec, Engine: runner.Pipes, Warehouse: r.warehouse, Logger: runner.Logger, Now: time.Now, Watch: r.watch})
	if err != nil {
		return pipe.Result{}, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return p.Write(ctx, 1, "dry-run", parts)
}

func (r *run) watch(row *backendv1.DryRunRow) {
	if len(r.rows) == MaxRows {
		return
	}
	r.rows = append(r.rows, row)
	if row.Outcome == backendv1.DryRunRow_OUTCOME_LOADED {
		r.loaded[row.TableName] = append(r.loaded[row.TableName], row)
	}
}

// read gives the loaded rows their cells.
func (r *run) read(ctx context.Context, queries *engine.Engine, written pipe.Result) error {
	if written.Rowset != nil {
		return r.readTable(ctx, queries, r.spec.TableName, r.spec.Schema, written.Rowset)
	}
	for _, rows := range written.Tables {
		i := slices.IndexFunc(r.spec.Tables, func(t *backendv1.TaskTable) bool { return t.TableId == rows.TableId })
		table := r.spec.Tables[i]
		if err := r.readTable(ctx, queries, table.Name, table.Schema, rows.Rowset); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) readTable(ctx context.Context, queries *engine.Engine, name string, schema *typesv1.Schema, rowset *typesv1.Rowset) error {
	files, err := r.warehouse.Fetch(ctx, rowset.Path)
	if err != nil {
		return err
	}
	defer files.Release()
	columns, err := engine.Columns(schema)
	if err != nil {
		return err
	}
	rest := r.loaded[name]
	query := engine.Request{
		SQL:    fmt.Sprintf("SELECT * FROM %s LIMIT %d", duckdb.TableName("dry_run", name), len(rest)),
		Tables: []engine.Table{{DB: "dry_run", Name: name, Columns: columns, Files: []string{files.Path(rowset.Path)}}},
	}
	err = queries.Query(ctx, query, func([]engine.ResultColumn) error { return nil }, func(cells [][]byte) error {
		for _, c := range cells {
			rest[0].Cells = append(rest[0].Cells, &backendv1.Cell{Value: slices.Clone(c)})
		}
		rest = rest[1:]
		return nil
	})
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("table %s has %d rows less than were loaded", name, len(rest))
	}
	return err
}
