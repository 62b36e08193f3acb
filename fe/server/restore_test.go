package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shoal/fe/backup"
	"shoal/fe/seal"
	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// saveSealed writes a snapshot of a cluster with a file that is sealed with the
// key of a folder.
func saveSealed(t *testing.T, keyDir string) (path string) {
	t.Helper()
	sealer := seal.New(keyDir)
	if err := sealer.Unlock(nil); err != nil {
		t.Fatal(err)
	}
	sealed, err := sealer.Seal([]byte("secret"), "p")
	if err != nil {
		t.Fatal(err)
	}
	s := state.New()
	s.Apply(1, &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
	db := s.Apply(2, &raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "d"}}}).ID
	if r := s.Apply(3, &raftlogv1.Command{Body: &raftlogv1.Command_CreateFile{CreateFile: &raftlogv1.CreateFile{File: &raftlogv1.File{
		DatabaseId: db, Catalog: "kafka", Name: "ca.pem", Content: []byte(sealed), Sealed: true, Md5: "m", Size: 6}}}}); r.Err != nil {
		t.Fatal(r.Err)
	}
	path = filepath.Join(t.TempDir(), "snapshot")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := backup.Write(f, s); err != nil {
		t.Fatal(err)
	}
	return path
}

// A restored frontend says what key it needs, takes no other, and leaves nothing
// behind where it failed.
func TestRestore(t *testing.T) {
	right, wrong := t.TempDir(), t.TempDir()
	if err := seal.New(wrong).Unlock(nil); err != nil {
		t.Fatal(err)
	}
	saved := saveSealed(t, right)
	restore := func(dir, key string) (Restored, error) {
		return Restore(RestoreConfig{Snapshot: saved, Key: key, DataDir: dir, RaftAddr: "127.0.0.1:9010", Now: time.Unix(1_900_000_000, 0), Logger: slog.New(slog.DiscardHandler)})
	}
	key := func(dir string) string { return filepath.Join(dir, "cluster.key") }

	dir := filepath.Join(t.TempDir(), "fe")
	for what, why := range map[string]string{key(wrong): "another cluster's", key(t.TempDir()): "no such file"} {
		if _, err := restore(dir, what); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("with %s: %v, want %q", what, err, why)
		}
		if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) > 0 {
			t.Errorf("it left %v", left)
		}
	}
	got, err := restore(dir, key(right))
	if err != nil || got.NeedsKey != nil || got.Cluster.Incarnation != 1_900_000_000 || got.Applied != 3 {
		t.Fatalf("Restore = %+v, %v", got, err)
	}
	if info, err := os.Stat(key(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is there with %v, %v", info, err)
	}
	if _, err := restore(dir, key(right)); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("into a folder that is there: %v", err)
	}
	keyless := filepath.Join(t.TempDir(), "fe")
	if got, err := restore(keyless, ""); err != nil || got.NeedsKey == nil || !strings.Contains(got.NeedsKey.Error(), key(keyless)) {
		t.Errorf("without a key: %+v, %v", got, err)
	}
	id, found, err := readIdentity(keyless)
	if other, _, _ := readIdentity(dir); err != nil || !found || id.ClusterID != "c1" || !id.Begun || id.FrontendID == other.FrontendID {
		t.Errorf("identities %+v and %+v, %v", id, other, err)
	}
}
