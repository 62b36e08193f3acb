package warehouse_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal/internal/warehouse"
)

func open(t *testing.T) (*warehouse.Warehouse, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "warehouse")
	w, err := warehouse.Open("file://" + root)
	if err != nil {
		t.Fatal(err)
	}
	return w, root
}

func TestOpenRefuses(t *testing.T) {
	for _, uri := range []string{"", "/var/lib", "file://host/x", "file:relative", "file:///x?y=1", "://", "s3://key:HUSH@bucket", "s3://key:HUSH@bucket:port", "s3:%zz@HUSH", "http://key:HUSH@host"} {
		_, err := warehouse.Open(uri)
		if err == nil || warehouse.CheckURI(uri) == nil {
			t.Errorf("Open(%q) took it", uri)
		} else if strings.Contains(err.Error(), "HUSH") {
			t.Errorf("Open(%q) says %v", uri, err)
		}
	}
}

func TestFileLife(t *testing.T) {
	w, _ := open(t)
	if err := w.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	const rel = "7/1-2-3-4-5.parquet"
	f, err := w.Create(rel)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.LocalPath(), []byte("rows"), 0o644); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Commit(t.Context()); err != nil || n != 4 {
		t.Fatalf("Commit = %d, %v; want 4 bytes", n, err)
	}
	files, err := w.Fetch(t.Context(), rel)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Release()
	path := files.Path(rel)
	if got, err := os.ReadFile(path); err != nil || string(got) != "rows" {
		t.Fatalf("file holds %q, %v", got, err)
	}
	if _, err := w.Create(rel); !errors.Is(err, warehouse.ErrExists) {
		t.Fatalf("Create of a used name = %v; want ErrExists", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "rows" {
		t.Fatalf("a refused Create changed the file to %q", got)
	}
}

// TestNothingIsWrittenWithoutTheMarker: a folder that a volume was mounted on,
// and is not any more, would take files that nobody finds again.
func TestNothingIsWrittenWithoutTheMarker(t *testing.T) {
	w, root := open(t)
	const rel = "7/a.parquet"
	if _, err := w.Create(rel); err == nil {
		t.Error("Create before the warehouse was verified took it")
	}
	if err := w.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(root, "shoal-warehouse.json")
	if err := os.Rename(marker, marker+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(rel); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "marker") {
		t.Errorf("Create without the marker = %v, want an error that names it", err)
	}
	if err := os.Rename(marker+".away", marker); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(rel); err != nil {
		t.Errorf("Create with the marker back = %v", err)
	}
}

func TestDiscardFreesTheName(t *testing.T) {
	w, _ := open(t)
	if err := w.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f, err := w.Create("7/a.parquet")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Discard(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPathStaysInside(t *testing.T) {
	w, _ := open(t)
	for _, rel := range []string{"", "a.parquet", "../a.parquet", "7/../../a.parquet", "/7/a.parquet", "7/a", "7/a b.parquet", "7/.parquet", "7/a.parquet\n", `7\a.parquet`} {
		if files, err := w.Fetch(t.Context(), rel); err == nil {
			t.Errorf("Fetch(%q) = %q; want an error", rel, files.Path(rel))
		}
		if _, err := w.Create(rel); err == nil || strings.Contains(err.Error(), "verified") {
			t.Errorf("Create(%q) = %v; want another error", rel, err)
		}
	}
}

func TestMarker(t *testing.T) {
	w, root := open(t)
	if err := w.Verify(t.Context(), "c1"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "marker") {
		t.Fatalf("Verify without a marker = %v", err)
	}
	for range 2 {
		if err := w.Bootstrap(t.Context(), "c1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Verify(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.Verify(t.Context(), "c2"), w.Bootstrap(t.Context(), "c2")} {
		if err == nil || !strings.Contains(err.Error(), `"c1"`) {
			t.Fatalf("another cluster got %v", err)
		}
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 {
		t.Fatalf("Bootstrap left %v, %v", entries, err)
	}
	if why := w.Trouble(); why != "" {
		t.Fatalf("Trouble = %q", why)
	}
	if err := os.WriteFile(filepath.Join(root, entries[0].Name()), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if why := w.Trouble(); !strings.Contains(why, "damaged") {
		t.Fatalf("Trouble = %q", why)
	}
	if err := w.Verify(t.Context(), "c1"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("Verify of a damaged marker = %v", err)
	}
}
