package membership_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/test/bufconn"

	"shoal/fe/membership"
	"shoal/fe/raftstore"
	"shoal/fe/state"
	"shoal/fe/state/cluster"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	follower = raftlogv1.FrontendRole_FRONTEND_ROLE_FOLLOWER
	observer = raftlogv1.FrontendRole_FRONTEND_ROLE_OBSERVER
)

// A world is frontends in virtual time, without anything but Raft and
// membership.
type world struct {
	t         *testing.T
	mu        sync.Mutex
	listeners map[string]*bufconn.Listener
	nodes     map[string]*node // by id, those that run
	dirs      map[string]string
}

// A node is one frontend; its raft listens at its host, port 9010.
type node struct {
	*raftstore.Store
	*membership.Members
	host   string
	retire func() // ends the leader's duties
	stop   func()
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, listeners: map[string]*bufconn.Listener{}, nodes: map[string]*node{}, dirs: map[string]string{}}
	first := w.start("fe1", "h1", true)
	w.must(first.propose(t.Context(), &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}}))
	_, err := first.Join(t.Context(), request("fe1", "h1"))
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) dial(ctx context.Context, addr string) (net.Conn, error) {
	w.mu.Lock()
	l := w.listeners[addr]
	w.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("nobody listens at %s", addr)
	}
	return l.DialContext(ctx)
}

// start runs a frontend, on the folder that it had if it ran before.
func (w *world) start(id, host string, makesCluster bool) *node {
	w.t.Helper()
	if w.dirs[id] == "" {
		w.dirs[id] = w.t.TempDir()
	}
	addr, logger := net.JoinHostPort(host, "9010"), slog.New(slog.DiscardHandler)
	lis := bufconn.Listen(1 << 20)
	w.mu.Lock()
	w.listeners[addr] = lis
	w.mu.Unlock()
	store, err := raftstore.Open(raftstore.Config{Dir: w.dirs[id], ID: id, Listener: lis, Advertise: addr, Dial: w.dial, Bootstrap: makesCluster, Logger: logger})
	w.must(err)
	n := &node{Store: store, host: host}
	n.Members = &membership.Members{Store: store, Self: id, Key: func() ([]byte, error) { return []byte("key"), nil }, Answers: w.answers, Logger: logger}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- store.RunLeader(ctx, func(ctx context.Context, _ uint64) error { return n.Run(ctx) }) }()
	n.retire = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	n.stop = func() {
		n.retire()
		w.must(store.Close())
		delete(w.nodes, id)
	}
	w.nodes[id] = n
	return n
}

// answers is a frontend that runs; their rpc port is 9020, and all started at 1.
func (w *world) answers(_ context.Context, addr string) *frontendv1.FrontendStatusResponse {
	for id, n := range w.nodes {
		if net.JoinHostPort(n.host, "9020") == addr {
			return &frontendv1.FrontendStatusResponse{FrontendId: id, StartedMs: 1}
		}
	}
	return nil
}

func request(id, host string) *frontendv1.JoinFrontendRequest {
	return &frontendv1.JoinFrontendRequest{FrontendId: id, Host: host, RaftPort: 9010, RpcPort: 9020, MysqlPort: 9030}
}

// leader waits until one of those that run leads.
func (w *world) leader() *node {
	w.t.Helper()
	for range 600 {
		for _, n := range w.nodes {
			if n.ReadIndex(w.t.Context()) == nil {
				return n
			}
		}
		time.Sleep(100 * time.Millisecond) // virtual
	}
	w.t.Fatal("nobody leads within a minute")
	return nil
}

// join takes a new frontend all the way in.
func (w *world) join(id, host string) *node {
	w.t.Helper()
	resp, err := w.leader().Join(w.t.Context(), request(id, host))
	w.must(err)
	if resp.ClusterId != "c1" || resp.Warehouse != "file:///w" || string(resp.ClusterKey) != "key" {
		w.t.Errorf("%s is told %v", id, resp)
	}
	n := w.start(id, host, false)
	w.must(n.Wait(w.t.Context(), func(st *state.State) bool { return st.Applied() >= resp.ReadIndex }))
	req := request(id, host)
	req.ClusterId, req.CaughtUp = "c1", true
	_, err = w.leader().Join(w.t.Context(), req)
	w.must(err)
	return n
}

// votes waits until Raft's members are these, as "id", or "(id)" without a vote.
func (w *world) votes(want ...string) {
	w.t.Helper()
	var got []string
	for range 600 {
		servers, err := w.leader().Servers()
		w.must(err)
		got = nil
		for _, s := range servers {
			if !s.Voter {
				s.ID = "(" + s.ID + ")"
			}
			got = append(got, s.ID)
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			return
		}
		time.Sleep(100 * time.Millisecond) // virtual
	}
	w.t.Errorf("members of Raft are %v, want %v", got, want)
}

