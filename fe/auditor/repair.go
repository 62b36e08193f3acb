package auditor

import (
	"time"

	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// What the group will not deliver again is read by a repair task: plain fetches
// of exactly these offsets, committed like any txn. If a member still holds some
// of them after all, whoever commits first loads them, and the other is told of a
// conflict. A task ends once it has read all it was given; what is left then, for
// whatever reason, is given to the next.

const (
	// repairAfter is how long records are known to be given up before they are
	// read again: a member may be about to commit what it had as the last.
	repairAfter = 10 * time.Second
	// What one repair task reads at most.
	maxRepairRanges  = 1000
	maxRepairOffsets = 200_000
)

// Repair makes a task for what the group has given up and will not deliver
// again, or for where readers of a classic job are lost one after the other. nil
// if there is nothing, or a task is at it.
func (a *Audit) Repair(in Input) *raftlogv1.Command {
	if jobs.RepairTask(in.Job) != nil {
		return nil
	}
	if left := suspects(in); len(left) > 0 {
		return isolate(in, left) // a classic job has no other task meanwhile, and is not RUNNING after RESUME
	}
	if in.Job.State != raftlogv1.JobState_JOB_STATE_RUNNING {
		return nil
	}
	var repair []*typesv1.PartitionRanges
	ranges, count := maxRepairRanges, int64(maxRepairOffsets)
	for _, l := range in.After {
		part := chunk(a.toRepair(in, l), ranges, count)
		if len(part) == 0 {
			continue
		}
		ranges, count = ranges-len(part), count-part.Count()
		repair = append(repair, &typesv1.PartitionRanges{TopicId: l.TopicID[:], Partition: l.Partition, Ranges: wire(part)})
	}
	if len(repair) == 0 {
		return nil
	}
	return repairTask(in, &raftlogv1.TaskAssignment{Repair: repair})
}

// toRepair is what of a partition a repair task is needed for.
func (a *Audit) toRepair(in Input, l ledger.View) offsets.Set {
	p, ok := current(in.View, l.Key)
	switch since, lost := a.lost[l.Key]; {
	case !ok:
		return nil
	case jobs.Classic(in.Job):
		if l.Losses < mostLosses {
			return nil
		}
		return chunk(unsettled(l, p.StableEnd), maxRepairRanges, maxRepairOffsets/narrowing)
	case a.standing[l.Key] != nil && a.standing[l.Key].inVain > mostInVain:
		return chunk(unsettled(l, p.StableEnd), maxRepairRanges, maxRepairOffsets/narrowing)
	case !lost || in.Now.Sub(since) < repairAfter:
		return nil
	}
	return Lost(l, p)
}

func repairTask(in Input, task *raftlogv1.TaskAssignment) *raftlogv1.Command {
	return &raftlogv1.Command{AtMs: in.Now.UnixMilli(), Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{
		JobId: in.Job.Id, Assignments: []*raftlogv1.TaskAssignment{task},
	}}}
}

// chunk is the lowest part of s, up to so many ranges and offsets.
func chunk(s offsets.Set, ranges int, count int64) offsets.Set {
	var out offsets.Set
	for _, r := range s {
		if count == 0 || len(out) == ranges {
			break
		}
		r.Last = min(r.Last, r.First+count-1)
		count -= r.Count()
		out = append(out, r)
	}
	return out
}
