package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shoal/fe/schedule"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A world is one classic job in the state, with what the leader sees beside it.
type world struct {
	*jobs.Jobs
	t        interface{ Fatalf(string, ...any) }
	lastID   uint64
	job      uint64
	topic    string
	pins     []int32
	topicHas int
	backends []schedule.Backend
}

func newWorld(t interface{ Fatalf(string, ...any) }, desired int64, partitions int, backends ...schedule.Backend) *world {
	w := &world{Jobs: jobs.New(), t: t, topic: "A", topicHas: partitions, backends: backends}
	def := &raftlogv1.Job{DatabaseId: 1, TableId: 2, Name: "j", Load: &typesv1.RoutineLoad{Mode: typesv1.RoutineLoad_MODE_CLASSIC, DesiredConcurrentNumber: desired}}
	var err error
	if w.job, err = w.Create(def, "g-", 1, w.nextID); err == nil {
		_, err = w.Start(&raftlogv1.StartRoutineLoad{JobId: w.job})
	}
	w.must(err)
	return w
}

func (w *world) nextID() uint64 { w.lastID++; return w.lastID }

func (w *world) must(err error) {
	if err != nil {
		w.t.Fatalf("%v", err)
	}
}

// partitions are those that the job reads, none while the topic is not known.
func (w *world) partitions() []int32 {
	all := upTo(w.topicHas)
	if w.pins != nil {
		all = slices.DeleteFunc(all, func(p int32) bool { return !slices.Contains(w.pins, p) })
	}
	return all
}

// plan makes a plan, carries it out and returns how many commands it had.
func (w *world) plan(ended map[schedule.Ref]bool) int {
	job := schedule.Job{Job: w.ByID(w.job), Partitions: w.partitions(), TopicID: []byte(w.topic)}
	plan := schedule.Make(schedule.Input{NowMs: 100_000, Jobs: []schedule.Job{job}, Backends: w.backends, Ended: ended, MemberID: memberIDs()})
	if len(plan.Leaves) > 0 {
		w.t.Fatalf("members %v leave a group that the job has not", plan.Leaves)
	}
	for _, c := range plan.Commands {
		w.must(w.Schedule(c.GetScheduleTasks(), 1, w.nextID))
	}
	return len(plan.Commands)
}

// settle plans until all that drains has ended.
func (w *world) settle(ended map[schedule.Ref]bool) {
	for rounds := 0; w.plan(ended) > 0; rounds++ {
		if rounds == 20 {
			w.t.Fatalf("plans go on: %s", w.tell())
		}
		ended = make(map[schedule.Ref]bool)
		for _, task := range w.ByID(w.job).Tasks {
			ended[schedule.Ref{TaskID: task.Id, Epoch: task.Epoch}] = task.DrainingMs > 0
		}
	}
}

// change pauses the job, alters it and resumes it.
func (w *world) change(desired int64) {
	load := &typesv1.RoutineLoad{Mode: typesv1.RoutineLoad_MODE_CLASSIC, DesiredConcurrentNumber: desired, GroupId: "g-1"}
	w.must(w.ChangeState(&raftlogv1.ChangeJobState{JobId: w.job, To: paused, ReasonCode: 100}, 1, w.nextID))
	_, err := w.Alter(&raftlogv1.AlterRoutineLoad{JobId: w.job, Load: load}, "t", w.nextID)
	w.must(err)
	w.must(w.ChangeState(&raftlogv1.ChangeJobState{JobId: w.job, To: needSchedule}, 1, w.nextID))
}

// tell writes who reads what: "b1:0,2 b2:1", the tasks by age, "-" for one
// without a backend.
func (w *world) tell() string {
	var out []string
	for _, task := range w.ByID(w.job).Tasks {
		if task.BackendId == 0 {
			out = append(out, "-")
			continue
		}
		out = append(out, fmt.Sprintf("b%d:%s", task.BackendId, strings.Trim(strings.ReplaceAll(fmt.Sprint(task.Partitions), " ", ","), "[]")))
	}
	return strings.Join(out, " ")
}

