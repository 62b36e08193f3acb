package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"shoal/internal/warehouse"
)

const (
	// trialPause is how often a warehouse that refuses files is tried again.
	trialPause = time.Second
	// trialLimit is how long a trial may take.
	trialLimit = 5 * time.Second
)

// A gate keeps all tasks of a backend from polling while the warehouse takes no
// files. A task that fails to write shuts it for the others too: what one of
// them releases, the next would fetch in vain.
type gate struct {
	warehouse *warehouse.Warehouse

	mu     sync.Mutex
	why    error // nil while it is open
	trying bool
	next   time.Time // when the warehouse may be tried again
}

// shut closes the gate because of err, until the warehouse was tried.
func (g *gate) shut(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why = err
}

// Ready implements task.Writer. One task at a time finds out for the others,
// which hear at once what was known before.
func (g *gate) Ready() error {
	if why := g.warehouse.Trouble(); why != "" {
		return errors.New(why)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.why != nil && !g.trying && time.Now().After(g.next) {
		g.trying = true
		g.mu.Unlock()
		why := g.try()
		g.mu.Lock()
		g.why, g.trying, g.next = why, false, time.Now().Add(trialPause)
	}
	return g.why
}

func (g *gate) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), trialLimit)
	defer cancel()
	return g.warehouse.TryWrite(ctx)
}
