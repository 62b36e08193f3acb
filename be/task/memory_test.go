package task

import (
	"errors"
	"testing"

	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// tight is a Memory of so many bytes.
type tight struct{ total, held int64 }

func (m *tight) Try(bytes int64) error {
	if bytes > max(m.total, m.held) {
		return errors.New("full")
	}
	m.held = bytes
	return nil
}

func (m *tight) Hold(bytes int64) { m.held = bytes }

// of is a fetch of one record.
func of(offset int64, bytes int) source.Fetch {
	held := source.Partition{Records: []*source.Record{{Offset: offset, Value: make([]byte, bytes)}}}
	return source.Fetch{Partitions: []source.Partition{held}}
}

// TestFetchesFitTheMemory: a task asks for little at first, for more while that
// comes, for less where records swell, and for nothing while there is no room.
func TestFetchesFitTheMemory(t *testing.T) {
	memory := &tight{total: 100 << 20}
	tk := New(Config{
		Spec:   &backendv1.TaskSpec{Load: &typesv1.RoutineLoad{MaxBatchRows: 1 << 30, MaxBatchSize: 1 << 40}},
		Source: idle{}, Runtime: Real{}, Logger: discard, MaxBytes: 1 << 40, Memory: memory,
	})
	b := &batch{}
	ask := func() int64 { return int64(tk.limits(b, 0).MaxBytes) }
	if err := tk.room(b); err != nil || ask() != firstWant/firstSwell || memory.held != byteCost*firstWant {
		t.Fatalf("at first: %v, asks for %d and takes %d", err, ask(), memory.held)
	}
	for range 20 { // of what does not swell
		tk.brought(of(0, int(ask())), b, ask())
		if err := tk.room(b); err != nil {
			t.Fatal(err)
		}
	}
	plain := ask()
	if plain < 20<<20 || plain > memory.total {
		t.Errorf("asks for %d of what comes as it is", plain)
	}
	tk.brought(of(0, int(10*plain)), b, plain) // ten times what was asked for
	if err := tk.room(b); err != nil || ask() > maxFetch/10 {
		t.Errorf("asks for %d of what swells ten times, %v", ask(), err)
	}
	b.bytes = 45 << 20
	if err := tk.room(b); err != nil || byteCost*tk.want > 10<<20 {
		t.Errorf("with 90 of 100 MiB taken it wants %d, %v", tk.want, err)
	}
	b.bytes = 60 << 20
	if err := tk.room(b); err == nil {
		t.Error("there is room beyond the memory")
	}
	tk.letGo()
	if memory.held != 0 {
		t.Errorf("%d bytes are held of nothing", memory.held)
	}
	tk.brought(source.Fetch{}, &batch{}, ask())
	if tk.want != firstWant {
		t.Errorf("on a quiet topic it wants %d", tk.want)
	}
}

// TestMemoryInHand: what the source keeps in memory counts, until the task ends,
// and can be taken from there however little room there is.
func TestMemoryInHand(t *testing.T) {
	memory := &tight{total: 10 << 20}
	tk := New(Config{
		Spec:   &backendv1.TaskSpec{Load: &typesv1.RoutineLoad{MaxBatchRows: 1 << 30, MaxBatchSize: 1 << 40}},
		Source: idle{}, Runtime: Real{}, Logger: discard, MaxBytes: 1 << 40, Memory: memory,
	})
	b := &batch{bytes: 1 << 20, records: 1}
	f := of(0, 1<<20)
	f.InHand = 40 << 20
	tk.brought(f, b, 1<<20)
	if memory.held < 42<<20 {
		t.Errorf("%d bytes are held, of 1 MiB of records and 40 MiB in hand", memory.held)
	}
	if err := tk.room(b); err == nil {
		t.Error("a txn goes on to gather beyond the memory")
	}
	tk.letGo()
	if memory.held != 40<<20 {
		t.Errorf("%d bytes are held of 40 MiB in hand", memory.held)
	}
	if err := tk.room(&batch{}); err != nil {
		t.Errorf("what is in hand cannot be taken: %v", err)
	}
	tk.close(t.Context())
	if memory.held != 0 {
		t.Errorf("%d bytes are held after the end", memory.held)
	}
}
