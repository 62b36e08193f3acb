package schedule_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shoal/fe/schedule"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

const (
	needSchedule = raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE
	running      = raftlogv1.JobState_JOB_STATE_RUNNING
	paused       = raftlogv1.JobState_JOB_STATE_PAUSED
	stopped      = raftlogv1.JobState_JOB_STATE_STOPPED
)

// job makes a started job whose task i+1 is on backends[i].
func job(id uint64, state raftlogv1.JobState, desired int64, partitions int, backends ...uint64) schedule.Job {
	j := &raftlogv1.Job{Id: id, State: state, Started: true, DatabaseName: "d", TableName: "t",
		Load: &typesv1.RoutineLoad{DesiredConcurrentNumber: desired}}
	for i, b := range backends {
		j.Tasks = append(j.Tasks, &raftlogv1.Task{Id: id*100 + uint64(i) + 1, Epoch: 1, BackendId: b, MemberId: fmt.Sprintf("m%d", i+1)})
	}
	return schedule.Job{Job: j, Partitions: upTo(partitions)}
}

// upTo is the partitions 0 to n-1.
func upTo(n int) []int32 {
	var out []int32
	for p := range int32(n) {
		out = append(out, p)
	}
	return out
}

func live(slots int, ids ...uint64) (out []schedule.Backend) {
	for _, id := range ids {
		out = append(out, schedule.Backend{ID: id, Slots: slots})
	}
	return out
}

// tell writes a plan on one line: "+1@b2" a new task, "101@b2" a task moved, "101@-"
// one taken off, "-101" one removed, "~101" one that drains.
func tell(plan schedule.Plan) string {
	var parts []string
	for _, c := range plan.Commands {
		switch body := c.Body.(type) {
		case *raftlogv1.Command_ScheduleTasks:
			news := map[uint64]int{}
			for _, a := range body.ScheduleTasks.Assignments {
				switch {
				case a.TaskId == 0:
					news[a.BackendId]++
				case a.BackendId == 0:
					parts = append(parts, fmt.Sprintf("%d@-", a.TaskId))
				default:
					parts = append(parts, fmt.Sprintf("%d@b%d", a.TaskId, a.BackendId))
				}
			}
			for _, b := range slices.Sorted(maps.Keys(news)) {
				parts = append(parts, fmt.Sprintf("j%d+%d@b%d", body.ScheduleTasks.JobId, news[b], b))
			}
			for _, id := range body.ScheduleTasks.RemoveTaskIds {
				parts = append(parts, fmt.Sprintf("-%d", id))
			}
			for _, id := range body.ScheduleTasks.DrainTaskIds {
				parts = append(parts, fmt.Sprintf("~%d", id))
			}
		case *raftlogv1.Command_ChangeJobState:
			parts = append(parts, fmt.Sprintf("j%d→%v(%d)", body.ChangeJobState.JobId, body.ChangeJobState.To, body.ChangeJobState.ReasonCode))
		case *raftlogv1.Command_DropBackend:
			parts = append(parts, fmt.Sprintf("b%d dropped", body.DropBackend.BackendId))
		case *raftlogv1.Command_RemoveJob:
			parts = append(parts, fmt.Sprintf("j%d forgotten", body.RemoveJob.JobId))
		}
	}
	for _, l := range plan.Leaves {
		parts = append(parts, fmt.Sprintf("leave %s", strings.Join(l.Members, ",")))
	}
	return strings.Join(parts, " ")
}

func memberIDs() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("new-%d", n) }
}

