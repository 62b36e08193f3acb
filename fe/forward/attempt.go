package forward

import (
	"context"
	"sync/atomic"

	"shoal/fe/result"
)

// attempt is what a try to carry out a statement has done so far.
type attempt struct{ proposed atomic.Bool }

type attemptKey struct{}

// begin returns a context that remembers whether anything was proposed under it.
func begin(ctx context.Context) (context.Context, *attempt) {
	a := new(attempt)
	return context.WithValue(ctx, attemptKey{}, a), a
}

// Proposed notes that a command was, or may have been, carried out on behalf of
// the statement that ctx belongs to, if any: it will not be tried again.
func Proposed(ctx context.Context) {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		a.proposed.Store(true)
	}
}

// tracked is a Writer that knows whether anything has gone out, and whether
// nobody takes it any more.
type tracked struct {
	result.Writer
	began  bool
	failed error
}

// Columns implements result.Writer.
func (t *tracked) Columns(columns []result.Column) error {
	t.began = true
	return t.note(t.Writer.Columns(columns))
}

// Row implements result.Writer.
func (t *tracked) Row(cells [][]byte) error { return t.note(t.Writer.Row(cells)) }

// EncodedRow implements result.Writer.
func (t *tracked) EncodedRow(row []byte) error { return t.note(t.Writer.EncodedRow(row)) }

// Flush implements result.Writer.
func (t *tracked) Flush() error { return t.note(t.Writer.Flush()) }

func (t *tracked) note(err error) error {
	if t.failed == nil {
		t.failed = err
	}
	return err
}
