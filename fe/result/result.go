// Package result is the shape of a statement's result between those that make
// it and whoever sends it on: typed columns, then rows of text cells in MySQL's
// spelling, or an OK.
//
// It has data and one interface. Whoever makes rows is held back by a Writer
// that blocks.
package result

// A Column is a column of a result set. Type is Doris's spelling, as sql/types
// parses it, or one of "time", "blob" and "null", which no table has.
type Column struct{ Name, Type string }

// A Writer takes the result of one statement. An error of it means that nobody
// wants the result any more; the maker returns it.
type Writer interface {
	// Columns begins a result set, before any row, once.
	Columns([]Column) error
	// Row adds a row: a cell for each column, nil for NULL. Cells are not kept.
	Row(cells [][]byte) error
	// EncodedRow adds a row in the form of internal/textrow. It is not kept.
	EncodedRow(row []byte) error
	// Flush sends what there is; a maker calls it before it waits for more.
	Flush() error
	// OK is the result of a statement without rows. info may be empty.
	OK(affected uint64, info string)
}

// Cell is a cell of a small Table; nil is NULL.
type Cell = *string

// Text is a cell with s.
func Text(s string) Cell { return &s }

// OrNull is a cell with s, NULL for the empty string.
func OrNull(s string) Cell {
	if s == "" {
		return nil
	}
	return &s
}

// Table is a result that is made at once.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Texts is columns of text with the given names.
func Texts(names ...string) []Column {
	out := make([]Column, len(names))
	for i, n := range names {
		out[i] = Column{n, "varchar(512)"}
	}
	return out
}

// Send writes the table.
func (t *Table) Send(w Writer) error {
	if err := w.Columns(t.Columns); err != nil {
		return err
	}
	cells := make([][]byte, len(t.Columns))
	for _, row := range t.Rows {
		for i, c := range row {
			cells[i] = nil
			if c != nil {
				cells[i] = []byte(*c)
			}
		}
		if err := w.Row(cells); err != nil {
			return err
		}
	}
	return nil
}

// Description is a Writer that keeps a result's columns and nothing else.
type Description struct{ Described []Column }

// Columns implements Writer.
func (d *Description) Columns(columns []Column) error { d.Described = columns; return nil }

// Row implements Writer.
func (d *Description) Row([][]byte) error { return nil }

// EncodedRow implements Writer.
func (d *Description) EncodedRow([]byte) error { return nil }

// Flush implements Writer.
func (d *Description) Flush() error { return nil }

// OK implements Writer.
func (d *Description) OK(uint64, string) {}
