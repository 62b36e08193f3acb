package state_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
)

var record = flag.String("record", "", "write the fixtures of testdata/`release`, which must not exist")

// TestUpgrade replays what older releases wrote: a log of every command, and
// the snapshot that they took of it. Their meaning must not have changed.
// Fixtures are written once for each release and never again: -record=v2.
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
			if n := len(restored.Jobs()); n != 2 || len(restored.Ledgers(restored.Jobs()[0].Id)) != 3 {
				t.Errorf("restored %d jobs, ledgers %v", n, restored.Ledgers(restored.Jobs()[0].Id))
			}
		})
	}
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
		cmd.AtMs = int64(i+1) * 1000
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
// and one that has been stopped at its end.
func everyCommand(t *testing.T) []*raftlogv1.Command {
	c := newCluster(t)
	commands := []*raftlogv1.Command{
		bootstrap(), registerBackend("be1"), createDatabase("db"), createTable(c.database, "t"), createJob(c.database, c.table, "j"), startJob(c.job, 0, 1),
		{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{JobId: c.job, Assignments: []*raftlogv1.TaskAssignment{
			{BackendId: c.backend, MemberId: "m"}, {BackendId: c.backend, MemberId: "m"}}}}},
		commitTxns(c.txn(0, 1, [2]int64{0, 9}), c.txn(1, 1, [2]int64{5, 14})),
		commitTxns(withErrors(c.txn(1, 2, [2]int64{20, 29}), 2), c.void(0, 2, [2]int64{10, 11})),
		{Body: &raftlogv1.Command_AddLedgers{AddLedgers: &raftlogv1.AddLedgers{JobId: c.job, Starts: starts(2)}}},
		{Body: &raftlogv1.Command_ForgetVoids{ForgetVoids: &raftlogv1.ForgetVoids{JobId: c.job, ThroughIndex: 9}}},
		{Body: &raftlogv1.Command_SettleOffsets{SettleOffsets: &raftlogv1.SettleOffsets{JobId: c.job, Generation: 1, Partitions: c.void(0, 1, [2]int64{40, 41}).Partitions}}},
		{Body: &raftlogv1.Command_RegisterFrontend{RegisterFrontend: &raftlogv1.RegisterFrontend{Frontend: &raftlogv1.Frontend{Id: "fe1", Host: "127.0.0.1"}}}},
		registerBackend("be2"),
		{Body: &raftlogv1.Command_DropBackend{DropBackend: &raftlogv1.DropBackend{BackendId: c.backend}}},
		createJob(c.database, c.table, "stopped"), createTable(c.database, "u"), createDatabase("e"),
		{Body: &raftlogv1.Command_DropDatabase{DropDatabase: &raftlogv1.DropDatabase{Name: "e"}}},
	}
	last := c.tasks[1].Epoch // ids go on from here: backend, two jobs, ...
	stopped, dropped := last+2, last+3
	return append(commands,
		&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{JobId: stopped, To: raftlogv1.JobState_JOB_STATE_STOPPED}}},
		&raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: dropped}}},
		createJob(c.database, c.table, "removed"),
		&raftlogv1.Command{Body: &raftlogv1.Command_RemoveJob{RemoveJob: &raftlogv1.RemoveJob{JobId: last + 5}}},
	)
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
