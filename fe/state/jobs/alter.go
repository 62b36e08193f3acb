package jobs

import (
	"bytes"
	"fmt"
	"slices"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// Alter replaces the definition of a PAUSED job, whose table has the given
// name from now on. With starts, or without the former ledgers, a new
// generation begins, which the job that is returned has; the ledgers
// themselves are the caller's. Epochs are raised here, so that nothing that ran
// before can commit once the job is resumed. A repair task goes: what is still
// to be repaired the auditor finds again.
func (j *Jobs) Alter(c *raftlogv1.AlterRoutineLoad, tableName string, nextID func() uint64) (*raftlogv1.Job, error) {
	job := j.jobs[c.JobId]
	switch {
	case job.State != raftlogv1.JobState_JOB_STATE_PAUSED:
		return nil, fmt.Errorf("%w: %s, id %d, is %s", ErrNotPaused, job.Name, job.Id, StateName(job.State))
	case c.Load == nil || c.Load.GroupId == "":
		return nil, fmt.Errorf("%w: ALTER needs all of it, the group's id too", ErrIncomplete)
	}
	if err := j.checkGroup(job.Id, c.Load, ""); err != nil {
		return nil, err
	}
	job = cow.Copy(job)
	job.Load, job.TableName = c.Load, tableName
	if c.TableId != 0 {
		job.TableId = c.TableId
	}
	if c.LockDurationMs > 0 {
		job.LockDurationMs, job.StartNote = c.LockDurationMs, c.Note
	}
	if len(c.Starts) > 0 || c.ReplaceLedgers {
		job.Generation++
		job.Starts = restarted(job.Starts, c)
	}
	job.Suspects, job.SuspectLosses = nil, 0
	job.Tasks = eachTask(Loaders(job), func(t *raftlogv1.Task) { t.Epoch = nextID() })
	j.put(job)
	return job, nil
}

// restarted is where the job's partitions start from now on.
func restarted(before []*raftlogv1.LedgerStart, c *raftlogv1.AlterRoutineLoad) []*raftlogv1.LedgerStart {
	var kept []*raftlogv1.LedgerStart
	for _, old := range before {
		again := slices.ContainsFunc(c.Starts, func(s *raftlogv1.LedgerStart) bool {
			return s.Partition == old.Partition && bytes.Equal(s.TopicId, old.TopicId)
		})
		if !again && !c.ReplaceLedgers {
			kept = append(kept, old)
		}
	}
	return append(kept, c.Starts...)
}
