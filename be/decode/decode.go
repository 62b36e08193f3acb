// Package decode turns the bytes of messages into rows of typed values.
//
// A Decoder is compiled for one table and one job. It takes a message at a
// time and hands out its rows one by one into a Batch: columns of machine
// values, as the storage types of package types want them. A row goes in whole
// or not at all; a row that cannot is a RowError, which says which message,
// line, column and value were to blame. Nothing is guessed: numbers are read
// from their text and never pass through a float, a value that does not fit is
// NULL or an error row by Doris's rules (Routine Load, "strict mode"), and never
// a cut-down number. The rules are written down in docs/decisions/pipe.md.
//
// There is no I/O, no clock and no goroutine here. A Decoder and its Batch
// belong to one goroutine. Whatever the bytes are, nothing panics, and the work
// is linear in them.
package decode

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	typesv1 "shoal/proto/types/v1"
	"shoal/sql/timezone"
	"shoal/sql/types"
)

// A RowError is a row that was not loaded. Its byte slices point into the
// message.
type RowError struct {
	Line   int    // of the message, from 1
	Column string // empty where the row as a whole is to blame
	Source []byte // the value to blame, nil where there is none
	Reason string
	Raw    []byte // the line (CSV) or the message (JSON)
}

// A Decoder makes rows of the messages of one job.
type Decoder struct {
	fields []field // the table's columns, in its order
	strict bool
	format format
	zone   *time.Location
}

// field is a column of the table and what fills it when a row does not.
type field struct {
	name     string
	typ      types.Type
	nullable bool
	fallback value // null where there is no default
	now      bool  // DEFAULT CURRENT_TIMESTAMP
}

// format splits messages into rows, and rows into the values of fields.
type format interface {
	// start takes the next message, which has no byte order mark.
	start(message []byte)
	// next fills values, one for each field of the table, from the next row.
	// It answers false at the message's end.
	next(values []value) (row, bool)
}

// row is where a row was found, and what was wrong with it as a whole.
type row struct {
	line   int
	raw    []byte
	reason string // empty if the values are good to use
}

