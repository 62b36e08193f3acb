package sim

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// setUp is the log of a cluster with a table and a started job.
func (s *Sim) setUp() (log [][]byte) {
	st := state.New()
	must := func(c *raftlogv1.Command) uint64 {
		entry, err := proto.Marshal(c)
		check(err)
		log = append(log, entry)
		r := st.Apply(uint64(len(log)), c)
		if r.Err != nil {
			panic(fmt.Sprintf("sim: set-up refused: %v", r.Err))
		}
		return r.ID
	}
	must(&raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "sim", Warehouse: "file:///sim"}}})
	db := must(&raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "db"}}})
	table := must(&raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
		DatabaseId: db, Name: "t", DuplicateKeys: []string{"id"},
		Schemas: []*typesv1.Schema{{Version: 1, Columns: []*typesv1.Column{{Name: "id", Type: "int", Key: true}}}},
	}}}})
	mode, lock := typesv1.RoutineLoad_MODE_SHARE_GROUP, s.cfg.Lock.Milliseconds()
	if s.cfg.Classic {
		mode, lock = typesv1.RoutineLoad_MODE_CLASSIC, 0
	}
	var starts []*raftlogv1.LedgerStart
	for p := range s.broker.parts {
		starts = append(starts, &raftlogv1.LedgerStart{TopicId: topicID[:], Partition: int32(p)})
	}
	s.jobID = must(&raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
		GroupPrefix: "shoal-sim-",
		Job: &raftlogv1.Job{DatabaseId: db, Name: "job", TableId: table, Starts: starts, Load: &typesv1.RoutineLoad{
			Mode: mode, SkipExpired: true, DesiredConcurrentNumber: s.cfg.Tasks,
			MaxErrorNumber: 1 << 40, MaxFilterRatio: 1,
			MaxBatchRows: s.cfg.BatchRows, MaxBatchSize: 1 << 20, MaxBatchIntervalS: 10,
			ShareLingerMs: s.cfg.Linger.Milliseconds(), Topic: "t",
		}},
	}}})
	must(&raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{
		JobId: s.jobID, Starts: starts, LockDurationMs: lock,
	}}})
	return log
}
