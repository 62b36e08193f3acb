// Package cache keeps copies of remote files on a local disk, of at most so many
// bytes: the ones used last.
//
// The files never change, so a copy is right once it is complete. Whoever needs
// some pins all of them at once, and none of them goes until he releases them.
// What a Pin lacks is reserved as a whole before the first byte is fetched, in
// the order in which they came; so two that need more than there is room for
// wait for each other's end and not for each other's files. A file that
// several need is fetched once.
//
// Copies do not outlive the process: what a machine's crash leaves of a file
// cannot be told from a good one. A copy that was damaged or removed meanwhile is
// noticed by its size and fetched again.
//
// A Cache is safe for concurrent use. It starts goroutines within Pin only.
package cache

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"shoal/internal/warehouse/bucket"
)

// A Source has the files.
type Source interface {
	// Stat returns which version of a file there is.
	Stat(ctx context.Context, name string) (bucket.Version, error)
	// Download writes that version to a new local file, or leaves none.
	Download(ctx context.Context, name string, version bucket.Version, to string) error
}

// A Cache is a folder of copies.
type Cache struct {
	dir    string
	limit  int64
	source Source
	turn   chan struct{} // held by the one that waits for room

	mu      sync.Mutex
	used    int64 // bytes of all copies, here or on their way
	copies  map[string]*copied
	unused  list.List     // of *copied without pins, the one used last in front
	changed chan struct{} // closed when room may have been made
}

// copied is a file that is here or on its way.
type copied struct {
	name    string
	size    int64
	pins    int
	place   *list.Element // in unused, nil with pins
	arrived chan struct{} // closed once it is here, or lost
	lost    bool          // it is no longer in copies; set before arrived is closed
}

// New makes a Cache of an empty folder, which it makes; what was in it goes.
// limit is in bytes.
func New(dir string, limit int64, source Source) (*Cache, error) {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, err
	}
	return &Cache{dir: dir, limit: limit, source: source, turn: make(chan struct{}, 1),
		copies: map[string]*copied{}, changed: make(chan struct{})}, nil
}

// Path is where the copy of a file is while it is pinned. Names are of letters,
// digits, '-', '_', '.' and '/'.
func (c *Cache) Path(name string) string {
	return filepath.Join(c.dir, strings.ReplaceAll(name, "/", "+"))
}

// Used is how many bytes the copies take up, with those on their way.
func (c *Cache) Used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// Add takes over a local file as the copy of name, if there is room for it. The
// file is gone from path in any case.
func (c *Cache) Add(name, path string, size int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.copies[name] != nil || !c.makeRoom(size) {
		return os.Remove(path)
	}
	if err := os.Rename(path, c.Path(name)); err != nil {
		return err
	}
	e := c.insert(name, size)
	close(e.arrived)
	c.unpin(e)
	return nil
}

// Remove forgets the copy of a file that is no more, unless somebody reads it.
func (c *Cache) Remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.copies[name]; e != nil && e.pins == 0 {
		c.drop(e)
	}
}

// insert puts a pinned copy among the others. There must be room.
func (c *Cache) insert(name string, size int64) *copied {
	e := &copied{name: name, size: size, pins: 1, arrived: make(chan struct{})}
	c.copies[name] = e
	c.used += size
	return e
}

// makeRoom removes the copies that were not used for longest until size bytes
// are free, or says that it cannot.
func (c *Cache) makeRoom(size int64) bool {
	free := c.limit - c.used
	for e := c.unused.Front(); e != nil && free < size; e = e.Next() {
		free += e.Value.(*copied).size
	}
	if free < size {
		return false
	}
	for c.limit-c.used < size {
		c.drop(c.unused.Back().Value.(*copied))
	}
	return true
}

// drop forgets a copy and removes its file. A file that stays would be written
// over by the next fetch; the size of what is on disk is the operator's to see.
func (c *Cache) drop(e *copied) {
	if e.place != nil {
		c.unused.Remove(e.place)
		e.place = nil
	}
	delete(c.copies, e.name)
	c.used -= e.size
	e.lost = true
	os.Remove(c.Path(e.name))
	c.tell()
}

// tell wakes who waits for room.
func (c *Cache) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Cache) pin(e *copied) {
	e.pins++
	if e.place != nil {
		c.unused.Remove(e.place)
		e.place = nil
	}
}

func (c *Cache) unpin(e *copied) {
	if e.pins--; e.pins == 0 && !e.lost {
		e.place = c.unused.PushFront(e)
		c.tell()
	}
}

// A TooLargeError tells that files cannot be here at the same time.
type TooLargeError struct{ Need, Limit int64 }

func (e *TooLargeError) Error() string {
	const mib = 1 << 20
	return fmt.Sprintf("%d MiB of files are needed at the same time, and the cache holds at most %d MiB", (e.Need+mib-1)/mib, e.Limit/mib)
}
