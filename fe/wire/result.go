package wire

import (
	"context"
	"errors"
	"fmt"

	"shoal/fe/result"
	"shoal/internal/textrow"
)

// A form encodes the rows of one result set.
type form struct {
	columns []column
	binary  bool
	cells   [][]byte // for decoding
}

// Faults of a handler. They reach the client as 1105 and the log as they are.
var (
	errNoColumns    = errors.New("handler: row before Columns")
	errColumnsTwice = errors.New("handler: Columns called twice or without any")
)

// announce sets the columns of the result set.
func (f *form) announce(columns []result.Column) (err error) {
	if f.columns != nil || len(columns) == 0 {
		return errColumnsTwice
	}
	f.columns, err = defineAll(columns)
	f.cells = make([][]byte, len(columns))
	return err
}

func (f *form) appendRow(b []byte, cells [][]byte) ([]byte, error) {
	switch {
	case f.columns == nil:
		return b, errNoColumns
	case len(cells) != len(f.columns):
		return b, fmt.Errorf("handler: row of %d cells for %d columns", len(cells), len(f.columns))
	case f.binary:
		return appendBinaryRow(b, f.columns, cells)
	}
	return textrow.Append(b, cells), nil
}

// appendEncoded appends a row that is in the text protocol's form already.
func (f *form) appendEncoded(b, row []byte) ([]byte, error) {
	if !f.binary && f.columns != nil {
		return append(b, row...), nil
	}
	rest, err := textrow.Next(row, f.cells)
	if err != nil || len(rest) != 0 {
		return b, fmt.Errorf("handler: encoded row does not hold %d cells", len(f.columns))
	}
	return f.appendRow(b, f.cells)
}

// A directResult writes a result to the client as it comes.
type directResult struct {
	form
	ctx      context.Context
	conn     *conn
	rows     int64
	affected uint64
	info     string
}

func (r *directResult) Columns(columns []result.Column) error {
	if err := r.announce(columns); err != nil {
		return err
	}
	r.conn.putResultHead(r.columns)
	r.conn.putInnerEOF()
	return nil
}

func (r *directResult) Row(cells [][]byte) error {
	return r.put(func(b []byte) ([]byte, error) { return r.appendRow(b, cells) })
}

func (r *directResult) EncodedRow(row []byte) error {
	return r.put(func(b []byte) ([]byte, error) { return r.appendEncoded(b, row) })
}

func (r *directResult) put(encode func([]byte) ([]byte, error)) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	out := &r.conn.out
	out.begin()
	var err error
	if out.buf, err = encode(out.buf); err != nil {
		out.abandon()
		return err
	}
	out.end()
	r.rows++
	if len(out.buf) >= flushSize {
		return r.conn.flush()
	}
	return nil
}

func (r *directResult) Flush() error { return r.conn.flush() }

func (r *directResult) OK(affected uint64, info string) { r.affected, r.info = affected, info }

// finish ends the answer of a statement that succeeded.
func (r *directResult) finish() {
	s := r.conn.session
	if r.columns == nil {
		s.RowCount = int64(r.affected)
		r.conn.putOK(r.affected, r.info)
		return
	}
	s.RowCount, s.FoundRows = -1, r.rows
	r.conn.putEnd(0)
}

// A cursorResult hands rows to the FETCH commands that ask for them.
type cursorResult struct {
	form
	ctx      context.Context
	head     chan<- []column
	rows     chan<- []byte
	affected uint64
	info     string
}

func (r *cursorResult) Columns(columns []result.Column) error {
	if err := r.announce(columns); err != nil {
		return err
	}
	select {
	case r.head <- r.columns:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

func (r *cursorResult) Row(cells [][]byte) error {
	return r.put(r.appendRow(nil, cells))
}

func (r *cursorResult) EncodedRow(row []byte) error {
	return r.put(r.appendEncoded(nil, row))
}

func (r *cursorResult) put(row []byte, err error) error {
	if err != nil {
		return err
	}
	select {
	case r.rows <- row:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// Flush has nothing to do: FETCH takes rows as they come.
func (r *cursorResult) Flush() error { return nil }

func (r *cursorResult) OK(affected uint64, info string) { r.affected, r.info = affected, info }
