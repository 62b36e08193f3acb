package membership_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
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

func ask(ctx context.Context, frontends ...string) (*frontendv1.JoinFrontendResponse, error) {
	return askAs(ctx, "", io.Discard, frontends...)
}

// askAs asks as a frontend of a cluster.
func askAs(ctx context.Context, clusterID string, log io.Writer, frontends ...string) (*frontendv1.JoinFrontendResponse, error) {
	j := &membership.Joiner{Frontends: func() []string { return frontends }, Dial: rpcconn.DialOptions(nil, nodetls.Token{}), Logger: slog.New(slog.NewTextHandler(log, nil))}
	return j.Ask(ctx, &frontendv1.JoinFrontendRequest{FrontendId: "fe2", ClusterId: clusterID})
}

func otherCluster(t *testing.T) error {
	t.Helper()
	st, err := status.New(codes.PermissionDenied, "no").WithDetails(&frontendv1.OtherCluster{ClusterId: "c2", CallerClusterId: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	return st.Err()
}

// TestAskAmongStrangers: what another cluster's frontend says that has come to an
// address ends no member; only its own cluster's leader can. Who has no cluster yet
// goes to the first that admits it.
func TestAskAmongStrangers(t *testing.T) {
	admits, later := []error{nil}, []error{status.Error(codes.Unavailable, "later"), status.Error(codes.Unavailable, "later"), nil}
	refuses := func(code codes.Code) []error { return []error{status.Error(code, "no")} }
	for _, tt := range []struct {
		name, member string
		first, next  []error
		want         string // an error's
	}{
		{"a member", "c1", []error{otherCluster(t)}, admits, ""},
		{"a member that waits", "c1", []error{otherCluster(t)}, later, ""},
		{"a member with another token", "c1", refuses(codes.Unauthenticated), later, ""},
		{"a member that its cluster dropped", "c1", []error{otherCluster(t)}, refuses(codes.PermissionDenied), "no"},
		{"a new one", "", refuses(codes.InvalidArgument), admits, ""},
		{"a new one with another token", "", refuses(codes.Unauthenticated), later, "no"},
		{"a new one that both refuse", "", refuses(codes.InvalidArgument), refuses(codes.PermissionDenied), "no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var log strings.Builder
			stranger, own := (&asked{answers: tt.first}).serve(t), (&asked{answers: tt.next}).serve(t)
			resp, err := askAs(ctx, tt.member, &log, stranger, own)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tt.want)) {
				t.Errorf("Ask = %v, %v, want %q", resp, err, tt.want)
			}
			passed := "the frontend at " + stranger + " belongs to another cluster, c2, and this one to c1"
			if tt.first[0] == nil || status.Code(tt.first[0]) != codes.PermissionDenied {
				passed = "frontend " + stranger + ": no"
			}
			if tt.want == "" && strings.Count(log.String(), passed) != 1 {
				t.Errorf("logged %q, want once %q", log.String(), passed)
			}
		})
	}
}

// TestAskAtAnotherPort: what is no frontend's rpc port is named.
func TestAskAtAnotherPort(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	go func() { // as Raft and MySQL greet who connects
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("\x0bfe-ABCDEFGH and more than a frame's head"))
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	conn, err := grpc.NewClient(lis.Addr().String(), rpcconn.DialOptions(nil, nodetls.Token{})...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = frontendv1.NewFrontendServiceClient(conn).JoinFrontend(t.Context(), &frontendv1.JoinFrontendRequest{})
	if err = rpcconn.Answer("a:9010", err); err == nil || !strings.Contains(err.Error(), "a:9010 is not the rpc port of a frontend") {
		t.Errorf("%v, want that it is not the port", err)
	}
}

// TestAsk: every frontend given is asked, and whom it names, until one leads.
func TestAsk(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	leader := &asked{answers: []error{rpcconn.NotLeading("not the leader", ""), status.Error(codes.Unavailable, "later"), nil}}
	follower := &asked{answers: []error{rpcconn.NotLeading("not the leader", leader.serve(t))}}
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
