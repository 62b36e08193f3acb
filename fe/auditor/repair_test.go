package auditor

import (
	"testing"
	"time"

	"shoal/fe/kafka"
	"shoal/fe/state/ledger"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// Records that the group has given up are repaired once they have been known for
// a while, all that it will not deliver at once, and one task at a time.
func TestRepair(t *testing.T) {
	l := book(5, 8, 9)
	p := at(0, 20, 20, 13, 7) // the group is at 13
	in := Input{Job: testJob(), After: []ledger.View{l}, View: view(oldTopic, p)}
	probe := Probe{Key: l.Key, Ask: Lost(l, p), Sure: Lost(l, p), Settled: settledSet(l)}
	held := &backendv1.ProbeResponse{Held: set(5, 5)}
	repairing := testJob()
	repairing.Tasks = []*raftlogv1.Task{{Id: 1, Repair: []*typesv1.PartitionRanges{{}}}}
	waiting := testJob()
	waiting.State = raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE
	a := New()
	for _, s := range []struct {
		after  time.Duration
		answer *backendv1.ProbeResponse
		job    *raftlogv1.Job
		want   string
	}{
		{0, &backendv1.ProbeResponse{Held: set(13, 20)}, testJob(), "nothing"}, // the group still has them
		{0, held, testJob(), "nothing"},
		{5 * time.Second, &backendv1.ProbeResponse{}, testJob(), "nothing"}, // settled meanwhile
		{10 * time.Second, held, testJob(), "nothing"},
		{19 * time.Second, held, testJob(), "nothing"},
		{20 * time.Second, held, waiting, "nothing"},
		{20 * time.Second, held, repairing, "nothing"},
		{20 * time.Second, held, testJob(), "repair topic 1 5-7,10-12"},
		{21 * time.Second, held, testJob(), "repair topic 1 5-7,10-12"}, // the task is over, and they are not settled
	} {
		in.Now, in.Job = noon.Add(s.after), s.job
		a.Judge(in.Job, probe, s.answer, in.Now)
		if got := tellCommand(a.Repair(in)); got != s.want {
			t.Errorf("after %v: %s, want %s", s.after, got, s.want)
		}
	}
	suspected := testJob()
	suspected.State, suspected.Suspects = raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE, []*typesv1.PartitionRanges{{TopicId: oldTopic[:], Ranges: set(5, 5)}}
	in.Job = suspected
	if got := tellCommand(a.Repair(in)); got != "repair topic 1 5" {
		t.Errorf("of a job that was resumed while it was isolated: %s", got)
	}
	in.View = view(newTopic, p)
	if got := tellCommand(a.Repair(in)); got != "nothing" {
		t.Errorf("of a topic that is gone: %s", got)
	}
}

// A task gets so much at most, over all partitions.
func TestRepairIsBounded(t *testing.T) {
	a, in := New(), Input{Now: noon, Job: testJob(), View: &kafka.View{Topic: kafka.Topic{ID: oldTopic}, Partitions: map[int32]kafka.Partition{}}}
	for id := range int32(3) {
		key := ledger.Key{TopicID: oldTopic, Partition: id}
		in.After = append(in.After, ledger.View{Key: key})
		in.View.Partitions[id] = at(0, 150_000, 150_000, 150_000, 0)
		a.lost[key] = noon.Add(-time.Hour)
	}
	repair := a.Repair(in).GetScheduleTasks().Assignments[0].Repair
	var count int64
	for _, r := range repair {
		count += ranges(r.Ranges).Count()
	}
	if count != maxRepairOffsets || len(repair) != 2 {
		t.Errorf("%d offsets of %d partitions, want %d of 2", count, len(repair), maxRepairOffsets)
	}
}

// The leader makes one task for records that somebody moved the group past. What
// it saw before a pause does not count after it: RESUME pins the group anew.
func TestAuditorRepairs(t *testing.T) {
	audited(t, 10, func(t *testing.T, b *bench) {
		change := func(to raftlogv1.JobState) {
			b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{JobId: b.jobID, To: to}}})
		}
		run := func() {
			b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{
				JobId: b.jobID, Assignments: []*raftlogv1.TaskAssignment{{}}}}})
		}
		repairs := func() (all []*typesv1.PartitionRanges) {
			job, _ := b.job()
			for _, task := range job.Tasks {
				all = append(all, task.Repair...)
			}
			return all
		}
		run()
		b.pin(6)
		time.Sleep(repairAfter * 3 / 4)
		change(raftlogv1.JobState_JOB_STATE_PAUSED)
		time.Sleep(2 * repairAfter)
		change(raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
		run()
		time.Sleep(repairAfter / 2)
		if got := repairs(); len(got) > 0 {
			t.Fatalf("repaired at once: %v", got)
		}
		time.Sleep(2 * repairAfter)
		if got := repairs(); len(got) != 1 || ranges(got[0].Ranges).String() != "0-5" {
			t.Errorf("repairs %v, want 0-5", got)
		}
	})
}
