package schedule

import (
	"cmp"

	raftlogv1 "shoal/proto/raftlog/v1"
)

// A backend that has come gets tasks of others once it was there for steadyMs, and
// a task stays where it was placed for restMs at least: backends come and go,
// and each move costs a few seconds.
const (
	steadyMs = 10_000
	restMs   = 30_000
)

// moveOff has tasks drain that are on backends to avoid, or on more than there are
// slots, as far as others have room. Half of a job's tasks stay meanwhile, if it
// has more than one.
func (p *planner) moveOff(drafts []*draft) {
	room := p.room(drafts)
	for _, d := range drafts {
		most := (d.has() + 1) / 2
		if !d.mayDrain() {
			continue
		}
		for i := len(d.kept) - 1; i >= 0 && room > 0 && len(d.draining) < most; i-- {
			task := d.kept[i]
			if b := p.backends[task.BackendId]; b.Unheard || !b.Avoid && p.free[b.ID] >= 0 {
				continue
			}
			d.drain(task)
			p.free[task.BackendId]++
			room--
		}
	}
}

// room is how many slots are free and not meant for tasks that move already.
func (p *planner) room(drafts []*draft) (room int) {
	for _, b := range p.in.Backends {
		if b.usable() {
			room += max(0, p.free[b.ID])
		}
	}
	for _, d := range drafts {
		if !d.waits {
			room -= d.returning()
		}
	}
	return room
}

// level has a few tasks drain that move from the backend with the fewest free
// slots to the one with the most, while these differ by two or more. The next
// few, and the next of a job, follow once these have moved.
func (p *planner) level(drafts []*draft) {
	for _, d := range drafts {
		if d.returning() > 0 {
			return
		}
	}
	moved := make(map[*draft]bool)
	for range p.in.Backends {
		from, to := p.extremes()
		if from == nil || to == nil || p.free[to.ID]-p.free[from.ID] < 2 {
			return
		}
		best, task := p.movable(drafts, from.ID, to.ID)
		if best == nil || moved[best] {
			return
		}
		moved[best] = true
		best.drain(task)
		best.on[from.ID]--
		best.on[to.ID]++
		p.free[from.ID]++
		p.free[to.ID]--
	}
}

// extremes are the usable backends with the fewest free slots, and with the most
// of those that have been there for a while.
func (p *planner) extremes() (fewest, most *Backend) {
	for i := range p.in.Backends {
		b := &p.in.Backends[i]
		if !b.usable() {
			continue
		}
		if fewest == nil || p.free[b.ID] < p.free[fewest.ID] {
			fewest = b
		}
		if !p.within(b.SinceMs, steadyMs) && (most == nil || p.free[b.ID] > p.free[most.ID]) {
			most = b
		}
	}
	return fewest, most
}

// movable is a task to level by: of the job of which the one backend has most
// more than the other, and of these of the one with the most tasks.
func (p *planner) movable(drafts []*draft, from, to uint64) (best *draft, which *raftlogv1.Task) {
	for _, d := range drafts {
		if d.waits || !d.mayDrain() || d.on[from] <= d.on[to] {
			continue
		}
		if best != nil && cmp.Or(cmp.Compare(d.on[from]-d.on[to], best.on[from]-best.on[to]), cmp.Compare(d.has(), best.has())) <= 0 {
			continue
		}
		for _, task := range d.kept {
			if task.BackendId == from && !p.within(task.AssignedMs, restMs) {
				best, which = d, task
			}
		}
	}
	return best, which
}
