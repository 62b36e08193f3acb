// Package schedule decides where the tasks of routine load jobs run.
//
// It is the leader's plan, as pure functions: Make looks at the replicated
// jobs and at the backends as heartbeats show them, and returns the commands
// to propose; Heartbeat says what a backend should run. There is no clock, no
// I/O and no randomness in it, so the leader's loop and the simulation run the
// same code.
//
// A share-group job gets min(desired_concurrent_number or twice its
// partitions, the broker's group.share.max.size) tasks, as far as free slots
// of live backends allow; partitions do not cap them. A classic job gets at most
// one task for each partition, and its partitions are divided over the tasks
// that have a backend (divide.go): each is read by exactly one, at an epoch that
// is raised when the division changes.
//
// A task is moved only when it cannot run where it is: its backend is gone or
// has fewer slots than tasks, or the task ended by itself. Nothing is moved to
// level the load, since each move gives back records and costs them a delivery.
// The one exception: those tasks do not end, so a job that finds all slots taken gets
// that of a task of the job with the most, or it would wait for ever. Planning
// again without a change gives nothing.
//
// Repair tasks (repair.go), which the auditor makes, have a slot of their own on
// each backend, and are removed once they have ended.
package schedule

import (
	"cmp"
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
}

// A Backend is one that is, or may be, alive. Those that are dead or were
// dropped are left out of the plan's input, which moves their tasks.
type Backend struct {
	ID    uint64
	Slots int
	// Unheard: a new leader has not heard of it yet. It keeps its tasks and
	// gets none.
	Unheard bool
}

