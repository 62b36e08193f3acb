// Package jobs is the part of the replicated state that holds routine load
// jobs: their definitions, states, tasks, txn numbers, counters, error window
// and error rowsets.
//
// A job moves through Doris's states (NEED_SCHEDULE, RUNNING, PAUSED, STOPPED,
// CANCELLED). Its tasks are replicated with their epochs: an epoch is raised
// whenever a task is placed anew, when its job is resumed or altered, and when
// a table changes that it was given, and never comes again, so that a txn of an
// earlier placement is known by it. Of every task the last txn that was decided
// is kept with its answer, so that a backend whose answer was lost hears the
// same again. Messages that readers get are replaced and never changed. Pure,
// like all of the replicated state.
package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// What commands may get wrong. They come wrapped with the names.
var (
	// ErrNoJob is for ids that no job has.
	ErrNoJob = errors.New("no such job")
	// ErrNameInUse is for names that a live job of the database has.
	ErrNameInUse = errors.New("a job of that name exists")
	// ErrGroupInUse is for group ids that another live job reads by.
	ErrGroupInUse = errors.New("another job uses that group")
	// ErrIncomplete refuses definitions without name or load.
	ErrIncomplete = errors.New("incomplete job definition")
	// ErrStarted refuses to start a job twice.
	ErrStarted = errors.New("the job is started already")
	// ErrNotStarted refuses tasks for a job whose group is not set up.
	ErrNotStarted = errors.New("the job is not started yet")
	// ErrNotEnded refuses to remove a job that may still load.
	ErrNotEnded = errors.New("the job has not ended")
	// ErrMovedOn refuses a change of a state that is not the job's any more.
	ErrMovedOn = errors.New("the job's state has changed meanwhile")
	// ErrNotPaused refuses to alter a job that may still load.
	ErrNotPaused = errors.New("the job is not PAUSED")
	// ErrNotAutomatic refuses to resume a job by itself that waits for a person.
	ErrNotAutomatic = errors.New("the job is not resumed automatically")
	// ErrTwice refuses to have two tasks read one partition.
	ErrTwice = errors.New("two tasks would read one partition")
	// ErrNoRepair refuses a repair task where there is one, or nothing for it.
	ErrNoRepair = errors.New("the job cannot have that repair task")
	// ErrNoTask is for task ids that the job does not have.
	ErrNoTask = errors.New("no such task")
)

// A TransitionError is a change of state that Doris's guard refuses.
type TransitionError struct {
	From, To raftlogv1.JobState
}

// Error is in Doris's words.
func (e TransitionError) Error() string {
	return fmt.Sprintf("could not transform %s to %s", StateName(e.From), StateName(e.To))
}

// StateName is the state as SHOW ROUTINE LOAD prints it.
func StateName(s raftlogv1.JobState) string {
	return strings.TrimPrefix(s.String(), "JOB_STATE_")
}

// Classic tells whether a job reads partitions of its own, without a group.
func Classic(job *raftlogv1.Job) bool {
	return job.Load.GetMode() == typesv1.RoutineLoad_MODE_CLASSIC
}

// Ended tells whether a state is final.
func Ended(s raftlogv1.JobState) bool {
	return s == raftlogv1.JobState_JOB_STATE_STOPPED || s == raftlogv1.JobState_JOB_STATE_CANCELLED
}

type jobName struct {
	databaseID uint64
	name       string
}

// Jobs is all jobs of the cluster.
type Jobs struct {
	jobs   map[uint64]*raftlogv1.Job
	names  map[jobName][]uint64 // oldest first; at most the last has not ended
	errors map[uint64][]*raftlogv1.ErrorRowset
}

// New is no jobs.
func New() *Jobs {
	return &Jobs{
		jobs:   map[uint64]*raftlogv1.Job{},
		names:  map[jobName][]uint64{},
		errors: map[uint64][]*raftlogv1.ErrorRowset{},
	}
}

// live is the job of that id if it has not ended.
func (j *Jobs) live(id uint64, to raftlogv1.JobState) (*raftlogv1.Job, error) {
	job := j.jobs[id]
	switch {
	case job == nil:
		return nil, fmt.Errorf("%w: id %d", ErrNoJob, id)
	case Ended(job.State):
		return nil, TransitionError{job.State, to}
	}
	return job, nil
}

// All jobs, ordered by id, so the oldest first.
func (j *Jobs) All() []*raftlogv1.Job {
	return slices.SortedFunc(maps.Values(j.jobs), func(a, b *raftlogv1.Job) int { return cmp.Compare(a.Id, b.Id) })
}

// ByID is the job of that id, nil if there is none.
func (j *Jobs) ByID(id uint64) *raftlogv1.Job { return j.jobs[id] }

// ByName is the job of that name in a database that has not ended, nil if
// there is none.
func (j *Jobs) ByName(databaseID uint64, name string) *raftlogv1.Job {
	for _, job := range j.AllByName(databaseID, name) {
		if !Ended(job.State) {
			return job
		}
	}
	return nil
}

// AllByName is every job of that name in a database, ended ones included, the
// oldest first.
func (j *Jobs) AllByName(databaseID uint64, name string) []*raftlogv1.Job {
	var all []*raftlogv1.Job
	for _, id := range j.names[jobName{databaseID, name}] {
		all = append(all, j.jobs[id])
	}
	return all
}

// ErrorRowsets of a job, in the order in which they were committed. The slice
// does not change any more.
func (j *Jobs) ErrorRowsets(id uint64) []*raftlogv1.ErrorRowset {
	return slices.Clip(j.errors[id])
}

func (j *Jobs) put(job *raftlogv1.Job) {
	if j.jobs[job.Id] == nil {
		key := jobName{job.DatabaseId, job.Name}
		j.names[key] = append(slices.Clip(j.names[key]), job.Id)
	}
	j.jobs[job.Id] = job
}
