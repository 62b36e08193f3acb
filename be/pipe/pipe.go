// Package pipe turns the records of a txn into rowsets: one Parquet file for
// each table that gets rows, one with the error rows, all durable before Write
// returns.
//
// Package decode makes typed rows of the messages, and DuckDB pulls them, a
// vector at a time, through a table function into COPY … TO Parquet. So a txn is
// never held twice: what is in memory besides the records is one batch of rows
// and the row group that DuckDB is building. Files follow the rules for Parquet
// (field id on every column and part of one, a CAST around every expression,
// zstd), so that they can become part of an Iceberg table as they are. A job with
// expressions (COLUMNS, PRECEDING FILTER, WHERE) has a mapping between decoding
// and typed rows, which DuckDB evaluates batch by batch. Why this way, and how
// fast: docs/decisions/pipe.md.
//
// Each row of the records is loaded, an error row, or unselected, and counted
// as such; what is wrong with a row is its own affair and costs no other its
// turn. Only what is no row's fault fails a txn.
//
// All pipes of a process share one Engine, and with it one memory limit and one
// set of threads. A Pipe belongs to one task and is used by one goroutine at a
// time; it starts none itself. It reads no clock but the one it is given, and
// knows nothing of Kafka's protocol or of the ledger.
package pipe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"shoal/be/decode"
	"shoal/be/source"
	"shoal/internal/errorrows"
	"shoal/internal/rowsetmeta"
	"shoal/internal/rowsetname"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

// Config is what a Pipe works with. All fields are needed.
type Config struct {
	Spec      *backendv1.TaskSpec
	Engine    *Engine
	Warehouse *warehouse.Warehouse
	Logger    *slog.Logger
	// Now is the clock of error_time and DEFAULT CURRENT_TIMESTAMP.
	Now func() time.Time
	// Watch, if it is set, is told during Write what became of each row and empty
	// message; rows that a table gets are told in their order in its rowset, and
	// without cells. Such a pipe is slower: it is for dry runs.
	Watch func(*backendv1.DryRunRow)
}

// maxTargets is how many tables a multi-table task keeps compiled.
const maxTargets = 32

// A Pipe writes the txns of one task.
type Pipe struct {
	cfg     Config
	conn    *sql.Conn
	tables  map[string]*backendv1.TaskTable // by name, of a multi-table job
	targets map[uint64]*target              // by table, once they are needed
	errors  table
}

// New compiles a pipe for a task. An error means that the task cannot run here:
// its table has a type or its job an option that this process does not know.
func New(ctx context.Context, cfg Config) (*Pipe, error) {
	p := &Pipe{cfg: cfg, targets: map[uint64]*target{}}
	if err := p.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("job %s: %w", cfg.Spec.JobName, err), p.Close())
	}
	return p, nil
}

func (p *Pipe) open(ctx context.Context) (err error) {
	if p.errors, err = newTable(errorrows.Schema()); err != nil {
		return err
	}
	if p.conn, err = p.cfg.Engine.db.Conn(ctx); err != nil {
		return fmt.Errorf("a connection of the engine: %w", err)
	}
	spec := p.cfg.Spec
	if spec.Load.MultiTable {
		p.tables = make(map[string]*backendv1.TaskTable, len(spec.Tables))
		for _, t := range spec.Tables {
			p.tables[t.Name] = t
		}
		return nil
	}
	_, err = p.target(ctx, &backendv1.TaskTable{TableId: spec.TableId, Name: spec.TableName, Schema: spec.Schema})
	return err
}

// target compiles a table, or finds it compiled.
func (p *Pipe) target(ctx context.Context, t *backendv1.TaskTable) (*target, error) {
	if known := p.targets[t.TableId]; known != nil {
		return known, nil
	}
	if len(p.targets) == maxTargets {
		clear(p.targets) // those of multi-table jobs have no mapping to close
	}
	compiled, err := newTarget(ctx, p.cfg, t)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	p.targets[t.TableId] = compiled
	return compiled, nil
}

// Close gives back what the pipe holds. Write must not be running.
func (p *Pipe) Close() (err error) {
	for _, t := range p.targets {
		err = errors.Join(err, t.close())
	}
	if p.conn != nil {
		err = errors.Join(err, p.conn.Close())
	}
	return err
}

// Result is what a txn's CommitTxn needs to tell. A rowset is nil where there
// is no row for it.
type Result struct {
	Rowset      *typesv1.Rowset
	Tables      []*frontendv1.TableRows // of a multi-table job, which has no Rowset
	ErrorRowset *typesv1.Rowset         // may have fewer rows than were counted
	Counters    *typesv1.Counters
	Samples     []*frontendv1.ErrorSample // of the first error rows
}

// Write decodes all records of parts and writes their rows. The records must
// stay unchanged meanwhile; gaps are noted in the files. After an error no
// file is left, and the same records may be written again.
//
// The txn's number within the task's epoch names the files, so it must never
// come again; the label is noted in them. The error wraps warehouse.ErrExists if
// the number was used before, by a process that died: take the next one. It wraps
// source.ErrDecoding if ctx ended and the records had taken most of the time.
func (p *Pipe) Write(ctx context.Context, number uint64, label string, parts []source.Partition) (Result, error) {
	w := writer{pipe: p, number: number, label: label, offsets: describe(parts), now: p.cfg.Now()}
	if err := w.writeAll(ctx, parts); err != nil {
		return Result{}, w.abandon(ctx, w.blame(ctx, err))
	}
	w.result.Counters, w.result.Samples = w.tally.counters(), samples(w.tally.bad.kept)
	if p.cfg.Watch != nil {
		w.tellRest(parts)
	}
	return w.result, nil
}

