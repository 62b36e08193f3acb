package schedule

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	raftlogv1 "shoal/proto/raftlog/v1"
)

// classicLimit is one task for each partition, as far as the user wants as
// many. It is not known until the partitions are.
func classicLimit(job Job) (limit int, known bool) {
	limit = len(job.Partitions)
	if limit == 0 {
		return len(job.Tasks), false
	}
	if desired := job.Load.DesiredConcurrentNumber; desired > 0 {
		limit = int(min(int64(limit), desired))
	}
	return limit, true
}

// A reader is a task that has a backend: one that stays where it is, or one
// that is placed now.
type reader struct {
	kept *raftlogv1.Task
	now  *raftlogv1.TaskAssignment
}

// id orders readers as their tasks will be ordered: new ones, which have none
// yet, come last.
func (r reader) id() uint64 {
	switch {
	case r.kept != nil:
		return r.kept.Id
	case r.now.TaskId == 0:
		return math.MaxUint64
	}
	return r.now.TaskId
}

// divide gives each of the job's partitions to one of its n readers: the i-th
// has partitions i, i+n, i+2n … (Doris's divideRoutineLoadJob). Those whose part
// has changed, or whose topic was created again, get a new epoch where they
// are.
func (d *draft) divide() {
	var readers []reader
	for _, task := range d.kept {
		readers = append(readers, reader{kept: task})
	}
	for _, a := range d.change.Assignments {
		if a.BackendId != 0 {
			readers = append(readers, reader{now: a})
		}
	}
	slices.SortStableFunc(readers, func(a, b reader) int { return cmp.Compare(a.id(), b.id()) })
	for i, r := range readers {
		part := every(d.job.Partitions, i, len(readers))
		switch {
		case r.now != nil:
			r.now.Partitions, r.now.TopicId = part, d.job.TopicID
		case !slices.Equal(r.kept.Partitions, part) || !bytes.Equal(r.kept.TopicId, d.job.TopicID):
			d.change.Assignments = append(d.change.Assignments, &raftlogv1.TaskAssignment{
				TaskId: r.kept.Id, BackendId: r.kept.BackendId, Partitions: part, TopicId: d.job.TopicID,
			})
		}
	}
}

// every is the partitions from the first-th on, each step-th.
func every(partitions []int32, first, step int) []int32 {
	var out []int32
	for i := first; i < len(partitions); i += step {
		out = append(out, partitions[i])
	}
	return out
}
