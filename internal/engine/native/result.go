package native

import bindings "github.com/duckdb/duckdb-go-bindings"

// Column is a column of a result.
type Column struct {
	Name string
	Type Type
}

// Result is the result of a query, chunk by chunk. DuckDB works a little ahead
// of the reader, streaming_buffer_size at most, and then waits.
type Result struct {
	db        *DB
	statement bindings.PreparedStatement
	result    bindings.Result
	chunk     bindings.DataChunk
	columns   []Column
	vectors   []Vector
	ended     bool
}

// Query runs one statement until its first rows are there.
func (db *DB) Query(text string) (*Result, error) {
	statement, err := db.prepare(text)
	if err != nil {
		return nil, err
	}
	r := &Result{db: db, statement: statement}
	// Deprecated in favour of an interface that does not exist yet; the other
	// calls have whole results.
	if bindings.ExecutePreparedStreaming(statement, &r.result) == bindings.StateError {
		err := &Error{bindings.ResultError(&r.result)}
		r.ended = true
		r.Close()
		return nil, err
	}
	r.columns = make([]Column, bindings.ColumnCount(&r.result))
	r.vectors = make([]Vector, len(r.columns))
	for i := range r.columns {
		typ := readType(bindings.ColumnLogicalType(&r.result, bindings.IdxT(i)))
		r.columns[i] = Column{Name: bindings.ColumnName(&r.result, bindings.IdxT(i)), Type: typ}
		r.vectors[i] = newVector(typ)
	}
	return r, nil
}

// Columns are the columns of the result.
func (r *Result) Columns() []Column { return r.columns }

// Vector is a column of the current chunk.
func (r *Result) Vector(column int) *Vector { return &r.vectors[column] }

// Next moves to the next chunk and returns how many rows it has: 0 after the
// last.
func (r *Result) Next() (int, error) {
	bindings.DestroyDataChunk(&r.chunk)
	if r.ended {
		return 0, nil
	}
	r.chunk = bindings.FetchChunk(r.result)
	rows := 0
	if r.chunk.Ptr != nil {
		rows = int(bindings.DataChunkGetSize(r.chunk))
	}
	if rows == 0 {
		r.ended = true
		if msg := bindings.ResultError(&r.result); msg != "" {
			return 0, &Error{msg}
		}
		return 0, nil
	}
	for i := range r.vectors {
		r.vectors[i].point(bindings.DataChunkGetVector(r.chunk, bindings.IdxT(i)))
	}
	return rows, nil
}

// Close frees the result. What is still at work on it is stopped.
func (r *Result) Close() {
	if !r.ended {
		r.db.Interrupt()
	}
	bindings.DestroyDataChunk(&r.chunk)
	bindings.DestroyResult(&r.result)
	bindings.DestroyPrepare(&r.statement)
}
