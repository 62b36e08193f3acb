package schedule

import (
	"bytes"
	"slices"

	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// Repair tasks have a slot of their own on each backend that has slots at all,
// so that a crowded cluster repairs as well, and repairing takes nothing from
// loading. They end by themselves, or are told to where the
// backend is to be avoided; what one left the auditor finds again. One that is
// lost with its backend is not placed again but removed: what it had may have
// ended it, and the auditor has it read in smaller parts. In classic mode the
// job's other tasks wait meanwhile, since they would come to the same records.

// repair places the repair tasks of all jobs, and removes those that are over.
func (p *planner) repair(drafts []*draft) {
	taken := make(map[uint64]bool) // by backend
	var waiting []*draft
	for _, d := range drafts {
		task := jobs.RepairTask(d.job.Job)
		switch {
		case task == nil:
		case p.over(d.job, task) || p.lost(task):
			d.change.RemoveTaskIds = append(d.change.RemoveTaskIds, task.Id)
		case p.isThere(task.BackendId) && !taken[task.BackendId]:
			taken[task.BackendId] = true
			if p.backends[task.BackendId].Avoid && task.DrainingMs == 0 {
				d.change.DrainTaskIds = append(d.change.DrainTaskIds, task.Id)
			}
		default:
			waiting = append(waiting, d)
		}
	}
	for _, d := range waiting {
		task := jobs.RepairTask(d.job.Job)
		backend := p.spare(taken)
		if backend != 0 || task.BackendId != 0 {
			d.change.Assignments = append(d.change.Assignments, &raftlogv1.TaskAssignment{TaskId: task.Id, BackendId: backend})
		}
		taken[backend] = true
	}
}

// over tells whether a repair task has nothing to do any more: it ended or was
// too slow to, or another topic has the name that it reads.
func (p *planner) over(job Job, task *raftlogv1.Task) bool {
	gone := func(r *typesv1.PartitionRanges) bool { return !bytes.Equal(r.TopicId, job.TopicID) }
	return p.in.Ended[Ref{task.Id, task.Epoch}] || task.DrainingMs > 0 && !p.within(task.DrainingMs, drainMs) || len(job.TopicID) > 0 && slices.ContainsFunc(task.Repair, gone)
}

// lost tells whether a task's backend died, or was started anew, under it. A
// backend that is only out of reach is held for dead too, but not for what a task
// did that it was never seen to have.
func (p *planner) lost(task *raftlogv1.Task) bool {
	ref := Ref{task.Id, task.Epoch}
	return task.BackendId != 0 && (p.backends[task.BackendId] == nil && p.in.Ran[ref] || p.in.Lost[ref])
}

// lostOf are the lost ones of the tasks that a job's change names.
func (p *planner) lostOf(d *draft) (lost []uint64) {
	for _, task := range d.job.Tasks {
		named := slices.Contains(d.change.RemoveTaskIds, task.Id) ||
			slices.ContainsFunc(d.change.Assignments, func(a *raftlogv1.TaskAssignment) bool { return a.TaskId == task.Id })
		if named && p.lost(task) {
			lost = append(lost, task.Id)
		}
	}
	return lost
}

// isolating tells whether a classic job waits until its repair tasks have got
// past what ends readers.
func isolating(job Job) bool {
	return jobs.Classic(job.Job) && (jobs.RepairTask(job.Job) != nil ||
		slices.ContainsFunc(job.Suspects, func(r *typesv1.PartitionRanges) bool { return bytes.Equal(r.TopicId, job.TopicID) }))
}

// takeOff takes a job's tasks off their backends, and has none placed.
func (d *draft) takeOff() {
	d.waits = true
	for _, task := range jobs.Loaders(d.job.Job) {
		if task.BackendId != 0 {
			d.change.Assignments = append(d.change.Assignments, &raftlogv1.TaskAssignment{TaskId: task.Id})
		}
	}
}

// isThere tells whether a backend may have a repair task.
func (p *planner) isThere(backend uint64) bool {
	b := p.backends[backend]
	return b != nil && (b.Unheard || b.Slots > 0)
}

// spare is a backend whose slot for repairs is not taken, 0 if there is none.
func (p *planner) spare(taken map[uint64]bool) uint64 {
	for _, b := range p.in.Backends {
		if b.usable() && b.Slots > 0 && !taken[b.ID] {
			return b.ID
		}
	}
	return 0
}
