package pipe

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2"

	"shoal/be/decode"
	backendv1 "shoal/proto/backend/v1"
)

// maxReasons is how many rows of a txn are evaluated once more, alone, to know
// why an expression failed on them.
const maxReasons = 20

// mappedFeed makes rows of messages by a mapping: source rows, PRECEDING
// FILTER and derived columns, conversion, WHERE.
type mappedFeed struct {
	ctx      context.Context
	target   *target
	mapping  *mapping
	messages messages
	tally    *tally

	open    bool    // current has been started
	current message // the last one that was taken
	rows    int     // that it gave, error rows included
	number  int64   // of the last row
	reasons int     // that were looked for

	read   []origin // of the source rows
	loaded []origin // of the batch's rows
	failed []failedRow
	asked  []askedRow
	values []decode.Value
}

// failedRow is an error row of the batch.
type failedRow struct {
	badRow
	number int64
}

// askedRow is a row that an expression failed on.
type askedRow struct {
	row int
	judgement
}

func (f *mappedFeed) next() (*decode.Batch, error) {
	batch := f.target.batch
	for {
		if err := f.ctx.Err(); err != nil {
			return nil, err
		}
		batch.Reset()
		f.mapping.rows.Reset()
		f.read, f.loaded, f.failed = f.read[:0], f.loaded[:0], f.failed[:0]
		more := f.readRows()
		if err := f.convertRows(); err != nil {
			return nil, err
		}
		if err := f.filterRows(); err != nil {
			return nil, err
		}
		f.settle()
		if batch.Rows > 0 || !more {
			f.tally.loaded += int64(batch.Rows)
			return batch, nil
		}
	}
}

// readRows reads source rows until it is time to load them; false if there are
// no more.
func (f *mappedFeed) readRows() (more bool) {
	m := f.mapping
	for !m.rows.Full() && len(f.failed) < decode.BatchRows {
		if !f.open {
			if f.current, f.open = f.messages.next(); !f.open {
				return false
			}
			m.source.Start(f.current.value)
			f.rows = 0
		}
		before := m.rows.Len
		more := false
		bad, ok := guarded(f.current.value, func() (bad *decode.RowError) {
			more, bad = m.source.Next(m.rows)
			return bad
		})
		f.open = more && ok
		if ok && !more {
			if f.rows == 0 { // only blanks or line ends
				f.tally.empty++
				f.tell(&origin{message: f.current}, backendv1.DryRunRow_OUTCOME_EMPTY)
			}
			continue
		}
		f.rows++
		f.number++
		o := origin{message: f.current, number: f.number}
		if bad != nil {
			f.fail(&o, *bad)
			continue
		}
		o.at = m.rows.Places[before]
		f.read = append(f.read, o)
	}
	return true
}

func (f *mappedFeed) fail(o *origin, bad decode.RowError) {
	f.failed = append(f.failed, failedRow{badRow{RowError: bad, message: o.message, table: f.target.name}, o.number})
}

// convertRows puts the source rows that PRECEDING FILTER selects into the
// batch, with the derived columns.
func (f *mappedFeed) convertRows() error {
	m := f.mapping
	if m.before == nil {
		for row := range f.read {
			f.convert(row, nil)
		}
		return nil
	}
	return f.evaluate(stage{ev: m.before, rows: f.read, fill: f.fillSource, take: f.convert})
}

// convert converts one source row.
func (f *mappedFeed) convert(row int, derived []driver.Value) {
	m, o := f.mapping, &f.read[row]
	f.values = f.values[:0]
	for _, from := range m.filled {
		var v decode.Value
		switch {
		case from.derived >= 0:
			v = derivedValue(derived[from.derived])
		case from.field >= 0:
			v = m.rows.Fields[from.field][row]
		}
		f.values = append(f.values, v)
	}
	bad, ok := guarded(o.record.Value, func() *decode.RowError { return m.converter.Add(f.target.batch, f.values, o.at) })
	if !ok {
		f.target.batch.Abort()
	}
	if bad != nil {
		f.fail(o, *bad)
		return
	}
	f.loaded = append(f.loaded, *o)
}

// derivedValue is the result of an expression as conversion takes it.
func derivedValue(v driver.Value) decode.Value {
	s, ok := v.(string)
	if !ok {
		return decode.Value{Kind: decode.Null}
	}
	return decode.TextValue(unsafe.Slice(unsafe.StringData(s), len(s))) // nobody writes to it
}

// filterRows drops the rows that WHERE does not select from the batch.
func (f *mappedFeed) filterRows() error {
	m, batch := f.mapping, f.target.batch
	if m.after == nil || batch.Rows == 0 {
		return nil
	}
	keep := make([]bool, batch.Rows)
	err := f.evaluate(stage{ev: m.after, rows: f.loaded, fill: f.fillBatch, take: func(row int, _ []driver.Value) { keep[row] = true }})
	if err != nil {
		return err
	}
	kept := f.loaded[:0]
	for row, o := range f.loaded {
		if keep[row] {
			kept = append(kept, o)
		}
	}
	f.loaded = kept
	batch.Keep(keep)
	return nil
}

