package auditor

import (
	"fmt"
	"time"

	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// Judge says what follows from the answer to a probe: void and expired offsets
// are settled where they adjoin what is settled; records that the group will
// not deliver again are noted, for Repair.
func (a *Audit) Judge(job *raftlogv1.Job, probe Probe, answer *backendv1.ProbeResponse, now time.Time) []*raftlogv1.Command {
	var commands []*raftlogv1.Command
	void := ranges(answer.Void).Intersect(probe.Ask)
	expired := ranges(answer.Expired).Intersect(probe.Ask).Subtract(void)
	held := ranges(answer.Held).Intersect(probe.Sure)
	gone := adjoining(void.Union(expired), probe.Settled)
	void, expired = void.Intersect(gone), expired.Intersect(gone)
	if len(gone) > 0 {
		settle := newSettle(job)
		settle.add(probe.Key, void, expired)
		commands = append(commands, settle.command(now))
	}
	if _, seen := a.lost[probe.Key]; len(held) == 0 {
		delete(a.lost, probe.Key)
	} else if !seen {
		a.lost[probe.Key] = now
	}
	return commands
}

// adjoining is the ranges of gone that touch what is settled. Settling them
// closes holes or narrows them, and never makes one into two: the markers that
// lie between the records of a txn which waits would each become a range of
// their own, and are settled with it.
func adjoining(gone, settled offsets.Set) offsets.Set {
	var out offsets.Set
	for _, r := range settled.Union(gone) {
		if whole := (offsets.Set{r}); len(whole.Intersect(settled)) > 0 {
			out = append(out, r)
		}
	}
	return gone.Intersect(out)
}

// shorten names a few ranges of many.
func shorten(s offsets.Set) string {
	const most = 5
	if len(s) <= most {
		return s.String()
	}
	return fmt.Sprintf("%s and %d more ranges, %d offsets in all,", s[:most], len(s)-most, s.Count())
}

// Forget drops what ledgers remember of void and expired offsets, as far as no
// open txn can hold one of them: up to the least open index of the job's
// tasks. nil if there is nothing to drop, or it was done a moment ago. statuses
// has those of tasks at their current epoch.
func (a *Audit) Forget(job *raftlogv1.Job, ledgers []ledger.View, statuses []*backendv1.TaskStatus, now time.Time) *raftlogv1.Command {
	remembered := 0
	for _, l := range ledgers {
		remembered += l.Remembered
	}
	if remembered == 0 || now.Sub(a.forgetAt) < forgetEvery {
		return nil
	}
	through, known := leastOpenIndex(job, statuses)
	if !known || through <= a.forgotten {
		return nil
	}
	a.forgotten, a.forgetAt = through, now
	return &raftlogv1.Command{AtMs: now.UnixMilli(), Body: &raftlogv1.Command_ForgetVoids{
		ForgetVoids: &raftlogv1.ForgetVoids{JobId: job.Id, ThroughIndex: through},
	}}
}

// leastOpenIndex is not known while a task that may commit has not been heard
// of. Tasks without a backend cannot: their epoch was raised.
func leastOpenIndex(job *raftlogv1.Job, statuses []*backendv1.TaskStatus) (least uint64, known bool) {
	byTask := make(map[uint64]*backendv1.TaskStatus, len(statuses))
	for _, s := range statuses {
		byTask[s.Task.GetTaskId()] = s
	}
	for _, task := range job.Tasks {
		if task.BackendId == 0 {
			continue
		}
		s := byTask[task.Id]
		if s == nil || s.Task.GetEpoch() != task.Epoch || s.OpenIndex == 0 {
			return 0, false
		}
		if !known || s.OpenIndex < least {
			least, known = s.OpenIndex, true
		}
	}
	return least, known
}

// settlement is a SettleOffsets in the making.
type settlement struct{ body *raftlogv1.SettleOffsets }

func newSettle(job *raftlogv1.Job) settlement {
	return settlement{&raftlogv1.SettleOffsets{JobId: job.Id, Generation: job.Generation}}
}

func (s settlement) add(key ledger.Key, void, expired offsets.Set) {
	s.body.Partitions = append(s.body.Partitions, &typesv1.PartitionOffsets{
		TopicId: key.TopicID[:], Partition: key.Partition, Void: wire(void), Expired: wire(expired),
	})
}

func (s settlement) empty() bool { return len(s.body.Partitions) == 0 }

func (s settlement) command(now time.Time) *raftlogv1.Command {
	return &raftlogv1.Command{AtMs: now.UnixMilli(), Body: &raftlogv1.Command_SettleOffsets{SettleOffsets: s.body}}
}

// pause stops the job for a person to decide.
func pause(job *raftlogv1.Job, now time.Time, reason string) *raftlogv1.Command {
	return &raftlogv1.Command{AtMs: now.UnixMilli(), Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
		JobId: job.Id, From: job.State, To: raftlogv1.JobState_JOB_STATE_PAUSED, ReasonCode: jobs.ReasonCannotResume, Reason: reason,
	}}}
}

// ranges reads offsets off a message.
func ranges(list []*typesv1.OffsetRange) offsets.Set {
	rs := make([]offsets.Range, len(list))
	for i, r := range list {
		rs[i] = offsets.Range{First: r.First, Last: r.Last}
	}
	return offsets.Of(rs...)
}

// wire puts offsets into a message.
func wire(s offsets.Set) []*typesv1.OffsetRange {
	out := make([]*typesv1.OffsetRange, len(s))
	for i, r := range s {
		out[i] = &typesv1.OffsetRange{First: r.First, Last: r.Last}
	}
	return out
}
