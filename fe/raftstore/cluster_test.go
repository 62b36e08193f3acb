package raftstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"shoal/fe/raftstore"
	"shoal/fe/state"
)

// A network is listeners in memory.
type network struct {
	mu        sync.Mutex
	listeners map[string]*bufconn.Listener
	// dialed, if it is set, is what becomes of a connection to an address.
	dialed func(addr string, c net.Conn) net.Conn
}

func (n *network) listen(addr string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := bufconn.Listen(1 << 20)
	n.listeners[addr] = l
	return l
}

func (n *network) dial(ctx context.Context, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("nobody listens at %s", addr)
	}
	c, err := l.DialContext(ctx)
	if err == nil && n.dialed != nil {
		c = n.dialed(addr, c)
	}
	return c, err
}

// A member is one frontend of three, with a log of its leaderships.
type member struct {
	*raftstore.Store
	stop func() error

	mu    sync.Mutex
	terms []uint64
	leads bool
}

func (n *network) start(t *testing.T, dir, id string) *member {
	t.Helper()
	return n.startAt(t, dir, id, id+":9010")
}

func (n *network) startAt(t *testing.T, dir, id, addr string) *member {
	t.Helper()
	s, err := raftstore.Open(raftstore.Config{Dir: dir, ID: id, Listener: n.listen(addr), Advertise: addr,
		Dial: n.dial, Bootstrap: id == "fe1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m := &member{Store: s}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.RunLeader(ctx, m.duties) }()
	m.stop = func() error {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("RunLeader = %v", err)
		}
		return s.Close()
	}
	return m
}

// duties last as long as the leadership and note it.
func (m *member) duties(ctx context.Context, term uint64) error {
	m.mu.Lock()
	m.terms, m.leads = append(m.terms, term), true
	m.mu.Unlock()
	<-ctx.Done()
	m.mu.Lock()
	m.leads = false
	m.mu.Unlock()
	return ctx.Err()
}

func (m *member) leading() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leads
}

// leader waits until exactly one of the members leads.
func leader(t *testing.T, members ...*member) *member {
	t.Helper()
	for range 600 {
		var found []*member
		for _, m := range members {
			if m.leading() {
				found = append(found, m)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
		time.Sleep(100 * time.Millisecond) // virtual
	}
	t.Fatal("no single leader within a minute")
	return nil
}

// TestLeaderChanges runs three frontends in virtual time, ends the leader, and
// wants the others to go on where it stopped, and it to follow when it is back.
func TestLeaderChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &network{listeners: map[string]*bufconn.Listener{}}
		dirs := map[string]string{"fe1": t.TempDir(), "fe2": t.TempDir(), "fe3": t.TempDir()}
		a, b, c := network.start(t, dirs["fe1"], "fe1"), network.start(t, dirs["fe2"], "fe2"), network.start(t, dirs["fe3"], "fe3")
		propose(t, a.Store, bootstrap())
		for _, id := range []string{"fe2", "fe3"} {
			if err := a.PutServer(t.Context(), raftstore.Server{ID: id, Addr: id + ":9010", Voter: true}); err != nil {
				t.Fatal(err)
			}
		}
		if r := propose(t, a.Store, createDatabase("a")); r.Err != nil {
			t.Fatal(r.Err)
		}
		first := leader(t, a, b, c)
		has := func(name string) func(*state.State) bool {
			return func(st *state.State) bool { return st.Database(name) != nil }
		}
		for _, m := range []*member{a, b, c} {
			if err := m.Wait(t.Context(), has("a")); err != nil {
				t.Fatal(err)
			}
		}
		var follower *raftstore.NotLeaderError
		if _, err := b.Propose(t.Context(), createDatabase("x")); !errors.As(err, &follower) || follower.LeaderID != "fe1" || follower.Addr != "fe1:9010" {
			t.Errorf("Propose at a follower = %v, want fe1 named", err)
		}
		if err := b.ReadIndex(t.Context()); !errors.As(err, &follower) {
			t.Errorf("ReadIndex at a follower = %v, want NotLeaderError", err)
		}

		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		second := leader(t, b, c)
		if second.terms[0] <= first.terms[0] {
			t.Errorf("terms went from %v to %v", first.terms, second.terms)
		}
		if r := propose(t, second.Store, createDatabase("b")); r.Err != nil {
			t.Fatal(r.Err)
		}

		a = network.start(t, dirs["fe1"], "fe1")
		if err := a.Wait(t.Context(), has("b")); err != nil {
			t.Fatal(err)
		}
		if leader(t, a, b, c) != second {
			t.Error("the frontend that came back took the leadership")
		}
		for _, m := range []*member{a, b, c} {
			if err := m.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestFateIsUnknown: a leader without its followers cannot say what becomes of
// a command, and stops being one.
func TestFateIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &network{listeners: map[string]*bufconn.Listener{}}
		a, b := network.start(t, t.TempDir(), "fe1"), network.start(t, t.TempDir(), "fe2")
		propose(t, a.Store, bootstrap())
		if err := a.PutServer(t.Context(), raftstore.Server{ID: "fe2", Addr: "fe2:9010", Voter: true}); err != nil {
			t.Fatal(err)
		}
		leader(t, a)
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Propose(t.Context(), createDatabase("a")); !errors.Is(err, raftstore.ErrFateUnknown) {
			t.Errorf("Propose without a majority = %v, want ErrFateUnknown", err)
		}
		synctest.Wait()
		if a.leading() {
			t.Error("duties go on without a majority")
		}
		if err := a.stop(); err != nil {
			t.Error(err)
		}
	})
}
