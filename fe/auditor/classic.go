package auditor

import (
	"slices"
	"strings"

	"shoal/fe/state/jobs"
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

// standsStill pauses the job when a task says that a partition of its own cannot
// be read on: its position is outside of the log, or a batch is damaged. Records
// that the task still holds are committed first: those below the log's start
// could not be read again.
func standsStill(in Input) *raftlogv1.Command {
	const (
		remedy = ". ALTER ROUTINE LOAD with kafka_partitions and kafka_offsets says where to go on"
		skip   = "; with \"out_of_range\"=\"skip\" the job goes on by itself and counts what is lost"
	)
	for _, s := range in.Tasks {
		current := slices.ContainsFunc(in.Job.Tasks, func(t *raftlogv1.Task) bool {
			return t.Id == s.Task.GetTaskId() && t.Epoch == s.Task.GetEpoch() && t.BackendId != 0
		})
		trouble := strings.TrimSuffix(s.Trouble, ".") + remedy
		switch {
		case s.HeldRecords > 0 || !current:
		case s.TroubleKind == backendv1.TroubleKind_TROUBLE_KIND_UNREADABLE:
			return pause(in.Job, in.Now, trouble)
		case s.TroubleKind == backendv1.TroubleKind_TROUBLE_KIND_OUT_OF_RANGE && jobs.Classic(in.Job):
			return pause(in.Job, in.Now, trouble+skip)
		}
	}
	return nil
}
