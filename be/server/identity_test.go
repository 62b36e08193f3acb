package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal/be/server"
)

// TestIdentity: a folder whose identity is damaged is not used as a new one.
func TestIdentity(t *testing.T) {
	for _, content := range []string{"", "{", `{"cluster_id":"c1"}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, "backend.json")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := server.New(server.Config{DataDir: dir, Frontends: []string{"127.0.0.1:1"}, MemoryLimit: "1G"})
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "%!") {
			t.Errorf("New on %q = %v, want an error that names the file", content, err)
		}
	}
}
