package decode

import (
	"math/big"
	"time"

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
//	Text   CHAR, VARCHAR, STRING, JSON, valid UTF-8
type Column struct {
	Type  types.Type
	Null  []bool // where true, the value means nothing
	Int   []int64
	Wide  []Int128
	Float []float64
	Text  [][]byte
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
		c := &b.Columns[i]
		c.Type, c.Null = t, make([]bool, BatchRows)
		switch {
		case t.Kind == types.LargeInt, t.Kind == types.Decimal && t.Precision > 18:
			c.Wide = make([]Int128, BatchRows)
		case t.Kind == types.Float, t.Kind == types.Double:
			c.Float = make([]float64, BatchRows)
		case isText(t.Kind):
			c.Text = make([][]byte, BatchRows)
		default:
			c.Int = make([]int64, BatchRows)
		}
	}
	return b
}

// Full tells whether the batch should be emptied before the next row.
func (b *Batch) Full() bool { return b.Rows == BatchRows || b.textLen >= batchBytes }

// Reset empties the batch. Text that was read from it is no longer valid.
func (b *Batch) Reset() {
	for i := range b.Columns {
		clear(b.Columns[i].Null[:b.Rows])
		clear(b.Columns[i].Text[:min(b.Rows, len(b.Columns[i].Text))]) // let go of the messages
	}
	b.Rows, b.textLen = 0, 0
	b.arena.reset()
}

// set converts v into column i of the row at b.Rows.
func (b *Batch) set(i int, v Value, zone *time.Location) outcome {
	c := &b.Columns[i]
	if v.Kind <= Null {
		return isNull
	}
	if !v.unescape(&b.arena) {
		return badEscape
	}
	if isText(c.Type.Kind) {
		return b.setText(c, v)
	}
	return c.setScalar(b.Rows, v, zone)
}

func (b *Batch) setText(c *Column, v Value) outcome {
	var out outcome
	c.Text[b.Rows], out = textValue(c.Type, v)
	b.textLen += len(c.Text[b.Rows])
	return out
}

func isText(k types.Kind) bool {
	return k == types.Char || k == types.VarChar || k == types.String || k == types.JSON
}
