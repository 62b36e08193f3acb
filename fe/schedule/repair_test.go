package schedule_test

import (
	"testing"

	"shoal/fe/schedule"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// Repair tasks have a slot of their own on each backend with slots, take none
// from the others, and are removed when they ended or their topic is gone.
func TestMakeRepairs(t *testing.T) {
	topic := []byte("0123456789abcdef")
	repairs := func(id uint64, on uint64, others ...uint64) schedule.Job {
		j := job(id, running, int64(len(others)), 1, others...)
		j.TopicID = topic
		j.Tasks = append(j.Tasks, &raftlogv1.Task{Id: 100*id + 90, Epoch: 1, BackendId: on, Repair: []*typesv1.PartitionRanges{{TopicId: topic}}})
		return j
	}
	replaced := repairs(1, 1, 1)
	replaced.TopicID = []byte("fedcba9876543210")
	tests := []struct {
		name     string
		jobs     []schedule.Job
		backends []schedule.Backend
		ended    map[schedule.Ref]bool
		want     string
	}{
		{"a full backend has room for it", []schedule.Job{repairs(1, 0, 1)}, live(1, 1), nil, "190@b1"},
		{"it runs", []schedule.Job{repairs(1, 1, 1)}, live(1, 1), nil, ""},
		{"one on each backend", []schedule.Job{repairs(1, 0, 1), repairs(2, 2, 2), repairs(3, 0, 2)}, live(2, 1, 2), nil, "190@b1"},
		{"ended", []schedule.Job{repairs(1, 1, 1)}, live(1, 1), map[schedule.Ref]bool{{TaskID: 190, Epoch: 1}: true}, "-190"},
		{"its backend is lost", []schedule.Job{repairs(1, 2, 1)}, live(1, 1), nil, "190@b1"},
		{"its backend is lost, no other is free", []schedule.Job{repairs(1, 1, 1), repairs(2, 2, 1)}, live(2, 1), nil, "290@-"},
		{"a new leader waits for word", []schedule.Job{repairs(1, 1, 1)}, []schedule.Backend{{ID: 1, Unheard: true}}, nil, ""},
		{"drained", []schedule.Job{repairs(1, 1)}, live(0, 1), nil, "190@-"},
		{"the topic was created again", []schedule.Job{replaced}, live(1, 1), nil, "-190"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := schedule.Make(schedule.Input{Jobs: tt.jobs, Backends: tt.backends, Ended: tt.ended, MemberID: memberIDs()})
			if got := tell(plan); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
