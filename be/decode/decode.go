// Package decode turns the bytes of messages into rows of typed values.
//
// It has two halves. A format splits messages into rows and rows into source
// values; a Converter makes a table's values of those, in a Batch: columns of
// machine values, as the storage types of package types want them. A Decoder
// is both for jobs that load fields as they are. A Source hands out the rows
// between the halves, for jobs with expressions, which others evaluate; what
// they give goes through the same Converter.
//
// A row goes in whole or not at all; a row that cannot is a RowError, which
// says which message, line, column and value were to blame. Nothing is
// guessed: numbers are read from their text and never pass through a float, a
// value that does not fit is NULL or an error row by Doris's rules (Routine
// Load, "strict mode"), and never a cut-down number. The rules are written
// down in docs/conversions.md, and proven by testdata/golden.
//
// There is no I/O (but to look up a time zone that a text names), no clock and
// no goroutine here. What this package makes
// belongs to one goroutine at a time. Whatever the bytes are, nothing panics,
// and the work is linear in them.
package decode

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	typesv1 "shoal/proto/types/v1"
)

// A RowError is a row that was not loaded. Its byte slices point into the
// message or into the batch that the row was meant for.
type RowError struct {
	Line   int    // of the message, from 1
	Column string // empty where the row as a whole is to blame
	Source []byte // the value to blame, nil where there is none
	Reason string
	Raw    []byte // the line (CSV), the element or the message (JSON)
}

// A Decoder makes rows of the messages of a job whose COLUMNS has no
// expressions. What its Converter does, it does.
type Decoder struct {
	*Converter
	format format
}

// New compiles a Decoder. An error means that the job does not fit the table
// or that a name or type is unknown; the frontend checks that at CREATE.
func New(schema *typesv1.Schema, load *typesv1.RoutineLoad) (*Decoder, error) {
	if load.PrecedingFilter != "" {
		return nil, errors.New("a PRECEDING FILTER needs a Source")
	}
	for _, c := range loadColumns(load) {
		if c.Expr != "" {
			return nil, fmt.Errorf("the expression of %s in COLUMNS needs a Source", c.Name)
		}
	}
	converter, err := NewConverter(schema, load)
	if err != nil {
		return nil, err
	}
	names := SourceFields(schema, load)
	slots := make([]int, len(names))
	for i, name := range names {
		slots[i] = columnOf(converter.fields, name)
	}
	format, err := newFormat(load, names, slots)
	if err != nil {
		return nil, err
	}
	return &Decoder{Converter: converter, format: format}, nil
}

// Start takes the next message, whose rows Next hands out. The message must
// stay unchanged until the batches that its rows went to are reset.
func (d *Decoder) Start(message []byte) {
	d.format.start(bytes.TrimPrefix(message, byteOrderMark))
}

// Next decodes the next row of the message into b, or answers why it could
// not. more is false when the message has no further row, and then nothing
// was done.
func (d *Decoder) Next(b *Batch) (more bool, bad *RowError) {
	at, reason, more := d.format.next(b.values, &b.arena)
	switch {
	case !more:
		return false, nil
	case reason != "":
		return true, &RowError{Line: at.Line, Reason: reason, Raw: at.Raw}
	}
	return true, d.Add(b, b.values, at)
}

// checkText answers what is wrong with the encoding of raw, if anything.
func checkText(raw []byte) string {
	if utf8.Valid(raw) {
		return ""
	}
	at := 0
	for at < len(raw) {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		at += n
	}
	return fmt.Sprintf("not UTF-8: byte 0x%02X at position %d", raw[at], at+1)
}
