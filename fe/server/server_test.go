package server_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"shoal/fe/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T) net.Listener {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	return lis
}

// run runs a frontend on a folder until it serves, and returns why it failed.
func run(t *testing.T, cfg server.Config) error {
	t.Helper()
	cfg.Host, cfg.Raft, cfg.Logger = "127.0.0.1", listen(t), slog.New(slog.DiscardHandler)
	s, err := server.Open(t.Context(), cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := s.Run(ctx, listen(t), cancel)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return failed
}

// TestWarehouse: a cluster keeps the warehouse that it was made with, and need
// not be told of it again.
func TestWarehouse(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	made, usual, other := "file://"+filepath.Join(root, "made"), "file://"+filepath.Join(root, "usual"), "file://"+filepath.Join(root, "other")
	for _, tt := range []struct{ name, given, want string }{
		{"made", made, ""},
		{"given again", made, ""},
		{"not given again", "", ""},
		{"another one given", other, "fixed at bootstrap"},
	} {
		err := run(t, server.Config{DataDir: dir, Bootstrap: true, Warehouse: tt.given, NewWarehouse: usual})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: Run = %v, want %q", tt.name, err, tt.want)
		}
	}
	folders, err := os.ReadDir(root)
	if err != nil || len(folders) != 1 {
		t.Errorf("folders: %v, %v; want the one that the cluster was made with", folders, err)
	}
	if err := run(t, server.Config{DataDir: t.TempDir(), Bootstrap: true, NewWarehouse: usual}); err != nil {
		t.Errorf("a new cluster with the usual warehouse: %v", err)
	}
}
