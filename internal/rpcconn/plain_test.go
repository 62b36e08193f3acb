package rpcconn_test

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
)

// TestPlain: the errors of real calls and of answers, without gRPC's words.
func TestPlain(t *testing.T) {
	call := func(ctx context.Context, lis net.Listener) error {
		conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = frontendv1.NewFrontendServiceClient(conn).FrontendStatus(ctx, &frontendv1.FrontendStatusRequest{})
		return err
	}
	listen := func() net.Listener {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lis.Close() })
		return lis
	}
	closed, silent := listen(), listen()
	closed.Close()
	hurried, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"nobody listens": {call(t.Context(), closed), "cannot be reached: connection refused"},
		"nobody answers": {call(hurried, silent), "no answer within 2 s"},
		"ended here":     {context.DeadlineExceeded, "no answer within 2 s"},
		"said":           {status.Error(codes.Unavailable, "the backend has not joined its cluster yet"), "the backend has not joined its cluster yet"},
		"no certificate": {status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: EOF"`), "cannot be reached: authentication handshake failed: EOF"},
	} {
		if got := rpcconn.Plain(tt.err, 2*time.Second); got != tt.want {
			t.Errorf("%s: Plain(%v) = %q, want %q", name, tt.err, got, tt.want)
		}
	}
}
