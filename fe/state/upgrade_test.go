package state_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"shoal/fe/state"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

var record = flag.String("record", "", "write the fixtures of testdata/`release`, which must not exist")

// TestUpgrade replays what older releases wrote: a log of every command, and
// the snapshot that they took of it. Their meaning must not have changed.
// Fixtures are written once for each release and never again, by -record=v2 and,
// for make lint, go tool buf build --exclude-source-info -o testdata/v2/protos.binpb.
func TestUpgrade(t *testing.T) {
	if *record != "" {
		recordFixtures(t, filepath.Join("testdata", *record))
	}
	releases, err := filepath.Glob("testdata/v*")
	if err != nil || len(releases) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, dir := range releases {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			old, err := os.ReadFile(filepath.Join(dir, "snapshot"))
			if err != nil {
				t.Fatal(err)
			}
			restored, err := state.ReadSnapshot(bytes.NewReader(old))
			if err != nil {
				t.Fatal(err)
			}
			replayed := state.New()
			for i, cmd := range readLog(t, filepath.Join(dir, "log")) {
				replayed.Apply(uint64(i+1), cmd)
			}
			if !bytes.Equal(snapshot(t, replayed), snapshot(t, restored)) {
				t.Error("the old log and the old snapshot come to different states")
			}
			if again := snapshot(t, restored); release(dir) == len(releases) && !bytes.Equal(again, old) {
				t.Error("the newest fixtures are not what this release writes")
			}
			if n := len(restored.Jobs()); n < 2 || len(restored.Ledgers(restored.Jobs()[0].Id)) != 3 {
				t.Errorf("restored %d jobs, ledgers %v", n, restored.Ledgers(restored.Jobs()[0].Id))
			}
		})
	}
}

// release is the number of a fixture's folder.
func release(dir string) (n int) {
	fmt.Sscanf(filepath.Base(dir), "v%d", &n)
	return n
}

func readLog(t *testing.T, path string) []*raftlogv1.Command {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var log []*raftlogv1.Command
	for r := bytes.NewReader(data); ; {
		var cmd raftlogv1.Command
		switch err := protodelim.UnmarshalFrom(r, &cmd); {
		case errors.Is(err, io.EOF):
			return log
		case err != nil:
			t.Fatal(err)
		}
		log = append(log, &cmd)
	}
}

func recordFixtures(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := state.New()
	for i, cmd := range everyCommand(t) {
		options := protodelim.MarshalOptions{MarshalOptions: proto.MarshalOptions{Deterministic: true}}
		if _, err := options.MarshalTo(&log, cmd); err != nil {
			t.Fatal(err)
		}
		s.Apply(uint64(i+1), cmd)
	}
	for name, data := range map[string][]byte{"log": log.Bytes(), "snapshot": snapshot(t, s)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// everyCommand is a log in which each command occurs, with a job that loads
// and a multi-table one that has been stopped at its end.
func everyCommand(t *testing.T) []*raftlogv1.Command {
	c := newCluster(t)
	c.do(commitTxns(c.txn(0, 1, [2]int64{0, 9}), c.txn(1, 1, [2]int64{5, 14})))
	c.do(commitTxns(withErrors(c.txn(1, 2, [2]int64{20, 29}), 2), c.void(0, 2, [2]int64{10, 11})))
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_DeadLettersDelivered{DeadLettersDelivered: &raftlogv1.DeadLettersDelivered{
		JobId: c.job, ThroughTxn: c.Applied(), Delivered: 2}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_AddLedgers{AddLedgers: &raftlogv1.AddLedgers{JobId: c.job, Starts: starts(2)}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ForgetVoids{ForgetVoids: &raftlogv1.ForgetVoids{JobId: c.job, ThroughIndex: 9}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_SettleOffsets{SettleOffsets: &raftlogv1.SettleOffsets{
		JobId: c.job, Generation: 1, Partitions: c.void(0, 1, [2]int64{40, 41}).Partitions}}})
	c.changeCatalog()
	c.alterAndResume()
	other := c.do(registerBackend("be2")).ID
	c.changeFrontends()
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_DropBackend{DropBackend: &raftlogv1.DropBackend{BackendId: other}}})
	c.decommissionAdded()
	c.loadIntoAll()
	c.loseReaders()
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: c.table}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_RemoveTrash{RemoveTrash: &raftlogv1.RemoveTrash{Paths: []string{c.Trash()[0].Path}}}})
	removed := c.do(createJob(c.database, c.table, "removed")).ID
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_RemoveJob{RemoveJob: &raftlogv1.RemoveJob{JobId: removed}}})
	return c.log
}

// changeFrontends has one that stays, an observer that lost its folder, one that
// was dropped, and one that has not joined yet.
func (c *cluster) changeFrontends() {
	join := func(id string, port uint32) {
		c.do(&raftlogv1.Command{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{
			Frontend: &raftlogv1.Frontend{Id: id, Host: "127.0.0.1", RaftPort: port}}}})
	}
	add := func(port uint32) {
		c.do(&raftlogv1.Command{Body: &raftlogv1.Command_AddFrontend{AddFrontend: &raftlogv1.AddFrontend{
			Host: "127.0.0.1", RaftPort: port, Role: raftlogv1.FrontendRole_FRONTEND_ROLE_OBSERVER}}})
	}
	join("fe1", 1)
	add(2)
	join("fe2", 2)
	join("fe0", 2)
	join("fe3", 3)
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_DropFrontend{DropFrontend: &raftlogv1.DropFrontend{
		Host: "127.0.0.1", RaftPort: 3, Role: raftlogv1.FrontendRole_FRONTEND_ROLE_FOLLOWER}}})
	add(4)
}

