package schedule

import (
	"math"
	"slices"

	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// How the number of a share-group job's tasks follows its work. A partition is
// shared only by the members that outnumber partitions, evenly if they are a
// multiple of them; each member that comes or goes is a rebalance, after which a
// partition may rest for a heartbeat of the group. So numbers change in large steps:
// quickly upwards, slowly downwards, and more slowly each time that it was too
// early.
const (
	// A job is behind if it will not have caught up for behindMs at its present
	// rate, and gets more tasks when it was for growMs.
	behindMs = 5_000
	growMs   = 2_000
	growBy   = 4
	// joinMs is how long tasks may take to join before more are tried.
	joinMs = 10_000
	// A job has fewer tasks when it was not behind for its patience, so many that
	// they would be busy half of the time. The patience doubles when tasks are
	// wanted again soon.
	patienceMs     = 60_000
	mostPatienceMs = 30 * 60_000
	busyMost       = 0.5
	// Means are over about so long.
	rateMs = 5_000
	busyMs = 15_000
	// idleMs is how long nothing must have come for a job to be idle.
	idleMs = 5_000
)

// Work is what a job has to do and does, as the leader sees it at one moment.
type Work struct {
	// Loadable is how many offsets could be loaded now; below 0 if that is not
	// known. What an open transaction holds back is not loadable.
	Loadable int64
	Settled  int64 // offsets, ever
	Busy     int   // tasks that hold records
	Joined   int   // tasks that may get records
	Trouble  bool  // a task has some, which more tasks would have too
}

// Loadable is how many offsets below end, of a partition with that ledger, are not
// settled yet.
func Loadable(l ledger.View, end int64) int64 {
	return max(0, end-l.Settled-l.Ranges.Count())
}

// AddTasks adds what a job's tasks do, by the last heartbeats. Those of earlier
// epochs, those that ended and those that repair do not count.
func (w *Work) AddTasks(job *raftlogv1.Job, statuses []*backendv1.TaskStatus) {
	for _, s := range statuses {
		current := slices.ContainsFunc(job.Tasks, func(t *raftlogv1.Task) bool {
			return t.Id == s.Task.GetTaskId() && t.Epoch == s.Task.GetEpoch() && !jobs.Repairs(t)
		})
		if !current || s.Ended {
			continue
		}
		w.Trouble = w.Trouble || s.Trouble != ""
		if s.Phase > backendv1.TaskStatus_PHASE_JOINING {
			w.Joined++
		}
		if s.HeldRecords > 0 {
			w.Busy++
		}
	}
}

// A Pacer keeps what it takes to see how many tasks jobs have work for. Nothing
// of it is replicated: a new leader begins with the tasks that there are. It is
// used by one goroutine at a time; time comes as a parameter, in milliseconds on
// a clock that does not jump.
type Pacer struct{ jobs map[uint64]*pace }

// pace is what is known of one job. Times are 0 for never.
type pace struct {
	want       int
	changedMs  int64 // want was changed, or the job first seen
	grewMs     int64
	shrankMs   int64 // and did not grow since
	patienceMs int64

	seenMs   int64
	settled  int64
	movedMs  int64   // settled something
	rate     float64 // offsets settled per ms
	busy     float64 // tasks
	behindMs int64   // since when it is; 0 if not
	calmMs   int64   // since when it is not behind; 0 if it is
	quietMs  int64   // since when there is nothing to do; 0 if there is
}

// NewPacer is a pacer that has seen nothing.
func NewPacer() *Pacer { return &Pacer{jobs: make(map[uint64]*pace)} }

// Pace takes note of a job as it is now, and sets its Wanted and Idle. A job that
// does not run is forgotten.
func (p *Pacer) Pace(nowMs int64, job *Job, w Work) {
	if !runs(job.Job) {
		delete(p.jobs, job.Id)
		return
	}
	limit, known := Limit(*job)
	if !known {
		return
	}
	j := p.jobs[job.Id]
	if j == nil {
		j = begin(nowMs, *job, limit, w)
		p.jobs[job.Id] = j
	}
	j.observe(nowMs, w)
	job.Idle = j.quietMs != 0 && nowMs-j.quietMs >= idleMs
	if jobs.Classic(job.Job) {
		return
	}
	j.want = min(j.want, limit)
	switch {
	case j.grows(nowMs, *job, w, limit):
		j.grow(nowMs, len(job.Partitions), limit)
	case j.calmMs != 0 && nowMs-max(j.calmMs, j.changedMs) >= j.patienceMs:
		j.shrink(nowMs, len(job.Partitions))
	}
	job.Wanted = j.want
}

// begin is the pace of a job at first sight: as many tasks as it has. If none is
// placed, since it is new or resumed, there are two for each partition at least, so
// that none stands still with one of them and a backlog is met in strength.
func begin(nowMs int64, job Job, limit int, w Work) *pace {
	want := len(jobs.Loaders(job.Job))
	if placed(job) == 0 {
		want = max(want, 2*max(len(job.Partitions), len(job.Starts)))
	}
	return &pace{want: min(max(want, 1), limit), changedMs: nowMs, patienceMs: patienceMs, seenMs: nowMs, settled: w.Settled, calmMs: nowMs}
}

// observe keeps means and since when things are as they are.
func (j *pace) observe(nowMs int64, w Work) {
	if took := float64(nowMs - j.seenMs); took > 0 {
		if w.Settled != j.settled {
			j.movedMs = nowMs
		}
		j.rate += (float64(w.Settled-j.settled)/took - j.rate) * weight(took, rateMs)
		j.busy += (float64(w.Busy) - j.busy) * weight(took, busyMs)
		j.seenMs, j.settled = nowMs, w.Settled
	}
	since := func(at *int64, holds bool) {
		switch {
		case !holds:
			*at = 0
		case *at == 0:
			*at = nowMs
		}
	}
	behind := w.Loadable > 0 && float64(w.Loadable) > j.rate*behindMs
	since(&j.behindMs, behind)
	since(&j.calmMs, !behind && w.Loadable >= 0)
	since(&j.quietMs, w.Loadable == 0 && w.Busy == 0)
}

// weight is how much a look counts in a mean over about span, when the one before
// it was took ago.
func weight(took, span float64) float64 { return 1 - math.Exp(-took/span) }

// grows tells whether more tasks are wanted: the job is behind, those that it
// wanted are there, and some records come.
func (j *pace) grows(nowMs int64, job Job, w Work, limit int) bool {
	switch {
	case j.behindMs == 0 || j.want >= limit || w.Trouble || w.Busy == 0 && nowMs-j.movedMs >= growMs:
		return false
	case nowMs-max(j.behindMs, j.changedMs) < growMs:
		return false
	}
	return w.Joined >= j.want || nowMs-j.changedMs >= joinMs && placed(job) >= j.want
}

// placed is how many of a job's tasks are on backends, to stay.
func placed(job Job) (n int) {
	for _, task := range jobs.Loaders(job.Job) {
		if task.BackendId != 0 && task.DrainingMs == 0 {
			n++
		}
	}
	return n
}

// grow wants growBy times as many tasks: one for each partition before any has
// two, and then a multiple of the partitions.
func (j *pace) grow(nowMs int64, partitions, limit int) {
	if j.shrankMs != 0 && nowMs-j.shrankMs < 5*j.patienceMs {
		j.patienceMs = min(2*j.patienceMs, mostPatienceMs)
	}
	j.shrankMs = 0
	more := growBy * j.want
	switch {
	case partitions == 0:
	case j.want < partitions:
		more = min(more, partitions)
	default:
		more -= more % partitions
	}
	j.want, j.changedMs, j.grewMs = min(more, limit), nowMs, nowMs
}

// shrink wants no more tasks than the work takes.
func (j *pace) shrink(nowMs int64, partitions int) {
	enough := max(1, int(math.Ceil(j.busy/busyMost-0.05)))
	if enough > partitions && partitions > 0 {
		enough = (enough + partitions - 1) / partitions * partitions
	}
	if enough >= j.want {
		return
	}
	if nowMs-j.grewMs > 10*j.patienceMs {
		j.patienceMs = patienceMs
	}
	j.want, j.changedMs, j.shrankMs = enough, nowMs, nowMs
}
