package auditor

import (
	"bytes"
	"fmt"

	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A record may end whoever reads it: a fault of the library that evaluates
// expressions takes the whole process with it. A share group hands it to one
// task after the other until its deliveries are used up; a classic task comes to
// it again and again. Either way a repair task gets it in the end, is lost too,
// and then what it had is read in ever smaller parts, lowest first. A single
// offset that goes on ending its readers is loaded as an error row, undecoded.

const (
	// mostLosses is how many readers of a classic job may be lost in a row at one
	// settled offset until it is given to repair tasks.
	mostLosses = 3
	// narrowing is how many parts what a lost repair task had is read in.
	narrowing = 8
	// poisonAfter is how often a single offset must have ended a repair task that
	// had nothing else, until it is not decoded any more. It is paused for if it
	// ends as many that did not decode it.
	poisonAfter = 3
)

// suspects is what is left to settle of what lost repair tasks had.
func suspects(in Input) (left []*typesv1.PartitionRanges) {
	for _, s := range in.Job.Suspects {
		for _, l := range in.After {
			if l.Partition != s.Partition || !bytes.Equal(l.TopicID[:], s.TopicId) {
				continue
			}
			if _, ok := current(in.View, l.Key); !ok {
				continue
			}
			if open := l.UnsettledOf(s.Ranges); len(open) > 0 {
				left = append(left, &typesv1.PartitionRanges{TopicId: s.TopicId, Partition: s.Partition, Ranges: open})
			}
		}
	}
	return left
}

// isolate makes a task for the next part of what is suspect, or pauses the job
// when that ends even readers that do not decode it.
func isolate(in Input, left []*typesv1.PartitionRanges) *raftlogv1.Command {
	whole, losses := count(in.Job.Suspects), in.Job.SuspectLosses
	if whole == 1 && losses >= 2*poisonAfter {
		return pause(in.Job, in.Now, fmt.Sprintf(
			"topic '%s', partition %d: each backend that read offset %d died, also those that did not decode the record; ALTER ROUTINE LOAD with kafka_partitions and kafka_offsets says where to go on",
			in.Job.Load.Topic, left[0].Partition, left[0].Ranges[0].First))
	}
	task := &raftlogv1.TaskAssignment{Poison: whole == 1 && losses >= poisonAfter}
	size := max(1, whole/narrowing)
	for _, p := range left {
		part := chunk(ranges(p.Ranges), maxRepairRanges, size)
		size -= part.Count()
		task.Repair = append(task.Repair, &typesv1.PartitionRanges{TopicId: p.TopicId, Partition: p.Partition, Ranges: wire(part)})
		if size == 0 {
			break
		}
	}
	return repairTask(in, task)
}

// count is how many offsets some ranges have.
func count(all []*typesv1.PartitionRanges) (n int64) {
	for _, p := range all {
		n += ranges(p.Ranges).Count()
	}
	return n
}
