package jobs

import (
	"cmp"
	"fmt"
	"slices"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// MaxErrorRowsets is how many error rowsets of a job are kept, the latest: a
// job with a bad row in every txn would fill state and snapshots otherwise. The
// files of those that are dropped are nobody's any more.
const MaxErrorRowsets = 4096

// latest is a job's error rowsets without those beyond the limit, the oldest.
// What its dead letter topic does not have yet is kept until it does.
func latest(job *raftlogv1.Job, all []*raftlogv1.ErrorRowset) []*raftlogv1.ErrorRowset {
	over := max(0, len(all)-MaxErrorRowsets)
	return all[min(over, len(all)-len(DueDeadLetters(job, all))):]
}

// DueDeadLetters are a job's error rowsets that its dead letter topic does not
// have yet, in the order of their txns. Rowsets of one log entry have one txn
// id, and become delivered together.
func DueDeadLetters(job *raftlogv1.Job, all []*raftlogv1.ErrorRowset) []*raftlogv1.ErrorRowset {
	if job.Load.DeadLetterTopic == "" {
		return nil
	}
	first, _ := slices.BinarySearchFunc(all, job.DeadLettersThrough+1, func(r *raftlogv1.ErrorRowset, txn uint64) int { return cmp.Compare(r.TxnId, txn) })
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
