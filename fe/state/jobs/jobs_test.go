package jobs_test

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

const (
	needSchedule = raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE
	running      = raftlogv1.JobState_JOB_STATE_RUNNING
	pausedState  = raftlogv1.JobState_JOB_STATE_PAUSED
	stopped      = raftlogv1.JobState_JOB_STATE_STOPPED
	cancelled    = raftlogv1.JobState_JOB_STATE_CANCELLED
)

// A fixture is jobs with a counter of ids from 100.
type fixture struct {
	*jobs.Jobs
	lastID uint64
}

func newFixture() *fixture { return &fixture{Jobs: jobs.New(), lastID: 100} }

func (f *fixture) nextID() uint64 {
	f.lastID++
	return f.lastID
}

func definition(name string) *raftlogv1.Job {
	return &raftlogv1.Job{DatabaseId: 1, TableId: 2, Name: name, User: "root",
		Load: &typesv1.RoutineLoad{Topic: "t", MaxErrorNumber: 5, MaxFilterRatio: 0.01, MaxBatchRows: 100_000}}
}

// create makes a job, started and with n tasks on backend 7 if n > 0.
func (f *fixture) create(t *testing.T, name string, n int) uint64 {
	t.Helper()
	id, err := f.Create(definition(name), "shoal-c1-", 1000, f.nextID)
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		return id
	}
	if _, err := f.Start(&raftlogv1.StartRoutineLoad{JobId: id, LockDurationMs: 30000, Note: "n"}); err != nil {
		t.Fatal(err)
	}
	c := &raftlogv1.ScheduleTasks{JobId: id}
	for range n {
		c.Assignments = append(c.Assignments, &raftlogv1.TaskAssignment{BackendId: 7, MemberId: "m"})
	}
	if err := f.Schedule(c, 2000, f.nextID); err != nil {
		t.Fatal(err)
	}
	return id
}

func epochs(job *raftlogv1.Job) []uint64 {
	var out []uint64
	for _, t := range job.Tasks {
		out = append(out, t.Epoch)
	}
	return out
}

func TestCreate(t *testing.T) {
	f := newFixture()
	def := definition("j")
	before := proto.Clone(def)
	id, err := f.Create(def, "shoal-c1-", 1000, f.nextID)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(def, before) {
		t.Error("Create changed its command")
	}
	job := f.ByID(id)
	if job.Load.GroupId != "shoal-c1-101" || job.State != needSchedule || job.Generation != 1 || job.CreatedMs != 1000 || job.Started {
		t.Errorf("new job = %v", job)
	}
	given := func(name, group string) *raftlogv1.Job {
		def := definition(name)
		def.Load.GroupId, def.Load.GroupIdGiven = group, true
		return def
	}
	for _, tt := range []struct {
		name string
		def  *raftlogv1.Job
		want error
	}{
		{"same name", definition("j"), jobs.ErrNameInUse},
		{"other case", definition("J"), nil},
		{"group of its own", given("k", "mine"), nil},
		{"group of another", given("l", "mine"), jobs.ErrGroupInUse},
		{"group that could be ours", given("l", "shoal-c1-7"), jobs.ErrGroupInUse},
		{"no load", &raftlogv1.Job{Name: "x"}, jobs.ErrIncomplete},
		{"nothing", nil, jobs.ErrIncomplete},
	} {
		if _, err := f.Create(tt.def, "shoal-c1-", 1000, f.nextID); !errors.Is(err, tt.want) {
			t.Errorf("%s: Create = %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestNamesOfEndedJobsAreFree(t *testing.T) {
	f := newFixture()
	first := f.create(t, "j", 1)
	if err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: first, To: stopped}, 3000, f.nextID); err != nil {
		t.Fatal(err)
	}
	if job := f.ByName(1, "j"); job != nil {
		t.Errorf("ByName finds the stopped job %v", job)
	}
	second := f.create(t, "j", 0)
	if job := f.ByName(1, "j"); job.Id != second {
		t.Errorf("ByName = %v, want %d", job, second)
	}
	all := f.AllByName(1, "j")
	if len(all) != 2 || all[0].Id != first || all[1].Id != second {
		t.Errorf("AllByName = %v", all)
	}
	if err := f.Remove(first); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(second); err != nil { // never started
		t.Fatal(err)
	}
	third := f.create(t, "j", 1)
	if err := f.Remove(third); !errors.Is(err, jobs.ErrNotEnded) {
		t.Errorf("Remove of a running job = %v, want ErrNotEnded", err)
	}
	if err := f.Remove(first); !errors.Is(err, jobs.ErrNoJob) {
		t.Errorf("second Remove = %v, want ErrNoJob", err)
	}
}

func TestChangeState(t *testing.T) {
	states := []raftlogv1.JobState{needSchedule, running, pausedState, stopped, cancelled}
	for _, from := range states {
		for _, to := range states {
			f := newFixture()
			id := f.create(t, "j", 2)
			if from != running {
				if err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: from, ReasonCode: 4, Reason: "old"}, 3000, f.nextID); err != nil {
					t.Fatal(err)
				}
			}
			before := epochs(f.ByID(id))
			held := f.ByID(id)
			kept := proto.Clone(held)
			err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: to, ReasonCode: 5, Reason: "new"}, 4000, f.nextID)
			refused := jobs.Ended(from) || from == pausedState && to == pausedState || to == running
			if refused != (err != nil) || refused && !errors.Is(err, jobs.TransitionError{From: from, To: to}) {
				t.Errorf("%v to %v = %v, want refused %v", from, to, err, refused)
			}
			if !proto.Equal(held, kept) {
				t.Errorf("%v to %v changed the job that a reader holds", from, to)
			}
			if refused {
				if f.ByID(id) != held {
					t.Errorf("%v to %v was refused and changed the job", from, to)
				}
				continue
			}
			checkEntry(t, f.ByID(id), to, before)
		}
	}
}

