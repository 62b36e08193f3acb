package jobs

import raftlogv1 "shoal/proto/raftlog/v1"

// Fence takes the tasks of the jobs that it concerns off their backends, with
// new epochs: what they were given is not true any more. The leader places them
// again.
func (j *Jobs) Fence(concerns func(*raftlogv1.Job) bool, nextID func() uint64) {
	j.each(concerns, func(job *raftlogv1.Job) {
		job.Tasks = eachTask(job.Tasks, func(t *raftlogv1.Task) { t.BackendId, t.DrainingMs, t.Epoch = 0, 0, nextID() })
	})
}
