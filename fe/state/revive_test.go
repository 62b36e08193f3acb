package state_test

import (
	"bytes"
	"testing"

	"shoal/fe/state"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// What the old incarnation still sends to a revived state changes nothing,
// whether the state knew of it when it was saved or not; and no id comes twice.
func TestRevive(t *testing.T) {
	c := newCluster(t)
	c.commit(c.txn(0, 1, [2]int64{0, 9}))
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{Frontend: &raftlogv1.Frontend{Id: "fe1", Host: "h"}}}})
	revived := &cluster{t: t, State: c.Clone(), index: c.index, job: c.job, database: c.database, table: c.table, backend: c.backend}
	later := c.txn(0, 2, [2]int64{10, 19})
	if a := c.commit(later); a.Outcome != committed {
		t.Fatalf("the old incarnation: %v", a)
	}
	newest := c.do(createDatabase("later")).ID
	c.schedule(1)
	unknown := c.txn(2, 1, [2]int64{20, 29})

	const incarnation = 1_900_000_000
	revived.Revive(incarnation, 77, "restored")
	job := revived.JobByID(c.job)
	if at, ok := jobs.ResumesAt(job); job.State != raftlogv1.JobState_JOB_STATE_PAUSED || job.Reason != "restored" || !ok || at != 77 {
		t.Errorf("the job is %v: %q, resumed by itself %v", job.State, job.Reason, ok)
	}
	if info := revived.ClusterInfo(); info.Incarnation != incarnation || info.ClusterId != "c1" || len(revived.Frontends()) != 0 || len(revived.Backends()) != 1 {
		t.Errorf("the cluster is %v with frontends %v", info, revived.Frontends())
	}

	if a := revived.commit(later); a.Outcome != fenced {
		t.Errorf("a txn that was committed after the state was saved: %v", a)
	}
	if a := revived.commit(unknown); a.Outcome != fenced {
		t.Errorf("a txn of a task that was made after that: %v", a)
	}
	if l := revived.Ledgers(c.job)[0]; l.Settled != 10 {
		t.Errorf("settled below %d", l.Settled)
	}
	next := revived.do(createDatabase("next")).ID
	for _, old := range append(c.JobByID(c.job).Tasks, &raftlogv1.Task{Id: newest}) {
		if next <= old.Id || next <= old.Epoch {
			t.Errorf("id %d after %d and epoch %d of the old incarnation", next, old.Id, old.Epoch)
		}
	}
	again := c.Clone() // the other life, restored a second later
	again.Revive(incarnation+1, 77, "restored")
	if id := again.Apply(100, createDatabase("again")).ID; id <= next {
		t.Errorf("id %d of a later incarnation, %d of the one before", id, next)
	}
	if _, err := state.ReadSnapshot(bytes.NewReader(snapshot(t, revived.State))); err != nil {
		t.Error(err)
	}
}

// A job that a person paused stays so.
func TestRevivePaused(t *testing.T) {
	c := newCluster(t)
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
		JobId: c.job, To: raftlogv1.JobState_JOB_STATE_PAUSED, ReasonCode: 100, Reason: "u"}}})
	epoch := c.tasks[0].Epoch
	c.Revive(5, 77, "restored")
	if job := c.JobByID(c.job); job.Reason != "u" || job.ReasonCode != 100 || job.Tasks[0].Epoch <= epoch {
		t.Errorf("the job is %v", job)
	}
}
