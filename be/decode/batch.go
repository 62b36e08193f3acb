package decode

import (
	"math/big"

	"shoal/sql/types"
)

const (
	// BatchRows is the most rows a Batch holds: DuckDB's vector size.
	BatchRows = 2048
	// batchBytes bounds the text in a batch, which may be exceeded by one row.
	batchBytes = 4 << 20
)

// Int128 is a 128-bit two's complement integer.
type Int128 struct {
	Hi int64
	Lo uint64
}

// Big is i as an arbitrary-precision integer.
func (i Int128) Big() *big.Int {
	b := big.NewInt(i.Hi)
	return b.Lsh(b, 64).Add(b, new(big.Int).SetUint64(i.Lo))
}

// A Column is the values of one column of a Batch. The one slice that belongs
// to its type is set, with one entry for each row:
//
//	Int    BOOLEAN (0, 1), TINYINT to BIGINT, DATE (days since 1970-01-01),
//	       DATETIME (microseconds since then), DECIMAL up to 18 digits (unscaled)
//	Wide   LARGEINT, DECIMAL of more digits (unscaled)
//	Float  FLOAT, DOUBLE
//	Text   CHAR, VARCHAR, STRING, JSON, VARIANT, valid UTF-8
//	Nested ARRAY, MAP, STRUCT, see below
//
// An ARRAY is []any, a MAP is Pairs, a STRUCT is map[string]any by the names of
// all its fields. What is in them is nil for NULL, else bool (BOOLEAN), int64
// (TINYINT to BIGINT, and DECIMAL up to 18 digits, unscaled), *big.Int (LARGEINT,
// and DECIMAL of more digits, unscaled), float64, string, time.Time in UTC (DATE,
// DATETIME), or nested itself.
type Column struct {
	Type   types.Type
	Null   []bool // where true, the value means nothing
	Int    []int64
	Wide   []Int128
	Float  []float64
	Text   [][]byte
	Nested []any
	shape  *shape // of Nested
}

// Pairs is a MAP: the values of its keys, in the order of the source. No key
// is NULL or there twice.
type Pairs struct{ Keys, Values []any }

// newColumn makes a column of so many rows.
func newColumn(t types.Type, rows int) Column {
	c := Column{Type: t, Null: make([]bool, rows)}
	switch {
	case t.IsNested():
		c.Nested, c.shape = make([]any, rows), newShape(t)
	case t.Kind == types.LargeInt, t.Kind == types.Decimal && t.Precision > 18:
		c.Wide = make([]Int128, rows)
	case t.Kind == types.Float, t.Kind == types.Double:
		c.Float = make([]float64, rows)
	case isText(t.Kind):
		c.Text = make([][]byte, rows)
	default:
		c.Int = make([]int64, rows)
	}
	return c
}

func isText(k types.Kind) bool {
	switch k {
	case types.Char, types.VarChar, types.String, types.JSON, types.Variant:
		return true
	}
	return false
}

// A Batch is up to BatchRows rows, column by column.
type Batch struct {
	Columns []Column
	Rows    int
	textLen int
	arena   arena
	values  []Value // of the row that is being decoded
}

// NewBatch makes an empty Batch with columns of the given types.
func NewBatch(list []types.Type) *Batch {
	b := &Batch{Columns: make([]Column, len(list)), values: make([]Value, len(list))}
	for i, t := range list {
		b.Columns[i] = newColumn(t, BatchRows)
	}
	return b
}

// Full tells whether the batch should be emptied before the next row.
func (b *Batch) Full() bool { return b.Rows == BatchRows || b.textLen >= batchBytes }

// undo takes back what the next row has got so far: the first columns, and text
// beyond textLen.
func (b *Batch) undo(columns, textLen int) {
	for i := range columns {
		b.Columns[i].Null[b.Rows] = false
	}
	b.textLen = textLen
}

// Abort takes back whatever a panic left of the next row.
func (b *Batch) Abort() { b.undo(len(b.Columns), b.textLen) }

// Reset empties the batch. Text that was read from it is no longer valid.
func (b *Batch) Reset() {
	for i := range b.Columns {
		c := &b.Columns[i]
		clear(c.Null[:b.Rows])
		clear(c.Text[:min(b.Rows, len(c.Text))]) // let go of the messages
		clear(c.Nested[:min(b.Rows, len(c.Nested))])
	}
	b.Rows, b.textLen = 0, 0
	b.arena.reset()
}
