package decode

import (
	"bytes"
	"fmt"
	"strings"

	typesv1 "shoal/proto/types/v1"
)

// format splits messages into rows, and rows into values. It is made for a
// number of values, and each field that it finds goes to one of them or none.
type format interface {
	// start takes the next message, which has no byte order mark.
	start(message []byte)
	// next sets all values from the next row. It answers false at the
	// message's end. A reason means that the row is to blame as a whole. Text
	// that is not in the message gets room from a.
	next(values []Value, a *arena) (at Place, reason string, more bool)
}

// Place is where a row stands in its message.
type Place struct {
	Line int    // of the message (CSV) or element of its array (JSON), from 1
	Raw  []byte // the line, element or message
}

var byteOrderMark = []byte("\xEF\xBB\xBF")

// loadColumns is COLUMNS(...) of a job, whichever way it is stored.
func loadColumns(load *typesv1.RoutineLoad) []*typesv1.LoadColumn {
	if len(load.LoadColumns) > 0 {
		return load.LoadColumns
	}
	var list []*typesv1.LoadColumn
	for _, name := range load.Columns {
		list = append(list, &typesv1.LoadColumn{Name: name})
	}
	return list
}

// SourceFields names the fields of a job's source rows: the plain names of
// COLUMNS in their order, or the table's columns where COLUMNS has none.
func SourceFields(schema *typesv1.Schema, load *typesv1.RoutineLoad) []string {
	var names []string
	for _, c := range loadColumns(load) {
		if c.Expr == "" {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		for _, c := range schema.Columns {
			names = append(names, c.Name)
		}
	}
	return names
}

// newFormat makes the job's format. The field called names[i] goes to the
// value at slots[i], or to none if that is negative.
func newFormat(load *typesv1.RoutineLoad, names []string, slots []int) (format, error) {
	switch load.Format {
	case typesv1.RoutineLoad_FORMAT_JSON:
		return newJSONFormat(load, names, slots)
	case typesv1.RoutineLoad_FORMAT_CSV, typesv1.RoutineLoad_FORMAT_UNSPECIFIED:
		return newCSVFormat(load, slots)
	}
	return nil, fmt.Errorf("format %v is not known to this backend", load.Format)
}

// A Source makes rows of source values of the messages of one job, for jobs
// whose COLUMNS, PRECEDING FILTER or multi-table names need them before they
// are converted:
//
//	source.Start(message)
//	for !rows.Full() {
//		more, bad := source.Next(rows)
//		…
//	}
//
// Expressions see rows.Fields[i][row].Text(); a Converter then takes the
// values of plain fields as they are, so that JSON's numbers and nested values
// keep their kind, and TextValue of what expressions gave.
type Source struct {
	names  []string
	format format
}

// NewSource compiles a Source for a job that loads into a table of that
// schema, which is only asked for where COLUMNS has no plain name.
func NewSource(schema *typesv1.Schema, load *typesv1.RoutineLoad) (*Source, error) {
	names := SourceFields(schema, load)
	slots := make([]int, len(names))
	for i := range slots {
		slots[i] = i
	}
	format, err := newFormat(load, names, slots)
	if err != nil {
		return nil, err
	}
	return &Source{names: names, format: format}, nil
}

// Names are the names of the fields, in order.
func (s *Source) Names() []string { return s.names }

// NewRows makes empty Rows for the fields of s.
func (s *Source) NewRows() *Rows {
	r := &Rows{Fields: make([][]Value, len(s.names)), Places: make([]Place, BatchRows), values: make([]Value, len(s.names))}
	for i := range r.Fields {
		r.Fields[i] = make([]Value, BatchRows)
	}
	return r
}

// Start takes the next message, whose rows Next hands out. The message must
// stay unchanged until the Rows that its rows went to are reset.
func (s *Source) Start(message []byte) {
	s.format.start(bytes.TrimPrefix(message, byteOrderMark))
}

// Next puts the next row of the message into r, or answers why it could not.
// more is false when the message has no further row, and then nothing was
// done.
func (s *Source) Next(r *Rows) (more bool, bad *RowError) {
	at, reason, more := s.format.next(r.values, &r.arena)
	if !more {
		return false, nil
	}
	if reason != "" {
		return true, &RowError{Line: at.Line, Reason: reason, Raw: at.Raw}
	}
	for i := range r.values {
		v := &r.values[i]
		if !v.unescape(&r.arena) {
			return true, &RowError{Line: at.Line, Column: s.names[i], Source: v.raw, Raw: at.Raw,
				Reason: "field " + s.names[i] + ": the value " + halfSurrogate}
		}
		r.Fields[i][r.Len] = *v
		r.bytes += len(v.raw)
	}
	r.Places[r.Len] = at
	r.Len++
	return true, nil
}

// Rows is up to BatchRows source rows. Row n is Fields[…][n] and stands at
// Places[n], for n below Len.
type Rows struct {
	Fields [][]Value // one slice for each of the source's names
	Places []Place
	Len    int

	bytes  int
	arena  arena
	values []Value // of the row that is being read
}

// Full tells whether the rows should be taken out before the next one.
func (r *Rows) Full() bool { return r.Len == BatchRows || r.bytes >= batchBytes }

// Reset empties r. What its values held is no longer valid.
func (r *Rows) Reset() {
	for _, f := range r.Fields {
		clear(f[:r.Len]) // let go of the messages
	}
	clear(r.Places[:r.Len])
	r.Len, r.bytes = 0, 0
	r.arena.reset()
}

// columnOf is the index of the column of that name, in any case, or -1.
func columnOf(fields []field, name string) int {
	for i, f := range fields {
		if strings.EqualFold(f.name, name) {
			return i
		}
	}
	return -1
}
