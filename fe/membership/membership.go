// Package membership keeps the frontends of a cluster: who joins, who is added
// and dropped by SQL, and who therefore is a member of Raft.
//
// The state says who the frontends are, and every change begins there. Raft's
// configuration follows: the leader compares the two whenever it begins to lead
// and whenever the state changes, and moves Raft's by single steps. So a leader
// that dies between the two leaves nothing to be undone; the next one goes on.
//
// A frontend that joins has no vote until it has the log (JoinFrontend with
// caught_up): an empty log cannot hold up a majority, and gives no vote. One
// whose folder was emptied comes with a new id, and its old one is removed
// before the new one is there. While the old one runs nobody takes its place: a
// frontend that was given another one's address, by a copied configuration
// perhaps, would end that one, the leader as well. Nor does a process that works
// by a copy of its folder: each of the two would vote.
//
// Members is the leader's side, Joiner the other one. Both may be used
// concurrently and start no goroutines.
package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"shoal/fe/raftstore"
	"shoal/fe/state"
	"shoal/fe/state/cluster"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// retry is how long Run waits to try again what Raft did not do.
const retry = time.Second

var (
	// ErrLeads refuses to drop the frontend that leads.
	ErrLeads = errors.New("can not drop current master node")
	// ErrMajority refuses to drop a FOLLOWER that the others cannot do without.
	ErrMajority = errors.New("the FOLLOWERs that remain would have no majority")
)

// Store is this frontend's share in the agreement: raftstore.Store.
type Store interface {
	View(read func(*state.State))
	Changed() <-chan struct{}
	AppliedIndex() uint64
	ReadIndex(ctx context.Context) error
	Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error)
	Servers() ([]raftstore.Server, error)
	PutServer(ctx context.Context, server raftstore.Server) error
	RemoveServer(ctx context.Context, id string) error
}

// Members changes who the frontends are, where this frontend leads.
type Members struct {
	Store Store
	// Self is this frontend's id.
	Self string
	// Key is what joining frontends are given to unseal secrets with.
	Key func() ([]byte, error)
	// Answers is what the frontend at an rpc address says of itself, nil if none
	// answers.
	Answers func(ctx context.Context, rpcAddr string) *frontendv1.FrontendStatusResponse
	Logger  *slog.Logger

	dropping sync.Mutex // of who judges whether a frontend may go, until it is gone
	mu       sync.Mutex // of who moves Raft's configuration
}

// Run moves Raft's configuration to what the state says, now and at each change,
// until ctx, the leadership's, ends.
func (m *Members) Run(ctx context.Context) error {
	var last []*raftlogv1.Frontend
	for {
		changed := m.Store.Changed()
		var pause <-chan time.Time
		if now := m.frontends(); last == nil || !slices.Equal(now, last) { // messages are replaced, never changed
			last = now
			if err := m.reconcile(ctx); err != nil && ctx.Err() == nil {
				m.Logger.Warn("the frontends that vote are not yet those of the cluster", "err", err)
				last, pause = nil, time.After(retry)
			}
		}
		if pause != nil {
			changed = nil
		}
		select {
		case <-changed:
		case <-pause:
		case <-ctx.Done():
			return nil
		}
	}
}

func (m *Members) frontends() (all []*raftlogv1.Frontend) {
	m.Store.View(func(st *state.State) { all = st.Frontends() })
	return all
}

// reconcile makes Raft's members those of the state. Who has no vote yet gets it
// when it has caught up, in Join.
func (m *Members) reconcile(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	servers, err := m.Store.Servers()
	if err != nil {
		return err
	}
	frontends := m.frontends()
	have := map[string]raftstore.Server{}
	for _, server := range servers { // first those to go: an address is free then
		i := slices.IndexFunc(frontends, func(f *raftlogv1.Frontend) bool { return f.Id == server.ID })
		if i < 0 && server.ID == m.Self && !m.dropped() {
			continue // it makes the cluster, and is about to register itself
		}
		if i < 0 || server.Voter && !mayVote(frontends[i]) {
			if err := m.remove(ctx, server); err != nil {
				return err
			}
			continue
		}
		have[server.ID] = server
	}
	for _, f := range frontends {
		server, there := have[f.Id]
		if there && server.Addr == address(f) {
			continue
		}
		if err := m.Store.PutServer(ctx, raftstore.Server{ID: f.Id, Addr: address(f), Voter: server.Voter}); err != nil {
			return fmt.Errorf("frontend %s at %s: %w", f.Id, address(f), err)
		}
		m.Logger.Info("a frontend is a member of Raft", "frontend_id", f.Id, "raft_addr", address(f))
	}
	return nil
}

// dropped tells whether this frontend was, which leads for the last time.
func (m *Members) dropped() (dropped bool) {
	m.Store.View(func(st *state.State) { dropped = st.FrontendDropped(m.Self) })
	return dropped
}

func mayVote(f *raftlogv1.Frontend) bool {
	return cluster.Role(f) == raftlogv1.FrontendRole_FRONTEND_ROLE_FOLLOWER
}

