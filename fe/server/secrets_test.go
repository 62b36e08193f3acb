package server_test

import (
	"bytes"
	"context"
	"database/sql"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"shoal/fe/server"
)

// statements runs a frontend on a folder, and statements on it by the real
// driver, then ends it.
func statements(t *testing.T, cfg server.Config, list ...string) {
	t.Helper()
	cfg.Host, cfg.Raft, cfg.Logger, cfg.Bootstrap = "127.0.0.1", listen(t), slog.New(slog.DiscardHandler), true
	s, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	lis, ready, ended := listen(t), make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.Run(ctx, lis, func() { close(ready) }) }()
	<-ready
	db, err := sql.Open("mysql", "root@tcp("+lis.Addr().String()+")/")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range list {
		if _, err := db.ExecContext(ctx, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestSecretsOnDisk: what a file holds is nowhere in the data folder in clear,
// and a frontend that lost its key, or has another one, says so.
func TestSecretsOnDisk(t *testing.T) {
	cfg := server.Config{DataDir: t.TempDir(), NewWarehouse: "file://" + t.TempDir()}
	const secret = "-----BEGIN PRIVATE KEY-----"
	statements(t, cfg, "CREATE DATABASE d", "CREATE FILE 'key.pem' IN d PROPERTIES ('catalog' = 'kafka', 'content' = '"+secret+"')")
	files := 0
	err := filepath.WalkDir(cfg.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("%s has the secret", path)
		}
		if bytes.Contains(content, []byte("key.pem")) {
			files++
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files have the file's name (%v): the secret was looked for in the wrong place", files, err)
	}
	statements(t, cfg) // with its key it goes on

	path := filepath.Join(cfg.DataDir, "cluster.key")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := run(t, cfg); err == nil || !strings.Contains(err.Error(), path+" is missing") {
		t.Errorf("without the key: %v", err)
	}
	other := server.Config{DataDir: t.TempDir(), NewWarehouse: "file://" + t.TempDir()}
	statements(t, other)
	if err := os.Rename(filepath.Join(other.DataDir, "cluster.key"), path); err != nil {
		t.Fatal(err)
	}
	if err := run(t, cfg); err == nil || !strings.Contains(err.Error(), path+" is another cluster's") {
		t.Errorf("with another cluster's key: %v", err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	statements(t, cfg, "DROP FILE 'key.pem' FROM d PROPERTIES ('catalog' = 'kafka')")
}
