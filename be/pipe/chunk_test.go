package pipe

import (
	"strings"
	"testing"

	"github.com/duckdb/duckdb-go/v2"

	"shoal/be/decode"
)

type broken struct{}

func (broken) next() (*decode.Batch, error) { panic("a bug") }

// A panic must come back as an error: it may not unwind into DuckDB.
func TestPanicFailsTheTxn(t *testing.T) {
	s := &chunkSource{feed: broken{}}
	err := s.FillChunk(duckdb.DataChunk{})
	if err == nil || !strings.Contains(err.Error(), "a bug") || s.failure() == nil {
		t.Fatalf("FillChunk = %v, failure %v", err, s.failure())
	}
}