func TestMake(t *testing.T) {
	gone := func(j schedule.Job, database, table bool) schedule.Job {
		j.DatabaseGone, j.TableGone = database, table
		return j
	}
	wants := func(j schedule.Job, n int) schedule.Job { j.Wanted = n; return j }
	idle := func(j schedule.Job) schedule.Job { j.Idle = true; return j }
	since := func(j schedule.Job, ms int64) schedule.Job {
		for _, task := range j.Tasks {
			task.AssignedMs = ms
		}
		return j
	}
	drains := func(j schedule.Job, i int) schedule.Job { j.Tasks[i].DrainingMs = 60_000; return j }
	classic := func(j schedule.Job) schedule.Job {
		j.Load.Mode = typesv1.RoutineLoad_MODE_CLASSIC
		for i, task := range j.Tasks {
			task.Partitions, task.MemberId = []int32{int32(i)}, ""
		}
		return j
	}
	avoided := func(backends []schedule.Backend, which int) []schedule.Backend {
		backends[which-1].Avoid = true
		return backends
	}
	unstarted := job(1, needSchedule, 4, 2)
	unstarted.Started = false
	small := job(1, needSchedule, 0, 8)
	small.MaxMembers = 3
	old := job(1, stopped, 0, 1)
	old.EndedMs = 1000
	unknown := job(1, needSchedule, 0, 0)
	grown := job(1, running, 0, 0, 1, 1, 1, 1)
	grown.Starts = make([]*raftlogv1.LedgerStart, 1)
	fresh := job(1, running, 1, 1, 1)
	fresh.Tasks[0].AssignedMs = 9_000

	tests := []struct {
		name     string
		jobs     []schedule.Job
		backends []schedule.Backend
		ended    map[schedule.Ref]bool
		nowMs    int64
		want     string
	}{
		{"twice the partitions", []schedule.Job{job(1, needSchedule, 0, 3)}, live(16, 1), nil, 0, "j1+6@b1"},
		{"more tasks than partitions", []schedule.Job{job(1, needSchedule, 6, 1)}, live(16, 1, 2), nil, 0, "j1+3@b1 j1+3@b2"},
		{"as many as slots", []schedule.Job{job(1, needSchedule, 256, 1)}, live(4, 1, 2), nil, 0, "j1+4@b1 j1+4@b2"},
		{"as many as members", []schedule.Job{small}, live(16, 1), nil, 0, "j1+3@b1"},
		{"no backend", []schedule.Job{job(1, needSchedule, 4, 1)}, nil, nil, 0, ""},
		{"not started yet", []schedule.Job{unstarted}, live(16, 1), nil, 0, ""},
		{"partitions not known yet", []schedule.Job{unknown}, live(16, 1), nil, 0, ""},
		{"paused", []schedule.Job{job(1, paused, 4, 1, 0, 0)}, live(16, 1), nil, 0, ""},
		{"resumed: its tasks first", []schedule.Job{job(1, needSchedule, 3, 1, 0, 0)}, live(16, 1), nil, 0, "101@b1 102@b1 j1+1@b1"},
		{"jobs take turns", []schedule.Job{job(1, needSchedule, 8, 1), job(2, needSchedule, 8, 1)}, live(6, 1), nil, 0, "j1+3@b1 j2+3@b1"},
		{"a job without a task gets one of the largest", []schedule.Job{job(1, running, 4, 1, 1, 1, 1, 1), job(2, running, 2, 1, 1, 1), job(3, needSchedule, 4, 1)}, live(6, 1), nil, 0, "~104 ~103"},
		{"two jobs without a task", []schedule.Job{job(1, running, 4, 1, 1, 2, 2), job(2, needSchedule, 1, 1), job(3, needSchedule, 1, 1, 0)}, append(live(1, 1), live(2, 2)...), nil, 0, "~103 ~102"},
		{"one task each: nobody gives", []schedule.Job{job(1, running, 4, 1, 1), job(2, running, 4, 1, 1), job(3, needSchedule, 4, 1)}, live(2, 1), nil, 0, ""},
		{"nobody gives what its backend was not heard to run", []schedule.Job{job(1, running, 2, 1, 1, 1), job(2, needSchedule, 1, 1)}, []schedule.Backend{{ID: 1, Unheard: true}}, nil, 0, ""},
		{"a free slot goes to the job without a task", []schedule.Job{job(1, running, 4, 1, 1), job(2, needSchedule, 4, 1)}, live(2, 1), nil, 0, "j2+1@b1"},
		{"the topic grew, and its broker is away", []schedule.Job{grown}, live(16, 1), nil, 0, ""},
		{"nothing to do", []schedule.Job{job(1, running, 2, 1, 1, 2)}, live(16, 1, 2), nil, 0, ""},
		{"not levelled at once", []schedule.Job{job(1, running, 4, 1, 1, 1, 1, 1)}, live(16, 1, 2), nil, 0, ""},
		{"slots appear", []schedule.Job{job(1, running, 4, 1, 1, 1)}, live(2, 1, 2), nil, 0, "j1+2@b2"},
		{"backend lost", []schedule.Job{job(1, running, 2, 1, 1, 2)}, live(16, 2), nil, 0, "101@b2 leave m1"},
		{"backend lost, no room", []schedule.Job{job(1, running, 3, 1, 1, 2, 0)}, live(1, 2), nil, 0, "101@- leave m1"},
		{"lost before, still no room", []schedule.Job{job(1, running, 2, 1, 0, 2)}, live(1, 2), nil, 0, ""},
		{"a new leader waits for word", []schedule.Job{job(1, running, 3, 1, 1, 1)}, []schedule.Backend{{ID: 1, Unheard: true}}, nil, 0, ""},
		{"ended by itself", []schedule.Job{job(1, running, 2, 1, 1, 1)}, live(16, 1), map[schedule.Ref]bool{{TaskID: 101, Epoch: 1}: true}, 10_000, "101@b1 leave m1"},
		{"ended at an older epoch", []schedule.Job{job(1, running, 2, 1, 1, 1)}, live(16, 1), map[schedule.Ref]bool{{TaskID: 101, Epoch: 0}: true}, 10_000, ""},
		{"ended at once: not again at once", []schedule.Job{fresh}, live(16, 1), map[schedule.Ref]bool{{TaskID: 101, Epoch: 1}: true}, 10_000, ""},
		{"ended, and assigned by a clock that was ahead", []schedule.Job{fresh}, live(16, 1), map[schedule.Ref]bool{{TaskID: 101, Epoch: 1}: true}, 8_000, "101@b1 leave m1"},
		{"drains since a clock that was ahead", []schedule.Job{wants(drains(job(1, running, 4, 1, 1, 1), 1), 1)}, live(2, 1), nil, 50_000, "-102 leave m2"},
		{"drained: fewer slots than tasks", []schedule.Job{job(1, running, 2, 1, 1, 1)}, append(live(0, 1), live(16, 2)...), nil, 0, "~102"},
		{"too many tasks: waiting ones go first", []schedule.Job{job(1, running, 2, 1, 0, 1, 1, 1)}, live(16, 1), nil, 0, "-101 ~104"},
		{"work for two of four tasks", []schedule.Job{wants(job(1, running, 4, 1, 1, 1, 2, 2), 2)}, live(16, 1, 2), nil, 0, "~104 ~103"},
		{"work for more than is allowed", []schedule.Job{wants(job(1, running, 2, 1, 1), 9)}, live(16, 1), nil, 0, "j1+1@b1"},
		{"what drains has its slot", []schedule.Job{wants(drains(job(1, running, 4, 1, 1, 1), 1), 1), job(2, needSchedule, 1, 1)}, live(2, 1), nil, 70_000, ""},
		{"until it has ended", []schedule.Job{wants(drains(job(1, running, 4, 1, 1, 1), 1), 1), job(2, needSchedule, 1, 1)}, live(2, 1), map[schedule.Ref]bool{{TaskID: 102, Epoch: 1}: true}, 70_000, "-102 j2+1@b1 leave m2"},
		{"or was too slow", []schedule.Job{wants(drains(job(1, running, 4, 1, 1, 1), 1), 1), job(2, needSchedule, 1, 1)}, live(2, 1), nil, 120_000, "-102 j2+1@b1 leave m2"},
		{"wanted again: it begins anew", []schedule.Job{wants(drains(job(1, running, 4, 1, 1, 1), 1), 2)}, live(4, 1), map[schedule.Ref]bool{{TaskID: 102, Epoch: 1}: true}, 70_000, "102@b1 leave m2"},
		{"decommissioned: half moves", []schedule.Job{job(1, running, 3, 1, 1, 1, 1)}, avoided(live(4, 1, 2), 1), nil, 0, "~103 ~102"},
		{"decommissioned: the rest", []schedule.Job{drains(job(1, running, 3, 1, 1, 1, 1), 1)}, avoided(live(4, 1, 2), 1), map[schedule.Ref]bool{{TaskID: 102, Epoch: 1}: true}, 70_000, "102@b2 ~103 leave m2"},
		{"decommissioned, no room: jobs take turns", []schedule.Job{job(1, running, 1, 1, 1), job(2, running, 1, 1, 2)}, avoided(live(1, 1, 2), 1), nil, 0, "~101"},
		{"decommissioned, the only one", []schedule.Job{job(1, running, 2, 1, 1)}, avoided(live(4, 1), 1), nil, 0, ""},
		{"decommissioned, fewer slots remain", []schedule.Job{job(1, running, 3, 1, 1, 1, 2)}, avoided(live(2, 1, 2), 1), nil, 0, "~102 ~101"},
		{"classic: decommissioned", []schedule.Job{classic(job(1, running, 2, 2, 1, 2))}, avoided(live(4, 1, 2), 1), nil, 0, "~101"},
		{"classic: what drains keeps its partitions", []schedule.Job{classic(drains(job(1, running, 2, 2, 1, 2), 0))}, avoided(live(4, 1, 2), 1), nil, 70_000, ""},
		{"classic: moved", []schedule.Job{classic(drains(job(1, running, 2, 2, 1, 2), 0))}, avoided(live(4, 1, 2), 1), map[schedule.Ref]bool{{TaskID: 101, Epoch: 1}: true}, 70_000, "101@b2"},
		{"classic: another is lost meanwhile", []schedule.Job{classic(drains(job(1, running, 2, 2, 1, 3), 0))}, avoided(live(4, 1, 2), 1), nil, 70_000, "102@b2 101@b2"},
		{"idle jobs make room, classic or not", []schedule.Job{idle(classic(job(1, running, 3, 3, 1, 1, 1))), idle(job(2, running, 1, 1, 1)), job(3, needSchedule, 2, 1)}, live(4, 1), nil, 60_000, "~103 ~102"},
		{"an idle job leaves its last slot to one with work", []schedule.Job{job(1, running, 1, 1, 1), idle(job(2, running, 1, 1, 1)), job(3, needSchedule, 1, 1)}, live(2, 1), nil, 60_000, "~201"},
		{"not to an idle one", []schedule.Job{job(1, running, 1, 1, 1), job(2, running, 1, 1, 1), idle(job(3, needSchedule, 1, 1))}, live(2, 1), nil, 60_000, ""},
		{"whoever had a slot longest makes room", []schedule.Job{since(job(1, running, 1, 1, 1), 20_000), since(job(2, running, 1, 1, 1), 10_000), job(3, needSchedule, 1, 1)}, live(2, 1), nil, 60_000, "~201"},
		{"but not at once", []schedule.Job{since(job(1, running, 1, 1, 1), 40_000), since(job(2, running, 1, 1, 1), 50_000), job(3, needSchedule, 1, 1)}, live(2, 1), nil, 60_000, ""},
		{"who waits longest is next", []schedule.Job{job(1, running, 1, 1, 1), since(job(2, running, 1, 1, 0), 50_000), since(job(3, running, 1, 1, 0), 40_000)}, live(2, 1), nil, 60_000, "~101 301@b1"},
		{"levelled, once a backend is there for a while", []schedule.Job{job(1, running, 4, 1, 1, 1, 1, 1), job(2, running, 1, 1, 1)}, live(16, 1, 2), nil, 60_000, "~104"},
		{"levelled: few at a time", []schedule.Job{drains(job(1, running, 4, 1, 1, 1, 1, 1), 3)}, live(16, 1, 2), nil, 60_000, ""},
		{"database gone", []schedule.Job{gone(job(1, running, 2, 1, 1), true, true)}, live(16, 1), nil, 0, "j1→JOB_STATE_CANCELLED(5)"},
		{"table gone while paused", []schedule.Job{gone(job(1, paused, 2, 1), false, true)}, live(16, 1), nil, 0, "j1→JOB_STATE_CANCELLED(6)"},
		{"ended lately", []schedule.Job{old}, nil, nil, 1000 + schedule.KeepMs - 1, ""},
		{"ended long ago", []schedule.Job{old}, nil, nil, 1000 + schedule.KeepMs, "j1 forgotten"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := schedule.Make(schedule.Input{NowMs: tt.nowMs, Jobs: tt.jobs, Backends: tt.backends, Ended: tt.ended, MemberID: memberIDs()})
			if got := tell(plan); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// apply carries a plan out on the jobs, as the state machine does.
func apply(jobs []schedule.Job, plan schedule.Plan) {
	for _, c := range plan.Commands {
		change := c.GetScheduleTasks()
		if change == nil {
			continue
		}
		i := slices.IndexFunc(jobs, func(j schedule.Job) bool { return j.Id == change.JobId })
		j := jobs[i].Job
		j.State = running
		j.Tasks = slices.DeleteFunc(j.Tasks, func(t *raftlogv1.Task) bool { return slices.Contains(change.RemoveTaskIds, t.Id) })
		for _, task := range j.Tasks {
			if slices.Contains(change.DrainTaskIds, task.Id) {
				task.DrainingMs = c.AtMs
			}
		}
		for _, a := range change.Assignments {
			if a.TaskId == 0 {
				j.Tasks = append(j.Tasks, &raftlogv1.Task{Id: 1000*j.Id + uint64(len(j.Tasks)), Epoch: 1, BackendId: a.BackendId, MemberId: a.MemberId, AssignedMs: c.AtMs})
				continue
			}
			k := slices.IndexFunc(j.Tasks, func(t *raftlogv1.Task) bool { return t.Id == a.TaskId })
			j.Tasks[k].BackendId, j.Tasks[k].MemberId, j.Tasks[k].AssignedMs, j.Tasks[k].DrainingMs = a.BackendId, a.MemberId, c.AtMs, 0
			j.Tasks[k].Epoch++
		}
	}
}

// Whatever the cluster looked like before, plans come to an end once all that
// drains has ended. Then no task is on a backend that is not there, no backend is
// over its slots, or to be avoided and has one, while another has room, none
// waits while a slot is free, no job waits while another has two tasks, and no
// two backends of one size differ by more than one task.
func TestMakeSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var jobs []schedule.Job
		for id := range rapid.IntRange(1, 4).Draw(t, "jobs") {
			backends := rapid.SliceOfN(rapid.Uint64Range(0, 4), 0, 10).Draw(t, "on")
			state := rapid.SampledFrom([]raftlogv1.JobState{needSchedule, running}).Draw(t, "state")
			j := job(uint64(id+1), state, rapid.Int64Range(0, 9).Draw(t, "desired"), rapid.IntRange(1, 5).Draw(t, "partitions"), backends...)
			j.Wanted, j.Idle = rapid.IntRange(0, 9).Draw(t, "wanted"), rapid.Bool().Draw(t, "idle")
			jobs = append(jobs, j)
		}
		var backends []schedule.Backend
		for _, id := range rapid.SliceOfNDistinct(rapid.Uint64Range(1, 4), 0, 4, rapid.ID).Draw(t, "live") {
			backends = append(backends, schedule.Backend{ID: id, Slots: rapid.IntRange(0, 8).Draw(t, "slots"), Avoid: rapid.IntRange(0, 3).Draw(t, "avoid") == 0})
		}
		in := schedule.Input{NowMs: 1_000_000, Jobs: jobs, Backends: backends, Ended: make(map[schedule.Ref]bool), MemberID: memberIDs()}
		for rounds := 0; ; rounds++ {
			plan := schedule.Make(in)
			if len(plan.Commands) == 0 {
				break
			}
			if rounds == 40 {
				t.Fatalf("plans go on: %s", tell(plan))
			}
			apply(jobs, plan)
			for _, j := range jobs {
				for _, task := range j.Tasks {
					in.Ended[schedule.Ref{TaskID: task.Id, Epoch: task.Epoch}] = task.DrainingMs > 0
				}
			}
		}
		checkSettled(t, jobs, backends)
	})
}

