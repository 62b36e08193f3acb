package schedule_test

import (
	"fmt"
	"slices"
	"testing"

	"shoal/fe/schedule"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A fleet is a cluster in simulated time: the jobs of the state, the leader's
// pacer and plan once a second, and backends whose tasks take a second to join and
// two to drain. A task settles 1,000 offsets a second.
type fleet struct {
	t      testing.TB
	state  *jobs.Jobs
	pacer  *schedule.Pacer
	nowMs  int64
	lastID uint64
	nodes  []*node
	loads  []*load
	ended  map[schedule.Ref]bool

	drains, moves, dropped int
	wait                   int64 // longest time in ms that a job with work went without a task
}

type node struct {
	id           uint64
	slots        int
	dead         bool
	decommission bool
	sinceMs      int64
}

// A load is a job and what its topic gets.
type load struct {
	id         uint64
	partitions int
	arrives    int64 // offsets a second
	backlog    int64
	settled    int64
	servedMs   int64
	changes    int // of the number of its tasks
	tasks      int
}

const taskRate = 1000

func newFleet(t testing.TB, slots int, nodes ...uint64) *fleet {
	f := &fleet{t: t, state: jobs.New(), pacer: schedule.NewPacer(), nowMs: 1_000_000, ended: make(map[schedule.Ref]bool)}
	for _, id := range nodes {
		f.nodes = append(f.nodes, &node{id: id, slots: slots})
	}
	return f
}

func (f *fleet) nextID() uint64 { f.lastID++; return f.lastID }

func (f *fleet) must(err error) {
	if err != nil {
		f.t.Helper()
		f.t.Fatal(err)
	}
}

// create makes a started job.
func (f *fleet) create(mode typesv1.RoutineLoad_Mode, desired int64, partitions int) *load {
	id, err := f.state.Create(&raftlogv1.Job{DatabaseId: 1, TableId: 2, Name: fmt.Sprint("j", f.lastID), CreatedMs: f.nowMs,
		Load: &typesv1.RoutineLoad{Mode: mode, DesiredConcurrentNumber: desired}}, "g-", f.nowMs, f.nextID)
	f.must(err)
	_, err = f.state.Start(&raftlogv1.StartRoutineLoad{JobId: id})
	f.must(err)
	l := &load{id: id, partitions: partitions, servedMs: f.nowMs}
	f.loads = append(f.loads, l)
	return l
}

// run lets seconds pass.
func (f *fleet) run(seconds int) {
	for range seconds {
		f.nowMs += 1000
		f.work()
		f.tick()
		f.check()
	}
}

// runs is how many tasks of a job poll and settle.
func (f *fleet) runs(l *load) (joined int) {
	for _, task := range f.state.ByID(l.id).Tasks {
		n := f.node(task.BackendId)
		if n != nil && !n.dead && task.DrainingMs == 0 && f.nowMs-task.AssignedMs >= 1000 {
			joined++
		}
	}
	return joined
}

func (f *fleet) node(id uint64) *node {
	i := slices.IndexFunc(f.nodes, func(n *node) bool { return n.id == id })
	if i < 0 {
		return nil
	}
	return f.nodes[i]
}

// work lets tasks settle and drain.
func (f *fleet) work() {
	for _, l := range f.loads {
		l.backlog += l.arrives
		done := min(l.backlog, int64(f.runs(l))*taskRate)
		l.backlog -= done
		l.settled += done
		if done > 0 || l.backlog == 0 {
			l.servedMs = f.nowMs
		}
		f.wait = max(f.wait, f.nowMs-l.servedMs)
		for _, task := range f.state.ByID(l.id).Tasks {
			if task.DrainingMs > 0 && f.nowMs-task.DrainingMs >= 2000 {
				f.ended[schedule.Ref{TaskID: task.Id, Epoch: task.Epoch}] = true
			}
		}
	}
}

// tick is one plan of the leader, carried out.
func (f *fleet) tick() schedule.Plan {
	in := schedule.Input{NowMs: f.nowMs, Ended: f.ended, MemberID: func() string { return fmt.Sprint("m", f.nextID()) }}
	for _, n := range f.nodes {
		if !n.dead {
			in.Backends = append(in.Backends, schedule.Backend{ID: n.id, Slots: n.slots, Avoid: n.decommission, SinceMs: n.sinceMs})
		}
		if n.decommission {
			in.Decommissioning = append(in.Decommissioning, n.id)
		}
	}
	for _, l := range f.loads {
		job := schedule.Job{Job: f.state.ByID(l.id), Partitions: upTo(l.partitions), TopicID: []byte("A"), MaxMembers: 200}
		running := f.runs(l)
		busy := min(int64(running), (l.arrives+l.backlog+taskRate-1)/taskRate)
		f.pacer.Pace(f.nowMs, &job, schedule.Work{Loadable: l.backlog, Settled: l.settled, Busy: int(busy), Joined: running})
		in.Jobs = append(in.Jobs, job)
	}
	plan := schedule.Make(in)
	for _, c := range plan.Commands {
		f.carryOut(c)
	}
	for _, l := range f.loads {
		if n := len(f.state.ByID(l.id).Tasks); n != l.tasks {
			l.changes++
			l.tasks = n
		}
	}
	return plan
}

func (f *fleet) carryOut(c *raftlogv1.Command) {
	if drop := c.GetDropBackend(); drop != nil {
		f.nodes = slices.DeleteFunc(f.nodes, func(n *node) bool { return n.id == drop.BackendId })
		f.dropped++
		return
	}
	change := c.GetScheduleTasks()
	f.drains += len(change.DrainTaskIds)
	for _, a := range change.Assignments {
		if a.TaskId != 0 && a.BackendId != 0 {
			f.moves++
		}
	}
	f.must(f.state.Schedule(change, f.nowMs, f.nextID))
}

// check: no backend runs more than it has slots for, what drains included.
func (f *fleet) check() {
	on := f.spread()
	for _, n := range f.nodes {
		if !n.dead && on[n.id] > n.slots {
			f.t.Fatalf("%d s: %d tasks on the %d slots of backend %d", f.nowMs/1000-1000, on[n.id], n.slots, n.id)
		}
	}
}

// spread is the tasks by backend.
func (f *fleet) spread() map[uint64]int {
	on := make(map[uint64]int)
	for _, l := range f.loads {
		for _, task := range f.state.ByID(l.id).Tasks {
			on[task.BackendId]++
		}
	}
	return on
}

// even tells whether no two backends differ by more than one task, and none waits.
func (f *fleet) even() bool {
	on := f.spread()
	least, most := 1<<30, 0
	for _, n := range f.nodes {
		if !n.dead && !n.decommission {
			least, most = min(least, on[n.id]), max(most, on[n.id])
		}
	}
	return most-least <= 1 && on[0] == 0
}

// until runs until it holds, for so many seconds at most, and tells how many it
// took.
func (f *fleet) until(seconds int, what string, holds func() bool) int {
	f.t.Helper()
	for n := range seconds {
		if holds() {
			return n
		}
		f.run(1)
	}
	f.t.Fatalf("not within %d s: %s: %v", seconds, what, f.spread())
	return 0
}

const (
	share   = typesv1.RoutineLoad_MODE_SHARE_GROUP
	classic = typesv1.RoutineLoad_MODE_CLASSIC
)

// A burst gets all tasks that are allowed within seconds; when it is over they go
// again, but for one.
func TestBurst(t *testing.T) {
	f := newFleet(t, 16, 1, 2, 3)
	j := f.create(share, 16, 4)
	f.run(2)
	if j.tasks != 8 {
		t.Errorf("a new job has %d tasks, want two for each partition", j.tasks)
	}
	f.until(120, "one task is left of an idle job", func() bool { return j.tasks == 1 })
	j.arrives = 12_000
	f.until(10, "all tasks run", func() bool { return f.runs(j) == 16 })
	f.run(120)
	if j.tasks != 16 || j.backlog > 12_000 {
		t.Errorf("%d tasks, backlog %d while much comes", j.tasks, j.backlog)
	}
	j.arrives = 0
	f.until(150, "one task is left", func() bool { return j.tasks == 1 })
	if j.changes > 8 {
		t.Errorf("the number of tasks changed %d times", j.changes)
	}
}

// A job that is made on a topic with a backlog has all tasks within seconds.
func TestBacklog(t *testing.T) {
	for _, tt := range []struct{ desired, partitions, want int }{{0, 1, 2}, {16, 1, 16}, {0, 8, 16}, {5, 2, 5}} {
		f := newFleet(t, 16, 1)
		j := f.create(share, int64(tt.desired), tt.partitions)
		j.backlog = 10_000_000
		took := f.until(12, "all tasks run", func() bool { return f.runs(j) == tt.want })
		t.Logf("desired %d, %d partitions: %d tasks after %d s", tt.desired, tt.partitions, tt.want, took)
	}
}

// Bursts that come again and again make it patient.
func TestBurstsComeAgain(t *testing.T) {
	f := newFleet(t, 16, 1)
	j := f.create(share, 16, 4)
	for range 40 {
		j.arrives = 12_000
		f.run(20)
		j.arrives = 0
		f.run(100)
	}
	if j.changes > 20 {
		t.Errorf("the number of tasks changed %d times in 80 minutes", j.changes)
	}
	t.Logf("%d changes in 80 minutes", j.changes)
}

// Steady work has steady tasks, whatever part of them it takes.
func TestSteady(t *testing.T) {
	for _, arrives := range []int64{10, 700, 1500, 2500, 4100, 7900} {
		f := newFleet(t, 16, 1)
		j := f.create(share, 16, 4)
		j.arrives = arrives
		f.run(600)
		before, tasks := j.changes, j.tasks
		f.run(3600)
		if j.changes-before > 2 || j.backlog > 2*arrives {
			t.Errorf("%d a second: %d tasks, then %d changes in an hour to %d, backlog %d", arrives, tasks, j.changes-before, j.tasks, j.backlog)
		}
	}
}

// crowd makes jobs with steady work for the tasks that they have.
func (f *fleet) crowd(n int, mode typesv1.RoutineLoad_Mode, desired int64, partitions int) {
	for range n {
		f.create(mode, desired, partitions).arrives = int64(partitions) * taskRate / 2
	}
}

// A third of the backends is lost: their tasks are elsewhere with the next plan,
// and nothing else moves. When they are back the load is levelled, by as few moves
// as that takes.
func TestLossOfAThird(t *testing.T) {
	for _, mode := range []typesv1.RoutineLoad_Mode{share, classic} {
		f := newFleet(t, 16, 1, 2, 3, 4, 5, 6)
		f.crowd(10, mode, 4, 4)
		f.run(120)
		if !f.even() {
			t.Fatalf("not spread evenly: %v", f.spread())
		}
		on := f.spread()
		f.nodes[1].dead, f.nodes[4].dead = true, true
		lost := on[2] + on[5]
		f.moves, f.drains = 0, 0
		f.tick()
		if left := f.spread(); left[2]+left[5] != 0 || f.moves != lost || f.drains != 0 || !f.even() {
			t.Fatalf("%d of %d lost tasks moved, %d drain: %v", f.moves, lost, f.drains, left)
		}
		f.run(120)
		for _, i := range []int{1, 4} {
			f.nodes[i].dead, f.nodes[i].sinceMs = false, f.nowMs
		}
		f.moves = 0
		took := f.until(180, "all is even", f.even)
		if f.run(300); f.moves > lost+1 || f.drains > lost+1 {
			t.Errorf("%d moves to bring back %d tasks", f.moves, lost)
		}
		t.Logf("%v: %d tasks, %d lost, even after %d s and %d moves", mode, 40, lost, took, f.moves)
	}
}

// A backend that comes and goes moves nothing but what it was given.
func TestFlappingBackend(t *testing.T) {
	f := newFleet(t, 16, 1, 2, 3)
	f.crowd(8, share, 3, 3)
	f.run(120)
	f.nodes[2].dead = true
	f.run(60)
	f.moves, f.drains = 0, 0
	for range 20 {
		f.nodes[2].dead, f.nodes[2].sinceMs = false, f.nowMs
		f.run(8)
		f.nodes[2].dead = true
		f.run(8)
	}
	if f.moves+f.drains > 0 {
		t.Errorf("%d moves, %d drains", f.moves, f.drains)
	}
}

// A decommissioned backend is empty and dropped soon, and each of its tasks moves
// once.
func TestDecommission(t *testing.T) {
	for _, mode := range []typesv1.RoutineLoad_Mode{share, classic} {
		f := newFleet(t, 16, 1, 2, 3)
		f.crowd(10, mode, 3, 3)
		f.run(120)
		on := f.spread()
		f.nodes[0].decommission = true
		f.moves, f.drains = 0, 0
		took := f.until(60, "it is dropped", func() bool { return f.dropped == 1 })
		if f.drains != on[1] || f.moves > 3*on[1] || !f.even() {
			t.Errorf("%d tasks: %d drained, %d moved: %v", on[1], f.drains, f.moves, f.spread())
		}
		if f.run(300); f.drains != on[1] || f.wait > 5000 {
			t.Errorf("%d drained, a job waited %d ms", f.drains, f.wait)
		}
		t.Logf("%v: %d tasks gone after %d s", mode, on[1], took)
	}
}

// More jobs than slots: all load, turn by turn, and the longest wait is about
// as long as the turns of those before.
func TestMoreJobsThanSlots(t *testing.T) {
	for _, tt := range []struct {
		mode typesv1.RoutineLoad_Mode
		jobs int
		wait int64 // s
	}{{classic, 17, 40}, {share, 17, 40}, {classic, 100, 300}, {share, 100, 300}} {
		f := newFleet(t, 16, 1)
		f.crowd(tt.jobs, tt.mode, 4, 4)
		f.run(1800)
		least, most := int64(1)<<40, int64(0)
		for _, l := range f.loads {
			least, most = min(least, l.settled), max(most, l.settled)
		}
		if least*2 < most || f.wait > tt.wait*1000 {
			t.Errorf("%d %v jobs settled %d to %d, the longest wait was %d ms", tt.jobs, tt.mode, least, most, f.wait)
		}
		t.Logf("%d %v jobs: %d to %d settled, the longest wait was %d s", tt.jobs, tt.mode, least, most, f.wait/1000)
	}
}

// Idle jobs leave their slots to those with work, at once and without turns.
func TestIdleJobsMakeRoom(t *testing.T) {
	for _, mode := range []typesv1.RoutineLoad_Mode{share, classic} {
		f := newFleet(t, 16, 1)
		for range 40 {
			f.create(mode, 4, 4)
		}
		f.run(300)
		f.drains = 0
		if f.run(300); f.drains > 0 {
			t.Errorf("%v: %d drains while nothing happens", mode, f.drains)
		}
		last := f.loads[39]
		last.arrives = 500
		f.until(10, "it loads", func() bool { return last.settled > 0 })
		if f.run(600); last.backlog > 1000 {
			t.Errorf("%v: backlog %d", mode, last.backlog)
		}
		if f.drains > 4 {
			t.Errorf("%v: %d drains", mode, f.drains)
		}
	}
}

// A hundred jobs over a few backends come to rest.
func TestComesToRest(t *testing.T) {
	f := newFleet(t, 64, 1, 2, 3, 4)
	f.crowd(50, share, 0, 2)
	f.crowd(50, classic, 0, 4)
	f.run(600)
	if f.drains > 200 || !f.even() {
		t.Errorf("%d drains: %v", f.drains, f.spread())
	}
	for range 600 {
		f.nowMs += 1000
		f.work()
		if plan := f.tick(); len(plan.Commands) > 0 {
			t.Fatalf("there is a plan where nothing changed: %v", plan.Commands)
		}
	}
}
