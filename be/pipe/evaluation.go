package pipe

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// evaluation is expressions, prepared once and evaluated over one input after
// the other. It has a connection of its own: it runs while the pipe's other
// one writes a file.
type evaluation struct {
	expressions
	input   *input
	id      uint64 // of the input
	release func()
	conn    *sql.Conn
	stmt    driver.Stmt
	text    string         // of stmt
	values  []driver.Value // of a row
}

// newEvaluation compiles expressions. An error is their fault: they do not fit
// each other or what they are evaluated over.
func newEvaluation(ctx context.Context, engine *Engine, e expressions) (*evaluation, error) {
	ev := &evaluation{input: &input{columns: columnInfos(e.input)}, values: make([]driver.Value, 1+len(e.derived))}
	ev.id, ev.release = engine.register(ev.input)
	var err error
	if ev.conn, err = engine.db.Conn(ctx); err != nil {
		err = fmt.Errorf("a connection of the engine: %w", err)
	} else {
		err = ev.set(ctx, e)
	}
	if err != nil {
		return nil, errors.Join(err, ev.close())
	}
	return ev, nil
}

// set takes expressions that differ from those before in the time that they
// were compiled for, if at all.
func (ev *evaluation) set(ctx context.Context, e expressions) error {
	ev.expressions = e
	query := e.query(ev.id)
	if query == ev.text {
		return nil
	}
	stmt, err := ev.prepare(ctx, query)
	if err != nil {
		return err
	}
	old := ev.stmt
	ev.stmt, ev.text = stmt, query
	if old != nil {
		return old.Close()
	}
	return nil
}

func (ev *evaluation) prepare(ctx context.Context, query string) (stmt driver.Stmt, err error) {
	return stmt, ev.conn.Raw(func(c any) error {
		stmt, err = c.(driver.ConnPrepareContext).PrepareContext(ctx, query)
		return err
	})
}

func (ev *evaluation) close() (err error) {
	if ev.stmt != nil {
		err = ev.stmt.Close()
	}
	if ev.conn != nil {
		err = errors.Join(err, ev.conn.Close())
	}
	ev.release()
	return err
}

// run evaluates rows that fill puts into a chunk. each is told of every row in
// order: its judgement, and its derived columns, each a string or nil, which
// are valid during the call.
func (ev *evaluation) run(ctx context.Context, rows int, fill func(duckdb.DataChunk) error, each func(row int, j judgement, derived []driver.Value)) error {
	return ev.rows(ctx, ev.stmt, rows, fill, func(row int) error {
		j, ok := ev.values[0].(int32)
		if !ok {
			return fmt.Errorf("the judgement of a row is %v", ev.values[0])
		}
		each(row, judgement(j), ev.values[1:])
		return nil
	})
}

// rows runs a statement over an input and calls each with every row of the
// result in ev.values.
func (ev *evaluation) rows(ctx context.Context, stmt driver.Stmt, n int, fill func(duckdb.DataChunk) error, each func(row int) error) (err error) {
	ev.input.rows, ev.input.fill, ev.input.failure = n, fill, nil
	result, err := stmt.(driver.StmtQueryContext).QueryContext(ctx, nil)
	if cause := ev.input.failure; cause != nil {
		return cause // DuckDB has only its text
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	for row := 0; ; row++ {
		err := result.Next(ev.values[:len(result.Columns())])
		switch ended := errors.Is(err, io.EOF); {
		case ended && row == n:
			return nil
		case ended || row == n:
			return fmt.Errorf("another number of rows came back than the %d that were evaluated", n)
		case err != nil:
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
}

// why evaluates one row, that fill puts into a chunk, without catching what an
// expression fails with. The reason is empty if it does not fail now; an error is no
// row's fault.
func (ev *evaluation) why(ctx context.Context, failed judgement, fill func(duckdb.DataChunk) error) (reason string, err error) {
	stmt, err := ev.prepare(ctx, ev.whyQuery(ev.id, failed))
	if err != nil {
		return "", err
	}
	failure := ev.rows(ctx, stmt, 1, fill, func(int) error { return nil })
	if err := errors.Join(ctx.Err(), stmt.Close()); err != nil {
		return "", err
	}
	return reasonOf(failure)
}

// reasonOf is what DuckDB says about a value, in its words. An error that says
// nothing about a value is returned as it is.
func reasonOf(failure error) (string, error) {
	if failure == nil {
		return "", nil
	}
	said, ok := errors.AsType[*duckdb.Error](failure)
	if !ok {
		return "", failure
	}
	switch said.Type {
	case duckdb.ErrorTypeOutOfMemory, duckdb.ErrorTypeInterrupt, duckdb.ErrorTypeInternal, duckdb.ErrorTypeFatal, duckdb.ErrorTypeIO:
		return "", failure
	}
	reason, _, _ := strings.Cut(said.Msg, "\n")
	if kind, rest, found := strings.Cut(reason, "Error: "); found && !strings.ContainsAny(kind, "'\"(") {
		reason = rest
	}
	return printable([]byte(strings.TrimSpace(reason)), reasonLimit), nil
}

// reasonLimit is how much of DuckDB's words is kept: they may have the whole
// value in them, and samples travel through the log.
const reasonLimit = 300

// input is a batch that a prepared statement reads, again and again. DuckDB
// calls it on the thread that runs the statement.
type input struct {
	columns []duckdb.ColumnInfo
	rows    int
	fill    func(duckdb.DataChunk) error
	given   bool
	failure error
}

// ColumnInfos, Cardinality and Init are part of duckdb.ChunkTableSource. Init
// is called each time that the statement is run.
func (in *input) ColumnInfos() []duckdb.ColumnInfo     { return in.columns }
func (in *input) Cardinality() *duckdb.CardinalityInfo { return nil }
func (in *input) Init()                                { in.given = false }

// FillChunk hands out the batch, once. A panic must not unwind into DuckDB.
func (in *input) FillChunk(chunk duckdb.DataChunk) (err error) {
	if in.given {
		return chunk.SetSize(0)
	}
	in.given = true
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error while evaluating: %v\n%s", p, debug.Stack())
		}
		in.failure = err
	}()
	if err := chunk.SetSize(in.rows); err != nil {
		return err
	}
	return in.fill(chunk)
}

func columnInfos(list []inputColumn) []duckdb.ColumnInfo {
	infos := make([]duckdb.ColumnInfo, len(list))
	for i, c := range list {
		infos[i] = duckdb.ColumnInfo{Name: c.name, T: c.typ}
	}
	return infos
}
