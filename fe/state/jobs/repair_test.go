package jobs_test

import (
	"errors"
	"testing"

	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A job has one repair task at most. What it repairs stays with it from place to
// place, and it goes by ALTER, and by name only.
func TestRepairTasks(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 2)
	repair := []*typesv1.PartitionRanges{{TopicId: []byte("0123456789abcdef"), Ranges: []*typesv1.OffsetRange{{First: 3, Last: 5}}}}
	schedule := func(c *raftlogv1.ScheduleTasks) error {
		c.JobId = id
		return f.Schedule(c, 1, f.nextID)
	}
	add := &raftlogv1.ScheduleTasks{Assignments: []*raftlogv1.TaskAssignment{{Repair: repair}}}
	if err := schedule(add); err != nil {
		t.Fatal(err)
	}
	task := jobs.RepairTask(f.ByID(id))
	if task == nil || task.BackendId != 0 || len(jobs.Loaders(f.ByID(id))) != 2 {
		t.Fatalf("tasks = %v", f.ByID(id).Tasks)
	}
	if err := schedule(add); !errors.Is(err, jobs.ErrNoRepair) {
		t.Errorf("a second one: %v", err)
	}
	if err := schedule(&raftlogv1.ScheduleTasks{Assignments: []*raftlogv1.TaskAssignment{{TaskId: task.Id, BackendId: 7}}}); err != nil {
		t.Fatal(err)
	}
	if placed := jobs.RepairTask(f.ByID(id)); placed.BackendId != 7 || placed.Epoch == task.Epoch || len(placed.Repair) != 1 {
		t.Errorf("placed: %v", placed)
	}
	if err := schedule(&raftlogv1.ScheduleTasks{RemoveTaskIds: []uint64{task.Id}, Assignments: add.Assignments}); err != nil {
		t.Errorf("the next one: %v", err)
	}
	f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: pausedState}, 1, f.nextID)
	classic := &typesv1.RoutineLoad{Mode: typesv1.RoutineLoad_MODE_CLASSIC, GroupId: f.ByID(id).Load.GroupId}
	if _, err := f.Alter(&raftlogv1.AlterRoutineLoad{JobId: id, Load: classic}, "t", f.nextID); err != nil {
		t.Fatal(err)
	}
	if n := len(f.ByID(id).Tasks); n != 2 {
		t.Errorf("%d tasks after ALTER, want 2", n)
	}
}
