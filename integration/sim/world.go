package sim

import (
	"container/heap"
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
// none elsewhere. An event is what happens at its time without ever waiting.
type World struct {
	rng     *rand.Rand
	start   time.Time
	now     time.Time
	actors  []*actor
	able    []*actor // that can go on now
	events  events
	current *process
	running *actor // nil in an event
	steps   int
	nr      int // of events

	telling bool
	story   strings.Builder
}

// A process is what dies together, with those that it began.
type process struct {
	name        string
	parent      *process // nil for one of its own
	dead        bool
	frozenUntil time.Time // it gets no time before
}

// gone tells whether it died.
func (p *process) gone() bool { return p.dead || p.parent != nil && p.parent.gone() }

// thaws is when it gets time again.
func (p *process) thaws() time.Time {
	if p.parent != nil && p.parent.frozenUntil.After(p.frozenUntil) {
		return p.parent.frozenUntil
	}
	return p.frozenUntil
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

// An event is done by its process, if that lives then.
type event struct {
	at   time.Time
	nr   int // order among equals
	proc *process
	do   func()
}

// events is a heap, the next first.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].nr < e[j].nr
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = event{}
	*e = (*e)[:len(*e)-1]
	return last
}

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
		who = w.current.name
	}
	fmt.Fprintf(&w.story, "%10.3fs %-9s %s\n", w.since().Seconds(), who, fmt.Sprintf(format, args...))
}

// Go starts an actor in the process of the caller.
func (w *World) Go(f func()) <-chan struct{} { return w.spawn(w.current, f) }

// after has proc do something a while later, unless it dies before.
func (w *World) after(proc *process, d time.Duration, do func()) {
	w.nr++
	heap.Push(&w.events, event{w.now.Add(max(d, 0)), w.nr, proc, do})
}

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
	if !a.yield(struct{}{}) || a.proc.gone() {
		panic(killed{})
	}
	return closed(done)
}

// live is the current actor. A dead one unwinds instead of acting on.
func (w *World) live() *actor {
	if w.running.proc.gone() {
		panic(killed{})
	}
	return w.running
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
	return !a.proc.thaws().After(now) && a.due(now)
}

func (a *actor) due(now time.Time) bool {
	return !a.until.IsZero() && !a.until.After(now) ||
		a.ctx != nil && a.ctx.Err() != nil || closed(a.done)
}

// step lets one actor go on, or one event happen, and tells whether there was
// any.
func (w *World) step() bool {
	w.reap()
	able := w.ready()
	if able == 0 {
		next := w.next()
		if next.IsZero() {
			return false
		}
		w.now = next
		able = w.ready()
	}
	w.steps++
	if i := w.rng.IntN(able); i < len(w.able) {
		w.resume(w.able[i])
	} else {
		w.happen(heap.Pop(&w.events).(event))
	}
	w.current = nil
	return true
}

// resume lets an actor run until it waits or ends.
func (w *World) resume(a *actor) {
	w.current, w.running = a.proc, a
	_, alive := a.resume()
	w.running = nil
	if !alive {
		w.actors = slices.DeleteFunc(w.actors, func(other *actor) bool { return other == a })
	}
}

func (w *World) happen(e event) {
	switch thaws := e.proc.thaws(); {
	case e.proc.gone():
	case thaws.After(w.now):
		w.after(e.proc, thaws.Sub(w.now), e.do)
	default:
		w.current = e.proc
		e.do()
	}
}

// ready finds the actors that can go on now, and says how many there are, the
// next event counted in if it is due.
func (w *World) ready() int {
	w.able = w.able[:0]
	for _, a := range w.actors {
		if a.ready(w.now) {
			w.able = append(w.able, a)
		}
	}
	if len(w.events) > 0 && !w.events[0].at.After(w.now) {
		return len(w.able) + 1
	}
	return len(w.able)
}

// next is the earliest time that an actor waits for, or that an event has.
func (w *World) next() time.Time {
	var next time.Time
	if len(w.events) > 0 {
		next = w.events[0].at
	}
	for _, a := range w.actors {
		at := a.until
		if thaws := a.proc.thaws(); thaws.After(w.now) && (a.due(thaws) || at.Before(thaws) && !at.IsZero()) {
			at = thaws
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
		if !a.proc.gone() {
			return false
		}
		w.current, w.running = a.proc, a
		a.stop()
		w.current, w.running = nil, nil
		return true
	})
}

// end unwinds everybody.
func (w *World) end() {
	w.events = nil
	for _, a := range w.actors {
		a.proc.dead = true
	}
	w.reap()
}
