package backend_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"shoal/fe/backend"
	"shoal/fe/state"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// job makes another job in the cluster's database, started with ledgers of
// partitions 0 to 2 of two topic ids.
func (c *cluster) job(load *typesv1.RoutineLoad) (id uint64) {
	c.t.Helper()
	var db, table uint64
	c.View(func(s *state.State) {
		db = s.Database("d").Id
		if !load.MultiTable {
			table = s.Table(db, "t").Id
		}
	})
	load.MaxBatchRows, load.MaxFilterRatio = 1_000, 1
	id = c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
		GroupPrefix: "shoal-", Job: &raftlogv1.Job{DatabaseId: db, Name: fmt.Sprint("j", c.index), TableId: table, Load: load},
	}}})
	start := &raftlogv1.StartRoutineLoad{JobId: id}
	for _, topic := range []string{"former topic id.", "topic id of now."} {
		for p := range int32(3) {
			start.Starts = append(start.Starts, &raftlogv1.LedgerStart{TopicId: []byte(topic), Partition: p, Start: int64(10 * p)})
		}
	}
	c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: start}})
	return id
}

// place gives a job one task on the first backend, and returns its spec.
func (c *cluster) place(jobID uint64, topic string, partitions ...int32) (spec *backendv1.TaskSpec) {
	c.t.Helper()
	c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{JobId: jobID,
		Assignments: []*raftlogv1.TaskAssignment{{BackendId: c.backends[0], TopicId: []byte(topic), Partitions: partitions}}}}})
	c.View(func(s *state.State) {
		task := s.JobByID(jobID).Tasks[0]
		spec = backend.Spec(s, c.backends[0], &backendv1.TaskRef{TaskId: task.Id, Epoch: task.Epoch})
	})
	return spec
}

// TestSpecOfAClassicTask: its partitions of the topic id that it was placed for,
// each from its settled offset on.
func TestSpecOfAClassicTask(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		id := c.job(&typesv1.RoutineLoad{Mode: typesv1.RoutineLoad_MODE_CLASSIC, Topic: "orders"})
		c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_SettleOffsets{SettleOffsets: &raftlogv1.SettleOffsets{JobId: id, Generation: 1,
			Partitions: []*typesv1.PartitionOffsets{{TopicId: []byte("topic id of now."), Partition: 2, Void: []*typesv1.OffsetRange{{First: 20, Last: 24}, {First: 30, Last: 39}}}}}}})
		spec := c.place(id, "topic id of now.", 0, 2)
		var got []string
		for _, p := range spec.Partitions {
			got = append(got, fmt.Sprintf("%s %d@%d", p.TopicId, p.Partition, p.Offset))
		}
		if want := []string{"topic id of now. 0@0", "topic id of now. 2@25"}; !slices.Equal(got, want) {
			t.Errorf("it reads %q, want %q", got, want)
		}
		if spec.TableName != "t" || spec.Schema.GetVersion() != 1 || len(spec.Tables) != 0 {
			t.Errorf("spec = %v", spec)
		}
	})
}

// TestSpecOfAMultiTableTask has all tables of the database, as they are now.
func TestSpecOfAMultiTableTask(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		id := c.job(&typesv1.RoutineLoad{Mode: typesv1.RoutineLoad_MODE_SHARE_GROUP, Topic: "orders", MultiTable: true})
		var db, table uint64
		c.View(func(s *state.State) { db = s.Database("d").Id; table = s.Table(db, "t").Id })
		c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
			DatabaseId: db, Name: "u", Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "k", Type: "int"}}}}}}}})
		c.apply(&raftlogv1.Command{Body: &raftlogv1.Command_AlterTable{AlterTable: &raftlogv1.AlterTable{TableId: table, FromVersion: 1,
			Columns: []*typesv1.Column{{FieldId: 1, Name: "k", Type: "int"}, {Name: "v", Type: "int", Nullable: true}}}}})
		spec := c.place(id, "")
		if len(spec.Tables) != 2 || spec.Tables[0].Name != "t" || spec.Tables[0].Schema.Version != 2 || spec.Tables[1].Name != "u" || spec.TableId != 0 || spec.Schema != nil || len(spec.Partitions) != 0 {
			t.Errorf("spec = %v", spec)
		}
	})
}

// TestPropertiesAreOpenedOnTheWay: a backend gets secrets in the clear and
// files; a task whose properties cannot be opened is told of, and tried again.
func TestPropertiesAreOpenedOnTheWay(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		c.open = func(databaseID uint64, load *typesv1.RoutineLoad) (map[string]string, map[string][]byte, error) {
			if databaseID == 0 || load.CustomProperties["sasl.password"] != "sealed" {
				return nil, nil, errors.New("no file 'ca.pem'")
			}
			return map[string]string{"sasl.password": "open"}, map[string][]byte{"ca.pem": []byte("x")}, nil
		}
		good := c.job(&typesv1.RoutineLoad{Topic: "orders", CustomProperties: map[string]string{"sasl.password": "sealed"}})
		bad := c.job(&typesv1.RoutineLoad{Topic: "orders"})
		c.place(good, "")
		c.place(bad, "")
		pass(2 * backend.Interval)
		specs := c.node.submissions()
		if len(specs) != 1 || specs[0].JobId != good || specs[0].Load.CustomProperties["sasl.password"] != "open" || string(specs[0].Files["ca.pem"]) != "x" {
			t.Errorf("submitted %v", specs)
		}
		c.View(func(s *state.State) {
			if p := s.JobByID(good).Load.CustomProperties["sasl.password"]; p != "sealed" {
				t.Errorf("the state has the property as %q", p)
			}
		})
		refused := c.registry.Refused()
		if len(refused) != 1 {
			t.Fatalf("refused = %v", refused)
		}
		for _, why := range refused {
			if want := "no file 'ca.pem'"; len(why) < len(want) || why[len(why)-len(want):] != want {
				t.Errorf("refused because %q", why)
			}
		}
	})
}
