// Package lease keeps in mind which versions of the replicated state are being
// read at this frontend, so that no file goes that one of them has.
//
// Whoever hands out paths of files (queries, checks of ledgers, deliveries of
// dead letters) takes a lease of the version that they are from, in the same
// look at the state, and gives it back when nobody reads them any more. Before
// the leader removes a file it asks every frontend for the oldest version that
// is read there (fe/removal). A version is the log index that made it. Leases
// are not kept: what read by those of an earlier process ended with it.
package lease

import (
	"sync"

	"shoal/fe/state"
)

// Leases are a frontend's. The zero Leases has none; its methods are safe for
// concurrent use.
type Leases struct {
	mu   sync.Mutex
	held map[uint64]int // how many, by version
}

// Hold takes a lease of the version that st is, which the caller must be in the
// middle of viewing: before or after it could be another. release gives it back,
// and may be called more than once.
func (l *Leases) Hold(st *state.State) (release func()) {
	version := st.Applied()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[uint64]int{}
	}
	l.held[version]++
	return sync.OnceFunc(func() { l.release(version) })
}

func (l *Leases) release(version uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[version]--; l.held[version] == 0 {
		delete(l.held, version)
	}
}

// Oldest is a version such that nothing here reads an older one, nor will:
// leases that are taken later are of st, which the caller is viewing, or of newer
// ones.
func (l *Leases) Oldest(st *state.State) uint64 {
	oldest := st.Applied()
	l.mu.Lock()
	defer l.mu.Unlock()
	for version := range l.held {
		oldest = min(oldest, version)
	}
	return oldest
}
