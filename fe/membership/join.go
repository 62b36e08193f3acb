package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc"

	"shoal/fe/state"
	"shoal/fe/state/cluster"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

var (
	// ErrIncomplete refuses a frontend that does not say what it must.
	ErrIncomplete = errors.New("a frontend joins with its id, host and ports")
	// ErrNoMember refuses a frontend that has a log and is no member: it was
	// dropped, or the cluster was restored without it, and what its log has need
	// not be what the others have.
	ErrNoMember = errors.New("the frontend is no member of the cluster")
	// ErrTaken refuses a frontend that says it is where another one runs.
	ErrTaken = errors.New("another frontend runs at the address")
	// ErrCopy refuses a process that has the folder of a frontend which runs.
	ErrCopy = errors.New("the frontend runs already")
	// ErrOtherCluster refuses a frontend that belongs to another cluster.
	ErrOtherCluster = errors.New("the frontend belongs to another cluster")
	// ErrOtherWarehouse refuses a frontend that was given another warehouse.
	ErrOtherWarehouse = errors.New("the frontend was given another warehouse than the cluster's")
)

// Join makes a frontend a member, or renews what is known of it; asking again
// changes nothing more. The error wraps ErrIncomplete, ErrNoMember, ErrOtherCluster,
// ErrOtherWarehouse, ErrTaken, ErrCopy, cluster.ErrFrontendDropped or cluster.ErrNotBootstrapped, or is one of
// Propose's.
func (m *Members) Join(ctx context.Context, req *frontendv1.JoinFrontendRequest) (*frontendv1.JoinFrontendResponse, error) {
	for _, port := range []uint32{req.RaftPort, req.RpcPort, req.MysqlPort} {
		if port == 0 || port > 1<<16-1 || req.FrontendId == "" || req.Host == "" {
			return nil, ErrIncomplete
		}
	}
	if err := m.Store.ReadIndex(ctx); err != nil {
		return nil, err
	}
	info, err := m.admit(req)
	if err == nil {
		err = m.checkFree(ctx, req)
	}
	if err != nil {
		return nil, err
	}
	err = m.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{
		Frontend: &raftlogv1.Frontend{Id: req.FrontendId, Host: req.Host, MysqlPort: req.MysqlPort, HttpPort: req.HttpPort, RpcPort: req.RpcPort,
			RaftPort: req.RaftPort, Version: req.Version}}}})
	if err == nil {
		err = m.reconcile(ctx)
	}
	if err == nil && req.CaughtUp {
		err = m.promote(ctx, req.FrontendId)
	}
	if err != nil {
		return nil, err
	}
	key, err := m.Key()
	if err != nil {
		return nil, err
	}
	return &frontendv1.JoinFrontendResponse{ClusterId: info.ClusterId, Warehouse: info.Warehouse, ClusterKey: key, ReadIndex: m.Store.AppliedIndex()}, nil
}

// admit refuses who has a log that is not this cluster's, as far as the state
// itself does not, and who was given another warehouse.
func (m *Members) admit(req *frontendv1.JoinFrontendRequest) (info *raftlogv1.Cluster, err error) {
	known := req.ClusterId == ""
	m.Store.View(func(st *state.State) {
		info = st.ClusterInfo()
		known = known || st.FrontendDropped(req.FrontendId) // which the state refuses
		known = known || slices.ContainsFunc(st.Frontends(), func(f *raftlogv1.Frontend) bool { return f.Id == req.FrontendId })
	})
	switch {
	case info == nil:
		return nil, cluster.ErrNotBootstrapped
	case req.ClusterId != "" && req.ClusterId != info.ClusterId:
		return nil, fmt.Errorf("%w, %s, and this is %s", ErrOtherCluster, req.ClusterId, info.ClusterId)
	case !known:
		return nil, fmt.Errorf("%w any more: give it an empty data folder to join", ErrNoMember)
	case req.Warehouse != "" && req.Warehouse != info.Warehouse:
		return nil, fmt.Errorf("%w, which is %s and not %s: it is fixed at bootstrap, leave --warehouse away", ErrOtherWarehouse, info.Warehouse, req.Warehouse)
	}
	return info, nil
}

