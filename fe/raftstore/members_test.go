package raftstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"shoal/fe/raftstore"
	"shoal/fe/state"
	"shoal/internal/nodetls"
)

// A trio is three frontends in virtual time, of which fe1 made the cluster.
type trio struct {
	*network
	t       *testing.T
	dirs    map[string]string
	members map[string]*member
}

func startTrio(t *testing.T) *trio {
	t.Helper()
	f := &trio{&network{listeners: map[string]*bufconn.Listener{}}, t, map[string]string{}, map[string]*member{}}
	for _, id := range []string{"fe1", "fe2", "fe3"} {
		f.dirs[id] = t.TempDir()
		f.members[id] = f.start(t, f.dirs[id], id)
	}
	propose(t, f.members["fe1"].Store, bootstrap())
	f.put("fe1", raftstore.Server{ID: "fe2", Addr: "fe2:9010", Voter: true})
	f.put("fe1", raftstore.Server{ID: "fe3", Addr: "fe3:9010", Voter: true})
	f.settle("before")
	return f
}

func (f *trio) put(at string, server raftstore.Server) {
	f.t.Helper()
	if err := f.members[at].PutServer(f.t.Context(), server); err != nil {
		f.t.Fatal(err)
	}
}

// settle makes a database at the leader and waits until every member has it.
func (f *trio) settle(name string) (leader *member) {
	f.t.Helper()
	leader = f.leader()
	if r := propose(f.t, leader.Store, createDatabase(name)); r.Err != nil {
		f.t.Fatal(r.Err)
	}
	for _, m := range f.members {
		if err := m.Wait(f.t.Context(), func(st *state.State) bool { return st.Database(name) != nil }); err != nil {
			f.t.Fatal(err)
		}
	}
	return leader
}

func (f *trio) leader() *member {
	f.t.Helper()
	synctest.Wait() // one that lost the leadership has heard of it
	var all []*member
	for _, m := range f.members {
		all = append(all, m)
	}
	return leader(f.t, all...)
}

// stop ends a member.
func (f *trio) stop(id string) {
	f.t.Helper()
	if err := f.members[id].stop(); err != nil {
		f.t.Error(err)
	}
	delete(f.members, id)
}

func (f *trio) stopAll() {
	for id := range f.members {
		f.stop(id)
	}
}

func idOf(m *member, f *trio) string {
	for id, other := range f.members {
		if other == m {
			return id
		}
	}
	return ""
}

// TestLostLeader: a leader that is gone is replaced within three seconds.
func TestLostLeader(t *testing.T) {
	var longest time.Duration
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			f := startTrio(t)
			f.stop(idOf(f.leader(), f))
			lost := time.Now()
			f.leader()
			longest = max(longest, time.Since(lost))
			f.settle("after")
			f.stopAll()
		})
	}
	if longest > 3*time.Second {
		t.Errorf("it took %v", longest)
	}
}

// TestAbdicate: a leader that is told to hands over before anybody misses it,
// and goes on as a follower.
func TestAbdicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startTrio(t)
		first := f.leader()
		began := time.Now()
		if err := first.Abdicate(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := f.settle("after")
		if took := time.Since(began); second == first || took > time.Second/2 {
			t.Errorf("the leadership moved: %v, within %v", second != first, took)
		}
		if err := first.Abdicate(t.Context()); err != nil {
			t.Errorf("a follower has nothing to give: %v", err)
		}
		f.stopAll()
	})
}

// TestAbdicateAlone: where nobody can take over, the leader says so and stays.
func TestAbdicateAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startTrio(t)
		f.stop("fe3")
		f.stop("fe2")
		if err := f.members["fe1"].Abdicate(t.Context()); !errors.Is(err, raftstore.ErrNoSuccessor) {
			t.Errorf("Abdicate = %v, want ErrNoSuccessor", err)
		}
		f.stopAll()
	})
	s := open(t, t.TempDir())
	defer closeStore(t, s)
	propose(t, s, bootstrap())
	if err := s.Abdicate(t.Context()); err != nil {
		t.Errorf("Abdicate of a lone voter = %v", err)
	}
}

