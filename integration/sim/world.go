package sim

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A World is one universe: a clock, actors of which exactly one runs at a
// time, and one source of chance. The same seed makes the same world.
//
// An actor is a coroutine. It runs until it waits; then the world picks the
// next among those that can go on, by chance, and moves the clock when none
// can. So every interleaving at the places where actors wait can happen, and
// none elsewhere.
type World struct {
	rng     *rand.Rand
	start   time.Time
	now     time.Time
	actors  []*actor
	current *actor
	steps   int

	telling bool
	story   strings.Builder
}

// A process is what dies together.
type process struct {
	name        string
	dead        bool
	frozenUntil time.Time // it gets no time before
}

// An actor is one thread of a process.
type actor struct {
	proc   *process
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool

	// What it waits for: any of these.
	done  <-chan struct{}
	until time.Time
	ctx   context.Context
}

// killed unwinds an actor whose process died.
type killed struct{}

func newWorld(seed uint64, telling bool) *World {
	start := time.UnixMilli(1_700_000_000_000)
	return &World{
		rng:     rand.New(rand.NewPCG(seed, 0x5eed)),
		start:   start,
		now:     start,
		telling: telling,
	}
}

// Now is the virtual time.
func (w *World) Now() time.Time { return w.now }

// since is the virtual time since the beginning.
func (w *World) since() time.Duration { return w.now.Sub(w.start) }

// tell adds a line to the story, if anybody listens.
func (w *World) tell(format string, args ...any) {
	if !w.telling {
		return
	}
	who := "world"
	if w.current != nil {
		who = w.current.proc.name
	}
	fmt.Fprintf(&w.story, "%10.3fs %-9s %s\n", w.since().Seconds(), who, fmt.Sprintf(format, args...))
}

// Go starts an actor in the process of the caller.
func (w *World) Go(f func()) <-chan struct{} { return w.spawn(w.current.proc, f) }

// spawn starts an actor in proc.
func (w *World) spawn(proc *process, f func()) <-chan struct{} {
	done := make(chan struct{})
	a := &actor{proc: proc, until: w.now}
	a.resume, a.stop = iter.Pull(iter.Seq[struct{}](func(yield func(struct{}) bool) {
		a.yield = yield
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					panic(r)
				}
			}
		}()
		f()
		close(done)
	}))
	w.actors = append(w.actors, a)
	return done
}

// Wait is task.Runtime's.
func (w *World) Wait(ctx context.Context, done <-chan struct{}, until time.Time) bool {
	a := w.live()
	a.ctx, a.done, a.until = ctx, done, until
	if !a.yield(struct{}{}) || a.proc.dead {
		panic(killed{})
	}
	return closed(done)
}

// live is the current actor. A dead one unwinds instead of acting on.
func (w *World) live() *actor {
	if w.current.proc.dead {
		panic(killed{})
	}
	return w.current
}

// sleep lets others go on for a while.
func (w *World) sleep(d time.Duration) {
	w.Wait(context.Background(), nil, w.now.Add(d))
}

// between is a time from least to most, by chance.
func (w *World) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.rng.Int64N(int64(most-least)+1))
}

// chance is true with probability p.
func (w *World) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func (a *actor) ready(now time.Time) bool {
	return !a.proc.frozenUntil.After(now) && a.due(now)
}

func (a *actor) due(now time.Time) bool {
	return !a.until.IsZero() && !a.until.After(now) ||
		a.ctx != nil && a.ctx.Err() != nil || closed(a.done)
}

// step lets one actor go on, and tells whether there was one.
func (w *World) step() bool {
	w.reap()
	ready := w.ready()
	if len(ready) == 0 {
		next := w.next()
		if next.IsZero() {
			return false
		}
		w.now = next
		ready = w.ready()
	}
	a := ready[w.rng.IntN(len(ready))]
	w.steps++
	w.current = a
	_, alive := a.resume()
	w.current = nil
	if !alive {
		w.actors = slices.DeleteFunc(w.actors, func(other *actor) bool { return other == a })
	}
	return true
}

func (w *World) ready() []*actor {
	var ready []*actor
	for _, a := range w.actors {
		if a.ready(w.now) {
			ready = append(ready, a)
		}
	}
	return ready
}

// next is the earliest time that an actor waits for.
func (w *World) next() time.Time {
	var next time.Time
	for _, a := range w.actors {
		at := a.until
		if frozen := a.proc.frozenUntil; frozen.After(w.now) && (at.IsZero() || at.Before(frozen) || a.due(frozen)) {
			at = frozen
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// reap unwinds the actors of dead processes.
func (w *World) reap() {
	w.actors = slices.DeleteFunc(w.actors, func(a *actor) bool {
		if !a.proc.dead {
			return false
		}
		w.current = a
		a.stop()
		w.current = nil
		return true
	})
}

// end unwinds everybody.
func (w *World) end() {
	for _, a := range w.actors {
		a.proc.dead = true
	}
	w.reap()
}
