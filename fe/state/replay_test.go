package state_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"shoal/fe/state"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestReplay draws a log, and wants the same bytes from: the state that it was
// drawn on, one that applies it from its bytes, and one that applies half of
// it, goes through a snapshot, and applies the rest.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live := state.New()
		length := rapid.IntRange(1, 60).Draw(t, "length")
		var log [][]byte
		for i := range length {
			cmd := drawCommand(t, live)
			cmd.AtMs, cmd.Rules = int64(i)*10, rapid.Uint32Range(0, state.Rules).Draw(t, "rules")
			entry, err := proto.Marshal(cmd)
			if err != nil {
				t.Fatalf("marshal %v: %v", cmd, err)
			}
			log = append(log, entry)
			live.Apply(uint64(i+1), cmd)
		}
		want := snapshot(t, live)

		again := state.New()
		replay(t, again, log, 0, length)
		if !bytes.Equal(snapshot(t, again), want) {
			t.Fatalf("the same log gives another state")
		}

		half := length / 2
		restarted := state.New()
		replay(t, restarted, log, 0, half)
		taken := restarted.Clone()
		replay(t, restarted, log, half, length)
		restored, err := state.ReadSnapshot(bytes.NewReader(snapshot(t, taken)))
		if err != nil {
			t.Fatalf("ReadSnapshot = %v", err)
		}
		replay(t, restored, log, half, length)
		if !bytes.Equal(snapshot(t, restored), want) {
			t.Fatalf("a snapshot in the middle gives another state")
		}
	})
}

func replay(t fataler, s *state.State, log [][]byte, from, to int) {
	for i := from; i < to; i++ {
		var cmd raftlogv1.Command
		if err := proto.Unmarshal(log[i], &cmd); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		s.Apply(uint64(i+1), &cmd)
	}
}

// drawCommand draws a command that fits the state more often than not: at
// first it builds what is missing, then it does anything.
func drawCommand(t *rapid.T, s *state.State) *raftlogv1.Command {
	switch {
	case s.ClusterInfo() == nil:
		return bootstrap()
	case len(s.Backends()) == 0:
		return registerBackend("be")
	case s.Database("db") == nil:
		return createDatabase("db")
	case s.Table(s.Database("db").Id, "t") == nil:
		return createTable(s.Database("db").Id, "t")
	case s.JobByName(s.Database("db").Id, "j") == nil:
		if rapid.Bool().Draw(t, "multi-table") {
			return multiTableJob(s.Database("db").Id, "j")
		}
		return createJob(s.Database("db").Id, s.Table(s.Database("db").Id, "t").Id, "j")
	}
	job := s.JobByName(s.Database("db").Id, "j")
	switch {
	case !job.Started:
		return startJob(job.Id, 0)
	case len(job.Tasks) == 0 || job.State == raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE:
		return drawSchedule(t, s, job)
	}
	return drawAnything(t, s, job)
}

