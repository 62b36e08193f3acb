package wire

import (
	"context"

	"shoal/fe/errno"
	"shoal/fe/literal"
	"shoal/fe/session"
)

// cursorAhead is how many rows a cursor's statement may be ahead of FETCH.
const cursorAhead = 64

// A cursor is a running statement whose rows are fetched by later commands. Its
// goroutine blocks while nobody fetches, so a result of any size needs only a
// few rows of memory. It works on a clone of the session, since the connection
// goes on with other statements meanwhile.
type cursor struct {
	cancel context.CancelCauseFunc
	head   chan []column
	rows   chan []byte   // closed at the end
	done   chan struct{} // closed after rows; err and result are then set
	err    error
	result *cursorResult
}

// openCursor starts the statement and announces its columns, without rows. A
// statement that turns out to have none is answered by OK.
func (c *conn) openCursor(ctx context.Context, p *prepared, args []literal.Value) error {
	cur := c.startCursor(p.sql, args)
	select {
	case columns := <-cur.head:
		p.cursor = cur
		c.putResultHead(columns)
		c.putEnd(statusCursorExists)
		return nil
	case <-cur.done:
		cur.close()
		if cur.err == nil {
			c.putOK(cur.result.affected, cur.result.info)
		}
		return cur.err
	case <-ctx.Done():
		cur.close()
		return context.Cause(ctx)
	}
}

func (c *conn) startCursor(sql string, args []literal.Value) *cursor {
	ctx, cancel := context.WithCancelCause(c.ctx)
	cur := &cursor{
		cancel: cancel,
		head:   make(chan []column),
		rows:   make(chan []byte, cursorAhead),
		done:   make(chan struct{}),
	}
	cur.result = &cursorResult{form: form{binary: true}, ctx: ctx, head: cur.head, rows: cur.rows}
	go cur.run(ctx, c, c.session.Clone(), sql, args)
	c.session.ClearWarnings() // the clone has them, should it be asked for them
	return cur
}

func (cur *cursor) run(ctx context.Context, c *conn, s *session.Session, sql string, args []literal.Value) {
	defer close(cur.done)
	defer close(cur.rows)
	cur.err = c.guarded(ctx, func() error { return c.server.Handler.Execute(ctx, s, sql, args, cur.result) })
}

// close stops the statement and waits for it.
func (cur *cursor) close() {
	cur.cancel(nil)
	<-cur.done
}

func (p *prepared) closeCursor() {
	if p.cursor != nil {
		p.cursor.close()
		p.cursor = nil
	}
}

// fetch sends up to n rows of an open cursor. The terminator tells whether the
// last row has been sent; the cursor is then closed.
func (c *conn) fetch(ctx context.Context, body []byte) error {
	c.session.ClearWarnings()
	d := decoder{rest: body}
	p, err := c.lookup(&d, "mysqld_stmt_fetch")
	if err != nil {
		return err
	}
	n := d.uint32()
	if err := d.err(); err != nil {
		return err
	}
	if p.cursor == nil {
		return errno.New(errno.NoOpenCursor, "The statement (%d) has no open cursor.", p.id)
	}
	for range n {
		select {
		case row, more := <-p.cursor.rows:
			if !more {
				return c.endCursor(p)
			}
			c.out.send(row)
		case <-ctx.Done():
			p.closeCursor()
			return context.Cause(ctx)
		}
		if len(c.out.buf) >= flushSize {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	c.putEnd(statusCursorExists)
	return nil
}

// endCursor ends the rows of a statement that has no more.
func (c *conn) endCursor(p *prepared) error {
	cur := p.cursor
	p.closeCursor()
	if cur.err != nil {
		return cur.err
	}
	c.putEnd(statusLastRowSent)
	return nil
}
