// Package diskspace tells whether a folder's file system has room left, before
// something that must not fail does.
//
// A Reserve is safe for concurrent use and starts nothing: it asks the system at
// most once a second, and says the same in between.
package diskspace

import (
	"fmt"
	"sync"
	"syscall"
	"time"
)

// askEvery is how long an answer of the system holds.
const askEvery = time.Second

// A Reserve is room that is to stay free in a folder's file system.
type Reserve struct {
	dir   string
	bytes int64

	mu    sync.Mutex
	next  time.Time // to ask the system
	short error
}

// New is a reserve of some bytes where dir lies, which must exist when Check is
// called.
func New(dir string, bytes int64) *Reserve { return &Reserve{dir: dir, bytes: bytes} }

// Check is nil while less is used than all but the reserve. The error says for
// people how much is free and how much should be. A file system that does not
// tell is taken to have room.
func (r *Reserve) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); !now.Before(r.next) {
		r.next, r.short = now.Add(askEvery), r.ask()
	}
	return r.short
}

func (r *Reserve) ask() error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(r.dir, &fs); err != nil {
		return nil
	}
	if free := int64(fs.Bavail) * fs.Bsize; free < r.bytes {
		return fmt.Errorf("the disk is full: %s has %d MiB left of which %d MiB are kept in reserve; it goes on by itself once there is room", r.dir, free>>20, r.bytes>>20)
	}
	return nil
}
