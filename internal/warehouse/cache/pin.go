package cache

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"shoal/internal/warehouse/bucket"
)

const (
	asking   = 16 // files that are asked for at the same time by a Pin
	fetching = 8  // files that are fetched at the same time by a Pin
)

// Pin brings files here and keeps them until release is called, which may be
// done more than once. The error is a *TooLargeError if the limit does not
// allow it.
func (c *Cache) Pin(ctx context.Context, names []string) (release func(), err error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	known := map[string]bucket.Version{}
	for {
		held, fresh, err := c.admit(ctx, names, known)
		if err != nil {
			return nil, err
		}
		lost, err := c.fill(ctx, held, fresh, known)
		if err == nil && !lost {
			return sync.OnceFunc(func() { c.release(held) }), nil
		}
		c.release(held)
		if err != nil {
			return nil, err
		}
		// Somebody else was to fetch a file, and failed: that is his error.
	}
}

// admit pins what is here and reserves what is not: fresh, which the caller
// fetches. It waits until there is room.
func (c *Cache) admit(ctx context.Context, names []string, known map[string]bucket.Version) (held, fresh []*copied, err error) {
	if held := c.tryAll(names); held != nil {
		return held, nil, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	for {
		if err := c.ask(ctx, c.unknown(names, known), known); err != nil {
			return nil, nil, err
		}
		held, fresh, changed, err := c.tryAdmit(names, known)
		if err != nil || held != nil {
			return held, fresh, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("waiting for room in the cache: %w", ctx.Err())
		}
	}
}

// tryAll pins all of the files if all are here or on their way; else it is nil.
func (c *Cache) tryAll(names []string) []*copied {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := make([]*copied, 0, len(names))
	for _, name := range names {
		e := c.sound(name)
		if e == nil {
			return nil
		}
		held = append(held, e)
	}
	for _, e := range held {
		c.pin(e)
	}
	return held
}

// sound is the copy of a file, nil if there is none that can be used.
func (c *Cache) sound(name string) *copied {
	e := c.copies[name]
	if e == nil || e.pins > 0 {
		return e
	}
	if info, err := os.Stat(c.Path(name)); err != nil || info.Size() != e.size {
		c.drop(e)
		return nil
	}
	return e
}

// unknown are the files that are neither here nor known.
func (c *Cache) unknown(names []string, known map[string]bucket.Version) (unknown []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		if _, ok := known[name]; !ok && c.sound(name) == nil {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// ask gets to know files.
func (c *Cache) ask(ctx context.Context, names []string, known map[string]bucket.Version) error {
	answers := make([]bucket.Version, len(names))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(asking)
	for i, name := range names {
		g.Go(func() (err error) {
			answers[i], err = c.source.Stat(ctx, name)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, name := range names {
		known[name] = answers[i]
	}
	return nil
}

// tryAdmit pins and reserves everything, or nothing: then changed is closed once
// it may be tried again.
func (c *Cache) tryAdmit(names []string, known map[string]bucket.Version) (held, fresh []*copied, changed <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var need, missing int64
	retry := make(chan struct{})
	for _, name := range names {
		e, f := c.sound(name), known[name]
		if e != nil {
			need += e.size
			continue
		}
		if _, ok := known[name]; !ok { // it went since it was seen
			close(retry)
			return nil, nil, retry, nil
		}
		need, missing = need+f.Size, missing+f.Size
	}
	if need > c.limit {
		return nil, nil, nil, &TooLargeError{need, c.limit}
	}
	for _, name := range names {
		if e := c.copies[name]; e != nil {
			c.pin(e)
			held = append(held, e)
		}
	}
	if !c.makeRoom(missing) {
		for _, e := range held {
			c.unpin(e)
		}
		return nil, nil, c.changed, nil
	}
	for _, name := range names {
		if c.copies[name] == nil {
			e := c.insert(name, known[name].Size)
			held, fresh = append(held, e), append(fresh, e)
		}
	}
	return held, fresh, nil, nil
}

// fill fetches fresh copies and waits for those that others fetch. lost tells
// that one of the latter will not come. After an error none of the former is.
func (c *Cache) fill(ctx context.Context, held, fresh []*copied, known map[string]bucket.Version) (lost bool, err error) {
	g, fetchCtx := errgroup.WithContext(ctx)
	g.SetLimit(fetching)
	for _, e := range fresh {
		g.Go(func() error {
			err := fetchCtx.Err()
			if err == nil {
				err = c.source.Download(fetchCtx, e.name, known[e.name], c.Path(e.name))
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if err != nil {
				c.drop(e)
			}
			close(e.arrived)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return false, err
	}
	for _, e := range held {
		select {
		case <-e.arrived:
			lost = lost || e.lost
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return lost, nil
}

func (c *Cache) release(held []*copied) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range held {
		c.unpin(e)
	}
}