func checkSettled(t *rapid.T, jobs []schedule.Job, backends []schedule.Backend) {
	free := make(map[uint64]int)
	for _, b := range backends {
		free[b.ID] = b.Slots
	}
	waiting, shut, most := 0, 0, 0
	for _, j := range jobs {
		limit, _ := schedule.Limit(j)
		if j.Wanted > 0 {
			limit = min(limit, j.Wanted)
		}
		if len(j.Tasks) > limit {
			t.Fatalf("job %d has %d tasks, at most %d are wanted", j.Id, len(j.Tasks), limit)
		}
		waiting += limit - len(j.Tasks)
		placed := 0
		for _, task := range j.Tasks {
			if _, there := free[task.BackendId]; !there && task.BackendId != 0 {
				t.Fatalf("task %d is on backend %d, which is not there", task.Id, task.BackendId)
			}
			if task.BackendId == 0 {
				waiting++
				continue
			}
			placed++
			free[task.BackendId]--
		}
		if most = max(most, placed); placed == 0 && limit > 0 {
			shut++
		}
	}
	room, misplaced := 0, 0
	for _, b := range backends {
		switch {
		case b.Avoid:
			misplaced += b.Slots - free[b.ID]
		case free[b.ID] < 0:
			misplaced -= free[b.ID]
		default:
			room += free[b.ID]
		}
		for _, other := range backends {
			if !b.Avoid && !other.Avoid && b.Slots > 0 && b.Slots == other.Slots && free[b.ID]-free[other.ID] > 1 {
				t.Fatalf("backends %d and %d have %d and %d free slots", b.ID, other.ID, free[b.ID], free[other.ID])
			}
		}
	}
	if room > 0 && waiting+misplaced > 0 {
		t.Fatalf("%d slots are free, while %d tasks wait and %d are where they should not be", room, waiting, misplaced)
	}
	if usable := slices.ContainsFunc(backends, func(b schedule.Backend) bool { return !b.Avoid && b.Slots > 0 }); usable && shut > 0 && most > 1 {
		t.Fatalf("%d jobs have no task while another has %d", shut, most)
	}
}

func TestHeartbeat(t *testing.T) {
	jobs := []*raftlogv1.Job{job(1, running, 2, 1, 1, 2).Job, job(2, paused, 2, 1, 0, 0).Job, job(3, needSchedule, 2, 1, 2).Job}
	jobs[2].Tasks[0].DrainingMs = 1
	refs := schedule.Heartbeat(jobs, 2)
	if len(refs) != 2 || refs[0].TaskId != 102 || refs[0].Epoch != 1 || refs[0].Drain || refs[1].TaskId != 301 || !refs[1].Drain {
		t.Errorf("Heartbeat = %v", refs)
	}
	if refs := schedule.Heartbeat(jobs, 9); len(refs) != 0 {
		t.Errorf("a backend without tasks should run %v", refs)
	}
}
