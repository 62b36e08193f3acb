package routineload

import (
	"strings"
	"testing"
	"time"

	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestDroppedUnderAJob: the job of a table that is dropped is cancelled, and
// what its tasks still commit goes nowhere, not to a new table of that name
// either.
func TestDroppedUnderAJob(t *testing.T) {
	for _, tt := range []struct {
		name   string
		drop   func(*raftlogv1.Job) *raftlogv1.Command
		code   int32
		reason string
	}{
		{"table", func(job *raftlogv1.Job) *raftlogv1.Command {
			return &raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: job.TableId}}}
		}, 6, "table d.orders does not exist any more"},
		{"database", func(*raftlogv1.Job) *raftlogv1.Command {
			return &raftlogv1.Command{Body: &raftlogv1.Command_DropDatabase{DropDatabase: &raftlogv1.DropDatabase{Name: "d"}}}
		}, 5, "db d does not exist any more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			managed(t, func(t *testing.T, b *bench) {
				b.produce(1, 5)
				if err := b.create("j", ""); err != nil {
					t.Fatal(err)
				}
				b.lead()
				time.Sleep(5*time.Second + planEvery/2) // beside the leader's ticks
				running := b.job()
				if running.State != raftlogv1.JobState_JOB_STATE_RUNNING || len(running.Tasks) == 0 {
					t.Fatalf("the job is %v with %d tasks", running.State, len(running.Tasks))
				}
				b.apply(tt.drop(running))
				if tt.code == 6 {
					b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{
						Table: &raftlogv1.Table{DatabaseId: running.DatabaseId, Name: "orders", Schemas: ordersTable.Schemas}}}})
				}
				if answer := b.commit(running); answer.Outcome != frontendv1.Outcome_OUTCOME_ABORTED {
					t.Errorf("a commit before the job is cancelled: %v", answer)
				}
				time.Sleep(2 * upkeepEvery)
				job := b.job()
				if job.State != raftlogv1.JobState_JOB_STATE_CANCELLED || job.ReasonCode != tt.code || job.Reason != tt.reason {
					t.Errorf("the job is %v, code %d, reason %q", job.State, job.ReasonCode, job.Reason)
				}
				if answer := b.commit(running); answer.Outcome != frontendv1.Outcome_OUTCOME_FENCED {
					t.Errorf("a commit after the job is cancelled: %v", answer)
				}
				if p := b.positions(); len(p) != 0 {
					t.Errorf("the group of a cancelled job is at %v", p)
				}
				if tt.code == 6 {
					if got := b.cell("SHOW ALL ROUTINE LOAD FOR j", "ReasonOfStateChanged"); !strings.Contains(got, tt.reason) {
						t.Errorf("ReasonOfStateChanged = %s", got)
					}
				}
			})
		})
	}
}

// commit asks for a first txn of the first task of a job, as it was.
func (b *bench) commit(job *raftlogv1.Job) *frontendv1.CommitTxnResponse {
	b.t.Helper()
	return b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: &raftlogv1.CommitTxns{Txns: []*frontendv1.CommitTxnRequest{{
		JobId: job.Id, TaskId: job.Tasks[0].Id, Epoch: job.Tasks[0].Epoch, Number: 1, Digest: []byte("d"), TableId: job.TableId, SchemaVersion: 1, Generation: 1,
		Rowset:     &typesv1.Rowset{Path: "1/a.parquet", Rows: 5, Bytes: 1, SchemaVersion: 1},
		Partitions: []*typesv1.PartitionOffsets{{TopicId: job.Starts[1].TopicId, Partition: 1, Loaded: []*typesv1.EpochRange{{First: 0, Last: 4}}}},
		Counters:   &typesv1.Counters{TotalRows: 5, LoadedRows: 5},
	}}}}}).Txns[0]
}
