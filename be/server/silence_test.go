package server

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"shoal/be/executor"
	"shoal/be/feclient"
	"shoal/internal/nodetls"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
)

// dropping is a frontend whose cluster dropped the backend.
type dropping struct {
	frontendv1.UnimplementedFrontendServiceServer
}

func (dropping) RegisterBackend(context.Context, *frontendv1.RegisterBackendRequest) (*frontendv1.RegisterBackendResponse, error) {
	return nil, status.Error(codes.PermissionDenied, "the backend was dropped from the cluster")
}

// TestExplainSilence: a backend that was dropped says so, once, and when it is
// spoken to again.
func TestExplainSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis := bufconn.Listen(1 << 16)
		srv := grpc.NewServer()
		frontendv1.RegisterFrontendServiceServer(srv, dropping{})
		go srv.Serve(lis)
		defer srv.Stop()
		fe, err := feclient.New([]string{"passthrough:///fe"}, nil, nodetls.Token{},
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		defer fe.Close()
		var said bytes.Buffer
		s := &Server{cfg: Config{Logger: slog.New(slog.NewTextHandler(&said, nil))}, fe: fe}
		exec := executor.New(t.Context(), executor.Config{Slots: 1, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); s.explainSilence(ctx, exec) }()
		<-time.After(5 * silenceLimit)
		synctest.Wait()
		if got := said.String(); strings.Count(got, "the backend was dropped from the cluster") != 1 {
			t.Errorf("of a dropped backend the log has %q, want it once", got)
		}
		said.Reset()
		if _, _, err := exec.Heartbeat(&backendv1.Leadership{Term: 1}, 1, nil); err != nil {
			t.Fatal(err)
		}
		<-time.After(silenceLimit)
		synctest.Wait()
		if got := said.String(); !strings.Contains(got, "speaks to this backend again") {
			t.Errorf("of one that was added again it has %q", got)
		}
		cancel()
		<-ended
	})
}
