package state_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"shoal/fe/state"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

const (
	committed  = frontendv1.Outcome_OUTCOME_COMMITTED
	conflict   = frontendv1.Outcome_OUTCOME_CONFLICT
	aborted    = frontendv1.Outcome_OUTCOME_ABORTED
	fenced     = frontendv1.Outcome_OUTCOME_FENCED
	superseded = frontendv1.Outcome_OUTCOME_SUPERSEDED
	diverged   = frontendv1.Outcome_OUTCOME_DIVERGED
	wait       = frontendv1.Outcome_OUTCOME_WAIT
)

var topic = []byte("0123456789abcdef")

// A cluster is a state with one database, one table, one backend and one job
// of two tasks, RUNNING, with ledgers of partitions 0 and 1 from offset 0.
type cluster struct {
	t *testing.T
	*state.State
	index                uint64
	log                  []*raftlogv1.Command // as it was applied
	database, table, job uint64
	backend              uint64
	tasks                []*raftlogv1.Task
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, State: state.New()}
	c.do(bootstrap())
	c.backend = c.do(registerBackend("be1")).ID
	c.database = c.do(createDatabase("db")).ID
	c.table = c.do(createTable(c.database, "t")).ID
	c.job = c.do(createJob(c.database, c.table, "j")).ID
	c.do(startJob(c.job, 0, 1))
	c.schedule(2)
	return c
}

// do applies a command that must succeed.
func (c *cluster) do(cmd *raftlogv1.Command) state.Result {
	c.t.Helper()
	r := c.try(cmd)
	if r.Err != nil {
		c.t.Fatalf("Apply(%d, %v) = %v", c.index, cmd, r.Err)
	}
	return r
}

func (c *cluster) try(cmd *raftlogv1.Command) state.Result {
	c.index++
	cmd.AtMs, cmd.Rules = int64(c.index)*1000, state.Rules
	c.log = append(c.log, cmd)
	return c.Apply(c.index, cmd)
}

func (c *cluster) schedule(n int) {
	cmd := &raftlogv1.ScheduleTasks{JobId: c.job}
	for range n {
		cmd.Assignments = append(cmd.Assignments, &raftlogv1.TaskAssignment{BackendId: c.backend, MemberId: "m"})
	}
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: cmd}})
	c.tasks = c.JobByID(c.job).Tasks
}

func (c *cluster) changeJob(to raftlogv1.JobState) {
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{JobId: c.job, To: to}}})
}

// commit asks for one txn and returns the answer.
func (c *cluster) commit(req *frontendv1.CommitTxnRequest) *frontendv1.CommitTxnResponse {
	return c.try(commitTxns(req)).Txns[0]
}

// txn is a txn of task i with a row for each offset of the ranges, all in
// partition 0 and of leader epoch 1.
func (c *cluster) txn(i int, number uint64, loaded ...[2]int64) *frontendv1.CommitTxnRequest {
	p := &typesv1.PartitionOffsets{TopicId: topic}
	rows := int64(0)
	for _, r := range loaded {
		p.Loaded = append(p.Loaded, &typesv1.EpochRange{First: r[0], Last: r[1], LeaderEpoch: 1})
		rows += r[1] - r[0] + 1
	}
	task := c.tasks[i]
	label := fmt.Sprintf("%d_%d_%d_%d", c.job, task.Id, task.Epoch, number)
	digest := sha256.Sum256(fmt.Append(nil, label, loaded))
	return &frontendv1.CommitTxnRequest{
		JobId: c.job, TaskId: task.Id, Epoch: task.Epoch, Number: number, Digest: digest[:], Label: label,
		TableId: c.table, SchemaVersion: 1, Generation: 1,
		Rowset:     &typesv1.Rowset{Path: "t/" + label + ".parquet", Rows: rows, Bytes: 10 * rows, SchemaVersion: 1},
		Partitions: []*typesv1.PartitionOffsets{p},
		Counters:   &typesv1.Counters{TotalRows: rows, LoadedRows: rows},
	}
}

// void is a txn of task i that settles ranges of partition 0 as void.
func (c *cluster) void(i int, number uint64, ranges ...[2]int64) *frontendv1.CommitTxnRequest {
	req := c.txn(i, number)
	req.Rowset = nil
	for _, r := range ranges {
		req.Partitions[0].Void = append(req.Partitions[0].Void, &typesv1.OffsetRange{First: r[0], Last: r[1]})
	}
	return req
}

// snapshot is the state's bytes.
func (c *cluster) snapshot() []byte { return snapshot(c.t, c.State) }

// A fataler is testing.T or rapid.T.
type fataler interface {
	Fatalf(format string, args ...any)
}

func snapshot(t fataler, s *state.State) []byte {
	var b bytes.Buffer
	if err := s.WriteSnapshot(&b); err != nil {
		t.Fatalf("WriteSnapshot = %v", err)
	}
	return b.Bytes()
}

func bootstrap() *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}}
}

func registerBackend(uuid string) *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{
		Backend: &raftlogv1.Backend{NodeUuid: uuid, Host: "127.0.0.1", RpcPort: 9060, Slots: 16}}}}
}

func createDatabase(name string) *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: name}}}
}

func createTable(databaseID uint64, name string) *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
		DatabaseId: databaseID, Name: name, Properties: map[string]string{"replication_num": "1", "a": "b"},
		Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "id", Type: "int"}}}}}}}}
}

func createJob(databaseID, tableID uint64, name string) *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
		GroupPrefix: "shoal-c1-",
		Job: &raftlogv1.Job{DatabaseId: databaseID, TableId: tableID, Name: name, User: "root", Load: &typesv1.RoutineLoad{
			Mode: typesv1.RoutineLoad_MODE_SHARE_GROUP, Topic: "orders", MaxErrorNumber: 5, MaxFilterRatio: 1, MaxBatchRows: 200_000,
			JobProperties: map[string]string{"format": "json", "load_mode": "share_group"}}}}}}
}

// multiTableJob makes a job that loads into all tables of a database.
func multiTableJob(databaseID uint64, name string) *raftlogv1.Command {
	cmd := createJob(databaseID, 0, name)
	cmd.GetCreateRoutineLoad().Job.Load.MultiTable = true
	return cmd
}

func alterTable(tableID uint64, from uint32, columns ...*typesv1.Column) *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_AlterTable{AlterTable: &raftlogv1.AlterTable{TableId: tableID, FromVersion: from, Columns: columns}}}
}

// column is one of a table, a new one with id 0.
func column(id int32, name string) *typesv1.Column {
	return &typesv1.Column{FieldId: id, Name: name, Type: "int", Nullable: true}
}

func alterJob(c *raftlogv1.AlterRoutineLoad) *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_AlterRoutineLoad{AlterRoutineLoad: c}}
}

func startJob(jobID uint64, partitions ...int32) *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{
		JobId: jobID, Starts: starts(partitions...), LockDurationMs: 30_000}}}
}

func starts(partitions ...int32) []*raftlogv1.LedgerStart {
	var out []*raftlogv1.LedgerStart
	for _, p := range partitions {
		out = append(out, &raftlogv1.LedgerStart{TopicId: topic, Partition: p, Traced: true})
	}
	return out
}

func commitTxns(txns ...*frontendv1.CommitTxnRequest) *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: &raftlogv1.CommitTxns{Txns: txns}}}
}
