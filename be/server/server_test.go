package server_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"shoal/be/server"
	"shoal/internal/warehouse"
	frontendv1 "shoal/proto/frontend/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// frontend takes in any backend.
type frontend struct {
	frontendv1.UnimplementedFrontendServiceServer
	addr, warehouse string
}

func (f *frontend) RegisterBackend(context.Context, *frontendv1.RegisterBackendRequest) (*frontendv1.RegisterBackendResponse, error) {
	return &frontendv1.RegisterBackendResponse{BackendId: 7, ClusterId: "c1", Warehouse: f.warehouse}, nil
}

// newFrontend is a frontend with a warehouse.
func newFrontend(t *testing.T) *frontend {
	t.Helper()
	f := &frontend{warehouse: "file://" + t.TempDir()}
	wh, err := warehouse.Open(f.warehouse)
	if err != nil {
		t.Fatal(err)
	}
	if err := wh.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	lis := listen(t)
	f.addr = lis.Addr().String()
	srv := grpc.NewServer()
	frontendv1.RegisterFrontendServiceServer(srv, f)
	go srv.Serve(lis)
	t.Cleanup(srv.Stop)
	return f
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	return lis
}

func newServer(t *testing.T, dataDir, frontend string) *server.Server {
	t.Helper()
	s, err := server.New(server.Config{MemoryLimit: "1G",
		DataDir: dataDir, Frontends: []string{frontend}, Host: "127.0.0.1", RPCPort: 1, Slots: 1, Threads: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEndBeforeJoining: a process that is told to end while it waits for a
// frontend has not failed.
func TestEndBeforeJoining(t *testing.T) {
	lis := listen(t)
	s := newServer(t, t.TempDir(), lis.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // nobody answers, and the end comes while the backend waits
		if conn, err := lis.Accept(); err == nil {
			defer conn.Close()
		}
		cancel()
	}()
	if err := s.Run(ctx, func() { t.Error("the backend serves without a cluster") }); err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
}

// TestEndBeforeWarehouse: nor has one that waits for an answer of the warehouse.
func TestEndBeforeWarehouse(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	lis, fe := listen(t), newFrontend(t)
	fe.warehouse = "s3://bucket/prefix?region=here&endpoint=http://" + lis.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if conn, err := lis.Accept(); err == nil {
			cancel()
			<-t.Context().Done()
			conn.Close()
		}
	}()
	if err := newServer(t, t.TempDir(), fe.addr).Run(ctx, func() {}); err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
}

// TestSpill: what a process that died had spilled is removed.
func TestSpill(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "spill", "queries", "query-1", "duckdb_temp_storage_DEFAULT-0.tmp")
	if err := os.MkdirAll(filepath.Dir(left), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := newServer(t, dir, newFrontend(t).addr).Run(ctx, cancel); err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was spilled before is still there (%v)", err)
	}
}

// TestFolderIsUsedOnce: two backends on one folder would be one to the cluster,
// which then hears of one of them only.
func TestFolderIsUsedOnce(t *testing.T) {
	dir, addr := t.TempDir(), newFrontend(t).addr
	first := newServer(t, dir, addr)
	if _, err := server.New(server.Config{DataDir: dir, Frontends: []string{addr}, MemoryLimit: "1G"}); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("New on a folder in use = %v, want what to do about it", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := first.Run(ctx, cancel); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	if err := newServer(t, dir, addr).Run(ctx, cancel); err != nil {
		t.Errorf("Run after the first has ended = %v", err)
	}
}