// checkFree refuses to give a member's place to another process while it runs: a
// frontend with its address, or with a copy of its folder.
func (m *Members) checkFree(ctx context.Context, req *frontendv1.JoinFrontendRequest) error {
	var there []*raftlogv1.Frontend
	m.Store.View(func(st *state.State) {
		if !st.FrontendDropped(req.FrontendId) { // which the state refuses
			there = st.Frontends()
		}
	})
	for _, f := range there {
		at := f.Host == req.Host && f.RaftPort == req.RaftPort
		switch {
		case f.Id != req.FrontendId && at && (f.Id == m.Self || m.status(ctx, f) != nil):
			return fmt.Errorf("%w %s: frontend %s; give this one an --advertise-host and a --raft-addr of its own", ErrTaken, address(f), f.Id)
		case f.Id == req.FrontendId && !at && m.runsElsewhere(ctx, f, req):
			return fmt.Errorf("%w: frontend %s, at %s; this folder is a copy of that one's: empty it, or end the other", ErrCopy, f.Id, address(f))
		}
	}
	return nil
}

// runsElsewhere tells whether a member runs that is another process than the one
// which says that it has moved.
func (m *Members) runsElsewhere(ctx context.Context, f *raftlogv1.Frontend, req *frontendv1.JoinFrontendRequest) bool {
	answer := m.status(ctx, f)
	return answer != nil && req.StartedMs != 0 && answer.StartedMs != req.StartedMs
}

const (
	// askTimeout bounds one frontend's turn.
	askTimeout = 10 * time.Second
	// firstPause and lastPause lie between two rounds.
	firstPause, lastPause = 100 * time.Millisecond, 2 * time.Second
	// remind is how often a Joiner that waits says so.
	remind = time.Minute
)

// A Joiner asks the frontend that leads to be taken as a member.
type Joiner struct {
	// Frontends are the rpc addresses of those that may lead, or know who does.
	Frontends func() []string
	Dial      []grpc.DialOption
	Logger    *slog.Logger
}

// Ask asks until a leader answers, for as long as ctx lives. A frontend that has
// a cluster takes a refusal, which is an error at once, from that one only; what
// another one says that has come to an address is no answer. One that has none
// yet is taken in by the first that admits it, and refused if, of all, some refuse
// and none admits it. Everything else may pass: frontends that do not answer, or
// that do not lead and know nobody who does. The error is a *rpcconn.Refusal or ctx's.
func (j *Joiner) Ask(ctx context.Context, req *frontendv1.JoinFrontendRequest) (*frontendv1.JoinFrontendResponse, error) {
	told := map[string]time.Time{}
	tell := func(level slog.Level, text, about string, err error) {
		if time.Since(told[about]) > remind {
			j.Logger.Log(ctx, level, text, "err", err)
			told[about] = time.Now()
		}
	}
	passed := func(addr string, err error) { tell(slog.LevelWarn, "a frontend is passed over", addr, err) }
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		resp, err := j.round(ctx, req, passed)
		switch {
		case err == nil:
			return resp, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case rpcconn.Refused(err, req.ClusterId != ""):
			return nil, err
		case pause == lastPause:
			tell(slog.LevelInfo, "waiting for a frontend that leads", "", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// round asks each frontend once, those that another one calls the leader first.
// passed is told of those that are not the cluster's. Of all failures the error is
// a refusal if there was one, else the last.
func (j *Joiner) round(ctx context.Context, req *frontendv1.JoinFrontendRequest, passed func(addr string, err error)) (*frontendv1.JoinFrontendResponse, error) {
	waiting, member := j.Frontends(), req.ClusterId != ""
	failed := errors.New("no frontend is known: name some with --join host:port")
	for tried := []string{}; len(waiting) > 0; {
		addr := waiting[0]
		waiting = waiting[1:]
		if slices.Contains(tried, addr) {
			continue
		}
		tried = append(tried, addr)
		resp, err := j.ask(ctx, addr, req)
		if err == nil {
			return resp, nil
		}
		answer := rpcconn.Answer(addr, err)
		switch {
		case rpcconn.Refused(answer, member) && member:
			return nil, answer
		case rpcconn.Refused(answer, false):
			passed(addr, answer)
		}
		if !rpcconn.Refused(failed, false) {
			failed = answer
		}
		if leader, _ := rpcconn.Elsewhere(err); leader != "" {
			waiting = slices.Insert(waiting, 0, leader)
		}
	}
	return nil, failed
}

func (j *Joiner) ask(ctx context.Context, addr string, req *frontendv1.JoinFrontendRequest) (*frontendv1.JoinFrontendResponse, error) {
	conn, err := grpc.NewClient(addr, j.Dial...)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return frontendv1.NewFrontendServiceClient(conn).JoinFrontend(ctx, req)
}
