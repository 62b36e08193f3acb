package raftstore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
)

// TestConflictingEntries: a new leader's entries take the place of those that a
// deposed one could not commit. Whoever starts again afterwards reads what was
// before them, and them. (hashicorp/raft-wal#31)
func TestConflictingEntries(t *testing.T) {
	dir := t.TempDir()
	var meta metadb.BoltMetaDB
	open := func() *wal.WAL {
		t.Helper()
		meta = metadb.BoltMetaDB{} // it stays closed
		log, err := wal.Open(dir, wal.WithMetaStore(&meta))
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	log := open()
	store := func(term, first, last uint64) {
		t.Helper()
		for index := first; index <= last; index++ {
			if err := log.StoreLog(&raft.Log{Index: index, Term: term, Data: fmt.Append(nil, index)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	store(1, 1, 10)
	if err := log.DeleteRange(6, 10); err != nil {
		t.Fatal(err)
	}
	store(2, 6, 8)
	if err := log.DeleteRange(8, 8); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(log.Close(), meta.Close()); err != nil {
		t.Fatal(err)
	}
	log = open()
	defer meta.Close()
	defer log.Close()
	if last, err := log.LastIndex(); err != nil || last != 7 {
		t.Errorf("the last index is %d, %v; want 7", last, err)
	}
	for index := uint64(1); index <= 7; index++ {
		var entry raft.Log
		if err := log.GetLog(index, &entry); err != nil {
			t.Errorf("entry %d: %v", index, err)
		} else if entry.Index != index || (entry.Term == 2) != (index >= 6) || string(entry.Data) != fmt.Sprint(index) {
			t.Errorf("entry %d is %+v", index, entry)
		}
	}
}
