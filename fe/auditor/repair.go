package auditor

import (
	"time"

	"shoal/fe/state/jobs"
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
// again. nil if there is nothing, or a task is at it.
func (a *Audit) Repair(in Input) *raftlogv1.Command {
	if in.Job.State != raftlogv1.JobState_JOB_STATE_RUNNING || jobs.RepairTask(in.Job) != nil {
		return nil
	}
	var repair []*typesv1.PartitionRanges
	ranges, count := maxRepairRanges, int64(maxRepairOffsets)
	for _, l := range in.After {
		since, lost := a.lost[l.Key]
		p, ok := current(in.View, l.Key)
		if !lost || !ok || in.Now.Sub(since) < repairAfter {
			continue
		}
		part := chunk(Lost(l, p), ranges, count)
		if len(part) == 0 {
			continue
		}
		ranges, count = ranges-len(part), count-part.Count()
		repair = append(repair, &typesv1.PartitionRanges{TopicId: l.TopicID[:], Partition: l.Partition, Ranges: wire(part)})
	}
	if len(repair) == 0 {
		return nil
	}
	return &raftlogv1.Command{AtMs: in.Now.UnixMilli(), Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{
		JobId: in.Job.Id, Assignments: []*raftlogv1.TaskAssignment{{Repair: repair}},
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
