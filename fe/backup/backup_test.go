package backup_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"shoal/fe/backup"
	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
)

func saved(t *testing.T) []byte {
	t.Helper()
	s := state.New()
	s.Apply(1, &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
	s.Apply(2, &raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "d"}}})
	var b bytes.Buffer
	if err := backup.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t *testing.T, content []byte) (*state.State, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return backup.Open(path)
}

func TestOpen(t *testing.T) {
	whole := saved(t)
	s, err := open(t, whole)
	if err != nil || s.Database("d") == nil || s.Applied() != 2 {
		t.Fatalf("Open = %v", err)
	}
	if _, err := backup.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// Nothing that was cut off or changed is taken for a snapshot.
func TestOpenDamaged(t *testing.T) {
	whole := saved(t)
	for n := range whole {
		if _, err := open(t, whole[:n]); !errors.Is(err, backup.ErrNoBackup) {
			t.Errorf("cut off after %d bytes: %v", n, err)
		}
		changed := bytes.Clone(whole)
		changed[n] ^= 0x40
		if _, err := open(t, changed); !errors.Is(err, backup.ErrNoBackup) {
			t.Errorf("byte %d changed: %v", n, err)
		}
	}
	if _, err := open(t, append(bytes.Clone(whole), 0)); !errors.Is(err, backup.ErrNoBackup) {
		t.Errorf("a byte more: %v", err)
	}
}