// checkEntry checks what entering a state at 4000 has to do.
func checkEntry(t *testing.T, job *raftlogv1.Job, to raftlogv1.JobState, before []uint64) {
	t.Helper()
	reason := job.Reason
	switch to {
	case needSchedule:
		for i, task := range job.Tasks {
			if task.Epoch <= before[i] || task.BackendId != 0 {
				t.Errorf("after RESUME task %d has epoch %d (was %d) on backend %d", i, task.Epoch, before[i], task.BackendId)
			}
		}
		if reason != "" || job.ReasonCode != 0 || job.PausedMs != 0 {
			t.Errorf("resumed job = %v", job)
		}
	case pausedState:
		if !slices.Equal(epochs(job), before) || job.Tasks[0].BackendId != 0 || reason != "new" || job.ReasonCode != 5 || job.PausedMs != 4000 {
			t.Errorf("paused job = %v", job)
		}
	case stopped:
		if len(job.Tasks) != 0 || reason != "" || job.ReasonCode != 0 || job.EndedMs != 4000 {
			t.Errorf("stopped job = %v", job)
		}
	case cancelled:
		if len(job.Tasks) != 0 || reason != "new" || job.ReasonCode != 5 || job.EndedMs != 4000 {
			t.Errorf("cancelled job = %v", job)
		}
	}
	if job.State != to {
		t.Errorf("state = %v, want %v", job.State, to)
	}
}

func TestChangeOfAStateThatMovedOn(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 1)
	if err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, From: pausedState, To: needSchedule}, 1, f.nextID); !errors.Is(err, jobs.ErrMovedOn) {
		t.Errorf("resume of a job that is not paused any more = %v, want ErrMovedOn", err)
	}
	if err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: 99}, 1, f.nextID); !errors.Is(err, jobs.TransitionError{From: running, To: 99}) {
		t.Errorf("change to a state that does not exist = %v", err)
	}
	if err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: 5, To: stopped}, 1, f.nextID); !errors.Is(err, jobs.ErrNoJob) {
		t.Errorf("change of a job that does not exist = %v, want ErrNoJob", err)
	}
}

func TestSchedule(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 3)
	job := f.ByID(id)
	a, b, c := job.Tasks[0], job.Tasks[1], job.Tasks[2]
	if job.State != running || a.Id == b.Id || a.BackendId != 7 || a.MemberId != "m" || a.CreatedMs != 2000 {
		t.Fatalf("scheduled job = %v", job)
	}
	err := f.Schedule(&raftlogv1.ScheduleTasks{JobId: id, RemoveTaskIds: []uint64{b.Id},
		Assignments: []*raftlogv1.TaskAssignment{{TaskId: a.Id, BackendId: 8, MemberId: "m2"}}}, 5000, f.nextID)
	if err != nil {
		t.Fatal(err)
	}
	got := f.ByID(id).Tasks
	if len(got) != 2 || got[0].Id != a.Id || got[0].Epoch <= a.Epoch || got[0].BackendId != 8 || got[0].AssignedMs != 5000 || got[1] != c {
		t.Errorf("tasks = %v", got)
	}
	if a.BackendId != 7 {
		t.Error("a task that a reader holds was changed")
	}
	notStarted := f.create(t, "k", 0)
	paused := f.create(t, "l", 1)
	f.ChangeState(&raftlogv1.ChangeJobState{JobId: paused, To: pausedState}, 1, f.nextID)
	for _, tt := range []struct {
		name string
		c    *raftlogv1.ScheduleTasks
		want error
	}{
		{"unknown job", &raftlogv1.ScheduleTasks{JobId: 5}, jobs.ErrNoJob},
		{"not started", &raftlogv1.ScheduleTasks{JobId: notStarted}, jobs.ErrNotStarted},
		{"paused", &raftlogv1.ScheduleTasks{JobId: paused}, jobs.TransitionError{From: pausedState, To: running}},
		{"unknown task", &raftlogv1.ScheduleTasks{JobId: id, RemoveTaskIds: []uint64{b.Id}}, jobs.ErrNoTask},
		{"task named twice", &raftlogv1.ScheduleTasks{JobId: id, RemoveTaskIds: []uint64{a.Id},
			Assignments: []*raftlogv1.TaskAssignment{{TaskId: a.Id, BackendId: 7}}}, jobs.ErrNoTask},
	} {
		before := f.lastID
		if err := f.Schedule(tt.c, 1, f.nextID); !errors.Is(err, tt.want) || f.lastID != before {
			t.Errorf("%s: Schedule = %v, want %v and no id taken", tt.name, err, tt.want)
		}
	}
}

