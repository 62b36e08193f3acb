package raftstore

import (
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"

	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// An fsm applies raft's log to the state.
type fsm struct {
	mu      sync.RWMutex // raft's FSM goroutine writes, View reads
	state   *state.State
	changed chan struct{} // closed at the next change; nil while nobody asked
}

func newFSM() *fsm { return &fsm{state: state.New()} }

// Apply is ApplyBatch for one entry.
func (f *fsm) Apply(entry *raft.Log) any { return f.ApplyBatch([]*raft.Log{entry})[0] }

// ApplyBatch applies entries that were committed together, under one lock. An
// entry that can't be read stops the process, since the state would fork.
func (f *fsm) ApplyBatch(entries []*raft.Log) []any {
	results := make([]any, len(entries))
	commands := make([]*raftlogv1.Command, len(entries))
	for i, entry := range entries {
		if entry.Type != raft.LogCommand {
			continue
		}
		commands[i] = new(raftlogv1.Command)
		if err := proto.Unmarshal(entry.Data, commands[i]); err != nil {
			panic(fmt.Sprintf("raftstore: log entry %d cannot be read: %v", entry.Index, err))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, cmd := range commands {
		if cmd != nil {
			results[i] = f.state.Apply(entries[i].Index, cmd)
		}
	}
	f.announce()
	return results
}

// announce wakes who waits for a change. The lock is held.
func (f *fsm) announce() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

func (f *fsm) change() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

func (f *fsm) view(read func(*state.State)) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	read(f.state)
}

// Snapshot takes a copy that is written while entries go on being applied.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return snapshot{f.state.Clone()}, nil
}

// Restore replaces the state by a snapshot.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	restored, err := state.ReadSnapshot(r)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = restored
	f.announce()
	return nil
}

// A snapshot is a state that nobody changes any more.
type snapshot struct{ state *state.State }

// Persist writes the snapshot to raft's sink.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.state.WriteSnapshot(sink); err != nil {
		_ = sink.Cancel() // the error that led here says more
		return err
	}
	return sink.Close()
}

// Release has nothing to release.
func (s snapshot) Release() {}