func drawAnything(t *rapid.T, s *state.State, job *raftlogv1.Job) *raftlogv1.Command {
	switch rapid.IntRange(0, 19).Draw(t, "kind") {
	case 0:
		return drawSchedule(t, s, job)
	case 1:
		return &raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
			JobId: job.Id, To: raftlogv1.JobState(rapid.Int32Range(1, 5).Draw(t, "to")), ReasonCode: 4, Reason: "r", Automatic: rapid.Bool().Draw(t, "automatic")}}}
	case 2:
		return &raftlogv1.Command{Body: &raftlogv1.Command_AddLedgers{AddLedgers: &raftlogv1.AddLedgers{JobId: job.Id, Starts: starts(1, 2)}}}
	case 3:
		return &raftlogv1.Command{Body: &raftlogv1.Command_ForgetVoids{ForgetVoids: &raftlogv1.ForgetVoids{
			JobId: job.Id, ThroughIndex: rapid.Uint64Range(0, s.Applied()).Draw(t, "through")}}}
	case 4:
		return &raftlogv1.Command{Body: &raftlogv1.Command_SettleOffsets{SettleOffsets: &raftlogv1.SettleOffsets{JobId: job.Id, Generation: job.Generation,
			Partitions: []*typesv1.PartitionOffsets{drawOffsets(t, false)}}}}
	case 5:
		return rapid.SampledFrom([]*raftlogv1.Command{
			registerBackend("other"), createDatabase("other"), createTable(s.Database("db").Id, "other"),
			{Body: &raftlogv1.Command_DropDatabase{DropDatabase: &raftlogv1.DropDatabase{Name: "other"}}},
			{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: job.TableId}}},
			{Body: &raftlogv1.Command_DropBackend{DropBackend: &raftlogv1.DropBackend{BackendId: s.Backends()[0].Id + 1}}},
			{Body: &raftlogv1.Command_RemoveJob{RemoveJob: &raftlogv1.RemoveJob{JobId: s.Jobs()[0].Id}}},
			{Body: &raftlogv1.Command_RenameTable{RenameTable: &raftlogv1.RenameTable{TableId: job.TableId, Name: "other"}}},
			{Body: &raftlogv1.Command_RenameDatabase{RenameDatabase: &raftlogv1.RenameDatabase{DatabaseId: job.DatabaseId, Name: "renamed"}}},
			{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: job.TableId}}},
			drawAlterTable(s),
			drawRemoveTrash(t, s),
			{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{Frontend: &raftlogv1.Frontend{Id: "fe", Host: "h"}}}},
		}).Draw(t, "catalog")
	case 6:
		return drawAlter(t, job)
	}
	n := rapid.IntRange(1, 3).Draw(t, "txns")
	var txns []*frontendv1.CommitTxnRequest
	for range n {
		txns = append(txns, drawTxn(t, s, job))
	}
	return commitTxns(txns...)
}

// drawAlterTable adds a column to the table.
func drawAlterTable(s *state.State) *raftlogv1.Command {
	table := s.Table(s.Database("db").Id, "t")
	newest := table.Schemas[len(table.Schemas)-1]
	return alterTable(table.Id, newest.Version, append(slices.Clone(newest.Columns), column(0, fmt.Sprintf("c%d", newest.Version)))...)
}

// drawRemoveTrash says that some of the trash is removed, or what is none.
func drawRemoveTrash(t *rapid.T, s *state.State) *raftlogv1.Command {
	c := &raftlogv1.RemoveTrash{Paths: []string{"other"}}
	for _, f := range s.Trash() {
		if rapid.Bool().Draw(t, "removed") {
			c.Paths = append(c.Paths, f.Path)
		}
	}
	return &raftlogv1.Command{Body: &raftlogv1.Command_RemoveTrash{RemoveTrash: c}}
}

// drawAlter pauses a job that is not PAUSED, and alters one that is.
func drawAlter(t *rapid.T, job *raftlogv1.Job) *raftlogv1.Command {
	if job.State != raftlogv1.JobState_JOB_STATE_PAUSED {
		return &raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
			JobId: job.Id, To: raftlogv1.JobState_JOB_STATE_PAUSED, ReasonCode: 100, Reason: "u"}}}
	}
	c := &raftlogv1.AlterRoutineLoad{JobId: job.Id, Load: job.Load, ReplaceLedgers: rapid.Bool().Draw(t, "replace")}
	for _, p := range rapid.SliceOfNDistinct(rapid.Int32Range(0, 2), 0, 2, rapid.ID).Draw(t, "starts") {
		c.Starts = append(c.Starts, &raftlogv1.LedgerStart{TopicId: topic, Partition: p, Start: rapid.Int64Range(0, 90).Draw(t, "start")})
	}
	return alterJob(c)
}

func drawSchedule(t *rapid.T, s *state.State, job *raftlogv1.Job) *raftlogv1.Command {
	c := &raftlogv1.ScheduleTasks{JobId: job.Id}
	for _, task := range job.Tasks {
		switch rapid.IntRange(0, 3).Draw(t, "task") {
		case 0:
			c.RemoveTaskIds = append(c.RemoveTaskIds, task.Id)
		case 1:
			c.Assignments = append(c.Assignments, &raftlogv1.TaskAssignment{TaskId: task.Id, BackendId: s.Backends()[0].Id,
				TopicId: topic, Partitions: []int32{rapid.Int32Range(0, 5).Draw(t, "reads")}})
		}
	}
	for range rapid.IntRange(1, 2).Draw(t, "new") {
		c.Assignments = append(c.Assignments, &raftlogv1.TaskAssignment{BackendId: s.Backends()[0].Id, MemberId: "m"})
	}
	return &raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: c}}
}

