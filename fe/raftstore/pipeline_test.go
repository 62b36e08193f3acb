package raftstore_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"shoal/fe/raftstore"
	"shoal/fe/state"
)

// A valve is a way on which everything stays while it is shut, as on the way to
// a process that is frozen: who sends does not notice.
type valve struct {
	mu   sync.Mutex
	shut bool
	kept []func()
}

func (v *valve) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = true
}

func (v *valve) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = false
	for _, send := range v.kept {
		send()
	}
	v.kept = nil
}

type valvedConn struct {
	net.Conn
	*valve
}

func (c valvedConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.shut {
		return c.Conn.Write(b)
	}
	b = bytes.Clone(b)
	c.kept = append(c.kept, func() { c.Conn.Write(b) }) // to a connection that may have ended meanwhile
	return len(b), nil
}

// TestFrozenFollower: a follower that takes what it is sent and says nothing for
// longer than raft waits for an answer is served again afterwards by the same
// leader, and does not keep that from ending. raft v1.8.0 forgets it for good when
// it pipelines its entries.
func TestFrozenFollower(t *testing.T) {
	for round := range 3 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			synctest.Test(t, frozenFollower)
		})
	}
}

func frozenFollower(t *testing.T) {
	way := new(valve)
	members := &network{listeners: map[string]*bufconn.Listener{}, dialed: func(addr string, c net.Conn) net.Conn {
		if addr != "fe2:9010" {
			return c
		}
		return valvedConn{c, way}
	}}
	a, b, c := members.start(t, t.TempDir(), "fe1"), members.start(t, t.TempDir(), "fe2"), members.start(t, t.TempDir(), "fe3")
	propose(t, a.Store, bootstrap())
	for _, id := range []string{"fe2", "fe3"} {
		if err := a.PutServer(t.Context(), raftstore.Server{ID: id, Addr: id + ":9010", Voter: true}); err != nil {
			t.Fatal(err)
		}
	}
	leader(t, a, b, c)
	n := 0
	work := func() { // goes on, at a pace that an answer takes longer than
		propose(t, a.Store, createDatabase(fmt.Sprint("d", n)))
		n++
		time.Sleep(50 * time.Millisecond)
	}
	for range 20 {
		work()
	}
	way.close()
	for range 15 * 20 { // seconds
		work()
	}
	way.open()
	work()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Wait(ctx, func(st *state.State) bool { return st.Database(fmt.Sprint("d", n-1)) != nil }); err != nil {
		t.Errorf("the follower that was frozen has not what was decided meanwhile: %v", err)
	}
	for _, m := range []*member{a, b, c} {
		if err := m.stop(); err != nil {
			t.Error(err)
		}
	}
}
