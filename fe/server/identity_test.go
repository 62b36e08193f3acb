package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal/fe/server"
)

// TestIdentity: a folder whose identity is damaged is not used as a new one.
func TestIdentity(t *testing.T) {
	for _, content := range []string{"", "{", `{"cluster_id":"c1"}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, "frontend.json")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		err := run(t, server.Config{DataDir: dir, Bootstrap: true, NewWarehouse: "file://" + dir})
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "%!") {
			t.Errorf("Open on %q = %v, want an error that names the file", content, err)
		}
	}
}
