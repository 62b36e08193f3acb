package raftstore_test

import (
	"testing"

	"github.com/hashicorp/raft"

	"shoal/fe/raftstore"
)

// TestHeartbeatWhileClosing: the transport is closed once no heartbeat is being
// handled, and after that none is.
func TestHeartbeatWhileClosing(t *testing.T) {
	entered, leave, handled := make(chan struct{}), make(chan struct{}), 0
	guarded, closeAll := raftstore.Guard(func(raft.RPC) { close(entered); <-leave; handled++ })
	go guarded(raft.RPC{})
	<-entered
	closed := make(chan struct{})
	go func() { closeAll(); close(closed) }()
	close(leave)
	<-closed
	answer := make(chan raft.RPCResponse, 1)
	guarded(raft.RPC{RespChan: answer})
	if got := <-answer; got.Error == nil || handled != 1 {
		t.Errorf("a heartbeat after the end: %v, and %d were handled", got.Error, handled)
	}
}
