package state_test

import (
	"fmt"
	"testing"

	"shoal/fe/state"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// BenchmarkCommitTxns commits txns of 100 offsets in a job of 16 tasks, one in
// a log entry. The table grows by a rowset each round, which must not matter.
func BenchmarkCommitTxns(b *testing.B) {
	c := &cluster{State: state.New()}
	for _, setup := range []*raftlogv1.Command{bootstrap(), registerBackend("be1"), createDatabase("db")} {
		c.try(setup)
	}
	c.database = c.Databases()[0].Id
	c.table = c.try(createTable(c.database, "t")).ID
	c.job = c.try(createJob(c.database, c.table, "j")).ID
	c.try(startJob(c.job, 0))
	schedule := &raftlogv1.ScheduleTasks{JobId: c.job, Assignments: make([]*raftlogv1.TaskAssignment, 16)}
	for i := range schedule.Assignments {
		schedule.Assignments[i] = &raftlogv1.TaskAssignment{BackendId: c.Backends()[0].Id}
	}
	c.try(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: schedule}})
	c.tasks = c.JobByID(c.job).Tasks
	var n int64
	b.ReportAllocs()
	for b.Loop() {
		req := c.txn(int(n%16), uint64(n/16+1), [2]int64{100 * n, 100*n + 99})
		if a := c.commit(req); a.Outcome != frontendv1.Outcome_OUTCOME_COMMITTED {
			b.Fatal(a)
		}
		n++
	}
}

// BenchmarkClone is what a snapshot holds the lock for, with 100 tables.
func BenchmarkClone(b *testing.B) {
	c := &cluster{State: state.New()}
	for _, setup := range []*raftlogv1.Command{bootstrap(), registerBackend("be1"), createDatabase("db")} {
		c.try(setup)
	}
	for i := range 100 {
		c.try(createTable(c.Databases()[0].Id, fmt.Sprint(i)))
	}
	for b.Loop() {
		c.Clone()
	}
}
