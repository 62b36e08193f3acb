package pipe

import (
	"strings"
	"testing"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"shoal/be/decode"
	"shoal/be/source"
	typesv1 "shoal/proto/types/v1"
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

// A message that makes decoding panic is an error row, and costs no other its
// turn.
func TestPanicIsAnErrorRow(t *testing.T) {
	part := source.Partition{Records: []*source.Record{{Value: []byte("1")}, {Offset: 1, Value: []byte("2")}}}
	f := &feed{ctx: t.Context(), target: newTestTarget(t), tally: &tally{}}
	f.messages = &allMessages{tally: f.tally, parts: []source.Partition{part}}
	if !f.start() {
		t.Fatal("no message")
	}
	f.step(&decode.Batch{}) // without columns: decoding into it panics
	if f.open || f.tally.bad.total != 1 || !strings.Contains(f.tally.bad.kept[0].Reason, "internal error") {
		t.Fatalf("after the panic: open %v, error rows %+v", f.open, f.tally.bad.kept)
	}
	batch, err := f.next()
	if err != nil || batch.Rows != 1 || f.tally.empty != 0 || f.tally.bad.total != 1 {
		t.Errorf("then %d rows, %v, %d empty", batch.Rows, err, f.tally.empty)
	}
}

func newTestTarget(t *testing.T) *target {
	t.Helper()
	schema := &typesv1.Schema{Version: 1, Columns: []*typesv1.Column{{FieldId: 1, Name: "id", Type: "int"}}}
	decoder, err := decode.New(schema, &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_CSV, Timezone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	decoder.SetNow(time.Unix(0, 0))
	return &target{name: "t", decoder: decoder, batch: decoder.NewBatch()}
}
