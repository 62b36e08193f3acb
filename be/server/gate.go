package server

import (
	"errors"
	"sync"
	"time"

	"shoal/internal/warehouse"
)

// trialPause is how often a warehouse that refuses files is tried again.
const trialPause = time.Second

// A gate keeps all tasks of a backend from polling while the warehouse takes no
// files. A task that fails to write shuts it for the others too: what one of
// them releases, the next would fetch in vain.
type gate struct {
	warehouse *warehouse.Warehouse

	mu   sync.Mutex
	why  error     // nil while it is open
	next time.Time // when the warehouse may be tried again
}

// shut closes the gate because of err, until the warehouse was tried.
func (g *gate) shut(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why = err
}

// Ready implements task.Writer.
func (g *gate) Ready() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if why := g.warehouse.Trouble(); why != "" {
		return errors.New(why)
	}
	if g.why != nil && time.Now().After(g.next) {
		g.why = g.warehouse.TryWrite()
		g.next = time.Now().Add(trialPause)
	}
	return g.why
}