// stage is an evaluation of a batch.
type stage struct {
	ev   *evaluation
	rows []origin
	// fill puts n rows from first on into a chunk.
	fill func(chunk duckdb.DataChunk, first, n int) error
	// take takes a row that was selected, with its derived columns.
	take func(row int, derived []driver.Value)
}

// evaluate evaluates rows. Those that are not taken are unselected or error
// rows.
func (f *mappedFeed) evaluate(s stage) error {
	f.asked = f.asked[:0]
	if err := f.evaluateSome(&s, 0, len(s.rows)); err != nil {
		return err
	}
	for _, a := range f.asked {
		if err := f.ask(&s, a); err != nil {
			return err
		}
	}
	return nil
}

// evaluateSome evaluates n rows from first on. Should they fail together, which
// no expression does that is wrapped as it should, the halves are tried, down to
// the row to blame.
func (f *mappedFeed) evaluateSome(s *stage, first, n int) error {
	if n == 0 {
		return nil
	}
	failure := s.ev.run(f.ctx, n, func(chunk duckdb.DataChunk) error { return s.fill(chunk, first, n) },
		func(row int, j judgement, derived []driver.Value) {
			switch j {
			case selected:
				s.take(first+row, derived)
			case unselected:
				f.tally.unselected++
				f.tell(&s.rows[first+row], backendv1.DryRunRow_OUTCOME_UNSELECTED)
			default:
				f.asked = append(f.asked, askedRow{first + row, j})
			}
		})
	if failure == nil {
		return nil
	}
	reason, err := reasonOf(failure)
	switch {
	case err != nil || reason == "" || f.ctx.Err() != nil:
		return fmt.Errorf("evaluating expressions: %w", failure)
	case n == 1:
		o := &s.rows[first]
		f.fail(o, decode.RowError{Line: o.at.Line, Raw: o.at.Raw, Reason: "the expressions failed: " + reason})
		return nil
	}
	if err := f.evaluateSome(s, first, n/2); err != nil {
		return err
	}
	return f.evaluateSome(s, first+n/2, n-n/2)
}

// ask finds out why an expression failed on a row, and makes it an error row.
func (f *mappedFeed) ask(s *stage, a askedRow) error {
	o := &s.rows[a.row]
	bad := decode.RowError{Line: o.at.Line, Raw: o.at.Raw, Reason: s.ev.what(a.judgement) + " failed"}
	if a.judgement > 0 {
		bad.Column = s.ev.derived[a.judgement-1].name
	}
	if f.reasons++; f.reasons > maxReasons {
		bad.Reason += fmt.Sprintf(" (the first %d such rows of a txn say why)", maxReasons)
		f.fail(o, bad)
		return nil
	}
	why, err := s.ev.why(f.ctx, a.judgement, func(chunk duckdb.DataChunk) error { return s.fill(chunk, a.row, 1) })
	if err != nil {
		return fmt.Errorf("evaluating expressions: %w", err)
	}
	if why != "" {
		bad.Reason += ": " + why
	}
	f.fail(o, bad)
	return nil
}

// settle counts the error rows of the batch, in the order of their messages,
// and tells of the loaded ones.
func (f *mappedFeed) settle() {
	slices.SortFunc(f.failed, func(a, b failedRow) int { return cmp.Compare(a.number, b.number) })
	for _, bad := range f.failed {
		f.tally.bad.add(bad.badRow)
	}
	for i := range f.loaded {
		f.tell(&f.loaded[i], backendv1.DryRunRow_OUTCOME_LOADED)
	}
}

// fillSource puts source rows into a chunk, as mapping.sourceInput has it.
func (f *mappedFeed) fillSource(chunk duckdb.DataChunk, first, n int) error {
	m := f.mapping
	for i, fields := range m.rows.Fields {
		if err := fillTexts(chunk, i, fields[first:first+n], decode.Value.Text); err != nil {
			return err
		}
		if err := fillTexts(chunk, len(m.rows.Fields)+i, fields[first:first+n], decode.Value.Source); err != nil {
			return err
		}
	}
	return fillMetadata(chunk, 2*len(m.rows.Fields), f.read[first:first+n], m.zone)
}

// fillTexts puts the texts of values into a column, if an expression has it.
func fillTexts(chunk duckdb.DataChunk, column int, values []decode.Value, text func(decode.Value) ([]byte, bool)) error {
	if _, err := chunk.GetVector(column); err != nil {
		return nil
	}
	for row, v := range values {
		s, ok := text(v)
		var err error
		if ok {
			err = duckdb.SetChunkValue(chunk, column, row, s)
		} else {
			err = duckdb.SetChunkValue[any](chunk, column, row, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fillBatch puts rows of the batch into a chunk, as mapping.tableInput has it.
func (f *mappedFeed) fillBatch(chunk duckdb.DataChunk, first, n int) error {
	columns := f.target.batch.Columns
	for i := range columns {
		if _, err := chunk.GetVector(i); err != nil {
			continue // WHERE does not have it
		}
		part := columns[i].Slice(first, first+n)
		if err := fillVector(chunk, i, &part, n); err != nil {
			return err
		}
	}
	return fillMetadata(chunk, len(columns), f.loaded[first:first+n], f.mapping.zone)
}
