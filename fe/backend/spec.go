package backend

import (
	"fmt"
	"slices"

	"shoal/fe/kafka"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	"shoal/fe/state/cow"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// Spec is all that a task needs to run, from the replicated state, its
// properties as they are stored; nil if the task is not wanted at that epoch on
// that backend any more. The tables are as they are now: a change of them
// raises the epochs of the tasks that it concerns, so whoever is at its epoch
// has the newest.
func Spec(s *state.State, backendID uint64, ref *backendv1.TaskRef) *backendv1.TaskSpec {
	for _, job := range s.Jobs() {
		i := slices.IndexFunc(job.Tasks, func(t *raftlogv1.Task) bool { return t.Id == ref.TaskId })
		if i < 0 {
			continue
		}
		task := job.Tasks[i]
		if task.Epoch != ref.Epoch || task.BackendId != backendID {
			return nil
		}
		spec := &backendv1.TaskSpec{
			JobId: job.Id, TaskId: task.Id, Epoch: task.Epoch, Incarnation: s.ClusterInfo().GetIncarnation(),
			JobName: job.Name, DbName: job.DatabaseName, Load: job.Load, Generation: job.Generation,
			LockDurationMs: job.LockDurationMs, MemberId: task.MemberId, Partitions: begin(s, job, task), Repair: unsettled(s, job, task), Poison: task.Poison,
		}
		if task.LastEpoch == task.Epoch {
			spec.LastNumber = task.LastNumber
		}
		if !addTables(spec, s, job) {
			return nil
		}
		return spec
	}
	return nil
}

// begin is where a classic task begins to read: its partitions at their settled
// offsets. What is settled above them it is told when it commits.
func begin(s *state.State, job *raftlogv1.Job, task *raftlogv1.Task) []*backendv1.PartitionStart {
	if len(task.Partitions) == 0 {
		return nil
	}
	var starts []*backendv1.PartitionStart
	for _, l := range s.Ledgers(job.Id) {
		if slices.Contains(task.Partitions, l.Partition) && slices.Equal(task.TopicId, l.TopicID[:]) {
			starts = append(starts, &backendv1.PartitionStart{TopicId: l.TopicID[:], Partition: l.Partition, Offset: l.Settled})
		}
	}
	return starts
}

// unsettled is what of the offsets that a task repairs is left to read. All
// its partitions are in it, so that it is known for a repair task.
func unsettled(s *state.State, job *raftlogv1.Job, task *raftlogv1.Task) []*typesv1.PartitionRanges {
	left := make([]*typesv1.PartitionRanges, len(task.Repair))
	for i, r := range task.Repair {
		left[i] = &typesv1.PartitionRanges{TopicId: r.TopicId, Partition: r.Partition}
		for _, l := range s.Ledgers(job.Id) {
			if l.Partition == r.Partition && slices.Equal(r.TopicId, l.TopicID[:]) {
				left[i].Ranges = l.UnsettledOf(r.Ranges)
			}
		}
	}
	return left
}

// addTables adds what the task may write; false if that is gone.
func addTables(spec *backendv1.TaskSpec, s *state.State, job *raftlogv1.Job) bool {
	if job.Load.MultiTable {
		for _, table := range s.Tables(job.DatabaseId) {
			spec.Tables = append(spec.Tables, &backendv1.TaskTable{TableId: table.Id, Name: table.Name, Schema: catalog.Newest(table)})
		}
		return true
	}
	table := s.TableByID(job.TableId)
	if table == nil {
		return false
	}
	spec.TableName, spec.TableId, spec.Schema = table.Name, table.Id, catalog.Newest(table)
	return true
}

// open puts what a spec's stored properties stand for in their place: secrets
// are in the clear on their way to the backend only.
func open(spec *backendv1.TaskSpec, databaseID uint64, properties kafka.Open) error {
	plain, files, err := properties(databaseID, spec.Load)
	if err != nil {
		return fmt.Errorf("properties of job %s: %w", spec.JobName, err)
	}
	spec.Load = cow.Copy(spec.Load)
	spec.Load.CustomProperties, spec.Files = plain, files
	return nil
}
