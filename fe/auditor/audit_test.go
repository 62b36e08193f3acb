package auditor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"shoal/fe/kafka"
	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

var (
	oldTopic, newTopic = kafka.TopicID{1}, kafka.TopicID{2}
	noon               = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
)

func testJob() *raftlogv1.Job {
	return &raftlogv1.Job{
		Id: 7, State: raftlogv1.JobState_JOB_STATE_RUNNING, Generation: 3, LockDurationMs: 30_000,
		Load: &typesv1.RoutineLoad{Topic: "orders", GroupId: "g"},
	}
}

// book is a ledger of partition 0 that is settled below an offset and in
// ranges given as pairs.
func book(settled int64, pairs ...int64) ledger.View {
	v := ledger.View{Key: ledger.Key{TopicID: oldTopic}, Settled: settled}
	for i := 0; i < len(pairs); i += 2 {
		v.Ranges = append(v.Ranges, offsets.Range{First: pairs[i], Last: pairs[i+1]})
	}
	return v
}

func view(topic kafka.TopicID, p kafka.Partition) *kafka.View {
	return &kafka.View{Topic: kafka.Topic{Name: "orders", ID: topic, Partitions: []int32{0}}, Partitions: map[int32]kafka.Partition{0: p}}
}

// at is a partition: log start, stable end, end, group start, lag.
func at(start, stable, end, spso, lag int64) kafka.Partition {
	return kafka.Partition{Log: kafka.Log{Start: start, StableEnd: stable, End: end}, Position: kafka.Position{Start: spso, Lag: lag}}
}

// tell writes a plan on one line.
func tell(p Plan) string {
	var out []string
	for _, c := range p.Commands {
		out = append(out, tellCommand(c))
	}
	for _, probe := range p.Probes {
		out = append(out, fmt.Sprintf("probe %v sure %v", probe.Ask, probe.Sure))
	}
	return strings.Join(out, "; ")
}

func tellCommand(c *raftlogv1.Command) string {
	switch body := c.GetBody().(type) {
	case *raftlogv1.Command_AddLedgers:
		s := body.AddLedgers.Starts[0]
		return fmt.Sprintf("open topic %d partition %d at %d", s.TopicId[0], s.Partition, s.Start)
	case *raftlogv1.Command_SettleOffsets:
		p := body.SettleOffsets.Partitions[0]
		return fmt.Sprintf("settle topic %d void %v expired %v", p.TopicId[0], ranges(p.Void), ranges(p.Expired))
	case *raftlogv1.Command_ChangeJobState:
		return fmt.Sprintf("pause(%d) %s", body.ChangeJobState.ReasonCode, body.ChangeJobState.Reason)
	case *raftlogv1.Command_ScheduleTasks:
		task, how := body.ScheduleTasks.Assignments[0], ""
		if task.Poison {
			how = " poison"
		}
		return fmt.Sprintf("repair topic %d %v%s", task.Repair[0].TopicId[0], ranges(task.Repair[0].Ranges), how)
	case *raftlogv1.Command_ForgetVoids:
		return fmt.Sprintf("forget through %d", body.ForgetVoids.ThroughIndex)
	}
	return "nothing"
}

