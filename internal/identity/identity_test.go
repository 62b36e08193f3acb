package identity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal/internal/identity"
)

type node struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
}

func (n node) Missing() string {
	if n.Name == "" {
		return "name"
	}
	return ""
}

func TestReadAndWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "node.json")
	if id, found, err := identity.Read[node](path); err != nil || found || id != (node{}) {
		t.Errorf("Read of no file = %v, %v, %v", id, found, err)
	}
	want := node{Name: "n1", Note: "größe"}
	if err := identity.Write(path, want); err != nil {
		t.Fatal(err)
	}
	if id, found, err := identity.Read[node](path); err != nil || !found || id != want {
		t.Errorf("Read = %v, %v, %v; want %v", id, found, err, want)
	}
}

func TestDamagedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.json")
	for content, want := range map[string]string{"": "JSON", "{": "JSON", "{}": "name is missing", `{"name":1}`: "name", `{"note":"x"}`: "name is missing"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		id, found, err := identity.Read[node](path)
		if err == nil || !found || id != (node{}) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Read of %q = %v, %v, %v; want an error with the path and %q", content, id, found, err, want)
		}
	}
}
