package auditor

import (
	"slices"
	"strings"

	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A classic job's partitions have one reader each, which settles what it passes
// over as well. So there are no holes to look into, and no group: what is left
// to see is partitions that appear, topics that are created again, and
// positions outside of the log.

// Reads tells whether a job reads a partition of its topic: all unless
// kafka_partitions names some.
func Reads(load *typesv1.RoutineLoad, partition int32) bool {
	return len(load.GetKafkaPartitions()) == 0 || slices.Contains(load.KafkaPartitions, partition)
}

// outOfRange pauses the job when a task says that a position of its own is
// outside of the log. Records that it still holds are committed first: those
// below the log's start could not be read again.
func outOfRange(in Input) *raftlogv1.Command {
	const remedy = ". ALTER ROUTINE LOAD with kafka_partitions and kafka_offsets says where to go on; with \"out_of_range\"=\"skip\" the job goes on by itself and counts what is lost"
	for _, s := range in.Tasks {
		current := slices.ContainsFunc(in.Job.Tasks, func(t *raftlogv1.Task) bool {
			return t.Id == s.Task.GetTaskId() && t.Epoch == s.Task.GetEpoch() && t.BackendId != 0
		})
		if current && s.TroubleKind == backendv1.TroubleKind_TROUBLE_KIND_OUT_OF_RANGE && s.HeldRecords == 0 {
			return pause(in.Job, in.Now, strings.TrimSuffix(s.Trouble, ".")+remedy)
		}
	}
	return nil
}
