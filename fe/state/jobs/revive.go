package jobs

import raftlogv1 "shoal/proto/raftlog/v1"

// Revive raises the epochs of all tasks and takes them off their backends, for
// a cluster that is restored. Jobs that were loading are PAUSED for a reason that
// lets them be resumed by themselves.
func (j *Jobs) Revive(atMs int64, reason string, nextID func() uint64) {
	for _, job := range j.All() {
		loading := job.Started && (job.State == raftlogv1.JobState_JOB_STATE_RUNNING || job.State == raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
		next := paused(job, ReasonTasksAborted, reason, atMs)
		if !loading {
			next.State, next.ReasonCode, next.Reason, next.PausedMs = job.State, job.ReasonCode, job.Reason, job.PausedMs
		}
		next.Tasks = eachTask(next.Tasks, func(t *raftlogv1.Task) { t.Epoch = nextID() })
		j.put(next)
	}
}
