package jobs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// Create makes a job that waits for its start; its id is taken from nextID,
// and its group id from prefix and id unless the user gave one. Group ids with
// the prefix are ours alone.
func (j *Jobs) Create(def *raftlogv1.Job, prefix string, atMs int64, nextID func() uint64) (uint64, error) {
	if def.GetName() == "" || def.Load == nil {
		return 0, fmt.Errorf("%w: a job needs a name and what to load", ErrIncomplete)
	}
	if other := j.ByName(def.DatabaseId, def.Name); other != nil {
		return 0, fmt.Errorf("%w: %s has id %d and is %s", ErrNameInUse, def.Name, other.Id, StateName(other.State))
	}
	if err := j.checkGroup(0, def.Load, prefix); err != nil {
		return 0, err
	}
	job := &raftlogv1.Job{
		Id: nextID(), DatabaseId: def.DatabaseId, Name: def.Name, TableId: def.TableId,
		DatabaseName: def.DatabaseName, TableName: def.TableName, Load: def.Load, Starts: def.Starts,
		User: def.User, Comment: def.Comment, CreatedMs: atMs,
		State: raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE, Generation: 1,
	}
	if !def.Load.GroupIdGiven {
		job.Load = cow.Copy(def.Load)
		job.Load.GroupId = prefix + strconv.FormatUint(job.Id, 10)
	}
	j.put(job)
	return job.Id, nil
}

// checkGroup refuses a group id of the user's that is, or could become, the
// share group of another job than the one of that id. Classic jobs have no group
// to share: theirs is a name.
func (j *Jobs) checkGroup(id uint64, load *typesv1.RoutineLoad, prefix string) error {
	if !load.GroupIdGiven {
		return nil
	}
	if prefix != "" && strings.HasPrefix(load.GroupId, prefix) {
		return fmt.Errorf("%w: ids beginning with %s are kept for jobs of this cluster", ErrGroupInUse, prefix)
	}
	if load.Mode == typesv1.RoutineLoad_MODE_CLASSIC {
		return nil
	}
	for _, other := range j.All() {
		shares := other.Load.Mode != typesv1.RoutineLoad_MODE_CLASSIC
		if other.Id != id && !Ended(other.State) && shares && other.Load.GroupId == load.GroupId {
			return fmt.Errorf("%w: %s is the group of job %s, id %d", ErrGroupInUse, load.GroupId, other.Name, other.Id)
		}
	}
	return nil
}

// Start notes that the group of a job is set up. Its ledgers are opened beside.
func (j *Jobs) Start(c *raftlogv1.StartRoutineLoad) (*raftlogv1.Job, error) {
	job, err := j.live(c.JobId, raftlogv1.JobState_JOB_STATE_RUNNING)
	switch {
	case err != nil:
		return nil, err
	case job.Started:
		return nil, fmt.Errorf("%w: %s, id %d", ErrStarted, job.Name, job.Id)
	}
	job = cow.Copy(job)
	job.Started, job.Starts, job.StartNote, job.LockDurationMs = true, c.Starts, c.Note, c.LockDurationMs
	j.put(job)
	return job, nil
}

// Remove forgets a job that has ended, or that never started.
func (j *Jobs) Remove(id uint64) error {
	job := j.jobs[id]
	switch {
	case job == nil:
		return fmt.Errorf("%w: id %d", ErrNoJob, id)
	case job.Started && !Ended(job.State):
		return fmt.Errorf("%w: %s, id %d, is %s", ErrNotEnded, job.Name, id, StateName(job.State))
	}
	key := jobName{job.DatabaseId, job.Name}
	left := slices.DeleteFunc(slices.Clone(j.names[key]), func(other uint64) bool { return other == id })
	if j.names[key] = left; len(left) == 0 {
		delete(j.names, key)
	}
	delete(j.jobs, id)
	delete(j.errors, id)
	return nil
}
