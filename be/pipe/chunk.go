package pipe

import (
	"fmt"
	"math/big"
	"runtime/debug"
	"sync"

	"github.com/duckdb/duckdb-go/v2"

	"shoal/be/decode"
	"shoal/sql/types"
)

// chunkSource copies batches of a feed into DuckDB's vectors, as DuckDB asks
// for them. It is called on threads of DuckDB, one at a time.
type chunkSource struct {
	columns []duckdb.ColumnInfo

	mu    sync.Mutex // DuckDB may change threads between calls
	feed  rowFeed
	batch *decode.Batch // taken from feed and not yet copied, or nil
	rows  int64
	err   error
}

// ColumnInfos, Cardinality and Init are part of duckdb.ChunkTableSource.
func (s *chunkSource) ColumnInfos() []duckdb.ColumnInfo { return s.columns }

// Cardinality is not known before decoding.
func (s *chunkSource) Cardinality() *duckdb.CardinalityInfo { return nil }

// Init has nothing to do.
func (s *chunkSource) Init() {}

// FillChunk copies the next batch. A panic must not unwind into DuckDB, which
// would take the whole process down, so it fails the txn instead.
func (s *chunkSource) FillChunk(chunk duckdb.DataChunk) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error while decoding: %v\n%s", p, debug.Stack())
		}
		s.err = err
	}()
	if s.batch == nil {
		if s.batch, err = s.feed.next(); err != nil {
			return err
		}
	}
	b := s.batch
	s.batch = nil
	for i := range b.Columns {
		if err := fillVector(chunk, i, &b.Columns[i], b.Rows); err != nil {
			return err
		}
	}
	s.rows += int64(b.Rows)
	return chunk.SetSize(b.Rows)
}

// failure is the error that ended the statement, if it came from the feed.
func (s *chunkSource) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fillVector copies the first rows of a column into vector i.
func fillVector(chunk duckdb.DataChunk, i int, c *decode.Column, rows int) error {
	nulls := c.Null[:rows]
	switch kind := c.Type.Kind; {
	case c.Text != nil:
		return fill(chunk, i, nulls, c.Text)
	case c.Nested != nil:
		return fillNested(chunk, i, nulls, c)
	case c.Float != nil: // FLOAT's values were rounded to 32 bits already
		return fill(chunk, i, nulls, c.Float)
	case c.Wide != nil:
		return fillWide(chunk, i, nulls, c.Wide)
	case kind == types.Boolean:
		return fillBool(chunk, i, nulls, c.Int)
	default:
		return fill(chunk, i, nulls, c.Int)
	}
}

// fill copies values that the vector takes as they are. A decimal's vector
// takes the unscaled integer.
func fill[T any](chunk duckdb.DataChunk, column int, nulls []bool, values []T) error {
	for row, null := range nulls {
		if null {
			if err := duckdb.SetChunkValue[any](chunk, column, row, nil); err != nil {
				return err
			}
			continue
		}
		if err := duckdb.SetChunkValue(chunk, column, row, values[row]); err != nil {
			return err
		}
	}
	return nil
}

func fillBool(chunk duckdb.DataChunk, column int, nulls []bool, values []int64) error {
	var bits [decode.BatchRows]bool
	for row := range nulls {
		bits[row] = values[row] != 0
	}
	return fill(chunk, column, nulls, bits[:])
}

func fillWide(chunk duckdb.DataChunk, column int, nulls []bool, values []decode.Int128) error {
	var wide [decode.BatchRows]*big.Int // nil writes NULL
	for row, null := range nulls {
		if !null {
			wide[row] = values[row].Big()
		}
	}
	return fill(chunk, column, nulls, wide[:])
}

func fillNested(chunk duckdb.DataChunk, column int, nulls []bool, c *decode.Column) error {
	for row, null := range nulls {
		var v any
		if !null {
			v = travelling(c.Nested[row], c.Type)
		}
		if err := duckdb.SetChunkValue(chunk, column, row, v); err != nil {
			return err
		}
	}
	return nil
}
