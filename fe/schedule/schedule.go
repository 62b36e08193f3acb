// Package schedule decides where the tasks of routine load jobs run, and how
// many.
//
// It is the leader's plan, as pure functions: Make looks at the replicated
// jobs and at the backends as heartbeats show them, and returns the commands
// to propose; Heartbeat says what a backend should run. There is no clock, no
// I/O and no randomness in it, so the leader's loop and the simulation run the
// same code. The reasons are in docs/decisions/elastic-tasks.md.
//
// How many. A share-group job may have min(desired_concurrent_number or twice its
// partitions, the broker's group.share.max.size) tasks; partitions do not cap
// them. How many of these it wants follows its work (pace.go). A classic job wants
// one task for each partition, at most desired_concurrent_number, and its
// partitions are divided over the tasks that have a backend (divide.go): each is
// read by exactly one, at an epoch that is raised when the division changes. If
// all jobs together want more than there are slots, they get the same, as far as
// they want as many; and if there are more jobs than slots, they take turns
// (allot.go).
//
// Where. Tasks are spread over backends: each goes where the smallest part of the
// slots is taken, and among equals where its job has the fewest. Backends to avoid get none, and theirs move as soon
// as others have room; few at a time move to level what joined backends leave
// uneven (move.go). A task whose backend is gone moves at once.
//
// What takes a task away from a backend that lives has it drain first: it commits
// what it holds and leaves its group, and its slot is its own until then, or
// until it was too slow. Planning again without a change gives nothing.
//
// Repair tasks (repair.go), which the auditor makes, have a slot of their own on
// each backend, and are removed once they have ended.
package schedule

