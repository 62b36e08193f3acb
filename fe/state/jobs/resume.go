package jobs

import (
	"fmt"

	raftlogv1 "shoal/proto/raftlog/v1"
)

// Doris's back-off of automatic resumption: the n-th try in a row comes
// 2^(n-1) × 10 s after the one before, at most maxResumeWaitMs; a job that ran
// for resumePeriodMs starts counting anew.
const (
	resumeWaitMs    = 10_000
	maxResumeWaitMs = 300_000
	resumePeriodMs  = 10 * 60_000
)

// ResumesAt is when a job may be resumed without a person, in milliseconds
// since 1970. ok is false if never: it is not PAUSED, a user did it, it has too
// many bad rows, or resuming it could lose some.
func ResumesAt(job *raftlogv1.Job) (ms int64, ok bool) {
	switch {
	case job.State != raftlogv1.JobState_JOB_STATE_PAUSED, job.ReasonCode == 0,
		job.ReasonCode == ReasonManualPause, job.ReasonCode == ReasonTooManyErrors, job.ReasonCode == ReasonCannotResume:
		return 0, false
	case job.AutoResumes == 0:
		return job.PausedMs, true
	}
	wait := int64(maxResumeWaitMs)
	if job.AutoResumes < 5 {
		wait = resumeWaitMs << job.AutoResumes
	}
	return job.AutoResumedMs + wait, true
}

// countResume counts an automatic resumption of a job that is a copy already.
// A person's sets all back.
func countResume(job *raftlogv1.Job, automatic bool, atMs int64) {
	switch {
	case !automatic:
		job.AutoResumes, job.AutoResumedMs, job.LastReason = 0, 0, ""
		return
	case atMs-job.AutoResumedMs > resumePeriodMs:
		job.AutoResumes = 1
	default:
		job.AutoResumes++
	}
	job.AutoResumedMs, job.LastReason = atMs, job.Reason
}

// checkAutomatic refuses to resume by itself what was paused for a person
// meanwhile.
func checkAutomatic(job *raftlogv1.Job) error {
	if _, ok := ResumesAt(job); !ok {
		return fmt.Errorf("%w: %s, id %d, is %s with code %d", ErrNotAutomatic, job.Name, job.Id, StateName(job.State), job.ReasonCode)
	}
	return nil
}
