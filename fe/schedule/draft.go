package schedule

import (
	"cmp"
	"slices"

	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// planner is one run of Make.
type planner struct {
	in       Input
	backends map[uint64]*Backend
	free     map[uint64]int // slots by backend, below 0 where there are fewer than tasks
	plan     Plan
}

func newPlanner(in Input) *planner {
	p := &planner{in: in, backends: make(map[uint64]*Backend), free: make(map[uint64]int)}
	for i := range in.Backends {
		b := &in.Backends[i]
		p.backends[b.ID], p.free[b.ID] = b, b.Slots
	}
	return p
}

// usable tells whether tasks may be given to a backend.
func (b *Backend) usable() bool { return !b.Unheard && !b.Avoid }

// draft is the plan of one job in the making.
type draft struct {
	job      Job
	want     int               // tasks that it has work for
	allotted int               // those of them that it may have now
	kept     []*raftlogv1.Task // stay where they are
	draining []*raftlogv1.Task // have their slots until they have ended
	place    []*raftlogv1.Task // need a backend, lost ones before waiting ones
	placed   int
	on       map[uint64]int // tasks by backend
	waits    bool           // classic: what drains has partitions that others may not have yet
	change   raftlogv1.ScheduleTasks
	lost     []string // members that did not leave by themselves
}

// review finds what a job's tasks need. Each that stays takes its slot.
func (p *planner) review(job Job) *draft {
	d := &draft{job: job, on: make(map[uint64]int), change: raftlogv1.ScheduleTasks{JobId: job.Id}}
	if isolating(job) {
		d.takeOff()
		return d
	}
	limit, known := Limit(job)
	d.want = limit
	if job.Wanted > 0 {
		d.want = min(limit, job.Wanted)
	}
	d.waits = jobs.Classic(job.Job) && !known // there is nothing to divide yet
	var waiting []*raftlogv1.Task
	gone := false
	for _, task := range jobs.Loaders(job.Job) {
		switch {
		case task.BackendId == 0:
			waiting = append(waiting, task)
		case !p.stays(task):
			gone = gone || !p.in.Ended[Ref{task.Id, task.Epoch}]
			d.place = append(d.place, task)
			if !jobs.Classic(job.Job) {
				d.lost = append(d.lost, task.MemberId)
			}
		default:
			d.takeSlot(p, task)
		}
	}
	if jobs.Classic(job.Job) && len(d.draining) > 0 {
		if d.waits = !gone; gone {
			d.cutShort(p)
		}
	}
	d.place = append(d.place, waiting...)
	return d
}

// takeSlot takes the slot of a task that stays.
func (d *draft) takeSlot(p *planner, task *raftlogv1.Task) {
	if task.DrainingMs > 0 {
		d.draining = append(d.draining, task)
	} else {
		d.kept = append(d.kept, task)
	}
	d.on[task.BackendId]++
	p.free[task.BackendId]--
}

// cutShort ends the draining of a classic job's tasks: others were lost, and
// their partitions wait for the division.
func (d *draft) cutShort(p *planner) {
	for _, task := range d.draining {
		d.on[task.BackendId]--
		p.free[task.BackendId]++
	}
	d.place, d.draining = append(d.place, d.draining...), nil
}

// stays tells whether a task goes on where it is, draining perhaps.
func (p *planner) stays(task *raftlogv1.Task) bool {
	ended, drains := p.in.Ended[Ref{task.Id, task.Epoch}], task.DrainingMs > 0
	switch {
	case p.backends[task.BackendId] == nil:
		return false
	case drains:
		return !ended && p.within(task.DrainingMs, drainMs)
	}
	return !ended || p.within(task.AssignedMs, restartMs)
}

// within tells whether something was not longer ago than a span. What is to come
// another clock has written.
func (p *planner) within(atMs, span int64) bool {
	age := p.in.NowMs - atMs
	return age >= 0 && age < span
}

// has is how many slots a job has, also those of tasks that drain.
func (d *draft) has() int { return len(d.kept) + len(d.draining) }

// finish takes tasks that found no place off their lost backends and proposes
// the job's change, if there is one.
func (p *planner) finish(d *draft) {
	if !d.waits {
		for _, task := range d.place {
			if task.BackendId != 0 {
				d.change.Assignments = append(d.change.Assignments, &raftlogv1.TaskAssignment{TaskId: task.Id})
			}
		}
		if jobs.Classic(d.job.Job) {
			d.divide()
		}
	}
	d.change.LostTaskIds = p.lostOf(d)
	if len(d.change.Assignments)+len(d.change.RemoveTaskIds)+len(d.change.DrainTaskIds) == 0 {
		return
	}
	if len(d.lost) > 0 {
		p.plan.Leaves = append(p.plan.Leaves, Leave{JobID: d.job.Id, Members: d.lost})
	}
	p.propose(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &d.change}})
}

// propose adds a command.
func (p *planner) propose(command *raftlogv1.Command) {
	command.AtMs = p.in.NowMs
	p.plan.Commands = append(p.plan.Commands, command)
}

// mayDrain: a classic job is divided anew with what is placed or removed, or
// waits for what drains.
func (d *draft) mayDrain() bool {
	return !jobs.Classic(d.job.Job) || len(d.change.Assignments)+len(d.change.RemoveTaskIds) == 0
}

// drain has a kept task drain.
func (d *draft) drain(task *raftlogv1.Task) {
	d.waits = d.waits || jobs.Classic(d.job.Job)
	d.kept = slices.DeleteFunc(d.kept, func(t *raftlogv1.Task) bool { return t == task })
	d.draining = append(d.draining, task)
	d.change.DrainTaskIds = append(d.change.DrainTaskIds, task.Id)
}

// remove takes waiting tasks, and then the youngest, out of those that need a
// backend, n of them.
func (d *draft) remove(n int) {
	slices.SortStableFunc(d.place, func(a, b *raftlogv1.Task) int {
		return cmp.Or(boolOrder(a.BackendId == 0, b.BackendId == 0), cmp.Compare(a.Id, b.Id))
	})
	cut := len(d.place) - n
	for _, task := range d.place[cut:] {
		d.change.RemoveTaskIds = append(d.change.RemoveTaskIds, task.Id)
	}
	d.place = d.place[:cut]
}

// boolOrder sorts false before true.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
