package jobs

import (
	"fmt"
	"slices"

	"shoal/internal/offsets"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// Repairs tells whether a task reads again what its job's share group gave up,
// instead of being a member of it.
func Repairs(task *raftlogv1.Task) bool { return len(task.GetRepair()) > 0 }

// Loaders are the tasks of a job that are none of repair.
func Loaders(job *raftlogv1.Job) []*raftlogv1.Task {
	return slices.DeleteFunc(slices.Clone(job.Tasks), Repairs)
}

// Placed is how many tasks of a job, none of repair, have a backend.
func Placed(job *raftlogv1.Job) (n int) {
	for _, t := range job.Tasks {
		if t.BackendId != 0 && !Repairs(t) {
			n++
		}
	}
	return n
}

// RepairTask is the one that reads again for a job, nil if none does.
func RepairTask(job *raftlogv1.Job) *raftlogv1.Task {
	if i := slices.IndexFunc(job.Tasks, Repairs); i >= 0 {
		return job.Tasks[i]
	}
	return nil
}

// IsRepair tells whether a txn is of a repair task.
func (j *Jobs) IsRepair(req *frontendv1.CommitTxnRequest) bool { return Repairs(j.task(req)) }

// checkRepairs wants repair tasks to be new ones, one at a time.
func checkRepairs(job *raftlogv1.Job, c *raftlogv1.ScheduleTasks) error {
	left := RepairTask(job)
	has := left != nil && !slices.Contains(c.RemoveTaskIds, left.Id)
	for _, a := range c.Assignments {
		switch {
		case len(a.Repair) == 0:
		case has || a.TaskId != 0:
			return fmt.Errorf("%w: job %s, id %d", ErrNoRepair, job.Name, job.Id)
		default:
			has = true
		}
	}
	return nil
}

// repairedBy is how many records a txn of a repair task loads.
func repairedBy(req *frontendv1.CommitTxnRequest) (n int64) {
	for _, p := range req.Partitions {
		for _, r := range p.Loaded {
			n += offsets.Range{First: r.First, Last: r.Last}.Count()
		}
	}
	return n
}
