package routineload

import (
	"slices"
	"strings"
	"testing"
	"time"

	"shoal/fe/auditor"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// standStill makes a job with five records in partition 1, of which the first
// two are void and settled; its tasks poll, and the group stays where it is.
func (b *bench) standStill(t *testing.T) *raftlogv1.Job {
	t.Helper()
	b.produce(1, 5)
	if err := b.create("j", ""); err != nil {
		t.Fatal(err)
	}
	job := b.job()
	b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_SettleOffsets{SettleOffsets: &raftlogv1.SettleOffsets{
		JobId: job.Id, Generation: 1,
		Partitions: []*typesv1.PartitionOffsets{{TopicId: job.Starts[1].TopicId, Partition: 1, Void: []*typesv1.OffsetRange{{First: 0, Last: 1}}}},
	}}})
	return job
}

// A group that stands still gets new start offsets by itself: tasks leave, one
// that does not is taken out, and all are placed again at new epochs.
func TestPinnedAgain(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.standStill(t)
		b.lead()
		// Half a second beside the leader's ticks, which would race with the test.
		time.Sleep(50*time.Second + planEvery/2)
		before := b.job()
		if p := b.positions()[1]; p.Start != 0 || len(before.Tasks) != 6 {
			t.Fatalf("after 50 s the group is at %d with %d tasks", p.Start, len(before.Tasks))
		}
		b.join(t, before.Load.GroupId, before.Tasks[0].MemberId)
		time.Sleep(14 * time.Second)
		if got := b.cell("SHOW ROUTINE LOAD FOR j", "OtherMsg"); !strings.Contains(got, "it is pinned again at the settled offsets") {
			t.Errorf("while tasks are off: %s", got)
		}
		if got := b.cell("SHOW ROUTINE LOAD FOR j", "State"); got != "RUNNING" {
			t.Errorf("State = %s while tasks are off", got)
		}
		time.Sleep(15 * time.Second)
		if p := b.positions()[1]; p.Start != 2 {
			t.Errorf("the group is at %d, want the settled offset 2", p.Start)
		}
		after := b.job()
		for i, task := range after.Tasks {
			if old := before.Tasks[i]; task.BackendId == 0 || task.Epoch == old.Epoch || task.MemberId == old.MemberId {
				t.Errorf("task %d is on backend %d at epoch %d as %s, and was at %d as %s", task.Id, task.BackendId, task.Epoch, task.MemberId, old.Epoch, old.MemberId)
			}
		}
		if got := b.cell("SHOW ROUTINE LOAD FOR j", "OtherMsg"); !strings.Contains(got, "Pinned again at ") || !strings.Contains(got, "offset 0 of partition 1, though everything below 2 is settled") {
			t.Errorf("OtherMsg = %s", got)
		}
		late := &frontendv1.CommitTxnRequest{
			JobId: after.Id, TaskId: after.Tasks[0].Id, Epoch: before.Tasks[0].Epoch, Number: 1, Digest: []byte("d"), TableId: after.TableId, SchemaVersion: 1, Generation: 1,
			Partitions: []*typesv1.PartitionOffsets{{TopicId: after.Starts[1].TopicId, Partition: 1, Loaded: []*typesv1.EpochRange{{First: 2, Last: 2}}}},
			Counters:   &typesv1.Counters{TotalRows: 1, LoadedRows: 1},
		}
		if answer := b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: &raftlogv1.CommitTxns{Txns: []*frontendv1.CommitTxnRequest{late}}}}).Txns[0]; answer.Outcome != frontendv1.Outcome_OUTCOME_FENCED {
			t.Errorf("a txn of before: %v", answer.Outcome)
		}
	})
}

// A frontend that dies when the tasks are off leaves a job that the next leader
// places, and whose group it pins.
func TestLeaderDiesPinning(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.standStill(t)
		b.lead()
		time.Sleep(5 * time.Second)
		b.cancel()
		b.duties.Wait()
		b.apply(auditor.TakeOff(b.job(), time.Now()))
		b.lead()
		time.Sleep(5 * time.Second)
		if job := b.job(); slices.ContainsFunc(job.Tasks, func(task *raftlogv1.Task) bool { return task.BackendId == 0 }) {
			t.Errorf("tasks are left off: %v", job.Tasks)
		}
		time.Sleep(70 * time.Second)
		if p := b.positions()[1]; p.Start != 2 {
			t.Errorf("the group is at %d, want the settled offset 2", p.Start)
		}
	})
}

// Somebody else's member is left alone, and named once it cannot be a dead one
// of the job's own.
func TestPinnedAgainNotPastStrangers(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.standStill(t)
		b.lead()
		for range 20 {
			b.join(t, b.job().Load.GroupId, "somebody-else")
			time.Sleep(20 * time.Second)
		}
		job := b.job()
		if job.State != raftlogv1.JobState_JOB_STATE_PAUSED || !strings.Contains(job.Reason, "member 'somebody-else'") {
			t.Errorf("job is %v: %s", job.State, job.Reason)
		}
		if p := b.positions()[1]; p.Start != 0 {
			t.Errorf("the group is at %d", p.Start)
		}
		if _, err := b.sql("RESUME ROUTINE LOAD FOR j"); err == nil || !strings.Contains(err.Error(), "1 members") {
			t.Errorf("resumed beside somebody else: %v", err)
		}
		time.Sleep(time.Minute)
		b.must("RESUME ROUTINE LOAD FOR j")
		time.Sleep(5 * time.Second)
		if got := b.cell("SHOW ROUTINE LOAD FOR j", "OtherMsg"); strings.Contains(got, "ould not be pinned") || b.positions()[1].Start != 2 {
			t.Errorf("resumed: %v, %s", b.positions()[1], got)
		}
	})
}