// writer writes the files of one txn.
type writer struct {
	pipe    *Pipe
	number  uint64
	label   string
	offsets string
	now     time.Time
	decoded time.Duration // that rows took to be made
	tally   tally
	result  Result
	files   []warehouse.File
}

func (w *writer) writeAll(ctx context.Context, parts []source.Partition) (err error) {
	spec, all := w.pipe.cfg.Spec, &allMessages{tally: &w.tally, table: w.pipe.cfg.Spec.TableName, parts: parts}
	if spec.Load.MultiTable {
		for _, of := range splitByTable(w.pipe.tables, all) {
			rowset, err := w.writeTable(ctx, of.table, &of.list)
			if err != nil {
				return err
			}
			if rowset != nil {
				w.result.Tables = append(w.result.Tables, &frontendv1.TableRows{
					TableId: of.table.TableId, SchemaVersion: rowset.SchemaVersion, Rowset: rowset})
			}
		}
	} else {
		only := &backendv1.TaskTable{TableId: spec.TableId, Name: spec.TableName, Schema: spec.Schema}
		if w.result.Rowset, err = w.writeTable(ctx, only, all); err != nil {
			return err
		}
	}
	if len(w.tally.bad.kept) == 0 {
		return nil
	}
	w.tally.bad.sort()
	bad := newErrorFeed(spec, w.label, w.now, w.tally.bad.kept)
	w.result.ErrorRowset, err = w.write(ctx, w.pipe.errors, destination{table: spec.TableName, id: spec.TableId, errors: true}, bad)
	return err
}

// writeTable writes the rows of messages for one table.
func (w *writer) writeTable(ctx context.Context, t *backendv1.TaskTable, from messages) (*typesv1.Rowset, error) {
	target, err := w.pipe.target(ctx, t)
	if err != nil {
		return nil, err
	}
	rows, err := target.feed(ctx, from, &w.tally, w.now)
	if err != nil {
		return nil, err
	}
	return w.write(ctx, target.table, destination{table: t.Name, id: t.TableId}, timedFeed{rows, w})
}

// timedFeed tells its writer how long its rows took.
type timedFeed struct {
	rowFeed
	writer *writer
}

func (f timedFeed) next() (*decode.Batch, error) {
	now := f.writer.pipe.cfg.Now
	began := now()
	defer func() { f.writer.decoded += now().Sub(began) }()
	return f.rowFeed.next()
}

// blame says of the error of a write that was ended if it was the records that
// took the time.
func (w *writer) blame(ctx context.Context, err error) error {
	if ctx.Err() != nil && 2*w.decoded > w.pipe.cfg.Now().Sub(w.now) {
		return fmt.Errorf("%w: %w", source.ErrDecoding, err)
	}
	return err
}

// destination says where a file of a txn goes.
type destination struct {
	table  string
	id     uint64
	errors bool
}

// write makes one file of the rows of a feed, or none if it has none.
func (w *writer) write(ctx context.Context, t table, to destination, rows rowFeed) (*typesv1.Rowset, error) {
	first, err := rows.next()
	if err != nil || first.Rows == 0 {
		return nil, err
	}
	file, err := w.pipe.cfg.Warehouse.Create(rowsetPath(w.pipe.cfg.Spec, to, w.number))
	if err != nil {
		return nil, err
	}
	w.files = append(w.files, file)
	engine := w.pipe.cfg.Engine
	if err := engine.take(ctx); err != nil {
		return nil, err
	}
	defer engine.give()
	src := &chunkSource{columns: t.columns, feed: rows, batch: first}
	id, release := engine.register(src)
	defer release()
	result, err := w.pipe.conn.ExecContext(ctx, t.copyStatement(id, file.LocalPath(), w.metadata(to)))
	if cause := src.failure(); cause != nil {
		err = cause // DuckDB has only its text
	}
	if err == nil {
		err = expectRows(result, src.rows)
	}
	if err != nil {
		return nil, fmt.Errorf("writing rowset %s: %w", file.Rel(), err)
	}
	size, err := file.Commit(ctx)
	if err != nil {
		return nil, err
	}
	return &typesv1.Rowset{Path: file.Rel(), Rows: src.rows, Bytes: size, SchemaVersion: t.schemaVersion}, nil
}

// expectRows is an error unless a statement wrote as many rows as it was given.
func expectRows(result sql.Result, given int64) error {
	written, err := result.RowsAffected()
	if err == nil && written != given {
		err = fmt.Errorf("%d rows were given, %d written", given, written)
	}
	return err
}

// metadata goes into the file's footer, for the check of the ledger and for
// disaster recovery; no query needs it.
func (w *writer) metadata(to destination) []keyValue {
	return []keyValue{
		{rowsetmeta.Table, w.pipe.cfg.Spec.DbName + "." + to.table},
		{rowsetmeta.TableID, fmt.Sprint(to.id)},
		{rowsetmeta.Label, w.label},
		{rowsetmeta.Offsets, w.offsets},
	}
}

// abandon removes the files: nobody was told of them yet.
func (w *writer) abandon(ctx context.Context, err error) error {
	for _, f := range w.files {
		if removal := f.Discard(ctx); removal != nil {
			w.pipe.cfg.Logger.Warn("a rowset of a failed txn was not removed", "path", f.Rel(), "error", removal)
			err = errors.Join(err, removal)
		}
	}
	return err
}

// rowsetPath names a file.
func rowsetPath(spec *backendv1.TaskSpec, to destination, number uint64) string {
	return rowsetname.Name{
		Table: to.id, Incarnation: spec.Incarnation, Job: spec.JobId, Task: spec.TaskId, Epoch: spec.Epoch, Number: number, Errors: to.errors,
	}.String()
}
