package jobs_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

func TestAlter(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 2)
	other := f.create(t, "other", 0)
	load := proto.Clone(f.ByID(id).Load).(*typesv1.RoutineLoad)
	load.MaxErrorNumber = 77
	given := proto.Clone(load).(*typesv1.RoutineLoad)
	given.GroupId, given.GroupIdGiven = f.ByID(other).Load.GroupId, true
	alter := func(c *raftlogv1.AlterRoutineLoad) error {
		_, err := f.Alter(c, "t", f.nextID)
		return err
	}
	if err := alter(&raftlogv1.AlterRoutineLoad{JobId: id, Load: load}); !errors.Is(err, jobs.ErrNotPaused) {
		t.Errorf("Alter of a running job = %v, want ErrNotPaused", err)
	}
	if err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: pausedState, ReasonCode: 100, Reason: "u"}, 3000, f.nextID); err != nil {
		t.Fatal(err)
	}
	for name, refused := range map[string]struct {
		c    *raftlogv1.AlterRoutineLoad
		want error
	}{
		"no definition":        {&raftlogv1.AlterRoutineLoad{JobId: id}, jobs.ErrIncomplete},
		"no group":             {&raftlogv1.AlterRoutineLoad{JobId: id, Load: &typesv1.RoutineLoad{Topic: "t"}}, jobs.ErrIncomplete},
		"the group of another": {&raftlogv1.AlterRoutineLoad{JobId: id, Load: given}, jobs.ErrGroupInUse},
	} {
		held := f.ByID(id)
		if err := alter(refused.c); !errors.Is(err, refused.want) || f.ByID(id) != held {
			t.Errorf("%s: Alter = %v, want %v and no change", name, err, refused.want)
		}
	}

	held := f.ByID(id)
	kept := proto.Clone(held)
	if err := alter(&raftlogv1.AlterRoutineLoad{JobId: id, Load: load}); err != nil {
		t.Fatal(err)
	}
	job := f.ByID(id)
	if job.Load.MaxErrorNumber != 77 || job.State != pausedState || job.Reason != "u" || job.Generation != 1 || job.LockDurationMs != 30000 || job.StartNote != "n" {
		t.Errorf("altered job = %v", job)
	}
	for i, task := range job.Tasks {
		if task.Epoch <= held.Tasks[i].Epoch {
			t.Errorf("task %d keeps epoch %d", i, task.Epoch)
		}
	}
	if !proto.Equal(held, kept) {
		t.Error("Alter changed the job that a reader holds")
	}
	at := func(partition int32, start int64) *raftlogv1.LedgerStart {
		return &raftlogv1.LedgerStart{TopicId: []byte("t"), Partition: partition, Start: start}
	}
	for _, step := range []struct {
		c    *raftlogv1.AlterRoutineLoad
		want int
	}{
		{&raftlogv1.AlterRoutineLoad{Starts: []*raftlogv1.LedgerStart{at(0, 5), at(1, 6)}}, 2},
		{&raftlogv1.AlterRoutineLoad{Starts: []*raftlogv1.LedgerStart{at(1, 9)}, TableId: 9, LockDurationMs: 15000, Note: "m"}, 2},
		{&raftlogv1.AlterRoutineLoad{Starts: []*raftlogv1.LedgerStart{at(2, 1)}, ReplaceLedgers: true}, 1},
	} {
		step.c.JobId, step.c.Load = id, load
		before := f.ByID(id).Generation
		if err := alter(step.c); err != nil {
			t.Fatal(err)
		}
		if job := f.ByID(id); job.Generation != before+1 || len(job.Starts) != step.want {
			t.Errorf("%v: generation %d after %d, starts %v", step.c, job.Generation, before, job.Starts)
		}
	}
	if job := f.ByID(id); job.TableId != 9 || job.LockDurationMs != 15000 || job.StartNote != "m" {
		t.Errorf("altered job = %v", job)
	}
}
