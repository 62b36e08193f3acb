package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"
)

// rage carries out the faults of a plan, each when it is due and its node free
// of others, and returns when all are over.
func (w *world) rage(ctx context.Context, faults []fault, jobs []*job) {
	var raging sync.WaitGroup
	defer raging.Wait()
	begin := time.Now()
	for _, f := range faults {
		if !last(ctx, time.Until(begin.Add(f.at))) {
			return
		}
		raging.Go(func() {
			if err := w.carryOut(ctx, f, jobs); err != nil {
				w.t.Errorf("%s: %v", f.kind, err)
			}
			w.survived(f.kind)
		})
	}
}

// last waits for d, unless ctx ends first.
func last(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// carryOut brings a fault upon its target and takes it away.
func (w *world) carryOut(ctx context.Context, f fault, jobs []*job) error {
	fe, be := w.fes[f.target%len(w.fes)], w.bes[f.target%len(w.bes)]
	meanwhile := func() { last(ctx, f.lasts) }
	switch f.kind {
	case killFrontend:
		return w.down(fe, (*node).kill, meanwhile)
	case killBackend:
		return w.down(be, (*node).kill, meanwhile)
	case stopLeader:
		return w.down(w.leader(fe), (*node).TryStop, meanwhile)
	case stopBackend:
		return w.down(be, (*node).TryStop, meanwhile)
	case freezeFrontend:
		return w.freeze(fe, meanwhile)
	case freezeBackend:
		return w.freeze(be, meanwhile)
	case cutFrontend:
		return w.cut(fe, w.othersOf(fe), true, meanwhile)
	case cutLeader:
		leader := w.leader(fe)
		return w.cut(leader, slices.DeleteFunc(w.othersOf(leader), func(n string) bool { return n == "" }), true, meanwhile)
	case cutBackend:
		return w.cut(be, w.othersOf(be), true, meanwhile)
	case cutFromLeaders:
		return w.cut(be, names(w.fes), true, meanwhile)
	case cutFromKafka:
		return w.cut(be, []string{""}, true, meanwhile)
	case mute:
		n := w.nodes()[f.target%len(w.nodes())]
		return w.cut(n, w.othersOf(n), false, meanwhile)
	case fullFrontend:
		return w.full(fe, fe.disk, meanwhile)
	case fullBackend:
		return w.full(be, be.disk, meanwhile)
	case fullWarehouse:
		return w.full(nil, w.warehouse, meanwhile)
	case killBroker:
		return w.killBroker(2+f.target%2, meanwhile)
	default:
		return w.pause(ctx, jobs[f.target%len(jobs)], meanwhile)
	}
}

func names(nodes []*node) (names []string) {
	for _, n := range nodes {
		names = append(names, n.name)
	}
	return names
}

// othersOf are all nodes but n, and the brokers and clients.
func (w *world) othersOf(n *node) []string {
	return append(slices.DeleteFunc(names(w.nodes()), func(name string) bool { return name == n.name }), "")
}

func (n *node) kill() error {
	n.Kill()
	return nil
}

// alive runs a node again that has ended without being told to, which is an
// error.
func (n *node) alive() error {
	if n.Running() {
		return nil
	}
	log := n.Log()
	return errors.Join(fmt.Errorf("%s had ended by itself:\n%s", n.name, log), n.TryRun())
}

// down ends a node and runs it again.
func (w *world) down(n *node, end func(*node) error, meanwhile func()) error {
	n.held.Lock()
	defer n.held.Unlock()
	if err := n.alive(); err != nil {
		return err
	}
	w.note("%s: down", n.name)
	err := end(n)
	meanwhile()
	err = errors.Join(err, n.TryRun())
	w.note("%s: up", n.name)
	return err
}

// freeze stops a node, and lets it go on as if no time had passed.
func (w *world) freeze(n *node, meanwhile func()) error {
	n.held.Lock()
	defer n.held.Unlock()
	if err := n.alive(); err != nil {
		return err
	}
	w.note("%s: frozen", n.name)
	err := syscall.Kill(n.PID(), syscall.SIGSTOP)
	meanwhile()
	err = errors.Join(err, syscall.Kill(n.PID(), syscall.SIGCONT))
	w.note("%s: goes on", n.name)
	return err
}

// cut drops what a node sends to others, and what they send to it if both is
// set.
func (w *world) cut(n *node, others []string, both bool, meanwhile func()) (err error) {
	n.held.Lock()
	defer n.held.Unlock()
	if err := n.alive(); err != nil {
		return err
	}
	w.note("%s: cut off from %q, both ways %v", n.name, others, both)
	for _, other := range others {
		err = errors.Join(err, field.cut(n.name, other))
		if both {
			err = errors.Join(err, field.cut(other, n.name))
		}
	}
	meanwhile()
	for _, other := range others {
		err = errors.Join(err, field.heal(n.name, other))
		if both {
			err = errors.Join(err, field.heal(other, n.name))
		}
	}
	w.note("%s: healed", n.name)
	return err
}

// full fills a disk and gives the room back. A node whose disk it is may end for
// it, and is run again.
func (w *world) full(n *node, d disk, meanwhile func()) error {
	if n != nil {
		n.held.Lock()
		defer n.held.Unlock()
		if err := n.alive(); err != nil {
			return err
		}
	}
	w.note("%s: full", d)
	err := d.fill()
	meanwhile()
	err = errors.Join(err, d.free())
	w.note("%s: has room", d)
	if n != nil && !n.Running() {
		w.note("%s: had ended for want of room", n.name)
		err = errors.Join(err, n.TryRun())
	}
	return err
}

func (w *world) killBroker(number int, meanwhile func()) error {
	w.kafka.Lock()
	defer w.kafka.Unlock()
	w.note("broker %d: down", number)
	err := w.broker.TryKill(number)
	meanwhile()
	err = errors.Join(err, w.broker.TryRestart(number))
	w.note("broker %d: up", number)
	return err
}

// pause pauses a job and resumes it. It may have been paused and resumed by
// another fault meanwhile.
func (w *world) pause(ctx context.Context, j *job, meanwhile func()) error {
	c := w.client(0)
	w.note("%s: pause", j.name)
	_, err := c.insist(ctx, "PAUSE ROUTINE LOAD FOR "+j.name)
	meanwhile()
	_, again := c.insist(context.WithoutCancel(ctx), "RESUME ROUTINE LOAD FOR "+j.name)
	w.note("%s: resumed, %v, %v", j.name, err, again)
	return again
}

// leader is the frontend that leads, or fallback if nobody knows.
func (w *world) leader(fallback *node) *node {
	lines, err := w.client(0).insist(w.t.Context(), "SHOW FRONTENDS")
	if err != nil {
		return fallback
	}
	for _, line := range lines {
		for _, n := range w.fes {
			if line["IsMaster"] == "true" && n.Ready.MySQL == line["Host"]+":"+line["QueryPort"] {
				return n
			}
		}
	}
	return fallback
}
