package jobs

import (
	"fmt"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// Doris's reason codes that the state machine knows (InternalErrorCode). Jobs
// that are PAUSED with them wait for a person, unless it says otherwise.
const (
	// ReasonManualPause is a user's PAUSE (MANUAL_PAUSE_ERR).
	ReasonManualPause = 100
	// ReasonTooManyErrors pauses a job whose bad rows exceed its limits
	// (TOO_MANY_FAILURE_ROWS_ERR).
	ReasonTooManyErrors = 102
	// ReasonTasksAborted pauses a job whose tasks are of an incarnation of the
	// cluster that ended (TASKS_ABORT_ERR); it is resumed without a person.
	ReasonTasksAborted = 104
	// ReasonCannotResume pauses a job until a person has looked: resuming it
	// by itself could lose rows (CANNOT_RESUME_ERR).
	ReasonCannotResume = 105
)

// ChangeState pauses, resumes, stops or cancels a job. Doris's guard refuses
// two changes: PAUSED to PAUSED, and anything from a final state. Beyond Doris a
// user may pause a job that is PAUSED until it resumes by itself: it stays so.
// RUNNING is reached by Schedule only.
func (j *Jobs) ChangeState(c *raftlogv1.ChangeJobState, atMs int64, nextID func() uint64) error {
	job, err := j.live(c.JobId, c.To)
	if err != nil {
		return err
	}
	if c.From != raftlogv1.JobState_JOB_STATE_UNSPECIFIED && c.From != job.State {
		return fmt.Errorf("%w: it is %s, not %s", ErrMovedOn, StateName(job.State), StateName(c.From))
	}
	switch c.To {
	case raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE:
		if c.Automatic {
			if err := checkAutomatic(job); err != nil {
				return err
			}
		}
		j.put(resumed(job, c.Automatic, atMs, nextID))
	case raftlogv1.JobState_JOB_STATE_PAUSED:
		_, resumes := ResumesAt(job)
		if job.State == c.To && !(resumes && c.ReasonCode == ReasonManualPause) {
			return TransitionError{job.State, c.To}
		}
		j.put(paused(job, c.ReasonCode, c.Reason, atMs))
	case raftlogv1.JobState_JOB_STATE_STOPPED:
		j.put(ended(job, c.To, 0, "", atMs))
	case raftlogv1.JobState_JOB_STATE_CANCELLED:
		j.put(ended(job, c.To, c.ReasonCode, c.Reason, atMs))
	default:
		return TransitionError{job.State, c.To}
	}
	return nil
}

// resumed is job waiting for its tasks to be placed again. Their epochs are
// raised here already, so that what ran before the pause cannot commit between
// the resumption and the new placement.
func resumed(job *raftlogv1.Job, automatic bool, atMs int64, nextID func() uint64) *raftlogv1.Job {
	job = cow.Copy(job)
	countResume(job, automatic, atMs)
	job.State = raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE
	job.ReasonCode, job.Reason, job.PausedMs = 0, "", 0
	job.WindowRows, job.WindowErrors, job.ErrorsAfterResume = 0, 0, 0
	if !automatic {
		job.SuspectLosses = 0 // a person has seen to what ended readers
	}
	job.Tasks = eachTask(job.Tasks, func(t *raftlogv1.Task) {
		t.BackendId, t.DrainingMs, t.Epoch = 0, 0, nextID()
	})
	return job
}

// paused is job with its tasks off their backends. What they still send is
// answered by the state, not by the epoch: RESUME raises that.
func paused(job *raftlogv1.Job, code int32, reason string, atMs int64) *raftlogv1.Job {
	job = cow.Copy(job)
	job.State = raftlogv1.JobState_JOB_STATE_PAUSED
	job.ReasonCode, job.Reason, job.PausedMs = code, reason, atMs
	job.Tasks = eachTask(job.Tasks, func(t *raftlogv1.Task) { t.BackendId, t.DrainingMs = 0, 0 })
	return job
}

func ended(job *raftlogv1.Job, state raftlogv1.JobState, code int32, reason string, atMs int64) *raftlogv1.Job {
	job = cow.Copy(job)
	job.State = state
	job.ReasonCode, job.Reason, job.EndedMs = code, reason, atMs
	job.Tasks = nil
	return job
}

// eachTask is copies of tasks, changed.
func eachTask(tasks []*raftlogv1.Task, change func(*raftlogv1.Task)) []*raftlogv1.Task {
	out := make([]*raftlogv1.Task, len(tasks))
	for i, t := range tasks {
		out[i] = cow.Copy(t)
		change(out[i])
	}
	return out
}
