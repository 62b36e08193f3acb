package schedule

import (
	"cmp"
	"slices"

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

// level has a few tasks drain that move from backends that are fuller than others
// would be with one task more. The next few, and the next of a job, follow once
// these have moved.
func (p *planner) level(drafts []*draft) {
	for _, d := range drafts {
		if d.returning() > 0 {
			return
		}
	}
	moved := make(map[*draft]bool)
	for range p.in.Backends {
		m := p.nextMove(drafts)
		if m.job == nil || moved[m.job] {
			return
		}
		moved[m.job] = true
		m.job.drain(m.task)
		m.job.on[m.from.ID]--
		m.job.on[m.to.ID]++
		p.free[m.from.ID]++
		p.free[m.to.ID]--
	}
}

// A move is a task that may go from one backend to another.
type move struct {
	from, to *Backend
	job      *draft
	task     *raftlogv1.Task
}

// nextMove is the next move that levels, from the fullest backend to the emptiest
// if there is one; without a job if there is none.
func (p *planner) nextMove(drafts []*draft) move {
	var usable []*Backend
	for i := range p.in.Backends {
		if b := &p.in.Backends[i]; b.usable() && b.Slots > 0 {
			usable = append(usable, b)
		}
	}
	slices.SortStableFunc(usable, p.fuller)
	for i, from := range usable {
		for j := len(usable) - 1; j > i && p.levels(from, usable[j]); j-- {
			if p.within(usable[j].SinceMs, steadyMs) {
				continue
			}
			if job, task := p.movable(drafts, from.ID, usable[j].ID); job != nil {
				return move{from, usable[j], job, task}
			}
		}
	}
	return move{}
}

// used is how many tasks a backend has.
func (p *planner) used(b *Backend) int { return b.Slots - p.free[b.ID] }

// fuller sorts the backend first that would be fuller with one task more, as a part
// of its slots.
func (p *planner) fuller(a, b *Backend) int {
	return cmp.Compare((p.used(b)+1)*a.Slots, (p.used(a)+1)*b.Slots)
}

// levels tells whether a task that moves leaves its backend at least as full as it
// makes the other.
func (p *planner) levels(from, to *Backend) bool {
	return p.used(from)*to.Slots > (p.used(to)+1)*from.Slots
}

// movable is a task to level by: of the job of which the one backend has most
// more than the other, and of these of the one with the most tasks.
func (p *planner) movable(drafts []*draft, from, to uint64) (best *draft, which *raftlogv1.Task) {
	for _, d := range drafts {
		if d.waits || !d.mayDrain() || d.on[from] == 0 {
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