func TestPlan(t *testing.T) {
	crowded := book(0)
	for i := range int64(40) {
		crowded.Ranges = append(crowded.Ranges, offsets.Range{First: 10*i + 5, Last: 10*i + 9})
	}
	tests := []struct {
		name string
		l    ledger.View
		view *kafka.View
		want string
	}{
		{"all settled", book(10), view(oldTopic, at(0, 10, 10, 10, 0)), ""},
		{"still to be delivered", book(5, 8, 9), view(oldTopic, at(0, 20, 20, 5, 13)), ""},
		{"below the group's start", book(5, 8, 9), view(oldTopic, at(0, 20, 20, 12, 8)), "probe 5-7,10-11 sure 5-7,10-11"},
		{"no lag, start trails", book(5, 8, 9), view(oldTopic, at(0, 20, 20, 0, 0)), "probe 5-7,10-19 sure 5-7,10-19"},
		{"no lag, open transaction", book(5), view(oldTopic, at(0, 8, 20, 0, 0)), "probe 5-7 sure 5-7"},
		{"retention was faster", book(5), view(oldTopic, at(9, 20, 20, 5, 11)), "probe 5-8 sure 5-8"},
		{"group unknown", book(5), view(oldTopic, at(0, 20, 20, -1, -1)), ""},
		{"start beyond the log", book(5), view(oldTopic, at(0, 20, 20, 1000, -900)), "probe 5-19 sure 5-19"},
		{"crowded: only holes", crowded, view(oldTopic, at(0, 900, 900, 0, 500)), ""},
		{"new partition", ledger.View{Key: ledger.Key{TopicID: oldTopic, Partition: 9}}, view(oldTopic, at(3, 20, 20, -1, -1)), "open topic 1 partition 0 at 0"},
		{"created again", book(5, 8, 9), view(newTopic, at(0, 20, 20, -1, -1)), "open topic 2 partition 0 at 0"},
		{"broker away", book(5), &kafka.View{Err: kafka.ErrUnreachable}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Now: noon, Job: testJob(), Before: []ledger.View{tt.l}, After: []ledger.View{tt.l}, View: tt.view}
			plan := New().Plan(in)
			if tt.name == "crowded: only holes" {
				if len(plan.Probes) != 1 || plan.Probes[0].Ask.Count() != 200 || len(plan.Probes[0].Sure) != 0 {
					t.Errorf("got %s, want the 200 offsets between ranges and none of them sure", tell(plan))
				}
				return
			}
			if got := tell(plan); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A partition that settles nothing for twice the lock is probed whole, and
// what is found there does not pause: it may still be delivered.
func TestStuck(t *testing.T) {
	a := New()
	l := book(5)
	in := Input{Now: noon, Job: testJob(), After: []ledger.View{l}, View: view(oldTopic, at(0, 20, 30, 5, 25))}
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{{0, ""}, {59 * time.Second, ""}, {60 * time.Second, "probe 5-19 sure none"}, {61 * time.Second, ""}} {
		in.Now = noon.Add(tt.after)
		if got := tell(a.Plan(in)); got != tt.want {
			t.Errorf("after %v: %q, want %q", tt.after, got, tt.want)
		}
	}
	in.After[0].Loaded = 1
	if got := tell(a.Plan(in)); got != "" {
		t.Errorf("it moves again, yet: %s", got)
	}
}

// A partition is blocked when all of it holds for twice the lock time; a task
// that holds records gets the time that it may hold them.
func TestBlocked(t *testing.T) {
	polls := []*backendv1.TaskStatus{{Phase: backendv1.TaskStatus_PHASE_POLLING}}
	holds := append(polls, &backendv1.TaskStatus{Phase: backendv1.TaskStatus_PHASE_COMMITTING, HeldRecords: 1})
	commits := []*backendv1.TaskStatus{{Phase: backendv1.TaskStatus_PHASE_COMMITTING, HeldRecords: 1}}
	behind, l := at(0, 20, 20, 5, 15), book(8)
	const never = 0
	tests := []struct {
		name  string
		l     ledger.View
		p     kafka.Partition
		tasks []*backendv1.TaskStatus
		want  time.Duration
	}{
		{"window full of what is void", l, behind, polls, 60 * time.Second},
		{"a task holds records", l, behind, holds, 360 * time.Second},
		{"no task asks for any", l, behind, commits, never},
		{"no task", l, behind, nil, never},
		{"group at the settled offset", book(5), behind, polls, 360 * time.Second},
		{"group beyond the settled offset", book(4), behind, polls, never},
		{"no lag", l, at(0, 20, 20, 5, 0), polls, never},
		{"group unknown", l, at(0, 20, 20, -1, -1), polls, never},
		{"all settled but the group's word", book(20), behind, polls, never},
		{"all settled but an open transaction", l, at(0, 8, 20, 5, 15), polls, never},
		{"another topic id", ledger.View{Key: ledger.Key{TopicID: newTopic}, Settled: 8}, behind, polls, never},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := New()
			in := Input{Job: testJob(), After: []ledger.View{tt.l}, View: view(oldTopic, tt.p), Tasks: tt.tasks}
			got := time.Duration(never)
			for after := time.Duration(0); got == never && after <= 10*time.Minute; after += time.Second {
				in.Now = noon.Add(after)
				if blocked := a.Plan(in).Blocked; len(blocked) > 0 {
					got = after
				}
			}
			if got != tt.want {
				t.Errorf("blocked after %v, want %v", got, tt.want)
			}
		})
	}
}

