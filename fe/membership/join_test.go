package membership_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/fe/membership"
	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
)

// asked is a frontend that answers as told, call by call, and then as the last
// time.
type asked struct {
	frontendv1.UnimplementedFrontendServiceServer
	answers []error
	calls   int
}

func (a *asked) JoinFrontend(context.Context, *frontendv1.JoinFrontendRequest) (*frontendv1.JoinFrontendResponse, error) {
	a.calls++
	if err := a.answers[min(a.calls, len(a.answers))-1]; err != nil {
		return nil, err
	}
	return &frontendv1.JoinFrontendResponse{ClusterId: "c1"}, nil
}

func (a *asked) serve(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	frontendv1.RegisterFrontendServiceServer(srv, a)
	done := make(chan struct{})
	go func() { defer close(done); srv.Serve(lis) }()
	t.Cleanup(func() { srv.Stop(); <-done })
	return lis.Addr().String()
}

func notLeader(t *testing.T, leader string) error {
	t.Helper()
	st, err := status.New(codes.FailedPrecondition, "not the leader").WithDetails(&frontendv1.NotLeader{LeaderRpcAddr: leader})
	if err != nil {
		t.Fatal(err)
	}
	return st.Err()
}

func ask(ctx context.Context, frontends ...string) (*frontendv1.JoinFrontendResponse, error) {
	j := &membership.Joiner{Frontends: func() []string { return frontends }, Dial: rpcconn.DialOptions(nil, nodetls.Token{}), Logger: slog.New(slog.DiscardHandler)}
	return j.Ask(ctx, &frontendv1.JoinFrontendRequest{FrontendId: "fe2"})
}

// TestAsk: every frontend given is asked, and whom it names, until one leads.
func TestAsk(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	leader := &asked{answers: []error{notLeader(t, ""), status.Error(codes.Unavailable, "later"), nil}}
	follower := &asked{answers: []error{notLeader(t, leader.serve(t))}}
	const nobody = "127.0.0.1:1"
	resp, err := ask(ctx, nobody, follower.serve(t), nobody)
	if err != nil || resp.ClusterId != "c1" || leader.calls != 3 || follower.calls != 3 {
		t.Errorf("Ask = %v, %v after %d calls of the leader and %d of the follower", resp, err, leader.calls, follower.calls)
	}
	for _, code := range []codes.Code{codes.PermissionDenied, codes.InvalidArgument} {
		refusing := &asked{answers: []error{status.Error(code, "no")}}
		if _, err := ask(ctx, refusing.serve(t), nobody); status.Code(err) != code || refusing.calls != 1 {
			t.Errorf("Ask = %v after %d calls, want %v", err, refusing.calls, code)
		}
	}
	cancel()
	for _, frontends := range [][]string{{nobody}, nil} {
		if _, err := ask(ctx, frontends...); err == nil {
			t.Errorf("Ask after the end = %v", err)
		}
	}
}
