package state_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A repair task's txn goes by the same rules as any; what it loads is counted by
// ledger and job, and the counts survive a snapshot.
func TestRepairIsCounted(t *testing.T) {
	c := newCluster(t)
	c.commit(c.txn(0, 1, [2]int64{0, 9}, [2]int64{20, 29}))
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{JobId: c.job, Assignments: []*raftlogv1.TaskAssignment{
		{Repair: []*typesv1.PartitionRanges{{TopicId: topic, Ranges: []*typesv1.OffsetRange{{First: 10, Last: 19}}}}},
	}}}})
	c.tasks = c.JobByID(c.job).Tasks
	if a := c.commit(c.txn(2, 1, [2]int64{15, 24})); a.Outcome != conflict {
		t.Errorf("what is loaded already: %v", a)
	}
	for range 2 {
		if a := c.commit(c.txn(2, 2, [2]int64{10, 17})); a.Outcome != committed { // the second time because the answer was lost
			t.Fatalf("txn: %v", a)
		}
	}
	c.commit(c.txn(1, 1, [2]int64{18, 19}))
	var b bytes.Buffer
	if err := c.WriteSnapshot(&b); err != nil {
		t.Fatal(err)
	}
	restored, err := state.ReadSnapshot(&b)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*state.State{"state": c.State, "snapshot": restored} {
		l := s.Ledgers(c.job)[0]
		if job := s.JobByID(c.job); l.Repaired != 8 || job.Repaired != 8 || l.Settled != 30 || l.Loaded != 30 {
			t.Errorf("%s: %d of %d repaired, by the job's count %d, settled below %d", name, l.Repaired, l.Loaded, job.Repaired, l.Settled)
		}
	}
	if !proto.Equal(restored.JobByID(c.job), c.JobByID(c.job)) {
		t.Errorf("restored %v", restored.JobByID(c.job))
	}
}
