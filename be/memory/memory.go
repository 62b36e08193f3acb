// Package memory divides what a backend may take of its machine: one Budget for
// the records that tasks hold and for the queries that run.
//
// At the limit nothing fails that can wait. A task asks (Try) before it polls, and
// polls later or less if there is no room; what a poll brought beyond what was
// asked for is counted all the same (Hold), so that others wait the longer. A
// query waits (Take), before tasks that ask after it, but not for ever; and queries
// take half of the budget at most, or loads would stand still for them.
//
// What is outside of the budget, because it is bounded by itself, is subtracted
// from the limit first: the process as it is without work, and the DuckDB of the
// pipes. Go's collector is told what the queries leave, since their memory is not
// Go's.
//
// It is safe for concurrent use and starts nothing.
package memory

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// PipeBytes is for the DuckDB that all pipes share.
	PipeBytes = 256 << 20
	// baseBytes is about what a backend takes without any work.
	baseBytes = 128 << 20
	// Least is the smallest limit that a backend can work with.
	Least = 512 << 20
	// mostQuery bounds one query. What needs more spills.
	mostQuery = 1 << 30
	// queryPatience is how long a query waits for its memory.
	queryPatience = 30 * time.Second
)

// A Budget is memory that is handed out. Its methods may be called concurrently.
type Budget struct {
	limit int64 // of the process
	total int64 // to hand out
	tune  func(bytes int64)

	mu      sync.Mutex
	used    int64 // by accounts and queries
	queries int64 // by queries
	waiting int   // queries
	given   chan struct{}
}

// New divides a limit of at least Least bytes. tune is told, at once and whenever
// that changes, how many bytes Go may use; SetCollector is one.
func New(limit int64, tune func(bytes int64)) *Budget {
	b := &Budget{limit: limit, total: limit - baseBytes - PipeBytes, tune: tune, given: make(chan struct{})}
	tune(limit - PipeBytes)
	return b
}

// QueryBytes is what one query may use: a quarter of the budget, so that two fit
// into what queries may take, and no more than a gigabyte.
func (b *Budget) QueryBytes() int64 { return min(b.total/4, mostQuery) }

// Take waits until a query may have QueryBytes, which release gives back. The error
// says for people why it did not get them, or is the context's.
func (b *Budget) Take(ctx context.Context) (release func(), err error) {
	bytes := b.QueryBytes()
	patience := time.NewTimer(queryPatience)
	defer patience.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting++
	defer func() { b.waiting-- }()
	for b.used+bytes > b.total || b.crowded() {
		given := b.given
		b.mu.Unlock()
		select {
		case <-given:
		case <-patience.C:
			err = b.exhausted()
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		b.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	b.lend(bytes)
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lend(-bytes)
	}), nil
}

// crowded tells whether queries wait for the end of others, whatever tasks hold. The
// lock is held.
func (b *Budget) crowded() bool { return b.queries+b.QueryBytes() > b.total/2 }

// lend gives queries bytes, or takes them back. The lock is held.
func (b *Budget) lend(bytes int64) {
	b.queries += bytes
	b.tune(b.limit - PipeBytes - b.queries)
	b.change(bytes)
}

// change adds to what is used. The lock is held.
func (b *Budget) change(bytes int64) {
	b.used += bytes
	if bytes < 0 {
		close(b.given)
		b.given = make(chan struct{})
	}
}

// exhausted says why a query was not run.
func (b *Budget) exhausted() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Errorf("no memory for the query in %v: of %d MiB that the backend divides, queries have %d (at most half) and loads %d; try again later, or give the backend more by --mem-limit",
		queryPatience, b.total>>20, b.queries>>20, (b.used-b.queries)>>20)
}

// An Account is what one task holds. One goroutine uses it.
type Account struct {
	budget *Budget
	held   int64
}

// Account opens an empty one.
func (b *Budget) Account() *Account { return &Account{budget: b} }

// Try raises what is held to bytes if there is room for it and no query waits for
// that, or if nobody holds anything: then waiting would not help. The error says
// for people why it does not.
func (a *Account) Try(bytes int64) error {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	more := bytes - a.held
	if more > 0 && (b.waiting > 0 && !b.crowded() || b.used+more > b.total) && b.used > 0 {
		return fmt.Errorf("the backend's memory is taken: of %d MiB that it divides, queries have %d and loads %d; it polls again when some is given back",
			b.total>>20, b.queries>>20, (b.used-b.queries)>>20)
	}
	a.set(bytes)
	return nil
}

// Hold sets what is held, whether there is room for it or not.
func (a *Account) Hold(bytes int64) {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.set(bytes)
}

// set is Hold with the lock held.
func (a *Account) set(bytes int64) {
	a.budget.change(bytes - a.held)
	a.held = bytes
}
