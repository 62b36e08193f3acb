package decode_test

import (
	"strings"
	"testing"

	typesv1 "shoal/proto/types/v1"
)

// TestNestingIsBounded: deep nesting is an error row, and costs linear work.
func TestNestingIsBounded(t *testing.T) {
	dec := newDecoder(t, oneColumn("STRING"), &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON})
	const depth = 5 << 20
	_, bad := decodeOne(dec, []byte(`{"a":`+strings.Repeat("[", depth)+strings.Repeat("]", depth)+"}"))
	if len(bad) != 1 || !strings.Contains(bad[0].Reason, "nested too deep") {
		t.Fatalf("got %+v", bad)
	}
}

// TestHugeText: a message of 16 MiB is loaded whole, and fills the batch.
func TestHugeText(t *testing.T) {
	dec := newDecoder(t, oneColumn("STRING"), &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON})
	b := dec.NewBatch()
	huge := strings.Repeat("0123456789abcde\\n", 1<<20)
	dec.Start([]byte(`{"a":"` + huge + `"}`))
	if more, bad := dec.Next(b); !more || bad != nil {
		t.Fatalf("more %v, bad %v", more, bad)
	}
	if !b.Full() || string(b.Columns[0].Text[0]) != strings.ReplaceAll(huge, `\n`, "\n") {
		t.Fatalf("full %v, %d bytes", b.Full(), len(b.Columns[0].Text[0]))
	}
	b.Reset()
	if b.Full() || b.Rows != 0 {
		t.Fatal("Reset left rows")
	}
}