func (n *node) propose(ctx context.Context, cmd *raftlogv1.Command) error {
	for {
		applied, err := n.Propose(ctx, cmd)
		var not *raftstore.NotLeaderError
		if !errors.As(err, &not) {
			return errors.Join(err, applied.Err)
		}
		time.Sleep(100 * time.Millisecond) // virtual
	}
}

func createDatabase(name string) *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: name}}}
}

// inWorld runs a test in virtual time, and ends what runs then.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		test(w)
		for _, n := range w.nodes {
			n.stop()
		}
	})
}

// TestJoinUnderLoad: who joins gets its vote when it has the log, and nothing
// that was answered is lost when then the leader is.
func TestJoinUnderLoad(t *testing.T) {
	inWorld(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.t.Context())
		first, made := w.leader(), 0
		loaded := make(chan error)
		go func() {
			for ; ctx.Err() == nil; made++ {
				if _, err := first.Propose(w.t.Context(), createDatabase(fmt.Sprint("d", made))); err != nil {
					loaded <- err
					return
				}
				time.Sleep(time.Millisecond) // virtual
			}
			loaded <- nil
		}()
		resp, err := first.Join(w.t.Context(), request("fe2", "h2"))
		w.must(err)
		w.votes("(fe2)", "fe1")
		n := w.start("fe2", "h2", false)
		w.must(n.Wait(w.t.Context(), func(st *state.State) bool { return st.Applied() >= resp.ReadIndex }))
		w.votes("(fe2)", "fe1")
		req := request("fe2", "h2")
		req.CaughtUp = true
		_, err = first.Join(w.t.Context(), req)
		w.must(err)
		w.votes("fe1", "fe2")
		w.join("fe3", "h3")
		w.votes("fe1", "fe2", "fe3")
		cancel()
		w.must(<-loaded)
		first.stop()
		have := 0
		w.leader().View(func(st *state.State) { have = len(st.Databases()) })
		if have < made {
			w.t.Errorf("%d databases are left of %d", have, made)
		}
	})
}

// TestUnreachableJoiner: one that asks and is never heard of again holds nothing
// up, whatever it says.
func TestUnreachableJoiner(t *testing.T) {
	inWorld(t, func(w *world) {
		_, err := w.leader().Join(w.t.Context(), request("fe2", "h2"))
		w.must(err)
		w.must(w.nodes["fe1"].propose(w.t.Context(), createDatabase("a")))
		w.votes("(fe2)", "fe1")
	})
}

// TestEmptiedFolder: a new id at an address takes the place of the old one,
// which is no member any more and stays away.
func TestEmptiedFolder(t *testing.T) {
	inWorld(t, func(w *world) {
		w.join("fe2", "h2")
		w.must(w.leader().Add(w.t.Context(), observer, "h3", 9010))
		w.join("fe3", "h3")
		w.votes("(fe3)", "fe1", "fe2")
		w.join("fe4", "h4")
		w.nodes["fe2"].stop()
		w.join("fe5", "h2")
		w.votes("(fe3)", "fe1", "fe4", "fe5")
		w.nodes["fe3"].stop()
		w.join("fe6", "h3")
		w.votes("(fe6)", "fe1", "fe4", "fe5")
		if _, err := w.leader().Join(w.t.Context(), request("fe2", "h2")); !errors.Is(err, cluster.ErrFrontendDropped) {
			w.t.Errorf("the old folder joins again: %v", err)
		}
		w.leader().stop()
		w.must(w.leader().propose(w.t.Context(), createDatabase("a"))) // fe5 has a vote
	})
}

// TestMove: a frontend that comes back at another address is reached there.
func TestMove(t *testing.T) {
	inWorld(t, func(w *world) {
		w.join("fe2", "h2")
		w.join("fe3", "h3")
		w.nodes["fe2"].stop()
		moved := w.start("fe2", "h9", false)
		_, err := w.leader().Join(w.t.Context(), request("fe2", "h9"))
		w.must(err)
		w.must(w.leader().propose(w.t.Context(), createDatabase("a")))
		w.must(moved.Wait(w.t.Context(), func(st *state.State) bool { return st.Database("a") != nil }))
		w.votes("fe1", "fe2", "fe3")
	})
}

// TestMoveAlone: so is a lone one that leads wherever it is.
func TestMoveAlone(t *testing.T) {
	inWorld(t, func(w *world) {
		w.nodes["fe1"].stop()
		w.start("fe1", "h9", false)
		_, err := w.leader().Join(w.t.Context(), request("fe1", "h9"))
		w.must(err)
		if servers, err := w.leader().Servers(); err != nil || len(servers) != 1 || servers[0].Addr != "h9:9010" {
			w.t.Errorf("members of Raft are %v, %v", servers, err)
		}
		w.join("fe2", "h2")
	})
}

