package wire

import (
	"context"
	"encoding/binary"
	"math"

	"shoal/fe/errno"
	"shoal/fe/literal"
)

// maxPrepared is how many statements a connection may hold prepared, as
// MySQL's max_prepared_stmt_count: a client that never closes any is at fault.
const maxPrepared = 16382

// A prepared is a statement that the client executes by number.
type prepared struct {
	id      uint32
	sql     string
	columns []column // as announced; none for a statement without rows
	params  int

	types    []paramType       // of the last EXECUTE that named them, else nil
	longData map[uint16][]byte // values that came ahead, by parameter
	longErr  error             // why one of them is no good, for EXECUTE
	cursor   *cursor           // open, or nil
}

// prepare announces a statement: its parameters and its columns.
func (c *conn) prepare(ctx context.Context, sql string) error {
	if err := checkStatement(sql); err != nil {
		return err
	}
	if len(c.prepared) >= maxPrepared {
		return errno.New(errno.TooManyPrepared, "Can't create more than max_prepared_stmt_count statements (current value: %d)", maxPrepared)
	}
	p := &prepared{sql: sql, params: literal.CountParams(sql)}
	if p.params > math.MaxUint16 {
		return errno.New(errno.TooManyPlaceholders, "Prepared statement contains too many placeholders")
	}
	err := c.guarded(ctx, func() error {
		columns, err := c.server.Handler.Describe(ctx, c.session, sql)
		if err != nil {
			return err
		}
		p.columns, err = defineAll(columns)
		return err
	})
	if err != nil {
		return err
	}
	c.lastID++
	p.id = c.lastID
	c.prepared[p.id] = p
	c.putPrepared(p)
	return nil
}

func (c *conn) putPrepared(p *prepared) {
	c.out.begin()
	b := append(c.out.buf, headerOK)
	b = binary.LittleEndian.AppendUint32(b, p.id)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(p.columns)))
	b = binary.LittleEndian.AppendUint16(b, uint16(p.params))
	c.out.buf = append(b, 0, 0, 0) // filler, no warnings
	c.out.end()
	if p.params > 0 {
		for range p.params {
			c.putDefinitions([]column{number("?", typeVarString, 0, 0)})
		}
		c.putInnerEOF()
	}
	if len(p.columns) > 0 {
		c.putDefinitions(p.columns)
		c.putInnerEOF()
	}
}

// lookup finds the statement whose number begins a command's body.
func (c *conn) lookup(d *decoder, command string) (*prepared, error) {
	id := d.uint32()
	if err := d.err(); err != nil {
		return nil, err
	}
	p := c.prepared[id]
	if p == nil {
		return nil, errno.New(errno.UnknownStatement, "Unknown prepared statement handler (%d) given to %s", id, command)
	}
	return p, nil
}

// cursorReadOnly is the flag by which EXECUTE asks for a cursor.
const cursorReadOnly = 0x01

// execute runs a prepared statement, or opens a cursor for it.
func (c *conn) execute(ctx context.Context, body []byte) error {
	d := decoder{rest: body}
	p, err := c.lookup(&d, "mysqld_stmt_execute")
	if err != nil {
		return err
	}
	p.closeCursor()
	flags := d.uint8()
	d.uint32() // iterations, always 1
	args, err := p.decodeArgs(&d)
	p.forgetLongData()
	if err != nil {
		return err
	}
	if flags&cursorReadOnly != 0 && len(p.columns) > 0 {
		return c.openCursor(ctx, p, args)
	}
	return c.run(ctx, p.sql, args, true)
}

// receiveLongData takes a piece of a parameter's value. The command has no
// answer, so what is wrong with it is kept for EXECUTE.
func (c *conn) receiveLongData(body []byte) {
	d := decoder{rest: body}
	p, index := c.prepared[d.uint32()], d.uint16()
	switch limit := c.in.limit; {
	case p == nil || p.longErr != nil:
	case d.failed || int(index) >= p.params:
		p.longErr = errno.New(errno.WrongArguments, "Incorrect arguments to mysqld_stmt_send_long_data")
	case p.longSize()+len(d.rest) > limit:
		p.longErr = errno.New(errno.PacketTooLarge, "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes (%d)", limit)
	default:
		if p.longData == nil {
			p.longData = make(map[uint16][]byte)
		}
		p.longData[index] = append(p.longData[index], d.rest...)
	}
}

func (p *prepared) longSize() int {
	size := 0
	for _, data := range p.longData {
		size += len(data)
	}
	return size
}

func (p *prepared) forgetLongData() { p.longData, p.longErr = nil, nil }

// resetPrepared takes a statement back to where PREPARE left it.
func (c *conn) resetPrepared(body []byte) error {
	p, err := c.lookup(&decoder{rest: body}, "mysqld_stmt_reset")
	if err != nil {
		return err
	}
	p.closeCursor()
	p.forgetLongData()
	c.putOK(0, "")
	return nil
}

// closeOne forgets a statement. The command has no answer.
func (c *conn) closeOne(body []byte) {
	d := decoder{rest: body}
	if p := c.prepared[d.uint32()]; p != nil {
		p.closeCursor()
		delete(c.prepared, p.id)
	}
}

func (c *conn) closePrepared() {
	for _, p := range c.prepared {
		p.closeCursor()
	}
	clear(c.prepared)
}
