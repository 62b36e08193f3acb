package wire

import (
	"encoding/binary"
	"math"

	"shoal/fe/errno"
)

// The packets that end an answer. All go into the writer's buffer.

const (
	headerOK  = 0x00
	headerEOF = 0xfe
	headerERR = 0xff
)

// appendOK appends an OK packet; the last insert id is always 0.
func appendOK(b []byte, header byte, affected uint64, status, warnings uint16, info string) []byte {
	b = append(b, header)
	b = appendLenEncInt(b, affected)
	b = append(b, 0)
	b = binary.LittleEndian.AppendUint16(b, status)
	b = binary.LittleEndian.AppendUint16(b, warnings)
	// Length-encoded and present even when empty: Connector/J reads it
	// without asking.
	return appendLenEncString(b, info)
}

// appendERR appends an error. Before the login packet no client expects the
// SQLSTATE.
func appendERR(b []byte, e *errno.Error, withState bool) []byte {
	b = append(b, headerERR)
	b = binary.LittleEndian.AppendUint16(b, e.Code.Num)
	if withState {
		b = append(append(b, '#'), e.Code.State...)
	}
	return append(b, e.Msg...)
}

// status is the status word of the connection with more bits.
func (c *conn) status(more uint16) uint16 { return c.session.Status() | more }

func (c *conn) warnings() uint16 {
	return uint16(min(len(c.session.Warnings()), math.MaxUint16))
}

func (c *conn) putOK(affected uint64, info string) {
	c.out.begin()
	c.out.buf = appendOK(c.out.buf, headerOK, affected, c.status(0), c.warnings(), info)
	c.out.end()
}

// putEnd ends rows or definitions where both kinds of client expect an end.
func (c *conn) putEnd(more uint16) {
	c.out.begin()
	if c.caps.has(capDeprecateEOF) {
		c.out.buf = appendOK(c.out.buf, headerEOF, 0, c.status(more), c.warnings(), "")
	} else {
		c.out.buf = append(c.out.buf, headerEOF)
		c.out.buf = binary.LittleEndian.AppendUint16(c.out.buf, c.warnings())
		c.out.buf = binary.LittleEndian.AppendUint16(c.out.buf, c.status(more))
	}
	c.out.end()
}

// putInnerEOF ends definitions for clients without DEPRECATE_EOF.
func (c *conn) putInnerEOF() {
	if !c.caps.has(capDeprecateEOF) {
		c.putEnd(0)
	}
}

func (c *conn) putERR(err error) {
	c.out.begin()
	c.out.buf = appendERR(c.out.buf, errno.From(err), true)
	c.out.end()
}

// putResultHead announces a result set: how many columns, and which.
func (c *conn) putResultHead(columns []column) {
	c.out.send(appendLenEncInt(nil, uint64(len(columns))))
	c.putDefinitions(columns)
}

func (c *conn) putDefinitions(columns []column) {
	for _, col := range columns {
		c.out.begin()
		c.out.buf = col.appendDefinition(c.out.buf)
		c.out.end()
	}
}
