package state_test

import (
	"testing"

	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

func rangeOf(first, last int64) []*typesv1.PartitionRanges {
	return []*typesv1.PartitionRanges{{TopicId: topic, Ranges: []*typesv1.OffsetRange{{First: first, Last: last}}}}
}

// repairLost makes a repair task, and loses it.
func (c *cluster) repairLost(ranges []*typesv1.PartitionRanges) {
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{
		JobId: c.job, Assignments: []*raftlogv1.TaskAssignment{{BackendId: c.backend, Repair: ranges}}}}})
	tasks := c.JobByID(c.job).Tasks
	last := tasks[len(tasks)-1].Id
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{
		JobId: c.job, RemoveTaskIds: []uint64{last}, LostTaskIds: []uint64{last}}}})
}

// What a lost repair task had is suspect until it is settled; losses with the
// same offsets in a row are counted.
func TestSuspects(t *testing.T) {
	c := newCluster(t)
	check := func(when string, first, last int64, losses uint32) {
		t.Helper()
		job := c.JobByID(c.job)
		if len(job.Suspects) != 1 || job.Suspects[0].Ranges[0].First != first || job.Suspects[0].Ranges[0].Last != last || job.SuspectLosses != losses {
			t.Errorf("%s: suspects %v, lost %d times; want %d-%d, %d times", when, job.Suspects, job.SuspectLosses, first, last, losses)
		}
	}
	c.repairLost(rangeOf(0, 99))
	check("lost", 0, 99, 1)
	c.repairLost(rangeOf(0, 11))
	check("a part of it", 0, 11, 1)
	c.repairLost(rangeOf(3, 3))
	c.repairLost(rangeOf(3, 3))
	check("a single one, twice", 3, 3, 2)
	c.commit(c.txn(0, 1, [2]int64{0, 2}, [2]int64{4, 9}))
	c.schedule(0)
	check("others are settled", 3, 3, 2)
	c.commit(c.txn(0, 2, [2]int64{3, 3}))
	c.schedule(0)
	if job := c.JobByID(c.job); len(job.Suspects) > 0 || job.SuspectLosses > 0 {
		t.Errorf("all is settled, suspects %v", job.Suspects)
	}
}

// A classic task that is lost counts against the settled offsets of its
// partitions, as long as they stay and it happens soon again.
func TestLosses(t *testing.T) {
	c := newCluster(t)
	lose := func() {
		task := c.JobByID(c.job).Tasks[0]
		c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{JobId: c.job,
			Assignments: []*raftlogv1.TaskAssignment{{TaskId: task.Id, BackendId: c.backend, TopicId: topic, Partitions: []int32{0}}}, LostTaskIds: []uint64{task.Id}}}})
		c.tasks = c.JobByID(c.job).Tasks
	}
	check := func(when string, want int) {
		t.Helper()
		if l := c.Ledgers(c.job); l[0].Losses != want || l[1].Losses != 0 {
			t.Errorf("%s: %d losses of partition 0 and %d of partition 1, want %d and 0", when, l[0].Losses, l[1].Losses, want)
		}
	}
	lose() // it had no partition yet
	check("placed", 0)
	lose()
	lose()
	check("twice", 2)
	c.commit(c.txn(0, 1, [2]int64{0, 0}))
	check("it went on", 0)
	lose()
	check("once more", 1)
	c.index += 601 // seconds
	lose()
	check("long after", 1)
}
