package textrow_test

import (
	"bytes"
	"errors"
	"testing"

	"shoal/internal/textrow"
)

func TestRoundTrip(t *testing.T) {
	row := [][]byte{nil, {}, []byte("a"), bytes.Repeat([]byte("b"), 250), bytes.Repeat([]byte("c"), 251),
		bytes.Repeat([]byte("d"), 1<<16), bytes.Repeat([]byte("e"), 1<<24)}
	data := textrow.Append(textrow.Append(nil, row), row)
	got := make([][]byte, len(row))
	for range 2 {
		var err error
		if data, err = textrow.Next(data, got); err != nil {
			t.Fatal(err)
		}
		for i := range row {
			if !bytes.Equal(got[i], row[i]) || (got[i] == nil) != (row[i] == nil) {
				t.Errorf("cell %d: %d bytes (NULL: %v), want %d (%v)", i, len(got[i]), got[i] == nil, len(row[i]), row[i] == nil)
			}
		}
	}
	if len(data) != 0 {
		t.Errorf("%d bytes left over", len(data))
	}
}

func FuzzNext(f *testing.F) {
	f.Add(textrow.Append(nil, [][]byte{nil, []byte("x")}))
	f.Add([]byte{0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF})
	f.Fuzz(func(t *testing.T, data []byte) {
		cells := make([][]byte, 2)
		for len(data) > 0 {
			rest, err := textrow.Next(data, cells)
			if err != nil {
				if !errors.Is(err, textrow.ErrMalformed) {
					t.Fatalf("Next = %v", err)
				}
				return
			}
			if len(rest) >= len(data) {
				t.Fatal("Next does not advance")
			}
			data = rest
		}
	})
}
