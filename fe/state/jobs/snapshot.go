package jobs

import (
	"fmt"
	"maps"
	"slices"

	raftlogv1 "shoal/proto/raftlog/v1"
)

// Clone is a copy that stays as it is when j changes. It costs time by the
// number of jobs.
func (j *Jobs) Clone() *Jobs {
	return &Jobs{jobs: maps.Clone(j.jobs), names: maps.Clone(j.names), errors: maps.Clone(j.errors)}
}

// Len is how many records a snapshot has of j.
func (j *Jobs) Len() int {
	n := len(j.jobs)
	for _, list := range j.errors {
		n += len(list)
	}
	return n
}

// Records yields j as snapshots keep it, in the only order that Restore takes:
// jobs by id, then error rowsets by job and txn.
func (j *Jobs) Records(yield func(*raftlogv1.SnapshotRecord) bool) {
	for _, job := range j.All() {
		if !yield(&raftlogv1.SnapshotRecord{Body: &raftlogv1.SnapshotRecord_Job{Job: job}}) {
			return
		}
	}
	for _, id := range slices.Sorted(maps.Keys(j.errors)) {
		for _, r := range j.errors[id] {
			if !yield(&raftlogv1.SnapshotRecord{Body: &raftlogv1.SnapshotRecord_ErrorRowset{ErrorRowset: r}}) {
				return
			}
		}
	}
}

// RestoreJob adds a job from a snapshot. Errors of the two say what in the
// record can't be true.
func (j *Jobs) RestoreJob(job *raftlogv1.Job) error {
	if j.jobs[job.Id] != nil || job.Name == "" || job.Load == nil {
		return fmt.Errorf("job %d %q is there twice or lacks name or load", job.Id, job.Name)
	}
	if !Ended(job.State) && j.ByName(job.DatabaseId, job.Name) != nil {
		return fmt.Errorf("job %d %q has the name of another live job", job.Id, job.Name)
	}
	j.put(job)
	return nil
}

// RestoreErrorRowset adds an error rowset, whose job must be there.
func (j *Jobs) RestoreErrorRowset(r *raftlogv1.ErrorRowset) error {
	if j.jobs[r.JobId] == nil {
		return fmt.Errorf("error rowset %q of job %d has no job", r.GetRowset().GetPath(), r.JobId)
	}
	j.errors[r.JobId] = append(j.errors[r.JobId], r)
	return nil
}