// TestEmptiedFolder: what answers at the address of a voter whose folder was
// emptied gets no entry and gives no vote in its name; it becomes a member under
// its own id.
func TestEmptiedFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startTrio(t)
		f.stop("fe3")
		wiped := f.startAt(t, t.TempDir(), "fe4", "fe3:9010")
		f.settle("a")
		f.stop("fe2")
		if _, err := f.members["fe1"].Propose(t.Context(), createDatabase("b")); err == nil {
			t.Error("an entry was committed by a majority that includes an emptied folder")
		}
		time.Sleep(time.Minute) // virtual
		if wiped.AppliedIndex() != 0 || f.members["fe1"].leading() {
			t.Errorf("the emptied folder applied %d entries, and fe1 leads: %v", wiped.AppliedIndex(), f.members["fe1"].leading())
		}
		f.members["fe2"] = f.start(t, f.dirs["fe2"], "fe2")
		led := f.settle("c")
		if err := led.RemoveServer(t.Context(), "fe3"); err != nil {
			t.Fatal(err)
		}
		f.members["fe4"] = wiped
		f.put(idOf(led, f), raftstore.Server{ID: "fe4", Addr: "fe3:9010"})
		f.settle("d")
		f.put(idOf(led, f), raftstore.Server{ID: "fe4", Addr: "fe3:9010", Voter: true})
		f.stop(idOf(led, f))
		f.settle("e") // by the one that is left of the first three, and the new one
		f.stopAll()
	})
}