// decommissionAdded takes a backend that was added by SQL out of use.
func (c *cluster) decommissionAdded() {
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_AddBackend{AddBackend: &raftlogv1.AddBackend{Host: "127.0.0.1", RpcPort: 9061}}})
	added := c.do(&raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{ByAddress: true,
		Backend: &raftlogv1.Backend{NodeUuid: "be3", Host: "127.0.0.1", RpcPort: 9061, Slots: 16}}}}).ID
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_DecommissionBackend{DecommissionBackend: &raftlogv1.DecommissionBackend{BackendId: added}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_DropBackend{DropBackend: &raftlogv1.DropBackend{BackendId: added, Idle: true, Decommissioned: true}}})
}

// loseReaders has a job whose classic task was lost, drains, and is relieved by a
// repair task that was lost as well, and by one that must not decode.
func (c *cluster) loseReaders() {
	c.job = c.do(createJob(c.database, c.table, "lost")).ID
	c.do(startJob(c.job, 0))
	reads := func(taskID uint64, lost ...uint64) {
		c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{JobId: c.job, LostTaskIds: lost,
			Assignments: []*raftlogv1.TaskAssignment{{TaskId: taskID, BackendId: c.backend, TopicId: topic, Partitions: []int32{0}}}}}})
	}
	reads(0)
	task := c.JobByID(c.job).Tasks[0].Id
	reads(task, task)
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{JobId: c.job, DrainTaskIds: []uint64{task}}}})
	c.repairLost(rangeOf(0, 7))
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{JobId: c.job,
		Assignments: []*raftlogv1.TaskAssignment{{BackendId: c.backend, Repair: rangeOf(3, 3), Poison: true}}}}})
}

// changeCatalog makes, changes and drops databases, tables and files.
func (c *cluster) changeCatalog() {
	u := c.do(createTable(c.database, "u")).ID
	e := c.do(createDatabase("e")).ID
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_RenameDatabase{RenameDatabase: &raftlogv1.RenameDatabase{DatabaseId: e, Name: "f"}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_DropDatabase{DropDatabase: &raftlogv1.DropDatabase{Name: "f"}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_RenameTable{RenameTable: &raftlogv1.RenameTable{TableId: u, Name: "v"}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: u}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: u}}})
	c.do(alterTable(c.table, 1, column(1, "id"), column(0, "b")))
	for _, name := range []string{"ca.pem", "dropped.pem"} {
		c.do(&raftlogv1.Command{Body: &raftlogv1.Command_CreateFile{CreateFile: &raftlogv1.CreateFile{File: &raftlogv1.File{
			DatabaseId: c.database, Catalog: "kafka", Name: name, Content: []byte("x"), Md5: "9dd4e461268c8034f5c8564e155c67a6", Size: 1}}}})
	}
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_DropFile{DropFile: &raftlogv1.DropFile{DatabaseId: c.database, Catalog: "kafka", Name: "dropped.pem"}}})
}

// alterAndResume gives the job a new generation in classic mode, and resumes it
// by itself once.
func (c *cluster) alterAndResume() {
	c.changeJob(raftlogv1.JobState_JOB_STATE_PAUSED)
	load := altered(c, func(l *typesv1.RoutineLoad) { l.Mode = typesv1.RoutineLoad_MODE_CLASSIC })
	c.do(alterJob(&raftlogv1.AlterRoutineLoad{JobId: c.job, Load: load, Starts: []*raftlogv1.LedgerStart{{TopicId: topic, Partition: 0, Start: 35}}}))
	c.changeJob(raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
		JobId: c.job, To: raftlogv1.JobState_JOB_STATE_PAUSED, ReasonCode: 103, Reason: "does not fit"}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
		JobId: c.job, From: raftlogv1.JobState_JOB_STATE_PAUSED, To: raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE, Automatic: true}}})
	task := c.JobByID(c.job).Tasks[0]
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{JobId: c.job, Assignments: []*raftlogv1.TaskAssignment{
		{TaskId: task.Id, BackendId: c.backend, TopicId: topic, Partitions: []int32{0, 1, 2}}}}}})
}

// loadIntoAll has a multi-table job load once, and stops it.
func (c *cluster) loadIntoAll() {
	c.job = c.do(multiTableJob(c.database, "all")).ID
	c.do(startJob(c.job, 0))
	c.schedule(1)
	req := c.txn(0, 1, [2]int64{0, 9})
	req.Tables = []*frontendv1.TableRows{{TableId: c.table, SchemaVersion: 2, Rowset: req.Rowset}}
	req.TableId, req.SchemaVersion, req.Rowset = 0, 0, nil
	if a := c.commit(req); a.Outcome != committed {
		c.t.Fatalf("multi-table txn: %v", a)
	}
	c.changeJob(raftlogv1.JobState_JOB_STATE_STOPPED)
}

// TestFixturesHaveEveryCommand keeps the fixtures of the newest release whole:
// a new command needs new fixtures.
func TestFixturesHaveEveryCommand(t *testing.T) {
	releases, _ := filepath.Glob("testdata/v*")
	seen := map[string]bool{}
	for _, dir := range releases {
		for _, cmd := range readLog(t, filepath.Join(dir, "log")) {
			m := cmd.ProtoReflect()
			seen[string(m.WhichOneof(m.Descriptor().Oneofs().ByName("body")).Name())] = true
		}
	}
	fields := (&raftlogv1.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("body").Fields()
	for i := range fields.Len() {
		if name := string(fields.Get(i).Name()); !seen[name] {
			t.Errorf("no fixture has the command %s: record the release with -record", name)
		}
	}
}
