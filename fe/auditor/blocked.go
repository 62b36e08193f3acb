package auditor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shoal/fe/kafka"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// Kafka moves a group's start offset when something is acknowledged. Where a
// window has nothing but records that it is done with by itself, aborted or
// compacted ones, there is nothing to acknowledge, and the group never gets
// past them (docs/share-groups.md). Only new start offsets help, and those a
// group takes without members only.

const (
	// heldLocks is more locks than any txn holds its records for: its time
	// before CommitTxn, be/task's limit of ten, and what a conflict adds.
	heldLocks = 12
	// maxPinPause lies at most between two times that a partition is pinned
	// again and loads nothing.
	maxPinPause = 10 * time.Minute
	// mostInVain is how often a group may stand still where it is pinned to until
	// what it does not deliver is repaired: a record that ends its readers, in front
	// of a window of voids, is nothing that the group is known to have given up.
	mostInVain = 2
	// strangersAfter is longer than a dead member of the job's own stays in
	// its group (group.share.max.session.timeout.ms).
	strangersAfter = 65 * time.Second
)

// A Blocked partition is one where the group stands still, though it lies
// behind what is settled and there is more to load.
type Blocked struct {
	Partition      int32
	Start, Settled int64 // offsets: the group's, the ledger's
}

// String says where, for people.
func (b Blocked) String() string {
	return fmt.Sprintf("offset %d of partition %d, though everything below %d is settled", b.Start, b.Partition, b.Settled)
}

// standing is since when a partition stands still.
type standing struct {
	since         time.Time
	start, loaded int64
	pause         time.Duration // until it is blocked, or is again
	inVain        int           // how often it was, at the settled offset, where it is pinned to
}

// blocked finds the partitions that only new start offsets set going again: a
// task asks for records, there are some, the group's start lies below the
// settled offset, and for twice the lock time it did not move and nothing was
// loaded. If tasks hold records, of other partitions perhaps, it takes the time
// that they may hold them; so it does if the start is the settled offset, which
// may be what is told only: it trails the truth by one write. Each time that it
// did not help doubles the pause.
func (a *Audit) blocked(in Input) []Blocked {
	lock := time.Duration(in.Job.LockDurationMs) * time.Millisecond
	if a.idle.IsZero() || holding(in.Tasks) {
		a.idle = in.Now
	}
	var out []Blocked
	for _, l := range in.After {
		p, ok := current(in.View, l.Key)
		start := p.Position.Start
		more := ok && start >= 0 && p.Lag > 0 && len(unsettled(l, p.StableEnd)) > 0
		s := a.standing[l.Key]
		switch {
		case s == nil || s.loaded != l.Loaded:
			a.standing[l.Key] = &standing{since: in.Now, start: start, loaded: l.Loaded, pause: 2 * lock}
		case !more || s.start != start:
			s.since, s.start = in.Now, start
		case start > l.Settled || in.Now.Sub(s.since) < s.pause || !polling(in.Tasks):
		case start < l.Settled && in.Now.Sub(a.idle) >= 2*lock || in.Now.Sub(s.since) >= heldLocks*lock:
			s.since, s.pause = in.Now, min(2*s.pause, max(maxPinPause, 2*lock))
			if start == l.Settled {
				s.inVain++
			}
			out = append(out, Blocked{Partition: l.Partition, Start: start, Settled: l.Settled})
		}
	}
	return out
}

// holding tells whether a task holds records.
func holding(tasks []*backendv1.TaskStatus) bool {
	return slices.ContainsFunc(tasks, func(s *backendv1.TaskStatus) bool { return s.HeldRecords > 0 })
}

// polling tells whether a task asks for records.
func polling(tasks []*backendv1.TaskStatus) bool {
	return slices.ContainsFunc(tasks, func(s *backendv1.TaskStatus) bool {
		return s.Phase == backendv1.TaskStatus_PHASE_POLLING && !s.Ended
	})
}

// TakeOff takes a job's tasks off their backends, each with a new epoch. They
// keep their member ids, by which those that do not leave are taken out of the
// group.
func TakeOff(job *raftlogv1.Job, now time.Time) *raftlogv1.Command {
	change := &raftlogv1.ScheduleTasks{JobId: job.Id}
	for _, t := range job.Tasks {
		if t.BackendId != 0 {
			change.Assignments = append(change.Assignments, &raftlogv1.TaskAssignment{TaskId: t.Id, MemberId: t.MemberId})
		}
	}
	return &raftlogv1.Command{AtMs: now.UnixMilli(), Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: change}}
}

// Strangers are the members of a job's group that none of its tasks is.
func Strangers(job *raftlogv1.Job, members []kafka.Member) []kafka.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m kafka.Member) bool {
		return slices.ContainsFunc(job.Tasks, func(t *raftlogv1.Task) bool { return t.MemberId == m.ID })
	})
}

// Refuse is what follows when a group could not be pinned again because of
// strangers in it: those that were there strangersAfter ago as well, so that
// they are no dead members of the job's own, pause the job. nil if there are
// none.
func (a *Audit) Refuse(job *raftlogv1.Job, strangers []kafka.Member, now time.Time) *raftlogv1.Command {
	seen := make(map[string]time.Time, len(strangers))
	var names []string
	for _, m := range strangers {
		seen[m.ID] = now
		if since, known := a.strangers[m.ID]; known {
			seen[m.ID] = since
		}
		if now.Sub(seen[m.ID]) >= strangersAfter {
			names = append(names, m.String())
		}
	}
	a.strangers = seen
	if len(names) == 0 {
		return nil
	}
	return pause(job, now, fmt.Sprintf(
		"share group '%s' stands still and cannot be pinned again, because others than this job's tasks are in it: %s. End them, then RESUME ROUTINE LOAD",
		job.Load.GroupId, strings.Join(names, ", ")))
}