func drawTxn(t *rapid.T, s *state.State, job *raftlogv1.Job) *frontendv1.CommitTxnRequest {
	task := rapid.SampledFrom(job.Tasks).Draw(t, "task")
	number := task.LastNumber + rapid.Uint64Range(0, 2).Draw(t, "number")
	req := &frontendv1.CommitTxnRequest{
		JobId: job.Id, TaskId: task.Id, Epoch: task.Epoch, Number: number, Digest: []byte{rapid.Byte().Draw(t, "digest") % 2},
		Label: fmt.Sprintf("l%d_%d_%d", task.Id, task.Epoch, number), TableId: job.TableId, SchemaVersion: 1, Generation: job.Generation,
		Partitions: []*typesv1.PartitionOffsets{drawOffsets(t, true)},
		Counters:   &typesv1.Counters{TotalRows: 10, LoadedRows: 9, ErrorRows: rapid.Int64Range(0, 1).Draw(t, "errors")},
	}
	if len(req.Partitions[0].Loaded) > 0 {
		req.Rowset = &typesv1.Rowset{Path: req.Label, Rows: 9, Bytes: 90, SchemaVersion: 1}
	}
	if table := s.Table(s.Database("db").Id, "t"); table != nil {
		req.SchemaVersion = table.Schemas[len(table.Schemas)-1].Version
		if job.Load.MultiTable {
			req.Tables = []*frontendv1.TableRows{{TableId: table.Id, SchemaVersion: req.SchemaVersion, Rowset: req.Rowset}}
			req.SchemaVersion, req.Rowset = 0, nil
		}
	}
	if req.Counters.ErrorRows > 0 {
		req.ErrorRowset = &typesv1.Rowset{Path: "errors/" + req.Label, Rows: 1, Bytes: 10, SchemaVersion: 1}
		req.Samples = []*frontendv1.ErrorSample{{Offset: int64(number), Reason: "bad"}}
	}
	return req
}

// drawOffsets draws some ranges of the first hundred offsets of partition 0 or
// 1, half of them loaded if any may be.
func drawOffsets(t *rapid.T, load bool) *typesv1.PartitionOffsets {
	p := &typesv1.PartitionOffsets{TopicId: topic, Partition: rapid.Int32Range(0, 1).Draw(t, "partition")}
	first := rapid.Int64Range(0, 80).Draw(t, "first")
	for range rapid.IntRange(1, 3).Draw(t, "ranges") {
		last := first + rapid.Int64Range(0, 4).Draw(t, "length")
		switch {
		case load && rapid.Bool().Draw(t, "loaded"):
			p.Loaded = append(p.Loaded, &typesv1.EpochRange{First: first, Last: last, LeaderEpoch: int32(last / 95)})
		case rapid.Bool().Draw(t, "void"):
			p.Void = append(p.Void, &typesv1.OffsetRange{First: first, Last: last})
		default:
			p.Expired = append(p.Expired, &typesv1.OffsetRange{First: first, Last: last})
		}
		first = last + 1 + rapid.Int64Range(0, 3).Draw(t, "gap")
	}
	return p
}

func TestUnknownCommandStopsTheProcess(t *testing.T) {
	newer := &raftlogv1.Command{}
	newer.ProtoReflect().SetUnknown([]byte{0xfa, 0x3e, 0x00}) // an empty message of field 1007
	for name, s := range map[string]*state.State{"empty": state.New(), "bootstrapped": newCluster(t).State} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: an entry of a newer release was skipped", name)
				}
			}()
			s.Apply(100, newer)
		}()
	}
}

func TestNothingBeforeBootstrap(t *testing.T) {
	s := state.New()
	if r := s.Apply(1, createDatabase("db")); r.Err == nil {
		t.Error("a database was made in no cluster")
	}
	if s.Applied() != 1 {
		t.Errorf("Applied = %d, want 1", s.Applied())
	}
}