// TestPartitionsHaveOneReader: what a classic task reads is replaced at each
// placement, and no two tasks on backends read the same.
func TestPartitionsHaveOneReader(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 2)
	a, b := f.ByID(id).Tasks[0].Id, f.ByID(id).Tasks[1].Id
	on := func(task, backend uint64, partitions ...int32) *raftlogv1.TaskAssignment {
		return &raftlogv1.TaskAssignment{TaskId: task, BackendId: backend, TopicId: []byte("t"), Partitions: partitions}
	}
	for _, tt := range []struct {
		name        string
		assignments []*raftlogv1.TaskAssignment
		removed     []uint64
		want        error
	}{
		{"both", []*raftlogv1.TaskAssignment{on(a, 7, 0, 2), on(b, 7, 1)}, nil, nil},
		{"one that another has", []*raftlogv1.TaskAssignment{on(a, 7, 0, 1)}, nil, jobs.ErrTwice},
		{"one for two new ones", []*raftlogv1.TaskAssignment{on(0, 7, 5), on(0, 7, 5)}, nil, jobs.ErrTwice},
		{"one twice", []*raftlogv1.TaskAssignment{on(0, 7, 5, 5)}, nil, jobs.ErrTwice},
		{"exchanged", []*raftlogv1.TaskAssignment{on(a, 7, 1), on(b, 7, 0, 2)}, nil, nil},
		{"of one that is taken off", []*raftlogv1.TaskAssignment{on(b, 0), on(0, 7, 0, 2)}, nil, nil},
		{"of one that is removed", []*raftlogv1.TaskAssignment{on(0, 7, 1)}, []uint64{a}, nil},
	} {
		before := f.lastID
		err := f.Schedule(&raftlogv1.ScheduleTasks{JobId: id, Assignments: tt.assignments, RemoveTaskIds: tt.removed}, 1, f.nextID)
		if !errors.Is(err, tt.want) || err != nil && f.lastID != before {
			t.Errorf("%s: Schedule = %v, want %v", tt.name, err, tt.want)
		}
	}
	readers := 0
	for _, task := range f.ByID(id).Tasks {
		if task.BackendId != 0 {
			readers += len(task.Partitions)
		}
	}
	if readers != 3 {
		t.Errorf("%d partitions are read, want 3: %v", readers, f.ByID(id).Tasks)
	}
}

func TestStartOnce(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 1)
	if job := f.ByID(id); !job.Started || job.LockDurationMs != 30000 || job.StartNote != "n" {
		t.Errorf("started job = %v", job)
	}
	if _, err := f.Start(&raftlogv1.StartRoutineLoad{JobId: id}); !errors.Is(err, jobs.ErrStarted) {
		t.Errorf("second Start = %v, want ErrStarted", err)
	}
}

// TestDrain: a task that drains keeps its epoch and place, since its first
// command, until it is placed anew or taken off.
func TestDrain(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 2)
	a, b := f.ByID(id).Tasks[0], f.ByID(id).Tasks[1]
	for _, at := range []int64{5000, 6000} {
		if err := f.Schedule(&raftlogv1.ScheduleTasks{JobId: id, DrainTaskIds: []uint64{a.Id}}, at, f.nextID); err != nil {
			t.Fatal(err)
		}
	}
	got := f.ByID(id).Tasks
	if got[0].DrainingMs != 5000 || got[0].Epoch != a.Epoch || got[0].BackendId != a.BackendId || got[1] != b || a.DrainingMs != 0 {
		t.Errorf("tasks = %v", got)
	}
	both := &raftlogv1.ScheduleTasks{JobId: id, DrainTaskIds: []uint64{b.Id}, RemoveTaskIds: []uint64{b.Id}}
	if err := f.Schedule(both, 1, f.nextID); !errors.Is(err, jobs.ErrNoTask) {
		t.Errorf("a task drained and removed: %v", err)
	}
	for name, leave := range map[string]func(){
		"placed": func() {
			f.Schedule(&raftlogv1.ScheduleTasks{JobId: id, Assignments: []*raftlogv1.TaskAssignment{{TaskId: a.Id, BackendId: 8}}}, 7000, f.nextID)
		},
		"paused": func() { f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: pausedState}, 7000, f.nextID) },
		"fenced": func() { f.Fence(func(*raftlogv1.Job) bool { return true }, f.nextID) },
	} {
		f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: needSchedule}, 1, f.nextID)
		f.Schedule(&raftlogv1.ScheduleTasks{JobId: id, DrainTaskIds: []uint64{a.Id}}, 5000, f.nextID)
		if leave(); f.ByID(id).Tasks[0].DrainingMs != 0 {
			t.Errorf("%s: still draining", name)
		}
	}
}
