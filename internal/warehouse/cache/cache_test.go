package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"shoal/internal/warehouse/bucket"
	"shoal/internal/warehouse/cache"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// origin is a source of files whose content is their name, over and over.
type origin struct {
	sizes map[string]int64
	pause time.Duration // that a download takes
	fail  error         // of the next download, once

	mu        sync.Mutex
	downloads map[string]int
}

func newOrigin(sizes map[string]int64) *origin {
	return &origin{sizes: sizes, downloads: map[string]int{}}
}

func (o *origin) content(name string) []byte {
	return bytes.Repeat([]byte(name), int(o.sizes[name]))[:o.sizes[name]]
}

func (o *origin) Stat(_ context.Context, name string) (bucket.Version, error) {
	if _, ok := o.sizes[name]; !ok {
		return bucket.Version{}, fs.ErrNotExist
	}
	return bucket.Version{Size: o.sizes[name]}, nil
}

func (o *origin) Download(ctx context.Context, name string, _ bucket.Version, to string) error {
	o.mu.Lock()
	o.downloads[name]++
	err := o.fail
	o.fail = nil
	o.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(o.pause):
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, o.content(name), 0o644)
}

func newCache(t *testing.T, o *origin, limit int64) (*cache.Cache, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	c, err := cache.New(dir, limit, o)
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// pin pins, and checks that all are here.
func pin(t *testing.T, o *origin, c *cache.Cache, names ...string) (release func()) {
	t.Helper()
	release, err := c.Pin(t.Context(), names)
	if err != nil {
		t.Fatalf("Pin(%v): %v", names, err)
	}
	for _, name := range names {
		if got, err := os.ReadFile(c.Path(name)); err != nil || !bytes.Equal(got, o.content(name)) {
			t.Fatalf("%s has %d bytes, %v; want %d", name, len(got), err, o.sizes[name])
		}
	}
	return release
}

func (o *origin) expect(t *testing.T, want map[string]int) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if fmt.Sprint(o.downloads) != fmt.Sprint(want) {
		t.Errorf("downloads %v, want %v", o.downloads, want)
	}
}

func TestTheLeastRecentlyUsedGoes(t *testing.T) {
	o := newOrigin(map[string]int64{"1/a": 40, "1/b": 40, "1/c": 40})
	c, dir := newCache(t, o, 100)
	for _, name := range []string{"1/a", "1/b", "1/a", "1/c", "1/a", "1/b"} {
		release := pin(t, o, c, name, name)
		release()
		release()
	}
	o.expect(t, map[string]int{"1/a": 1, "1/b": 2, "1/c": 1})
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 || c.Used() != 80 {
		t.Errorf("%v are here, %v; %d bytes used", files, err, c.Used())
	}
}

func TestTooLarge(t *testing.T) {
	o := newOrigin(map[string]int64{"a": 60, "b": 60})
	c, _ := newCache(t, o, 100)
	_, err := c.Pin(t.Context(), []string{"a", "b"})
	if tooLarge := (*cache.TooLargeError)(nil); !errors.As(err, &tooLarge) || tooLarge.Need != 120 {
		t.Errorf("Pin of 120 bytes of 100 = %v", err)
	}
	if _, err := c.Pin(t.Context(), []string{"a", "x"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Pin of what there is not = %v", err)
	}
	if c.Used() != 0 {
		t.Errorf("%d bytes are used for nothing", c.Used())
	}
	o.expect(t, nil)
}

// Room is waited for, in turn, so that many small ones do not keep out a large
// one; nothing that is pinned goes meanwhile, and those who find everything here
// do not wait.
func TestPinsWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin(map[string]int64{"a": 60, "b": 60, "c": 10})
		c, _ := newCache(t, o, 100)
		releaseA := pin(t, o, c, "a")
		got := make(chan string, 2)
		go func() { defer pin(t, o, c, "b")(); got <- "b" }()
		synctest.Wait()
		go func() { defer pin(t, o, c, "c")(); got <- "c" }() // would fit
		synctest.Wait()
		pin(t, o, c, "a")() // at once
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Pin(short, []string{"b", "c"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Pin without room = %v", err)
		}
		if len(got) > 0 {
			t.Fatalf("%s found room", <-got)
		}
		releaseA()
		<-got
		<-got
	})
}

