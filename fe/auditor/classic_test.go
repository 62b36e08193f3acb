package auditor

import (
	"strings"
	"testing"
	"time"

	"shoal/fe/kafka"
	"shoal/fe/state/ledger"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

func classicJob() *raftlogv1.Job {
	job := testJob()
	job.Load.Mode = typesv1.RoutineLoad_MODE_CLASSIC
	job.Tasks = []*raftlogv1.Task{{Id: 1, Epoch: 5, BackendId: 9}}
	return job
}

// TestClassicPlan: a classic job's holes are nobody's to look into, and a group
// of no concern.
func TestClassicPlan(t *testing.T) {
	for _, tt := range []struct {
		name string
		l    ledger.View
		view *kafka.View
		pins []int32
		want string
	}{
		{"behind", book(5), view(oldTopic, at(0, 20, 20, -1, -1)), nil, ""},
		{"holes that share mode left", book(5, 8, 9), view(oldTopic, at(0, 20, 20, -1, -1)), nil, ""},
		{"retention was faster: the task will say so", book(5), view(oldTopic, at(9, 20, 20, -1, -1)), nil, ""},
		{"new partition", ledger.View{Key: ledger.Key{TopicID: oldTopic, Partition: 9}}, view(oldTopic, at(3, 20, 20, -1, -1)), nil, "open topic 1 partition 0 at 0"},
		{"new partition that is not the job's", ledger.View{Key: ledger.Key{TopicID: oldTopic, Partition: 9}}, view(oldTopic, at(3, 20, 20, -1, -1)), []int32{9}, ""},
		{"created again", book(5), view(newTopic, at(0, 20, 20, -1, -1)), nil, "open topic 2 partition 0 at 0"},
		{"broker away", book(5), &kafka.View{Err: kafka.ErrUnreachable}, nil, ""},
	} {
		job := classicJob()
		job.Load.KafkaPartitions = tt.pins
		a := New()
		for _, at := range []time.Time{noon, noon.Add(time.Hour)} { // nothing comes of standing still
			plan := a.Plan(Input{Now: at, Job: job, Before: []ledger.View{tt.l}, After: []ledger.View{tt.l}, View: tt.view,
				Tasks: []*backendv1.TaskStatus{{Task: &backendv1.TaskRef{TaskId: 1, Epoch: 5}, Phase: backendv1.TaskStatus_PHASE_POLLING}}})
			if got := tell(plan); got != tt.want || len(plan.Blocked) > 0 {
				t.Errorf("%s: got %s and blocked %v, want %s", tt.name, got, plan.Blocked, tt.want)
			}
		}
	}
}

func TestOutOfRange(t *testing.T) {
	const trouble = "topic orders, partition 0: lost 10..49 (40): deleted before they were read, the log starts at 50"
	status := func(epoch uint64, kind backendv1.TroubleKind, held int64) *backendv1.TaskStatus {
		return &backendv1.TaskStatus{Task: &backendv1.TaskRef{TaskId: 1, Epoch: epoch}, Trouble: trouble, TroubleKind: kind, HeldRecords: held}
	}
	const out = backendv1.TroubleKind_TROUBLE_KIND_OUT_OF_RANGE
	for name, tt := range map[string]struct {
		status *backendv1.TaskStatus
		pauses bool
	}{
		"it says so":                 {status(5, out, 0), true},
		"with records yet to commit": {status(5, out, 3), false},
		"at an older epoch":          {status(4, out, 0), false},
		"another trouble":            {status(5, backendv1.TroubleKind_TROUBLE_KIND_BROKER, 0), false},
	} {
		in := Input{Now: noon, Job: classicJob(), After: []ledger.View{book(10)}, View: view(oldTopic, at(50, 90, 90, -1, -1)), Tasks: []*backendv1.TaskStatus{tt.status}}
		got := tell(New().Plan(in))
		if !tt.pauses && got != "" || tt.pauses && !strings.HasPrefix(got, "pause(105) "+trouble+". ALTER ROUTINE LOAD") {
			t.Errorf("%s: %s", name, got)
		}
		in.Job.Load.Mode = typesv1.RoutineLoad_MODE_SHARE_GROUP
		if got := tell(New().Plan(in)); strings.Contains(got, "pause") {
			t.Errorf("%s, in share mode: %s", name, got)
		}
	}
}

// TestBeginsBeyondTheLog: a start that the log does not reach is told as what it
// is.
func TestBeginsBeyondTheLog(t *testing.T) {
	l := book(100)
	l.Start = 100
	a, in := New(), Input{Now: noon, Job: classicJob(), Before: []ledger.View{l}, After: []ledger.View{l}, View: view(oldTopic, at(0, 2, 2, -1, -1))}
	if got := tell(a.Plan(in)); got != "" {
		t.Errorf("at first sight: %s", got)
	}
	in.Now = noon.Add(confirmAfter)
	want := "pause(105) topic 'orders', partition 0: the job begins at offset 100, but the log begins at 0 and ends at 2"
	if got := tell(a.Plan(in)); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