// TestObserver: without a vote a member has the state, and never leads.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &network{listeners: map[string]*bufconn.Listener{}}
		a, b := network.start(t, t.TempDir(), "fe1"), network.start(t, t.TempDir(), "fe2")
		propose(t, a.Store, bootstrap())
		if err := a.PutServer(t.Context(), raftstore.Server{ID: "fe2", Addr: "fe2:9010"}); err != nil {
			t.Fatal(err)
		}
		if err := b.Wait(t.Context(), func(st *state.State) bool { return st.ClusterInfo() != nil }); err != nil {
			t.Fatal(err)
		}
		if servers, err := b.Servers(); err != nil || fmt.Sprint(servers) != "[{fe1 fe1:9010 true} {fe2 fe2:9010 false}]" {
			t.Errorf("servers are %v, %v", servers, err)
		}
		if err := a.stop(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) // virtual
		if b.leading() || len(b.terms) > 0 {
			t.Error("an observer leads")
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestLostLog(t *testing.T) {
	config := func(begun bool) raftstore.Config {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return raftstore.Config{Dir: filepath.Join(t.TempDir(), "raft"), ID: "fe1", Listener: lis, Bootstrap: true, Begun: begun, Logger: slog.New(slog.DiscardHandler)}
	}
	if _, err := raftstore.Open(config(true)); !errors.Is(err, raftstore.ErrLogLost) {
		t.Errorf("Open of an emptied folder = %v, want ErrLogLost", err)
	}
	cfg := config(false)
	s, err := raftstore.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	propose(t, s, bootstrap())
	closeStore(t, s)
	again := config(true)
	again.Dir = cfg.Dir
	if s, err = raftstore.Open(again); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
}

// TestProof: a follower takes entries from nodes of its authority, and with its
// token, only.
func TestProof(t *testing.T) {
	certs := func() (node, operator *nodetls.Credentials) {
		dir := t.TempDir()
		if _, err := nodetls.Issue(dir, [][]string{{"127.0.0.1"}}, false, time.Now()); err != nil {
			t.Fatal(err)
		}
		var opened [2]*nodetls.Credentials
		for i, folder := range []string{"127.0.0.1", "operator"} {
			var err error
			if opened[i], err = nodetls.Open(filepath.Join(dir, folder), slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
		}
		return opened[0], opened[1]
	}
	node, operator := certs()
	stranger, _ := certs()
	token := func(text string) nodetls.Token {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		token, err := nodetls.ReadToken(path)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	ours, theirs, none := token("0123456789abcdef"), token("fedcba9876543210"), nodetls.Token{}
	for _, tt := range []struct {
		name             string
		leader, follower *nodetls.Credentials
		has, wants       nodetls.Token // leader, follower
		followed         bool
	}{
		{name: "nodes of one authority", leader: node, follower: node, followed: true},
		{name: "other authority", leader: stranger, follower: node},
		{name: "operator", leader: operator, follower: node},
		{name: "leader in clear", leader: nil, follower: node},
		{name: "follower in clear", leader: node, follower: nil},
		{name: "both in clear, on loopback", followed: true},
		{name: "one token", leader: node, follower: node, has: ours, wants: ours, followed: true},
		{name: "one token, in clear", has: ours, wants: ours, followed: true},
		{name: "other token", leader: node, follower: node, has: theirs, wants: ours},
		{name: "no token", has: none, wants: ours},
		{name: "a token that nobody wants", has: ours, wants: none, followed: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			open := func(id string, tls *nodetls.Credentials, token nodetls.Token) (*raftstore.Store, string) {
				lis, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				s, err := raftstore.Open(raftstore.Config{Dir: t.TempDir(), ID: id, Listener: lis, TLS: tls, Token: token, Bootstrap: id == "fe1", Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { closeStore(t, s) })
				return s, lis.Addr().String()
			}
			leader, _ := open("fe1", tt.leader, tt.has)
			follower, addr := open("fe2", tt.follower, tt.wants)
			propose(t, leader, bootstrap())
			if err := leader.PutServer(t.Context(), raftstore.Server{ID: "fe2", Addr: addr}); err != nil {
				t.Fatal(err)
			}
			patience := deadline
			if !tt.followed {
				patience = time.Second / 4
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := follower.Wait(ctx, func(st *state.State) bool { return st.ClusterInfo() != nil })
			if (err == nil) != tt.followed {
				t.Errorf("it follows: %v, want %v", err == nil, tt.followed)
			}
		})
	}
}

// TestReadIndexAsksVoters: a leader that hears of observers only does not pass
// for one.
func TestReadIndexAsksVoters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startTrio(t)
		led := f.leader()
		for id, m := range f.members {
			if m == led {
				continue
			}
			if err := led.RemoveServer(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			f.put(idOf(led, f), raftstore.Server{ID: id, Addr: id + ":9010"})
		}
		f.members["fe4"] = f.start(t, t.TempDir(), "fe4")
		f.put(idOf(led, f), raftstore.Server{ID: "fe4", Addr: "fe4:9010", Voter: true})
		f.settle("a")
		if err := led.ReadIndex(t.Context()); err != nil {
			t.Errorf("ReadIndex = %v", err)
		}
		f.stop("fe4")
		if err := led.ReadIndex(t.Context()); !errors.Is(err, raftstore.ErrFateUnknown) {
			t.Errorf("ReadIndex without the other voter = %v", err)
		}
		f.stopAll()
	})
}

// TestReadIndexWhileMembersLeave: it ends, though a member that was asked is
// none any more. Of four, the two that do not answer are needed as long as they
// are members.
func TestReadIndexWhileMembersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startTrio(t)
		led := f.leader()
		f.members["fe4"] = f.start(t, t.TempDir(), "fe4")
		f.put(idOf(led, f), raftstore.Server{ID: "fe4", Addr: "fe4:9010", Voter: true})
		f.settle("a")
		for _, id := range []string{"fe1", "fe2", "fe3"} {
			if f.members[id] != led {
				f.stop(id)
				break
			}
		}
		f.stop("fe4")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // virtual
		defer cancel()
		var calls sync.WaitGroup
		calls.Go(func() {
			if err := led.ReadIndex(ctx); errors.Is(err, context.DeadlineExceeded) {
				t.Error("ReadIndex does not end")
			}
		})
		synctest.Wait()
		calls.Go(func() {
			if err := led.RemoveServer(ctx, "fe4"); errors.Is(err, context.DeadlineExceeded) {
				t.Error("RemoveServer does not end")
			}
		})
		calls.Wait()
		f.stopAll()
	})
}