// TestDrop: what is dropped is no member of Raft, and comes back only if it is
// added, as what it is added, and without its log.
func TestDrop(t *testing.T) {
	inWorld(t, func(w *world) {
		w.join("fe2", "h2")
		w.join("fe3", "h3")
		w.must(w.leader().Drop(w.t.Context(), follower, "h3", 9010))
		w.votes("fe1", "fe2")
		for _, id := range []string{"fe3", "fe4"} {
			if _, err := w.leader().Join(w.t.Context(), request(id, "h3")); !errors.Is(err, cluster.ErrFrontendDropped) {
				w.t.Errorf("%s joins again: %v", id, err)
			}
		}
		if err := w.leader().Drop(w.t.Context(), follower, "h3", 9010); !errors.Is(err, cluster.ErrNoFrontend) {
			w.t.Errorf("dropped twice: %v", err)
		}
		w.must(w.leader().Add(w.t.Context(), observer, "h3", 9010))
		again := request("fe3", "h3")
		again.ClusterId = "c1"
		if _, err := w.leader().Join(w.t.Context(), again); !errors.Is(err, membership.ErrNoMember) {
			w.t.Errorf("fe3 joins again with its log: %v", err)
		}
		w.nodes["fe3"].stop()
		w.join("fe4", "h3")
		w.votes("(fe4)", "fe1", "fe2")
	})
}

// TestDropRefused: not the leader, nor one that the others cannot do without.
func TestDropRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		if err := w.leader().Drop(w.t.Context(), follower, "h1", 9010); !errors.Is(err, membership.ErrLeads) || !strings.Contains(err.Error(), "it is the only FOLLOWER") {
			w.t.Errorf("the only frontend is dropped: %v", err)
		}
		w.join("fe2", "h2")
		if err := w.leader().Drop(w.t.Context(), follower, "h1", 9010); !errors.Is(err, membership.ErrLeads) || !strings.Contains(err.Error(), "when another frontend leads") {
			w.t.Errorf("the leader is dropped: %v", err)
		}
		w.join("fe3", "h3")
		w.nodes["fe3"].stop()
		if err := w.leader().Drop(w.t.Context(), follower, "h2", 9010); !errors.Is(err, membership.ErrMajority) || !strings.Contains(err.Error(), "1 of 2 answer") {
			w.t.Errorf("the majority is dropped: %v", err)
		}
		if err := w.nodes["fe2"].Drop(w.t.Context(), follower, "h3", 9010); !errors.As(err, new(*raftstore.NotLeaderError)) {
			w.t.Errorf("a follower drops: %v", err)
		}
		w.must(w.leader().Drop(w.t.Context(), follower, "h3", 9010))
		w.must(w.leader().Drop(w.t.Context(), follower, "h2", 9010))
		w.votes("fe1")
	})
}

// TestDropTwoAtOnce: each of two could go, and not both.
func TestDropTwoAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, n := range []string{"2", "3", "4"} {
			w.join("fe"+n, "h"+n)
		}
		w.nodes["fe4"].stop()
		leader, refused := w.leader(), make(chan error)
		for _, host := range []string{"h2", "h3"} {
			go func() { refused <- leader.Drop(w.t.Context(), follower, host, 9010) }()
		}
		if a, b := <-refused, <-refused; (a == nil) == (b == nil) || !errors.Is(errors.Join(a, b), membership.ErrMajority) {
			w.t.Errorf("two of three are dropped: %v and %v, want one", a, b)
		}
		w.must(w.leader().propose(w.t.Context(), createDatabase("a")))
	})
}

// TestDropAndAddAtOnce: one that was voting becomes an observer though Raft's
// configuration never was without it in between.
func TestDropAndAddAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.join("fe2", "h2")
		n := w.join("fe3", "h3")
		leader := w.leader()
		for _, cmd := range []*raftlogv1.Command{
			{Body: &raftlogv1.Command_DropFrontend{DropFrontend: &raftlogv1.DropFrontend{Host: "h3", RaftPort: 9010, Role: follower}}},
			{Body: &raftlogv1.Command_AddFrontend{AddFrontend: &raftlogv1.AddFrontend{Host: "h3", RaftPort: 9010, Role: observer}}},
			{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{Frontend: &raftlogv1.Frontend{Id: "fe3", Host: "h3", RaftPort: 9010}}}},
		} {
			w.must(leader.propose(w.t.Context(), cmd))
		}
		w.votes("(fe3)", "fe1", "fe2")
		w.must(leader.propose(w.t.Context(), createDatabase("a")))
		w.must(n.Wait(w.t.Context(), func(st *state.State) bool { return st.Database("a") != nil }))
	})
}