func (w *world) epochs() map[uint64]uint64 {
	out := make(map[uint64]uint64)
	for _, task := range w.ByID(w.job).Tasks {
		out[task.Id] = task.Epoch
	}
	return out
}

// TestDivide: what the tasks of a classic job read, before and after a change,
// and how many of those that were there get a new epoch.
func TestDivide(t *testing.T) {
	ended := func(w *world, i int) map[schedule.Ref]bool {
		task := w.ByID(w.job).Tasks[i]
		return map[schedule.Ref]bool{{TaskID: task.Id, Epoch: task.Epoch}: true}
	}
	for _, tt := range []struct {
		name       string
		desired    int64
		partitions int
		backends   []schedule.Backend
		before     string
		change     func(w *world) map[schedule.Ref]bool
		after      string
		raised     int
	}{
		{name: "a task for each partition", partitions: 3, backends: live(16, 1), before: "b1:0 b1:1 b1:2"},
		{name: "as many as wanted", desired: 2, partitions: 5, backends: live(16, 1, 2), before: "b1:0,2,4 b2:1,3"},
		{name: "no more than partitions", desired: 100, partitions: 2, backends: live(16, 1), before: "b1:0 b1:1"},
		{name: "as many as slots", partitions: 5, backends: live(1, 1, 2), before: "b1:0,2,4 b2:1,3"},
		{name: "no slot", partitions: 5, backends: live(0, 1), before: ""},
		{name: "the topic is not known yet", backends: live(16, 1), before: ""},
		{name: "pinned", partitions: 9, backends: live(16, 1), before: "b1:0 b1:1 b1:2 b1:3 b1:4 b1:5 b1:6 b1:7 b1:8",
			change: func(w *world) map[schedule.Ref]bool { w.pins = []int32{2, 7}; return nil }, after: "b1:2 b1:7", raised: 2},
		{name: "partitions appear", desired: 2, partitions: 2, backends: live(16, 1), before: "b1:0 b1:1",
			change: func(w *world) map[schedule.Ref]bool { w.topicHas = 3; return nil }, after: "b1:0,2 b1:1", raised: 1},
		{name: "partitions appear, and tasks", partitions: 1, backends: live(16, 1), before: "b1:0",
			change: func(w *world) map[schedule.Ref]bool { w.topicHas = 3; return nil }, after: "b1:0 b1:1 b1:2"},
		{name: "created again", partitions: 2, backends: live(16, 1), before: "b1:0 b1:1",
			change: func(w *world) map[schedule.Ref]bool { w.topic = "B"; return nil }, after: "b1:0 b1:1", raised: 2},
		{name: "created again with fewer partitions", partitions: 3, backends: live(16, 1), before: "b1:0 b1:1 b1:2",
			change: func(w *world) map[schedule.Ref]bool { w.topic, w.topicHas = "B", 1; return nil }, after: "b1:0", raised: 1},
		{name: "topic not known for a while", partitions: 2, backends: live(16, 1), before: "b1:0 b1:1",
			change: func(w *world) map[schedule.Ref]bool { w.topicHas = 0; return nil }, after: "b1:0 b1:1"},
		{name: "a backend comes", partitions: 3, backends: live(2, 1), before: "b1:0,2 b1:1",
			change: func(w *world) map[schedule.Ref]bool { w.backends = live(2, 1, 2); return nil }, after: "b1:0 b1:1 b2:2", raised: 1},
		{name: "a backend is lost, others have room", partitions: 3, backends: live(2, 1, 2), before: "b1:0 b2:1 b1:2",
			change: func(w *world) map[schedule.Ref]bool { w.backends = live(8, 2); return nil }, after: "b2:0 b2:1 b2:2", raised: 2},
		{name: "a backend is lost, there is no room", partitions: 3, backends: live(2, 1, 2), before: "b1:0 b2:1 b1:2",
			change: func(w *world) map[schedule.Ref]bool { w.backends = live(1, 2); return nil }, after: "- b2:0,1,2 -", raised: 3},
		{name: "a new leader waits for word", partitions: 3, backends: live(4, 1), before: "b1:0 b1:1 b1:2",
			change: func(w *world) map[schedule.Ref]bool {
				w.backends = []schedule.Backend{{ID: 1, Unheard: true}}
				return nil
			}, after: "b1:0 b1:1 b1:2"},
		{name: "a task ended by itself", partitions: 3, backends: live(4, 1), before: "b1:0 b1:1 b1:2",
			change: func(w *world) map[schedule.Ref]bool { return ended(w, 1) }, after: "b1:0 b1:1 b1:2", raised: 1},
		{name: "fewer wanted", partitions: 3, backends: live(4, 1), before: "b1:0 b1:1 b1:2",
			change: func(w *world) map[schedule.Ref]bool { w.change(2); return nil }, after: "b1:0,2 b1:1", raised: 2},
		{name: "resumed", partitions: 2, backends: live(4, 1), before: "b1:0 b1:1",
			change: func(w *world) map[schedule.Ref]bool { w.change(0); return nil }, after: "b1:0 b1:1", raised: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.desired, tt.partitions, tt.backends...)
			w.plan(nil)
			if got := w.tell(); got != tt.before {
				t.Fatalf("got  %s\nwant %s", got, tt.before)
			}
			if tt.change == nil {
				return
			}
			epochs := w.epochs()
			w.plan(tt.change(w))
			if got := w.tell(); got != tt.after {
				t.Errorf("after: got  %s\nwant %s", got, tt.after)
			}
			raised := 0
			for id, epoch := range w.epochs() {
				if before, was := epochs[id]; was && epoch != before {
					raised++
				}
			}
			if raised != tt.raised {
				t.Errorf("%d tasks got a new epoch, want %d", raised, tt.raised)
			}
			if n := w.plan(nil); n != 0 {
				t.Errorf("the next plan has %d commands", n)
			}
		})
	}
}

