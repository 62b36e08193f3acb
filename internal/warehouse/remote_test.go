package warehouse_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shoal/internal/tests3"
	"shoal/internal/warehouse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openRemote opens a warehouse with a folder and a small cache.
func openRemote(t *testing.T, uri string) (w *warehouse.Warehouse, dir string) {
	t.Helper()
	w, err := warehouse.Open(uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	dir = t.TempDir()
	if err := w.UseFolder(dir, 100); err != nil {
		t.Fatal(err)
	}
	return w, dir
}

// write makes a rowset file.
func write(t *testing.T, w *warehouse.Warehouse, rel, content string) (warehouse.File, error) {
	t.Helper()
	f, err := w.Create(rel)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(f.LocalPath(), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	n, err := f.Commit(t.Context())
	if err == nil && n != int64(len(content)) {
		t.Errorf("%d bytes of %s were committed, want %d", n, rel, len(content))
	}
	return f, err
}

func read(t *testing.T, w *warehouse.Warehouse, rel, want string) {
	t.Helper()
	files, err := w.Fetch(t.Context(), rel)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Release()
	if got, err := os.ReadFile(files.Path(rel)); err != nil || string(got) != want {
		t.Errorf("%s has %q, %v; want %q", rel, got, err, want)
	}
}

func TestRemoteFileLife(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	uri := s.Bucket("life", s.URL)
	w, dir := openRemote(t, uri)
	if err := w.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	const rel = "7/1-2-3-4-5.parquet"
	if _, err := write(t, w, rel, "rows"); err != nil {
		t.Fatal(err)
	}
	again, err := write(t, w, rel, "others")
	if !errors.Is(err, warehouse.ErrExists) {
		t.Fatalf("a used name = %v, want ErrExists", err)
	}
	if err := again.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	read(t, w, rel, "rows")
	other, _ := openRemote(t, uri) // nothing is in its cache
	if err := other.Verify(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	read(t, other, rel, "rows")

	if err := os.Remove(filepath.Join(s.Dir, "life", "shoal", rel)); err != nil {
		t.Fatal(err)
	}
	read(t, w, rel, "rows") // of the cache
	if _, err := w.FetchAnew(t.Context(), rel); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is lost is found again: %v", err)
	}

	f, err := write(t, w, "7/b.parquet", "for nothing")
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Discard(ended); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Fetch(t.Context(), "7/b.parquet"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a discarded file can be read: %v", err)
	}
	if drafts, err := os.ReadDir(filepath.Join(dir, "drafts")); err != nil || len(drafts) > 0 {
		t.Errorf("drafts stay: %v, %v", drafts, err)
	}
	if _, err := write(t, w, "7/large.parquet", strings.Repeat("x", 101)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Fetch(t.Context(), "7/large.parquet"); err == nil || !strings.Contains(err.Error(), "--warehouse-cache-mib") {
		t.Errorf("Fetch of more than the cache holds = %v", err)
	}
}

func TestRemoteMarker(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	uri := s.Bucket("marker", s.URL)
	w, _ := openRemote(t, uri)
	if err := w.Verify(t.Context(), "c1"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "marker") {
		t.Fatalf("Verify without a marker = %v", err)
	}
	if _, err := w.Create("7/a.parquet"); err == nil {
		t.Error("Create before the warehouse was verified took it")
	}
	// Two clusters at once: one of them gets it.
	var won atomic.Int32
	var both sync.WaitGroup
	for _, id := range []string{"c1", "c2"} {
		both.Go(func() {
			w, _ := openRemote(t, uri)
			err := w.Bootstrap(t.Context(), id)
			if again := w.Bootstrap(t.Context(), id); (again == nil) != (err == nil) {
				t.Errorf("%s got %v, then %v", id, err, again)
			}
			if err == nil {
				won.Add(1)
			}
		})
	}
	both.Wait()
	if won.Load() != 1 {
		t.Errorf("%d clusters have the warehouse", won.Load())
	}
	if err := w.Bootstrap(t.Context(), "c3"); err == nil || !strings.Contains(err.Error(), "belongs to cluster") {
		t.Errorf("a third cluster got %v", err)
	}
	nowhere, err := warehouse.Open("s3://nowhere/x?endpoint=" + s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer nowhere.Close()
	if err := nowhere.Bootstrap(t.Context(), "c1"); err == nil || !strings.Contains(err.Error(), "warehouse s3://nowhere/x at "+s.URL+": there is no such bucket") {
		t.Errorf("without a bucket: %v", err)
	}
}

// TestWatch: what is wrong shows while it is, and nothing is written meanwhile.
func TestWatch(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	var denied atomic.Bool
	w, _ := openRemote(t, s.Bucket("watch", s.Proxy(func(out http.ResponseWriter, r *http.Request, pass http.Handler) {
		if denied.Load() {
			tests3.Refuse(out, 403, "AccessDenied", "Access Denied")
		} else {
			pass.ServeHTTP(out, r)
		}
	})))
	if err := w.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { w.Watch(ctx, "c1") })
	defer watch.Wait()
	defer cancel()
	shows := func(want string) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(time.Minute); ; <-tick.C {
			why := w.Trouble()
			if want == "" && why == "" || want != "" && strings.Contains(why, want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("Trouble = %q, want %q", why, want)
			}
		}
	}
	shows("")
	denied.Store(true)
	shows("access is denied")
	if _, err := w.Create("7/a.parquet"); err == nil || !strings.Contains(err.Error(), "access is denied") {
		t.Errorf("Create = %v", err)
	}
	if err := w.TryWrite(t.Context()); err == nil {
		t.Error("TryWrite found nothing wrong")
	}
	denied.Store(false)
	shows("")
	if err := w.TryWrite(t.Context()); err != nil {
		t.Error(err)
	}
	s.Kill()
	shows("watch/shoal") // of which warehouse
	if err := w.Verify(t.Context(), "c1"); !errors.Is(err, warehouse.ErrUnavailable) {
		t.Errorf("Verify = %v", err)
	}
	s.Run()
	shows("")
	if _, err := write(t, w, "7/a.parquet", "rows"); err != nil {
		t.Error(err)
	}
}

// TestCommitThatFails: an object that may be another's is left alone.
func TestCommitThatFails(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	var broken atomic.Bool
	var deleted atomic.Int32
	w, _ := openRemote(t, s.Bucket("fails", s.Proxy(func(out http.ResponseWriter, r *http.Request, pass http.Handler) {
		if r.Method == http.MethodDelete {
			deleted.Add(1)
		}
		if broken.Load() && r.Method == http.MethodPut {
			tests3.Refuse(out, 507, "InsufficientStorage", "no space left")
			return
		}
		pass.ServeHTTP(out, r)
	})))
	if err := w.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	f, err := write(t, w, "7/a.parquet", "rows")
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("Commit = %v", err)
	}
	if err := w.TryWrite(t.Context()); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("TryWrite = %v", err)
	}
	if err := f.Discard(t.Context()); err != nil || deleted.Load() > 0 {
		t.Errorf("Discard = %v, %d objects removed", err, deleted.Load())
	}
	broken.Store(false)
	if _, err := write(t, w, "7/a.parquet", "rows"); err != nil {
		t.Error(err)
	}
}
