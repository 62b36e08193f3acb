package state_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"shoal/fe/state"
)

func TestReadSnapshotOfDamagedBytes(t *testing.T) {
	c := newCluster(t)
	c.commit(c.txn(0, 1, [2]int64{0, 9}))
	c.commit(c.txn(1, 1, [2]int64{20, 29}))
	whole := c.snapshot()
	for n := range whole {
		if _, err := state.ReadSnapshot(bytes.NewReader(whole[:n])); !errors.Is(err, state.ErrSnapshot) {
			t.Fatalf("cut off after %d of %d bytes: %v, want ErrSnapshot", n, len(whole), err)
		}
	}
	if _, err := state.ReadSnapshot(bytes.NewReader(append(whole, 0))); !errors.Is(err, state.ErrSnapshot) {
		t.Errorf("with a byte more: %v, want ErrSnapshot", err)
	}
	other := bytes.Clone(whole)
	other[2] = 99 // the format version follows its tag
	if _, err := state.ReadSnapshot(bytes.NewReader(other)); !errors.Is(err, state.ErrSnapshot) {
		t.Errorf("another format version: %v, want ErrSnapshot", err)
	}
}

// FuzzReadSnapshot wants an error or a state that commands can be applied to
// and that is written again as it was read.
func FuzzReadSnapshot(f *testing.F) {
	fixture, err := os.ReadFile("testdata/v1/snapshot")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(fixture)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := state.ReadSnapshot(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, state.ErrSnapshot) {
				t.Errorf("error without ErrSnapshot: %v", err)
			}
			return
		}
		written := snapshot(t, s)
		again, err := state.ReadSnapshot(bytes.NewReader(written))
		if err != nil || !bytes.Equal(snapshot(t, again), written) {
			t.Fatalf("what was read and written reads as another state: %v", err)
		}
		for i, cmd := range everyCommand(t) {
			s.Apply(s.Applied()+uint64(i)+1, cmd)
		}
	})
}