func (m *Members) remove(ctx context.Context, server raftstore.Server) error {
	if err := m.Store.RemoveServer(ctx, server.ID); err != nil {
		return fmt.Errorf("frontend %s at %s: %w", server.ID, server.Addr, err)
	}
	m.Logger.Info("a frontend is no member of Raft any more", "frontend_id", server.ID, "raft_addr", server.Addr)
	return nil
}

// promote gives a FOLLOWER that has caught up its vote.
func (m *Members) promote(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.frontends() {
		if f.Id != id || !mayVote(f) {
			continue
		}
		servers, err := m.Store.Servers()
		if err != nil || slices.Contains(servers, raftstore.Server{ID: id, Addr: address(f), Voter: true}) {
			return err
		}
		if err := m.Store.PutServer(ctx, raftstore.Server{ID: id, Addr: address(f), Voter: true}); err != nil {
			return err
		}
		m.Logger.Info("a frontend votes", "frontend_id", id)
	}
	return nil
}

// Add lets a frontend join that will run at host with this raft port, in a role.
// Errors are those of Propose, or wrap cluster.ErrFrontendExists.
func (m *Members) Add(ctx context.Context, role raftlogv1.FrontendRole, host string, port uint32) error {
	return m.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_AddFrontend{
		AddFrontend: &raftlogv1.AddFrontend{Host: host, RaftPort: port, Role: role}}})
}

// Drop takes a frontend out of the cluster; its process ends when it hears of
// it, and cannot come back unless it is added. The error wraps
// cluster.ErrNoFrontend, ErrLeads or ErrMajority, or is one of Propose's.
func (m *Members) Drop(ctx context.Context, role raftlogv1.FrontendRole, host string, port uint32) error {
	m.dropping.Lock()
	defer m.dropping.Unlock()
	if err := m.Store.ReadIndex(ctx); err != nil {
		return err
	}
	for _, f := range m.frontends() {
		if f.Host != host || f.RaftPort != port || cluster.Role(f) != role {
			continue
		}
		if f.Id == m.Self {
			return fmt.Errorf("%w %s: %s", ErrLeads, address(f), m.beforeDrop())
		}
		if err := m.checkMajority(ctx, f.Id); err != nil {
			return err
		}
	}
	err := m.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_DropFrontend{
		DropFrontend: &raftlogv1.DropFrontend{Host: host, RaftPort: port, Role: role}}})
	if err != nil {
		return err
	}
	if err := m.reconcile(ctx); err != nil { // which Run goes on with
		m.Logger.Warn("a dropped frontend is a member of Raft still", "err", err)
	}
	return nil
}

// beforeDrop is what must be done before the frontend that leads can be dropped.
func (m *Members) beforeDrop() string {
	if slices.ContainsFunc(m.frontends(), func(f *raftlogv1.Frontend) bool { return f.Id != m.Self && mayVote(f) }) {
		return "stop it, and drop it when another frontend leads"
	}
	return "it is the only FOLLOWER, and no other frontend can lead; let another FOLLOWER join first"
}

// checkMajority refuses to drop a voter if too few of the others answer.
func (m *Members) checkMajority(ctx context.Context, dropped string) error {
	servers, err := m.Store.Servers()
	if err != nil {
		return err
	}
	frontends := map[string]*raftlogv1.Frontend{}
	for _, f := range m.frontends() {
		frontends[f.Id] = f
	}
	votes := slices.ContainsFunc(servers, func(s raftstore.Server) bool { return s.ID == dropped && s.Voter })
	others, answer := 0, make(chan bool)
	for _, s := range servers {
		if !s.Voter || s.ID == dropped {
			continue
		}
		others++
		go func() {
			f := frontends[s.ID]
			answer <- f != nil && (f.Id == m.Self || m.status(ctx, f) != nil)
		}()
	}
	alive := 0
	for range others {
		if <-answer {
			alive++
		}
	}
	if need := others/2 + 1; votes && alive < need {
		return fmt.Errorf("%w: %d of %d answer, and %d must; start those that do not, or drop them first", ErrMajority, alive, others, need)
	}
	return nil
}

// status is what a frontend answers where it said that it is, nil if it does not.
func (m *Members) status(ctx context.Context, f *raftlogv1.Frontend) *frontendv1.FrontendStatusResponse {
	answer := m.Answers(ctx, cluster.Address(f.Host, f.RpcPort))
	if answer.GetFrontendId() != f.Id {
		return nil
	}
	return answer
}

func (m *Members) propose(ctx context.Context, cmd *raftlogv1.Command) error {
	cmd.AtMs = time.Now().UnixMilli()
	applied, err := m.Store.Propose(ctx, cmd)
	return errors.Join(err, applied.Err)
}

// address is where a frontend's raft listens.
func address(f *raftlogv1.Frontend) string {
	return cluster.Address(f.Host, f.RaftPort)
}