import (
	"slices"

	"shoal/fe/state/jobs"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// KeepMs is how long an ended job is remembered (label_keep_max_second).
const KeepMs = 3 * 24 * 3600 * 1000

// restartMs is the least time between two epochs of a task that ends by
// itself, so that one which cannot run does not fill the log.
const restartMs = 2000

// drainMs is how long a task may drain: as long as the longest lock.
const drainMs = 60_000

// Reason codes of a cancelled job (Doris's InternalErrorCode).
const (
	codeDatabaseGone = 5
	codeTableGone    = 6
)

// A Ref is a task at one epoch.
type Ref struct{ TaskID, Epoch uint64 }

// A Job is a job with what the plan needs to know beside it.
type Job struct {
	*raftlogv1.Job
	DatabaseGone bool
	TableGone    bool
	// Partitions of the topic, ascending: in classic mode those that the job
	// reads and that have a ledger, of TopicID. None, and 0 members that a group
	// may have, while the broker has not told.
	Partitions []int32
	TopicID    []byte
	MaxMembers int
	// Wanted is how many tasks there is work for, as Pacer has it; 0 for as many as
	// Limit allows. Idle jobs are the first to make room for others.
	Wanted int
	Idle   bool
}

// A Backend is one that is, or may be, alive. Those that are dead or were
// dropped are left out of the plan's input, which moves their tasks.
type Backend struct {
	ID    uint64
	Slots int
	// Unheard: a new leader has not heard of it yet. It keeps its tasks and
	// gets none.
	Unheard bool
	// Avoid: it gets no task, and those that it has move to where there is room.
	Avoid bool
	// SinceMs is when it became alive.
	SinceMs int64
}

// An Input is what the leader sees.
type Input struct {
	NowMs    int64 // milliseconds since 1970
	Jobs     []Job // ascending by id
	Backends []Backend
	// Decommissioning are the ids of backends, alive or not, that are dropped once
	// no task has them. Those that are alive are to be avoided.
	Decommissioning []uint64
	// Ended holds tasks that will not run any more at their epoch, though
	// their backend is alive.
	Ended map[Ref]bool
	// Lost is the part of Ended that did not end by itself: its backend was
	// started anew.
	Lost map[Ref]bool
	// Ran are tasks that this leader has seen on their backend, or started there.
	Ran map[Ref]bool
	// MemberID makes a new Kafka member id.
	MemberID func() string
}

// A Plan is what the leader does next.
type Plan struct {
	// Commands to propose, in order.
	Commands []*raftlogv1.Command
	// Leaves are members that were lost without leaving; until they are taken
	// out of their group they block its partitions for 45 s.
	Leaves []Leave
}

// A Leave is the lost members of one job.
type Leave struct {
	JobID   uint64
	Members []string
}

// Heartbeat is the complete list of what a backend should run.
func Heartbeat(jobs []*raftlogv1.Job, backendID uint64) []*backendv1.TaskRef {
	var refs []*backendv1.TaskRef
	for _, job := range jobs {
		if !runs(job) {
			continue
		}
		for _, task := range job.Tasks {
			if task.BackendId == backendID {
				refs = append(refs, &backendv1.TaskRef{TaskId: task.Id, Epoch: task.Epoch, Drain: task.DrainingMs > 0})
			}
		}
	}
	return refs
}

// runs tells whether the job's tasks may run.
func runs(job *raftlogv1.Job) bool {
	return job.Started && (job.State == raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE || job.State == raftlogv1.JobState_JOB_STATE_RUNNING)
}

// Make plans one tick.
func Make(in Input) Plan {
	p := newPlanner(in)
	var drafts []*draft
	for _, job := range in.Jobs {
		if command := lifeCycle(job, in.NowMs); command != nil {
			p.propose(command)
			continue
		}
		if runs(job.Job) {
			drafts = append(drafts, p.review(job))
		}
	}
	p.allot(drafts)
	p.trim(drafts)
	p.fill(drafts)
	p.moveOff(drafts)
	p.level(drafts)
	p.repair(drafts)
	for _, d := range drafts {
		p.finish(d)
	}
	p.dropIdle()
	return p.plan
}

// lifeCycle is the end of a job whose table is gone, or of the memory of one
// that ended long ago; nil for all others.
func lifeCycle(job Job, nowMs int64) *raftlogv1.Command {
	if jobs.Ended(job.Job.State) {
		if nowMs-job.EndedMs < KeepMs {
			return nil
		}
		return &raftlogv1.Command{Body: &raftlogv1.Command_RemoveJob{RemoveJob: &raftlogv1.RemoveJob{JobId: job.Id}}}
	}
	change := &raftlogv1.ChangeJobState{JobId: job.Id, From: job.State, To: raftlogv1.JobState_JOB_STATE_CANCELLED}
	switch {
	case job.DatabaseGone:
		change.ReasonCode, change.Reason = codeDatabaseGone, "db "+job.DatabaseName+" does not exist any more"
	case job.TableGone:
		change.ReasonCode, change.Reason = codeTableGone, "table "+job.DatabaseName+"."+job.TableName+" does not exist any more"
	default:
		return nil
	}
	return &raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: change}}
}

// dropIdle drops backends that are being decommissioned and have no task. What
// their former tasks might still commit is of older epochs.
func (p *planner) dropIdle() {
	for _, id := range p.in.Decommissioning {
		busy := slices.ContainsFunc(p.in.Jobs, func(job Job) bool {
			return slices.ContainsFunc(job.Tasks, func(t *raftlogv1.Task) bool { return t.BackendId == id })
		})
		if !busy {
			p.propose(&raftlogv1.Command{Body: &raftlogv1.Command_DropBackend{DropBackend: &raftlogv1.DropBackend{BackendId: id, Idle: true, Decommissioned: true}}})
		}
	}
}

// Limit is the number of tasks that a job may have when there are slots.
// It is not known, and the number so far, until the broker or, in share mode,
// CREATE told the partitions. While only CREATE did, no task is too many: the
// topic may have grown since.
func Limit(job Job) (limit int, known bool) {
	if jobs.Classic(job.Job) {
		return classicLimit(job)
	}
	partitions := max(len(job.Partitions), len(job.Starts))
	limit = int(min(job.Load.GetDesiredConcurrentNumber(), 1<<20))
	if limit == 0 {
		limit = 2 * partitions
		if len(job.Partitions) == 0 {
			limit = max(limit, len(jobs.Loaders(job.Job)))
		}
	}
	if limit == 0 {
		return len(jobs.Loaders(job.Job)), false
	}
	if job.MaxMembers > 0 {
		limit = min(limit, job.MaxMembers)
	}
	return limit, true
}