// What a group stands still in front of, however often it is
// pinned again, is repaired, whatever the group says of it.
func TestPinnedInVain(t *testing.T) {
	in := Input{Job: testJob(), View: view(oldTopic, at(0, 20, 20, 5, 15)), After: []ledger.View{book(5)}, Tasks: []*backendv1.TaskStatus{{Phase: backendv1.TaskStatus_PHASE_POLLING}}}
	a := New()
	pins, tasks := 0, ""
	for in.Now = noon; pins <= mostInVain; in.Now = in.Now.Add(time.Second) {
		if in.Now.Sub(noon) > 24*time.Hour {
			t.Fatalf("blocked %d times in a day", pins)
		}
		if tasks = tellCommand(a.Repair(in)); tasks != "nothing" {
			t.Fatalf("after %d pins: %s", pins, tasks)
		}
		pins += len(a.Plan(in).Blocked)
	}
	if tasks = tellCommand(a.Repair(in)); tasks != "repair topic 1 5-19" {
		t.Errorf("after %d pins: %s", pins, tasks)
	}
	moved := book(6)
	moved.Loaded++
	in.After = []ledger.View{moved}
	if a.Plan(in); tellCommand(a.Repair(in)) != "nothing" {
		t.Error("it goes on, and is still repaired")
	}
}

// Whatever moves begins the time anew; what is loaded ends the back-off too.
func TestBlockedMoves(t *testing.T) {
	a := New()
	in := Input{Job: testJob(), After: []ledger.View{book(8)}, View: view(oldTopic, at(0, 20, 20, 5, 15)), Tasks: []*backendv1.TaskStatus{{Phase: backendv1.TaskStatus_PHASE_POLLING}}}
	look := func(after time.Duration) bool {
		in.Now = noon.Add(after)
		return len(a.Plan(in).Blocked) > 0
	}
	steps := []struct {
		after  time.Duration
		change func()
		want   bool
	}{
		{0, nil, false},
		{59 * time.Second, func() { in.View = view(oldTopic, at(0, 20, 20, 6, 14)) }, false},
		{118 * time.Second, nil, false},
		{119 * time.Second, nil, true},
		{200 * time.Second, nil, false}, // it did not help
		{239 * time.Second, nil, true},
		{250 * time.Second, func() { in.After[0].Loaded = 1 }, false},
		{309 * time.Second, nil, false},
		{310 * time.Second, nil, true},
	}
	for _, s := range steps {
		if s.change != nil {
			s.change()
		}
		if got := look(s.after); got != s.want {
			t.Errorf("after %v: blocked %v, want %v", s.after, got, s.want)
		}
	}
}

func TestTruncated(t *testing.T) {
	a := New()
	l := book(5, 8, 9)
	in := Input{Job: testJob(), Before: []ledger.View{l}, After: []ledger.View{l}, View: view(oldTopic, at(0, 9, 9, 5, 4))}
	steps := []struct {
		after time.Duration
		end   int64
		want  string
	}{
		{0, 9, ""},
		{9 * time.Second, 9, ""},
		{9500 * time.Millisecond, 10, ""}, // the new leader has caught up
		{11 * time.Second, 9, ""},
		{21 * time.Second, 9, "pause(105) topic 'orders', partition 0: the log ends at offset 9, but offsets up to 9 are settled"},
	}
	for _, s := range steps {
		in.Now = noon.Add(s.after)
		in.View.Partitions[0] = at(0, s.end, s.end, 5, 4)
		if got := tell(a.Plan(in)); got != s.want && (s.want == "" || !strings.HasPrefix(got, s.want)) {
			t.Errorf("after %v: %q, want %q", s.after, got, s.want)
		}
	}
}

func TestReplacedTopic(t *testing.T) {
	a := New()
	fresh := ledger.View{Key: ledger.Key{TopicID: newTopic}}
	in := Input{Now: noon, Job: testJob(), After: []ledger.View{book(5, 8, 9), fresh}, View: view(newTopic, at(0, 20, 20, 0, 20))}
	if got := tell(a.Plan(in)); got != "" {
		t.Errorf("at once: %s", got)
	}
	in.Now = noon.Add(confirmAfter)
	if got := tell(a.Plan(in)); got != "settle topic 1 void none expired 5-7" {
		t.Errorf("later: %q", got)
	}
}

func set(pairs ...int64) (out []*typesv1.OffsetRange) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, &typesv1.OffsetRange{First: pairs[i], Last: pairs[i+1]})
	}
	return out
}

