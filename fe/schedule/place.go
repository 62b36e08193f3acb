package schedule

import (
	"cmp"
	"slices"

	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// trim has those tasks drain that a job wants no more, or may not have because
// others lack slots, and removes at once what is nowhere.
func (p *planner) trim(drafts []*draft) {
	for _, d := range drafts {
		if d.waits {
			continue
		}
		if surplus := d.has() + len(d.place) - d.want; surplus > 0 {
			d.remove(min(surplus, len(d.place)))
		}
		if surplus := len(d.kept) - d.want; jobs.Classic(d.job.Job) {
			p.cut(d, surplus) // there are fewer partitions, so that all are divided anew
		} else {
			p.shrink(d, surplus)
		}
		if over := len(d.kept) - d.allotted; over > 0 {
			p.shrink(d, min(over, p.avoided(d.kept)))
		}
	}
	p.makeRoom(drafts)
}

// cut removes the n youngest tasks of a job.
func (p *planner) cut(d *draft, n int) {
	for ; n > 0; n-- {
		task := d.kept[len(d.kept)-1]
		d.kept = d.kept[:len(d.kept)-1]
		d.on[task.BackendId]--
		p.free[task.BackendId]++
		d.change.RemoveTaskIds = append(d.change.RemoveTaskIds, task.Id)
	}
}

// avoided is how many of tasks are on backends that are to be avoided.
func (p *planner) avoided(tasks []*raftlogv1.Task) (n int) {
	for _, task := range tasks {
		if p.backends[task.BackendId].Avoid {
			n++
		}
	}
	return n
}

// makeRoom has tasks drain of jobs that have more than their share, as many as
// there are tasks that find no slot, and on backends more tasks than slots.
func (p *planner) makeRoom(drafts []*draft) {
	lacking := 0
	for _, d := range drafts {
		draining := len(d.draining) - p.avoided(d.draining)
		lacking += max(0, d.allotted-len(d.kept)+p.avoided(d.kept)-draining)
		lacking -= max(0, draining-d.returning())
	}
	for _, b := range p.in.Backends {
		if b.usable() {
			lacking -= p.free[b.ID]
		}
	}
	richest := slices.SortedStableFunc(slices.Values(drafts), func(a, b *draft) int {
		return cmp.Compare(len(b.kept)-b.allotted, len(a.kept)-a.allotted)
	})
	for _, d := range richest {
		over := len(d.kept) - d.allotted
		if lacking <= 0 || over <= 0 {
			return
		}
		lacking -= p.shrink(d, min(over, lacking))
	}
}

// returning is how many draining tasks only move.
func (d *draft) returning() int {
	return min(len(d.draining), max(0, d.allotted-len(d.kept)))
}

// shrink has n tasks of a job drain, and tells how many do: those first that are
// on backends to avoid, then the youngest. What is on backends not heard of
// yet stays.
func (p *planner) shrink(d *draft, n int) (drained int) {
	if n <= 0 || !d.mayDrain() {
		return 0
	}
	var victims []*raftlogv1.Task
	for _, task := range d.kept {
		if !p.backends[task.BackendId].Unheard {
			victims = append(victims, task)
		}
	}
	slices.SortStableFunc(victims, func(a, b *raftlogv1.Task) int {
		return cmp.Or(boolOrder(p.backends[b.BackendId].Avoid, p.backends[a.BackendId].Avoid), cmp.Compare(b.Id, a.Id))
	})
	victims = victims[:min(n, len(victims))]
	for _, task := range victims {
		d.drain(task)
	}
	return len(victims)
}

// fill places what jobs may have, round by round, so that a large job does not
// starve the others: first jobs with fewer tasks, then those that have waited
// longest.
func (p *planner) fill(drafts []*draft) {
	turns := make(map[*draft]turn, len(drafts))
	for _, d := range drafts {
		turns[d] = p.turn(d)
	}
	order := slices.SortedStableFunc(slices.Values(drafts), func(a, b *draft) int {
		return cmp.Or(cmp.Compare(a.has(), b.has()), cmp.Compare(turns[a].class, turns[b].class), cmp.Compare(turns[a].since, turns[b].since))
	})
	for len(order) > 0 {
		var more []*draft
		for _, d := range order {
			if p.placeOne(d) {
				more = append(more, d)
			}
		}
		order = more
	}
}

// placeOne gives a job one slot, first to tasks that exist, and tells whether it
// got one.
func (p *planner) placeOne(d *draft) bool {
	if d.waits || d.has()+d.placed >= d.allotted {
		return false
	}
	backend := p.roomiest(d)
	if backend == 0 {
		return false
	}
	p.free[backend]--
	d.on[backend]++
	d.placed++
	assignment := &raftlogv1.TaskAssignment{BackendId: backend}
	if !jobs.Classic(d.job.Job) {
		assignment.MemberId = p.in.MemberID()
	}
	if len(d.place) > 0 {
		assignment.TaskId = d.place[0].Id
		d.place = d.place[1:]
	}
	d.change.Assignments = append(d.change.Assignments, assignment)
	return true
}

// roomiest is the emptiest backend with a free slot, of those the one with the
// fewest of the job's tasks, 0 if there is none; the lowest id among equals.
func (p *planner) roomiest(d *draft) uint64 {
	var best *Backend
	for i := range p.in.Backends {
		b := &p.in.Backends[i]
		if !b.usable() || p.free[b.ID] <= 0 {
			continue
		}
		if best == nil || cmp.Or(p.fuller(best, b), cmp.Compare(d.on[b.ID], d.on[best.ID]), cmp.Compare(b.ID, best.ID)) < 0 {
			best = b
		}
	}
	if best == nil {
		return 0
	}
	return best.ID
}
