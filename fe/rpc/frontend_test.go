package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/fe/rpc"
	"shoal/fe/state"
	"shoal/fe/txn"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// store is a state that one frontend alone changes, or that another leads.
type store struct {
	state *state.State
	index uint64
	err   error
}

func (s *store) View(read func(*state.State)) { read(s.state) }

func (s *store) Propose(_ context.Context, cmd *raftlogv1.Command) (state.Result, error) {
	if s.err != nil {
		return state.Result{}, s.err
	}
	s.index++
	return s.state.Apply(s.index, cmd), nil
}

var (
	errElsewhere = errors.New("another frontend leads")
	errClosed    = errors.New("the log is closed")
)

func leader(err error) (addr string, elsewhere bool) {
	return "fe2:9020", errors.Is(err, errElsewhere)
}

func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{state: state.New()}
	bootstrap := &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}}
	if result, err := s.Propose(t.Context(), bootstrap); err != nil || result.Err != nil {
		t.Fatal(result.Err, err)
	}
	return s
}

// redirected is the frontend that an error names.
func redirected(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if to, ok := detail.(*frontendv1.NotLeader); ok {
			return to.LeaderRpcAddr
		}
	}
	return ""
}

func TestRegisterBackend(t *testing.T) {
	s := newStore(t)
	fe := &rpc.Frontend{Store: s, Leader: leader}
	whole := func(change func(*frontendv1.RegisterBackendRequest)) *frontendv1.RegisterBackendRequest {
		req := &frontendv1.RegisterBackendRequest{NodeUuid: "u1", Host: "h", RpcPort: 9060}
		change(req)
		return req
	}
	joined, err := fe.RegisterBackend(t.Context(), whole(func(*frontendv1.RegisterBackendRequest) {}))
	if err != nil || joined.BackendId == 0 || joined.ClusterId != "c1" || joined.Warehouse != "file:///w" {
		t.Fatalf("RegisterBackend = %v, %v", joined, err)
	}
	again, err := fe.RegisterBackend(t.Context(), whole(func(req *frontendv1.RegisterBackendRequest) { req.ClusterId = "c1" }))
	if err != nil || again.BackendId != joined.BackendId {
		t.Errorf("the same backend is %v (%v), and was %d", again, err, joined.BackendId)
	}
	for name, tt := range map[string]struct {
		spoil func(*frontendv1.RegisterBackendRequest)
		want  codes.Code
	}{
		"no node id":        {func(req *frontendv1.RegisterBackendRequest) { req.NodeUuid = "" }, codes.InvalidArgument},
		"no host":           {func(req *frontendv1.RegisterBackendRequest) { req.Host = "" }, codes.InvalidArgument},
		"no port":           {func(req *frontendv1.RegisterBackendRequest) { req.RpcPort = 0 }, codes.InvalidArgument},
		"no such port":      {func(req *frontendv1.RegisterBackendRequest) { req.RpcPort = 1 << 16 }, codes.InvalidArgument},
		"another warehouse": {func(req *frontendv1.RegisterBackendRequest) { req.NodeUuid, req.Warehouse = "u3", "file:///other" }, codes.InvalidArgument},
		"another cluster's": {func(req *frontendv1.RegisterBackendRequest) { req.ClusterId = "c2" }, codes.PermissionDenied},
	} {
		if _, err := fe.RegisterBackend(t.Context(), whole(tt.spoil)); status.Code(err) != tt.want {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	s.View(func(st *state.State) {
		if all := st.Backends(); len(all) != 1 {
			t.Errorf("the refused ones left %v", all)
		}
	})
	foreign := whole(func(req *frontendv1.RegisterBackendRequest) { req.ClusterId = "c2" })
	if _, err := fe.RegisterBackend(t.Context(), foreign); !rpcconn.Refused(rpcconn.Answer("h1:9020", err), false) || rpcconn.Refused(rpcconn.Answer("h1:9020", err), true) {
		t.Errorf("another cluster's: %v, want what a member does not take for its own cluster's answer", err)
	}
	drop := &raftlogv1.Command{Body: &raftlogv1.Command_DropBackend{DropBackend: &raftlogv1.DropBackend{BackendId: joined.BackendId}}}
	if result, err := s.Propose(t.Context(), drop); err != nil || result.Err != nil {
		t.Fatal(result.Err, err)
	}
	if _, err := fe.RegisterBackend(t.Context(), whole(func(*frontendv1.RegisterBackendRequest) {})); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a dropped backend: %v, want PERMISSION_DENIED", err)
	}
	s.err = fmt.Errorf("register: %w", errElsewhere)
	if _, err := fe.RegisterBackend(t.Context(), whole(func(req *frontendv1.RegisterBackendRequest) { req.NodeUuid = "u2" })); redirected(err) != "fe2:9020" {
		t.Errorf("a frontend that does not lead: %v, want the one that does", err)
	}
	unmade := &rpc.Frontend{Store: &store{state: state.New()}, Leader: leader}
	if _, err := unmade.RegisterBackend(t.Context(), whole(func(*frontendv1.RegisterBackendRequest) {})); status.Code(err) != codes.Unavailable {
		t.Errorf("before there is a cluster: %v, want UNAVAILABLE", err)
	}
}

// committer answers every txn alike.
type committer struct {
	answer *frontendv1.CommitTxnResponse
	err    error
}

func (c committer) Commit(context.Context, *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	return c.answer, c.err
}

// TestCommitTxn: whatever the error, a backend learns whether to ask the same
// again, and where.
func TestCommitTxn(t *testing.T) {
	var full error
	for name, tt := range map[string]struct {
		err      error
		want     codes.Code
		redirect string
	}{
		"decided":         {nil, codes.OK, ""},
		"malformed":       {fmt.Errorf("%w: no label", txn.ErrMalformed), codes.InvalidArgument, ""},
		"elsewhere":       {fmt.Errorf("commit txn: %w", errElsewhere), codes.FailedPrecondition, "fe2:9020"},
		"ending":          {txn.ErrStopped, codes.Unavailable, ""},
		"closed":          {fmt.Errorf("commit txn: %w", errClosed), codes.Unavailable, ""},
		"too late":        {context.DeadlineExceeded, codes.DeadlineExceeded, ""},
		"something else":  {errors.New("disk"), codes.Internal, ""},
		"a status itself": {status.Error(codes.ResourceExhausted, "full"), codes.ResourceExhausted, ""},
	} {
		fe := &rpc.Frontend{Txns: committer{&frontendv1.CommitTxnResponse{TxnId: 7}, tt.err}, Leader: leader, Closed: errClosed, Full: func() error { return full }}
		resp, err := fe.CommitTxn(t.Context(), &frontendv1.CommitTxnRequest{})
		if status.Code(err) != tt.want || redirected(err) != tt.redirect || err == nil && resp.TxnId != 7 {
			t.Errorf("%s: %v, %v; want %v, redirected to %q", name, resp, err, tt.want, tt.redirect)
		}
	}
	full = errors.New("the disk is full")
	fe := &rpc.Frontend{Txns: committer{&frontendv1.CommitTxnResponse{TxnId: 7}, nil}, Leader: leader, Full: func() error { return full }}
	if _, err := fe.CommitTxn(t.Context(), &frontendv1.CommitTxnRequest{}); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), full.Error()) {
		t.Errorf("on a full disk: %v", err)
	}
}
