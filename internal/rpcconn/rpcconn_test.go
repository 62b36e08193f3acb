package rpcconn_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	backendv1 "shoal/proto/backend/v1"
)

// slow is a backend whose query brings something after ten minutes, and then
// nothing.
type slow struct {
	backendv1.UnimplementedBackendServiceServer
}

func (slow) Query(_ *backendv1.QueryRequest, stream grpc.ServerStreamingServer[backendv1.QueryResponse]) error {
	time.Sleep(10 * time.Minute)
	if err := stream.Send(&backendv1.QueryResponse{}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// cable is a connection that may lose what is sent, without a sign.
type cable struct {
	net.Conn
	cut *atomic.Bool
}

func (c cable) Write(p []byte) (int, error) {
	if c.cut.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSilence: a call that may take its time does not wait for ever for a
// machine that is gone.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis := bufconn.Listen(1 << 16)
		srv := grpc.NewServer(rpcconn.ServerOptions(nil, nodetls.Token{})...)
		backendv1.RegisterBackendServiceServer(srv, slow{})
		go srv.Serve(lis)
		defer srv.Stop()
		var cut atomic.Bool
		conn, err := grpc.NewClient("passthrough:///backend", append(rpcconn.DialOptions(nil, nodetls.Token{}), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			raw, err := lis.DialContext(ctx)
			return cable{raw, &cut}, err
		}))...)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		stream, err := backendv1.NewBackendServiceClient(conn).Query(ctx, &backendv1.QueryRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		cut.Store(true)
		began := time.Now()
		_, err = stream.Recv()
		if took := time.Since(began); status.Code(err) != codes.Unavailable || took > time.Minute {
			t.Errorf("after %v the query ended with %v, want UNAVAILABLE within a minute", took, err)
		}
	})
}

// TestMuteClient: who connects and says nothing does not keep a connection.
func TestMuteClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis := bufconn.Listen(1 << 16)
		srv := grpc.NewServer(rpcconn.ServerOptions(nil, nodetls.Token{})...)
		go srv.Serve(lis)
		defer srv.Stop()
		conn, err := lis.DialContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		began := time.Now()
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the connection was kept for %v", took)
		}
	})
}