// TestCrashBetween: a leader that dies when the state says who the frontends are
// and Raft does not know it yet leaves it to the next one.
func TestCrashBetween(t *testing.T) {
	for name, tt := range map[string]struct {
		cmd  *raftlogv1.Command
		want []string
	}{
		"drop": {&raftlogv1.Command{Body: &raftlogv1.Command_DropFrontend{DropFrontend: &raftlogv1.DropFrontend{Host: "h4", RaftPort: 9010, Role: follower}}},
			[]string{"fe1", "fe2", "fe3"}},
		"join": {&raftlogv1.Command{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{Frontend: &raftlogv1.Frontend{Id: "fe5", Host: "h5", RaftPort: 9010}}}},
			[]string{"(fe5)", "fe1", "fe2", "fe3", "fe4"}},
		"emptied folder": {&raftlogv1.Command{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{Frontend: &raftlogv1.Frontend{Id: "fe5", Host: "h4", RaftPort: 9010}}}},
			[]string{"(fe5)", "fe1", "fe2", "fe3"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				for _, n := range []string{"2", "3", "4"} {
					w.join("fe"+n, "h"+n)
				}
				w.must(w.leader().Abdicate(w.t.Context()))
				leader := w.leader()
				leader.retire()
				applied, err := leader.Propose(w.t.Context(), tt.cmd)
				w.must(errors.Join(err, applied.Err))
				leader.stop()
				w.votes(tt.want...)
			})
		})
	}
}

// TestAddressTaken: who is told a wrong address does not take the place of the
// frontend that runs there, be it the leader. Once that is gone, he may.
func TestAddressTaken(t *testing.T) {
	inWorld(t, func(w *world) {
		w.join("fe2", "h2")
		w.join("fe3", "h3")
		for _, host := range []string{"h1", "h2", "h3"} {
			if _, err := w.leader().Join(w.t.Context(), request("fe4", host)); !errors.Is(err, membership.ErrTaken) {
				w.t.Errorf("another frontend at %s: %v", host, err)
			}
		}
		w.votes("fe1", "fe2", "fe3")
		w.nodes["fe3"].stop()
		w.join("fe4", "h3")
		w.votes("fe1", "fe2", "fe4")
	})
}

// TestCopiedFolder: a process with the folder of a frontend that runs is refused;
// the frontend itself may have another name.
func TestCopiedFolder(t *testing.T) {
	inWorld(t, func(w *world) {
		w.join("fe2", "h2")
		leader := w.leader()
		for _, id := range []string{"fe1", "fe2"} {
			copied := request(id, "h9")
			copied.ClusterId, copied.StartedMs, copied.CaughtUp = "c1", 2, true
			if _, err := leader.Join(w.t.Context(), copied); !errors.Is(err, membership.ErrCopy) {
				w.t.Errorf("a copy of %s: %v", id, err)
			}
		}
		var at []string
		servers, err := leader.Servers()
		w.must(err)
		for _, s := range servers {
			at = append(at, s.Addr)
		}
		if slices.Sort(at); !slices.Equal(at, []string{"h1:9010", "h2:9010"}) {
			w.t.Errorf("the frontends are at %v", at)
		}
		w.mu.Lock()
		w.listeners["alias:9010"] = w.listeners["h2:9010"]
		w.mu.Unlock()
		itself := request("fe2", "alias")
		itself.ClusterId, itself.StartedMs = "c1", 1
		if _, err := leader.Join(w.t.Context(), itself); err != nil {
			w.t.Errorf("under another name: %v", err)
		}
	})
}

// TestRefused: who is of another cluster, or does not say who he is.
func TestRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		other := request("fe2", "h2")
		other.ClusterId = "c2"
		if _, err := w.leader().Join(w.t.Context(), other); !errors.Is(err, membership.ErrOtherCluster) {
			w.t.Errorf("another cluster's: %v", err)
		}
		for name, req := range map[string]*frontendv1.JoinFrontendRequest{
			"nothing": {}, "no id": request("", "h2"), "no host": request("fe2", ""),
			"no raft port": {FrontendId: "fe2", Host: "h2", RpcPort: 1, MysqlPort: 1}, "port": {FrontendId: "fe2", Host: "h2", RpcPort: 1, MysqlPort: 1, RaftPort: 1 << 16},
		} {
			if _, err := w.leader().Join(w.t.Context(), req); !errors.Is(err, membership.ErrIncomplete) {
				w.t.Errorf("%s: %v", name, err)
			}
		}
		w.votes("fe1")
	})
}
