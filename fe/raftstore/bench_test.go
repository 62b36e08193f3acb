package raftstore_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/raftstore"
	"shoal/fe/state"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// BenchmarkPropose compares raft's own Apply with Propose, on the same entries
// of one txn each, fsync included, by numbers of concurrent callers. Each
// caller is a task that commits one txn after another.
func BenchmarkPropose(b *testing.B) {
	for _, callers := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("apply/%d", callers), func(b *testing.B) {
			s, tasks := cluster(b, callers)
			inParallel(b, callers, func(caller int, n int64) error {
				data, err := proto.Marshal(commitTxn(tasks, caller, n))
				if err != nil {
					return err
				}
				return s.RawApply(data)
			})
			closeStore(b, s)
		})
		b.Run(fmt.Sprintf("propose/%d", callers), func(b *testing.B) {
			s, tasks := cluster(b, callers)
			inParallel(b, callers, func(caller int, n int64) error {
				r, err := s.Propose(b.Context(), commitTxn(tasks, caller, n))
				if err == nil && r.Txns[0].Outcome != frontendv1.Outcome_OUTCOME_COMMITTED {
					err = fmt.Errorf("%v", r.Txns[0])
				}
				return err
			})
			closeStore(b, s)
		})
	}
}

// inParallel spreads b.N rounds over callers.
func inParallel(b *testing.B, callers int, round func(caller int, n int64) error) {
	var next atomic.Int64
	var running sync.WaitGroup
	b.ResetTimer()
	for caller := range callers {
		running.Go(func() {
			for n := int64(1); next.Add(1) <= int64(b.N); n++ {
				if err := round(caller, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "txns/s")
}

// cluster is a store with a job of n tasks, each with a partition to itself.
func cluster(b *testing.B, n int) (*raftstore.Store, []*raftlogv1.Task) {
	b.Helper()
	s := open(b, b.TempDir())
	propose(b, s, bootstrap())
	db := propose(b, s, createDatabase("d")).ID
	table := propose(b, s, &raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
		DatabaseId: db, Name: "t", Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "id", Type: "int"}}}}}}}}).ID
	job := propose(b, s, &raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
		Job: &raftlogv1.Job{DatabaseId: db, TableId: table, Name: "j", Load: &typesv1.RoutineLoad{MaxFilterRatio: 1}}}}}).ID
	start := &raftlogv1.StartRoutineLoad{JobId: job}
	schedule := &raftlogv1.ScheduleTasks{JobId: job}
	for i := range n {
		start.Starts = append(start.Starts, &raftlogv1.LedgerStart{TopicId: topic, Partition: int32(i)})
		schedule.Assignments = append(schedule.Assignments, &raftlogv1.TaskAssignment{})
	}
	propose(b, s, &raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: start}})
	propose(b, s, &raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: schedule}})
	var tasks []*raftlogv1.Task
	s.View(func(st *state.State) { tasks = st.JobByID(job).Tasks })
	return s, tasks
}

var topic = []byte("0123456789abcdef")

// commitTxn is the n-th txn of a caller's task, about 300 bytes.
func commitTxn(tasks []*raftlogv1.Task, caller int, n int64) *raftlogv1.Command {
	task := tasks[caller]
	table, job := tasks[0].Id-2, tasks[0].Id-1 // ids are given in a row
	label := fmt.Sprintf("%d_%d_%d", task.Id, task.Epoch, n)
	return &raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: &raftlogv1.CommitTxns{Txns: []*frontendv1.CommitTxnRequest{{
		JobId: job, TaskId: task.Id, Epoch: task.Epoch, Number: uint64(n), Digest: make([]byte, 32), Label: label,
		TableId: table, SchemaVersion: 1, Generation: 1,
		Rowset: &typesv1.Rowset{Path: "data/" + label + ".parquet", Rows: 100, Bytes: 5000, SchemaVersion: 1},
		Partitions: []*typesv1.PartitionOffsets{{TopicId: topic, Partition: int32(caller),
			Loaded: []*typesv1.EpochRange{{First: 100 * (n - 1), Last: 100*n - 1}}}},
		Counters: &typesv1.Counters{TotalRows: 100, LoadedRows: 100, ReceivedBytes: 13400},
	}}}}}
}
