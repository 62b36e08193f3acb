// Package pipe turns the records of a txn into rowsets: one Parquet file with
// the rows, one with the error rows, both durable before Write returns.
//
// Package decode makes typed rows of the messages, and DuckDB pulls them, a
// vector at a time, through a table function into COPY … TO Parquet. So a txn is
// never held twice: what is in memory besides the records is one batch of rows
// and the row group that DuckDB is building. Files follow the rules for Parquet
// (field id on every column, a CAST around every expression, zstd), so that they
// can become part of an Iceberg table as they are. Why this way, and how fast:
// docs/decisions/pipe.md.
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
}

// A Pipe writes the txns of one task.
type Pipe struct {
	cfg     Config
	decoder *decode.Decoder
	batch   *decode.Batch
	conn    *sql.Conn
	rows    table
	errors  table
}

// New compiles a pipe for a task. An error means that the task cannot run here:
// its table has a type or its job an option that this process does not know.
func New(ctx context.Context, cfg Config) (*Pipe, error) {
	decoder, err := decode.New(cfg.Spec.Schema, cfg.Spec.Load)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", cfg.Spec.JobName, err)
	}
	p := &Pipe{cfg: cfg, decoder: decoder, batch: decoder.NewBatch()}
	if p.rows, err = newTable(cfg.Spec.Schema); err != nil {
		return nil, err
	}
	if p.errors, err = newTable(errorrows.Schema()); err != nil {
		return nil, err
	}
	if p.conn, err = cfg.Engine.db.Conn(ctx); err != nil {
		return nil, fmt.Errorf("a connection of the engine: %w", err)
	}
	return p, nil
}

// Close gives back what the pipe holds. Write must not be running.
func (p *Pipe) Close() error { return p.conn.Close() }

// Result is what a txn's CommitTxn needs to tell. A rowset is nil where there
// is no row for it.
type Result struct {
	Rowset      *typesv1.Rowset
	ErrorRowset *typesv1.Rowset
	Counters    *typesv1.Counters
	Samples     []*frontendv1.ErrorSample // of the first error rows
}

// Write decodes all records of parts and writes their rows. The records must
// stay unchanged meanwhile; gaps are none of its business. After an error no
// file is left, and the same records may be written again.
//
// The txn's number within the task's epoch names the files, so it must never
// come again; the label is noted in them. The error wraps warehouse.ErrExists if
// the number was used before, by a process that died: take the next one.
func (p *Pipe) Write(ctx context.Context, number uint64, label string, parts []source.Partition) (Result, error) {
	now := p.cfg.Now()
	p.decoder.SetNow(now)
	p.batch.Reset()
	feed := &feed{ctx: ctx, decoder: p.decoder, batch: p.batch, parts: parts}
	w := writer{pipe: p, number: number, label: label, offsets: describeOffsets(parts)}
	var res Result
	var err error
	if res.Rowset, err = w.write(ctx, p.rows, "", feed); err != nil {
		return Result{}, w.abandon(err)
	}
	if len(feed.bad) > 0 {
		bad := newErrorFeed(p.cfg.Spec, label, now, feed.bad)
		if res.ErrorRowset, err = w.write(ctx, p.errors, "-errors", bad); err != nil {
			return Result{}, w.abandon(err)
		}
	}
	res.Counters, res.Samples = feed.counters(), samples(feed.bad)
	return res, nil
}

// writer writes the files of one txn.
type writer struct {
	pipe    *Pipe
	number  uint64
	label   string
	offsets string
	files   []*warehouse.File
}

// write makes one file of the rows of a feed, or none if it has none.
func (w *writer) write(ctx context.Context, t table, suffix string, rows rowFeed) (*typesv1.Rowset, error) {
	first, err := rows.next()
	if err != nil || first.Rows == 0 {
		return nil, err
	}
	spec := w.pipe.cfg.Spec
	file, err := w.pipe.cfg.Warehouse.Create(rowsetPath(spec, w.number, suffix))
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
	result, err := w.pipe.conn.ExecContext(ctx, t.copyStatement(id, file.LocalPath(), w.metadata()))
	if cause := src.failure(); cause != nil {
		err = cause // DuckDB has only its text
	}
	if err == nil {
		err = expectRows(result, src.rows)
	}
	if err != nil {
		return nil, fmt.Errorf("writing rowset %s: %w", file.Rel(), err)
	}
	size, err := file.Commit()
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

// metadata goes into the file's footer, for people and for disaster recovery;
// no reader needs it.
func (w *writer) metadata() []keyValue {
	spec := w.pipe.cfg.Spec
	return []keyValue{
		{"shoal.table", spec.DbName + "." + spec.TableName},
		{"shoal.table_id", fmt.Sprint(spec.TableId)},
		{"shoal.label", w.label},
		{"shoal.offsets", w.offsets},
	}
}

// abandon removes the files: nobody was told of them yet.
func (w *writer) abandon(err error) error {
	for _, f := range w.files {
		if removal := f.Discard(); removal != nil {
			w.pipe.cfg.Logger.Warn("a rowset of a failed txn was not removed", "path", f.Rel(), "error", removal)
			err = errors.Join(err, removal)
		}
	}
	return err
}

// rowsetPath names a file for ever: within an incarnation of the cluster a
// task's epoch never comes again, nor within it a number. Each table has a
// folder.
func rowsetPath(spec *backendv1.TaskSpec, number uint64, suffix string) string {
	return fmt.Sprintf("%d/%d-%d-%d-%d-%d%s.parquet", spec.TableId, spec.Incarnation, spec.JobId, spec.TaskId, spec.Epoch, number, suffix)
}