func TestJudge(t *testing.T) {
	probe := Probe{Key: ledger.Key{TopicID: oldTopic}, Ask: offsets.Of(offsets.Range{First: 5, Last: 20}), Sure: offsets.Of(offsets.Range{First: 5, Last: 12}), Settled: settledSet(book(5))}
	answer := &backendv1.ProbeResponse{Void: set(0, 6), Expired: set(6, 7), Held: set(13, 20)}
	if got, want := tell(Plan{Commands: New().Judge(testJob(), probe, answer, noon)}), "settle topic 1 void 5-6 expired 7"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The number of ranges never grows by what the auditor settles.
func TestJudgeMakesNoRange(t *testing.T) {
	l := book(10, 20, 24, 30, 34)
	tests := []struct {
		name   string
		answer *backendv1.ProbeResponse
		want   string
	}{
		{"holes that are void", &backendv1.ProbeResponse{Void: set(10, 19, 25, 29)}, "settle topic 1 void 10-19,25-29 expired none"},
		{"both ways to be gone", &backendv1.ProbeResponse{Expired: set(10, 14), Void: set(15, 19)}, "settle topic 1 void 15-19 expired 10-14"},
		{"markers between records", &backendv1.ProbeResponse{Void: set(11, 11, 13, 13, 26, 28), Held: set(10, 10, 12, 12)}, ""},
		{"a hole that gets narrower", &backendv1.ProbeResponse{Void: set(10, 12, 14, 14, 16, 19, 35, 36, 38, 38)}, "settle topic 1 void 10-12,16-19,35-36 expired none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			probe := Probe{Key: l.Key, Ask: unsettled(l, 40), Sure: unsettled(l, 40), Settled: settledSet(l)}
			if got := tell(Plan{Commands: New().Judge(testJob(), probe, tt.answer, noon)}); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	fresh := Probe{Key: l.Key, Ask: unsettled(book(0), 9), Settled: settledSet(book(0))}
	if got := tell(Plan{Commands: New().Judge(testJob(), fresh, &backendv1.ProbeResponse{Void: set(0, 3)}, noon)}); got != "settle topic 1 void 0-3 expired none" {
		t.Errorf("from the log's first offset on: %q", got)
	}
}

func TestForget(t *testing.T) {
	job := testJob()
	job.Tasks = []*raftlogv1.Task{{Id: 1, Epoch: 4, BackendId: 9}, {Id: 2, Epoch: 5, BackendId: 9}, {Id: 3, Epoch: 6}}
	status := func(task, epoch, index uint64) *backendv1.TaskStatus {
		return &backendv1.TaskStatus{Task: &backendv1.TaskRef{TaskId: task, Epoch: epoch}, OpenIndex: index}
	}
	both := []*backendv1.TaskStatus{status(1, 4, 100), status(2, 5, 90)}
	remembered := []ledger.View{{Remembered: 2}}
	tests := []struct {
		name     string
		ledgers  []ledger.View
		statuses []*backendv1.TaskStatus
		want     string
	}{
		{"the least of all", remembered, both, "forget through 90"},
		{"nothing remembered", []ledger.View{{}}, both, "nothing"},
		{"a task not heard of", remembered, both[:1], "nothing"},
		{"heard at an older epoch", remembered, []*backendv1.TaskStatus{both[0], status(2, 4, 90)}, "nothing"},
		{"a task that never polled", remembered, []*backendv1.TaskStatus{both[0], status(2, 5, 0)}, "nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := New()
			if got := tellCommand(a.Forget(job, tt.ledgers, tt.statuses, noon)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if got := tellCommand(a.Forget(job, tt.ledgers, tt.statuses, noon.Add(time.Minute))); got != "nothing" && tt.want != "nothing" {
				t.Errorf("and again without need: %s", got)
			}
		})
	}
}

func TestChunk(t *testing.T) {
	if got := chunk(offsets.Of(offsets.Range{First: 0, Last: 9}, offsets.Range{First: 100, Last: 1e9}), 256, 20_000); got.Count() != 20_000 || got[1].First != 100 {
		t.Errorf("chunk = %v", got)
	}
	var many offsets.Set
	for i := range int64(1000) {
		many = append(many, offsets.Range{First: 2 * i, Last: 2 * i})
	}
	if got := chunk(many, 256, 20_000); len(got) != 256 {
		t.Errorf("%d ranges, want 256", len(got))
	}
}
