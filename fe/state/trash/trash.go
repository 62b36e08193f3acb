// Package trash is the part of the replicated state that lists files which the
// state machine itself let go: rowsets of tables that were dropped or truncated,
// files of txns that it refused, error rowsets that are not kept any more.
//
// The list is there so that they can be removed soon and without listing the
// warehouse; the leader removes them and says so (fe/removal). It is not what
// makes a file unneeded, and need not be complete: beyond Most files it takes
// none, and a sweep of the warehouse finds the rest. Pure, like all of the
// replicated state.
package trash

import (
	"fmt"
	"slices"

	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// Most is how many files are listed: some 10 MiB of a snapshot.
const Most = 100_000

// Trash is files in the order in which they were let go. The zero Trash is empty.
type Trash struct {
	files []*raftlogv1.TrashFile
}

// Add lists a file that the log entry at index let go. nil is no file.
func (t *Trash) Add(r *typesv1.Rowset, index uint64, atMs int64) {
	if r != nil && len(t.files) < Most {
		t.files = append(t.files, &raftlogv1.TrashFile{Path: r.Path, Bytes: r.Bytes, Index: index, AtMs: atMs})
	}
}

// Remove forgets files that are removed. Those that it does not have it ignores:
// an earlier leader removed the same.
func (t *Trash) Remove(paths []string) {
	gone := make(map[string]bool, len(paths))
	for _, p := range paths {
		gone[p] = true
	}
	left := make([]*raftlogv1.TrashFile, 0, len(t.files))
	for _, f := range t.files {
		if !gone[f.Path] {
			left = append(left, f)
		}
	}
	t.files = left
}

// Files are ordered by the log index that let them go. The slice does not change
// any more.
func (t *Trash) Files() []*raftlogv1.TrashFile { return slices.Clip(t.files) }

// Restore adds a file from a snapshot. An error says what in it can't be true.
func (t *Trash) Restore(f *raftlogv1.TrashFile) error {
	if f.Path == "" || len(t.files) > 0 && f.Index < t.files[len(t.files)-1].Index {
		return fmt.Errorf("trash file %q has no path or is out of order", f.Path)
	}
	t.files = append(t.files, f)
	return nil
}
