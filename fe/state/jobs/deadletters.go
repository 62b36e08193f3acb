package jobs

import (
	"fmt"
	"slices"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// DueDeadLetters are a job's error rowsets that its dead letter topic does not
// have yet, in the order of their txns. Rowsets of one log entry have one txn
// id, and become delivered together.
func DueDeadLetters(job *raftlogv1.Job, all []*raftlogv1.ErrorRowset) []*raftlogv1.ErrorRowset {
	first := slices.IndexFunc(all, func(r *raftlogv1.ErrorRowset) bool { return r.TxnId > job.DeadLettersThrough })
	if first < 0 || job.Load.DeadLetterTopic == "" {
		return nil
	}
	return all[first:]
}

// DeadLettersDelivered moves the position of a job's outbox. A position that is
// reached already is refused with ErrMovedOn: another leader delivered the same.
func (j *Jobs) DeadLettersDelivered(c *raftlogv1.DeadLettersDelivered) error {
	job := j.jobs[c.JobId]
	if job == nil {
		return fmt.Errorf("%w: id %d", ErrNoJob, c.JobId)
	}
	if c.ThroughTxn <= job.DeadLettersThrough {
		return fmt.Errorf("%w: dead letters were delivered through txn %d", ErrMovedOn, job.DeadLettersThrough)
	}
	job = cow.Copy(job)
	job.DeadLettersThrough = c.ThroughTxn
	job.DeadLetters += max(0, c.Delivered)
	j.put(job)
	return nil
}