// New compiles a Decoder. An error means that the job does not fit the table
// or that a name or type is unknown; the frontend checks that at CREATE.
func New(schema *typesv1.Schema, load *typesv1.RoutineLoad) (*Decoder, error) {
	d := &Decoder{strict: load.StrictMode, zone: time.UTC}
	if load.Timezone != "" {
		zone, err := timezone.Load(load.Timezone)
		if err != nil {
			return nil, fmt.Errorf("time zone of the job: %w", err)
		}
		d.zone = zone
	}
	for _, c := range schema.Columns {
		typ, err := types.Parse(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		f := field{name: c.Name, typ: typ, nullable: c.Nullable, now: c.DefaultCurrentTimestamp}
		if c.DefaultValue != nil {
			f.fallback = value{kind: text, raw: []byte(*c.DefaultValue)}
		}
		d.fields = append(d.fields, f)
	}
	if err := d.checkDefaults(); err != nil {
		return nil, err
	}
	filled, err := d.bind(load.Columns)
	if err != nil {
		return nil, err
	}
	switch load.Format {
	case typesv1.RoutineLoad_FORMAT_JSON:
		d.format = newJSONFormat(d.fields, filled)
	case typesv1.RoutineLoad_FORMAT_CSV, typesv1.RoutineLoad_FORMAT_UNSPECIFIED:
		d.format = newCSVFormat(load.ColumnSeparator, filled)
	default:
		return nil, fmt.Errorf("format %v is not known to this backend", load.Format)
	}
	return d, nil
}

// checkDefaults tells whether every default is a value of its column.
func (d *Decoder) checkDefaults() error {
	batch := d.NewBatch()
	for i, f := range d.fields {
		if out := batch.set(i, f.fallback, d.zone); out != good && out != isNull {
			return fmt.Errorf("column %s: default %q %s", f.name, f.fallback.raw, out.describe(f.typ))
		}
	}
	return nil
}

// bind answers, for each source field in order, the index of the column that
// it fills, or -1 for one that no column is named after. Without names, the
// source fields are the table's columns.
func (d *Decoder) bind(names []string) ([]int, error) {
	var filled []int
	if len(names) == 0 {
		for i := range d.fields {
			filled = append(filled, i)
		}
		return filled, nil
	}
	bound := make([]bool, len(d.fields))
	for _, name := range names {
		column := -1
		for i, f := range d.fields {
			if strings.EqualFold(f.name, name) {
				column = i
			}
		}
		if column >= 0 && bound[column] {
			return nil, fmt.Errorf("COLUMNS names %s twice", name)
		}
		if column >= 0 {
			bound[column] = true
		}
		filled = append(filled, column)
	}
	for i, f := range d.fields {
		if !bound[i] && !f.nullable && f.fallback.kind == null && !f.now {
			return nil, fmt.Errorf("column %s is NOT NULL and has no default, but COLUMNS does not name it", f.name)
		}
	}
	return filled, nil
}

// NewBatch makes an empty Batch with the table's columns.
func (d *Decoder) NewBatch() *Batch {
	list := make([]types.Type, len(d.fields))
	for i, f := range d.fields {
		list[i] = f.typ
	}
	return NewBatch(list)
}

// SetNow gives the time that DEFAULT CURRENT_TIMESTAMP stands for, until the
// next call. It is stored in the job's time zone.
func (d *Decoder) SetNow(now time.Time) {
	local := now.In(d.zone).Format("2006-01-02 15:04:05.000000")
	for i := range d.fields {
		if d.fields[i].now {
			d.fields[i].fallback = value{kind: text, raw: []byte(local)}
		}
	}
}

var byteOrderMark = []byte("\xEF\xBB\xBF")

// Start takes the next message, whose rows Next hands out. The message must
// stay unchanged until the batches that its rows went to are reset.
func (d *Decoder) Start(message []byte) {
	d.format.start(bytes.TrimPrefix(message, byteOrderMark))
}

// Next decodes the next row of the message into b, or answers why it could
// not. more is false when the message has no further row, and then nothing
// was done.
func (d *Decoder) Next(b *Batch) (more bool, bad *RowError) {
	r, more := d.format.next(b.values)
	if !more {
		return false, nil
	}
	if r.reason != "" {
		return true, &RowError{Line: r.line, Reason: r.reason, Raw: r.raw}
	}
	for i := range b.values {
		if out := d.fill(b, i); out != good {
			return true, d.blame(&b.values[i], i, out, r)
		}
	}
	b.Rows++
	return true, nil
}

// fill sets column i of the batch's next row by Doris's rules: a failed
// conversion is NULL unless the job is strict, and a NULL must be allowed.
func (d *Decoder) fill(b *Batch, i int) outcome {
	f, v := &d.fields[i], &b.values[i]
	if v.kind == missing {
		*v = f.fallback
	}
	out := b.set(i, *v, d.zone)
	switch {
	case out == good:
		return good
	case out == cut && !d.strict:
		return good
	case out == isNull && f.nullable:
		b.Columns[i].Null[b.Rows] = true
		return good
	case out.alwaysBad() || d.strict || !f.nullable:
		return out
	}
	b.Columns[i].Null[b.Rows] = true
	return good
}

func (d *Decoder) blame(v *value, i int, out outcome, r row) *RowError {
	f := &d.fields[i]
	bad := &RowError{Line: r.line, Column: f.name, Raw: r.raw}
	if v.kind != null {
		bad.Source = v.raw
	}
	bad.Reason = fmt.Sprintf("column %s: the value %s", f.name, out.describe(f.typ))
	if out != isNull && !out.alwaysBad() && !d.strict {
		bad.Reason += ", and the column is NOT NULL"
	}
	if out == cut {
		bad.Reason += fmt.Sprintf(" (it has %d)", len(v.raw))
	}
	return bad
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
