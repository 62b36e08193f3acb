package feclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"shoal/be/feclient"
	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// frontend answers CommitTxn as told, and counts the calls.
type frontend struct {
	frontendv1.UnimplementedFrontendServiceServer
	answer func() error
	calls  int
}

func (f *frontend) CommitTxn(context.Context, *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	f.calls++
	if err := f.answer(); err != nil {
		return nil, err
	}
	return &frontendv1.CommitTxnResponse{Outcome: frontendv1.Outcome_OUTCOME_COMMITTED}, nil
}

func serve(t *testing.T, f frontendv1.FrontendServiceServer) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	frontendv1.RegisterFrontendServiceServer(srv, f)
	done := make(chan struct{})
	go func() { defer close(done); srv.Serve(lis) }()
	t.Cleanup(func() { srv.Stop(); <-done })
	return lis.Addr().String()
}

func notLeader(leader string) func() error {
	return func() error { return rpcconn.NotLeading("not the leader", leader) }
}

func TestCommitFollowsTheLeader(t *testing.T) {
	leader := &frontend{answer: func() error { return nil }}
	leaderAddr := serve(t, leader)
	follower := &frontend{answer: notLeader(leaderAddr)}
	c, err := feclient.New([]string{serve(t, follower)}, nil, nodetls.Token{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if _, err := c.Commit(t.Context(), &frontendv1.CommitTxnRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if follower.calls != 1 || leader.calls != 2 {
		t.Errorf("follower was asked %d times, leader %d; want 1 and 2: who leads must be remembered", follower.calls, leader.calls)
	}
}

func TestCommitTriesEachFrontendOnce(t *testing.T) {
	a, b := &frontend{answer: notLeader("")}, &frontend{answer: notLeader("")}
	c, err := feclient.New([]string{serve(t, a), serve(t, b)}, nil, nodetls.Token{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Commit(t.Context(), &frontendv1.CommitTxnRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("Commit without a leader = %v, want FailedPrecondition", err)
	}
	if a.calls != 1 || b.calls != 1 {
		t.Errorf("asked %d and %d times, want once each", a.calls, b.calls)
	}
}

func TestCommitPassesOverTheUnreachable(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := lis.Addr().String()
	lis.Close()
	leader := &frontend{answer: func() error { return nil }}
	c, err := feclient.New([]string{dead, serve(t, leader)}, nil, nodetls.Token{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Commit(t.Context(), &frontendv1.CommitTxnRequest{}); err != nil {
		t.Errorf("Commit = %v, want the second frontend's answer", err)
	}
}

// A frontend whose machine is gone neither answers nor refuses: the next one is
// asked before the records' locks run out.
func TestCommitPassesOverTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func() (net.Conn, error) {
			near, far := net.Pipe()
			go io.Copy(io.Discard, far)
			return near, nil
		}
		lis := bufconn.Listen(1 << 16)
		srv := grpc.NewServer()
		frontendv1.RegisterFrontendServiceServer(srv, &frontend{answer: func() error { return nil }})
		go srv.Serve(lis)
		defer srv.Stop()
		c, err := feclient.New([]string{"10.0.0.1:1", "10.0.0.2:1"}, nil, nodetls.Token{}, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			if addr == "10.0.0.1:1" {
				return silent()
			}
			return lis.DialContext(ctx)
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		began := time.Now()
		if _, err := c.Commit(t.Context(), &frontendv1.CommitTxnRequest{}); err != nil {
			t.Errorf("Commit = %v, want the second frontend's answer", err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the second frontend was asked after %v", took)
		}
	})
}

// A frontend that led and is frozen does not answer; the heartbeat of the next
// leader says whom to ask.
func TestCommitMovesWithTheLeader(t *testing.T) {
	old := &frozen{asked: make(chan struct{}), left: make(chan error, 1)}
	next := &frontend{answer: func() error { return nil }}
	oldAddr, nextAddr := serve(t, old), serve(t, next)
	c, err := feclient.New([]string{oldAddr}, nil, nodetls.Token{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		<-old.asked
		c.Learn(oldAddr, []string{oldAddr, nextAddr}) // changes nothing
		c.Learn(nextAddr, []string{oldAddr, nextAddr})
	}()
	if _, err := c.Commit(t.Context(), &frontendv1.CommitTxnRequest{}); err != nil || next.calls != 1 {
		t.Errorf("Commit = %v, and the next leader was asked %d times", err, next.calls)
	}
	if err := <-old.left; !errors.Is(err, context.Canceled) {
		t.Errorf("the old one was left with %v: its time ran out", err)
	}
}

// frozen is a frontend that answers nothing.
type frozen struct {
	frontendv1.UnimplementedFrontendServiceServer
	asked chan struct{}
	left  chan error
}

func (f *frozen) CommitTxn(ctx context.Context, _ *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	close(f.asked)
	<-ctx.Done()
	f.left <- ctx.Err()
	return nil, ctx.Err()
}

// A malformed txn is refused each time: asking again would only hold its
// records.
func TestCommitOfAMalformedTxnIsAborted(t *testing.T) {
	fe := &frontend{answer: func() error { return status.Error(codes.InvalidArgument, "no digest") }}
	c, err := feclient.New([]string{serve(t, fe)}, nil, nodetls.Token{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	resp, err := c.Commit(t.Context(), &frontendv1.CommitTxnRequest{})
	if err != nil || resp.Outcome != frontendv1.Outcome_OUTCOME_ABORTED || !strings.Contains(resp.Reason, "no digest") {
		t.Errorf("Commit = %v, %v; want aborted with the reason", resp, err)
	}
}