// TestEachPartitionHasOneReader: whatever happens to backends, topic and job,
// after a plan each partition is read by exactly one task if any has a backend,
// of the topic as it is, and the next plan is empty. That no two tasks ever
// read the same, the state itself sees to.
func TestEachPartitionHasOneReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.Int64Range(0, 6).Draw(t, "desired"), 0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			var ended map[schedule.Ref]bool
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				w.topicHas = rapid.IntRange(0, 9).Draw(t, "partitions")
			case 1:
				w.topic = rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "topic")
			case 2:
				w.pins = rapid.SampledFrom([][]int32{nil, {1, 3, 5}, {0}}).Draw(t, "pins")
			case 3:
				w.change(rapid.Int64Range(0, 6).Draw(t, "desired"))
			case 4:
				ended = make(map[schedule.Ref]bool)
				for id, epoch := range w.epochs() {
					ended[schedule.Ref{TaskID: id, Epoch: epoch}] = rapid.Bool().Draw(t, "ended")
				}
			default:
				w.backends = nil
				for _, id := range rapid.SliceOfNDistinct(rapid.Uint64Range(1, 4), 0, 4, rapid.ID).Draw(t, "live") {
					w.backends = append(w.backends, schedule.Backend{ID: id, Slots: rapid.IntRange(0, 4).Draw(t, "slots")})
				}
			}
			w.settle(ended)
			w.checkReaders(t)
			if n := w.plan(nil); n != 0 {
				t.Fatalf("the next plan has %d commands: %s", n, w.tell())
			}
		}
	})
}

func (w *world) checkReaders(t *rapid.T) {
	want := w.partitions()
	if len(want) == 0 {
		return
	}
	var read []int32
	for _, task := range w.ByID(w.job).Tasks {
		if task.BackendId == 0 {
			continue
		}
		if len(task.Partitions) == 0 || string(task.TopicId) != w.topic {
			t.Fatalf("task %v reads nothing, or another topic than %s", task, w.topic)
		}
		read = append(read, task.Partitions...)
	}
	if slices.Sort(read); len(read) > 0 && !slices.Equal(read, want) {
		t.Fatalf("partitions %v are read, want %v: %s", read, want, w.tell())
	}
}
