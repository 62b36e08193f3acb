package raftstore_test

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"shoal/fe/raftstore"
	"shoal/fe/state"
)

// A folder is read without a majority: the snapshot, and the log behind it. One
// that is planted from that goes on from there, with other ids.
func TestReadAndPlant(t *testing.T) {
	dir, quiet := filepath.Join(t.TempDir(), "raft"), slog.New(slog.DiscardHandler)
	if _, err := raftstore.Read(dir, quiet); err == nil {
		t.Error("no folder, and no error")
	}
	s := open(t, dir)
	propose(t, s, bootstrap())
	for i := range 3 {
		propose(t, s, createDatabase(fmt.Sprint("before", i)))
	}
	if err := s.TakeSnapshot(1); err != nil {
		t.Fatal(err)
	}
	propose(t, s, createDatabase("behind"))
	if _, err := raftstore.Read(dir, quiet); !errors.Is(err, raftstore.ErrInUse) {
		t.Errorf("Read of a folder in use: %v", err)
	}
	applied := s.AppliedIndex()
	closeStore(t, s)
	for range 2 { // reading changes nothing
		read, err := raftstore.Read(dir, quiet)
		if err != nil || read.Applied() != applied || len(read.Databases()) != 4 {
			t.Fatalf("Read = %v", err)
		}
	}

	read, err := raftstore.Read(dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	planted := filepath.Join(t.TempDir(), "raft")
	for _, want := range []bool{true, false} {
		if err := raftstore.Plant(planted, "fe1", "127.0.0.1:1", read, quiet); (err == nil) != want {
			t.Errorf("Plant = %v", err)
		}
	}
	next := open(t, planted)
	defer closeStore(t, next)
	if r := propose(t, next, createDatabase("after")); r.Err != nil {
		t.Error(r.Err)
	}
	next.View(func(st *state.State) {
		if len(st.Databases()) != 5 || st.Applied() <= applied {
			t.Errorf("%d databases at index %d, after %d", len(st.Databases()), st.Applied(), applied)
		}
	})
}

// TestReadBehindBarriers: what the log does not have before its first entry is in
// the snapshot, also if commands were not the last that it took.
func TestReadBehindBarriers(t *testing.T) {
	dir, quiet := filepath.Join(t.TempDir(), "raft"), slog.New(slog.DiscardHandler)
	s := open(t, dir)
	propose(t, s, bootstrap())
	for range 3 {
		if err := s.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.TakeSnapshot(1); err != nil {
		t.Fatal(err)
	}
	propose(t, s, createDatabase("behind"))
	closeStore(t, s)
	if read, err := raftstore.Read(dir, quiet); err != nil || len(read.Databases()) != 1 {
		t.Fatalf("Read = %v", err)
	}
}
