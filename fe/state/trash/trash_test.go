package trash

import (
	"fmt"
	"testing"

	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

func TestBound(t *testing.T) {
	var all Trash
	all.Add(nil, 1, 1)
	for i := range Most + 1 {
		all.Add(&typesv1.Rowset{Path: fmt.Sprint(i)}, uint64(i), 1)
	}
	if got := all.Files(); len(got) != Most || got[0].Path != "0" {
		t.Errorf("%d files are listed, the first is %v", len(got), got[0])
	}
}

func TestRestore(t *testing.T) {
	var all Trash
	for _, tt := range []struct {
		file *raftlogv1.TrashFile
		bad  bool
	}{
		{&raftlogv1.TrashFile{Path: "a", Index: 7}, false},
		{&raftlogv1.TrashFile{Path: "b", Index: 7}, false},
		{&raftlogv1.TrashFile{Path: "c", Index: 6}, true},
		{&raftlogv1.TrashFile{Index: 8}, true},
	} {
		if err := all.Restore(tt.file); (err != nil) != tt.bad {
			t.Errorf("Restore(%v) = %v", tt.file, err)
		}
	}
}