// An Input is what the leader sees.
type Input struct {
	NowMs    int64 // milliseconds since 1970
	Jobs     []Job // ascending by id
	Backends []Backend
	// Ended holds tasks that will not run any more at their epoch, though
	// their backend is alive.
	Ended map[Ref]bool
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
				refs = append(refs, &backendv1.TaskRef{TaskId: task.Id, Epoch: task.Epoch})
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
	p := planner{in: in, free: make(map[uint64]int)}
	for _, b := range in.Backends {
		p.free[b.ID] = b.Slots
	}
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
	p.share(drafts)
	poorestFirst := slices.SortedStableFunc(slices.Values(drafts), func(a, b *draft) int { return cmp.Compare(len(a.kept), len(b.kept)) })
	for p.placeRound(poorestFirst) {
	}
	p.repair(drafts)
	for _, d := range drafts {
		p.finish(d)
	}
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

// planner is one run of Make.
type planner struct {
	in   Input
	free map[uint64]int // slots by backend; those unheard of and dead ones have none to give
	plan Plan
}

// draft is the plan of one job in the making.
type draft struct {
	job     Job
	kept    []*raftlogv1.Task // stay where they are
	place   []*raftlogv1.Task // need a backend, lost ones before waiting ones
	missing int               // tasks to make, if there are slots
	change  raftlogv1.ScheduleTasks
	lost    []string // members that did not leave by themselves
}

// review finds what a job's tasks need.
func (p *planner) review(job Job) *draft {
	d := &draft{job: job, change: raftlogv1.ScheduleTasks{JobId: job.Id}}
	tasks := jobs.Loaders(job.Job)
	limit, known := Limit(job)
	if jobs.Classic(job.Job) && !known {
		for _, task := range tasks {
			p.keeps(task) // its slot is taken
		}
		return d // there is nothing to divide yet
	}
	if known && len(tasks) > limit {
		// Those without a backend go first, then the youngest.
		slices.SortStableFunc(tasks, func(a, b *raftlogv1.Task) int {
			return cmp.Or(boolOrder(a.BackendId == 0, b.BackendId == 0), cmp.Compare(a.Id, b.Id))
		})
		for _, task := range tasks[limit:] {
			d.change.RemoveTaskIds = append(d.change.RemoveTaskIds, task.Id)
		}
		tasks = tasks[:limit]
	}
	d.missing = max(0, limit-len(tasks))
	var waiting []*raftlogv1.Task
	for _, task := range tasks {
		switch {
		case task.BackendId == 0:
			waiting = append(waiting, task)
		case p.keeps(task):
			d.kept = append(d.kept, task)
		default:
			d.place = append(d.place, task)
			if !jobs.Classic(job.Job) {
				d.lost = append(d.lost, task.MemberId)
			}
		}
	}
	d.place = append(d.place, waiting...)
	return d
}

// boolOrder sorts false before true.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// keeps tells whether a task stays where it is, and takes its slot there.
func (p *planner) keeps(task *raftlogv1.Task) bool {
	if p.in.Ended[Ref{task.Id, task.Epoch}] && !p.fresh(task) {
		return false
	}
	i := slices.IndexFunc(p.in.Backends, func(b Backend) bool { return b.ID == task.BackendId })
	if i < 0 || !p.in.Backends[i].Unheard && p.free[task.BackendId] <= 0 {
		return false
	}
	p.free[task.BackendId]--
	return true
}

// fresh tells whether a task has its epoch only since a moment ago. One that has
// it since a time to come was assigned by another clock.
func (p *planner) fresh(task *raftlogv1.Task) bool {
	age := p.in.NowMs - task.AssignedMs
	return age >= 0 && age < restartMs
}

// Limit is the number of tasks that a job should have when there are slots.
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

// share frees a slot for each job that has no task and would find none, as long
// as another job has two: it loses its youngest.
func (p *planner) share(drafts []*draft) {
	lacking := 0
	for _, d := range drafts {
		if len(d.kept) == 0 && len(d.place)+d.missing > 0 {
			lacking++
		}
	}
	for _, b := range p.in.Backends {
		if !b.Unheard {
			lacking -= max(0, p.free[b.ID])
		}
	}
	for ; lacking > 0; lacking-- {
		richest := slices.MaxFunc(drafts, func(a, b *draft) int { return cmp.Compare(len(a.kept), len(b.kept)) })
		if len(richest.kept) < 2 || !p.giveUp(richest) {
			return
		}
	}
}

// giveUp removes the youngest of a job's tasks that are on backends heard of.
func (p *planner) giveUp(d *draft) bool {
	youngest := -1
	for i, task := range d.kept {
		heard := slices.ContainsFunc(p.in.Backends, func(b Backend) bool { return b.ID == task.BackendId && !b.Unheard })
		if heard && (youngest < 0 || task.Id > d.kept[youngest].Id) {
			youngest = i
		}
	}
	if youngest < 0 {
		return false
	}
	task := d.kept[youngest]
	d.kept = slices.Delete(d.kept, youngest, youngest+1)
	d.change.RemoveTaskIds = append(d.change.RemoveTaskIds, task.Id)
	p.free[task.BackendId]++
	return true
}

// placeRound gives each job one slot, first to tasks that exist, and tells
// whether any got one. Jobs take turns so that a large one does not starve the
// others.
func (p *planner) placeRound(drafts []*draft) bool {
	placed := false
	for _, d := range drafts {
		if len(d.place) == 0 && d.missing == 0 {
			continue
		}
		backend := p.roomiest()
		if backend == 0 {
			return false
		}
		p.free[backend]--
		placed = true
		assignment := &raftlogv1.TaskAssignment{BackendId: backend}
		if !jobs.Classic(d.job.Job) {
			assignment.MemberId = p.in.MemberID()
		}
		if len(d.place) > 0 {
			assignment.TaskId = d.place[0].Id
			d.place = d.place[1:]
		} else {
			d.missing--
		}
		d.change.Assignments = append(d.change.Assignments, assignment)
	}
	return placed
}

// roomiest is the backend with the most free slots, 0 if there is none; the
// lowest id among equals.
func (p *planner) roomiest() uint64 {
	best, most := uint64(0), 0
	for _, b := range p.in.Backends {
		if free := p.free[b.ID]; !b.Unheard && (free > most || free == most && free > 0 && b.ID < best) {
			best, most = b.ID, free
		}
	}
	return best
}

// finish takes tasks that found no place off their lost backends and proposes
// the job's change, if there is one.
func (p *planner) finish(d *draft) {
	for _, task := range d.place {
		if task.BackendId != 0 {
			d.change.Assignments = append(d.change.Assignments, &raftlogv1.TaskAssignment{TaskId: task.Id})
		}
	}
	if jobs.Classic(d.job.Job) {
		d.divide()
	}
	if len(d.change.Assignments)+len(d.change.RemoveTaskIds) == 0 {
		return
	}
	if len(d.lost) > 0 {
		p.plan.Leaves = append(p.plan.Leaves, Leave{JobID: d.job.Id, Members: d.lost})
	}
	p.propose(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &d.change}})
}

// propose adds a command.
func (p *planner) propose(command *raftlogv1.Command) {
	command.AtMs = p.in.NowMs
	p.plan.Commands = append(p.plan.Commands, command)
}