// Several that need a file fetch it once, also when the one that fetches is
// cancelled or fails.
func TestOneFetches(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fail   error
		cancel bool
		want   int
	}{{"all well", nil, false, 1}, {"the first fails", errors.New("broken off"), false, 2}, {"the first is cancelled", nil, true, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOrigin(map[string]int64{"a": 60})
				o.pause, o.fail = time.Second, tt.fail
				c, _ := newCache(t, o, 100)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				first := make(chan error)
				go func() {
					_, err := c.Pin(ctx, []string{"a"})
					first <- err
				}()
				synctest.Wait()
				var others sync.WaitGroup
				for range 10 {
					others.Go(func() { pin(t, o, c, "a")() })
				}
				synctest.Wait()
				if tt.cancel {
					cancel()
				}
				if err := <-first; (err != nil) != (tt.want == 2) {
					t.Errorf("the first got %v", err)
				}
				others.Wait()
				o.expect(t, map[string]int{"a": tt.want})
			})
		})
	}
}

func TestDamagedCopiesComeAgain(t *testing.T) {
	o := newOrigin(map[string]int64{"a": 60, "b": 20})
	c, _ := newCache(t, o, 100)
	pin(t, o, c, "a", "b")()
	if err := errors.Join(os.Truncate(c.Path("a"), 3), os.Remove(c.Path("b"))); err != nil {
		t.Fatal(err)
	}
	pin(t, o, c, "a", "b")()
	o.expect(t, map[string]int{"a": 2, "b": 2})
}

func TestAdd(t *testing.T) {
	o := newOrigin(map[string]int64{"a": 60, "b": 60})
	c, _ := newCache(t, o, 100)
	add := func(name string) {
		t.Helper()
		draft := filepath.Join(t.TempDir(), "draft")
		if err := os.WriteFile(draft, o.content(name), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := c.Add(name, draft, o.sizes[name]); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(draft); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the draft of %s is still there: %v", name, err)
		}
	}
	add("a")
	add("a")
	release := pin(t, o, c, "a")
	add("b") // no room
	c.Remove("a")
	pin(t, o, c, "a")()
	o.expect(t, nil)
	release()
	add("b")
	pin(t, o, c, "b")()
	o.expect(t, nil)
	c.Remove("b")
	if c.Used() != 0 {
		t.Errorf("%d bytes used", c.Used())
	}
}

// Readers of random files at the same time: what they pinned is there until they
// let go, and the disk never has more than the limit.
func TestUnderLoad(t *testing.T) {
	const limit = 1000
	o := newOrigin(map[string]int64{})
	var names []string
	for i := range 30 {
		name := fmt.Sprintf("7/%d.parquet", i)
		names, o.sizes[name] = append(names, name), int64(50+i)
	}
	c, dir := newCache(t, o, limit)
	var readers sync.WaitGroup
	for seed := range uint64(6) {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0))
			for range 300 {
				var mine []string
				for range 1 + random.IntN(8) {
					mine = append(mine, names[random.IntN(len(names))])
				}
				release, err := c.Pin(t.Context(), mine)
				if err != nil {
					t.Error(err)
					return
				}
				for _, name := range mine {
					if got, err := os.ReadFile(c.Path(name)); err != nil || !bytes.Equal(got, o.content(name)) {
						t.Errorf("%s has %d bytes, %v", name, len(got), err)
					}
				}
				release()
			}
		})
	}
	done := make(chan struct{})
	go func() { readers.Wait(); close(done) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-tick.C:
		}
		if used := c.Used(); used > limit {
			t.Errorf("%d bytes of %d", used, limit)
		}
	}
	if used := onDisk(t, dir); used != c.Used() {
		t.Errorf("%d bytes on disk, %d are known", used, c.Used())
	}
}

// onDisk is how many bytes the files of a folder have.
func onDisk(t *testing.T, dir string) (used int64) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		used += info.Size()
	}
	return used
}
