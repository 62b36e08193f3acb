package schedule_test

import (
	"slices"
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
		{"its backend is lost, and it was not seen to run", []schedule.Job{repairs(1, 2, 1)}, live(1, 1), nil, "190@b1"},
		{"a new leader waits for word", []schedule.Job{repairs(1, 1, 1)}, []schedule.Backend{{ID: 1, Unheard: true}}, nil, ""},
		{"its backend is to be avoided", []schedule.Job{repairs(1, 1, 2)}, []schedule.Backend{{ID: 1, Slots: 1, Avoid: true}, {ID: 2, Slots: 1}}, nil, "~190"},
		{"not on one that is to be avoided", []schedule.Job{repairs(1, 0, 2)}, []schedule.Backend{{ID: 1, Slots: 1, Avoid: true}, {ID: 2, Slots: 1}}, nil, "190@b2"},
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

// A repair task whose backend is lost, or was started anew, is removed, and the
// state is told. So it is of loaders that are placed again, and in classic mode
// nothing else reads until the suspects are settled.
func TestMakeLost(t *testing.T) {
	topic := []byte("0123456789abcdef")
	suspects := []*typesv1.PartitionRanges{{TopicId: topic}}
	lossy := func(mode typesv1.RoutineLoad_Mode, repairs bool, suspects []*typesv1.PartitionRanges) schedule.Job {
		j := job(1, running, 2, 2, 1, 2)
		j.Load.Mode, j.TopicID, j.Suspects = mode, topic, suspects
		for i, task := range j.Tasks {
			task.TopicId, task.Partitions = topic, []int32{int32(i)}
		}
		if repairs {
			j.Tasks = append(j.Tasks, &raftlogv1.Task{Id: 190, Epoch: 1, BackendId: 1, Repair: []*typesv1.PartitionRanges{{TopicId: topic}}})
		}
		return j
	}
	const share, classic = typesv1.RoutineLoad_MODE_SHARE_GROUP, typesv1.RoutineLoad_MODE_CLASSIC
	anew := map[schedule.Ref]bool{{TaskID: 190, Epoch: 1}: true}
	ran := map[schedule.Ref]bool{{TaskID: 102, Epoch: 1}: true, {TaskID: 190, Epoch: 1}: true}
	tests := []struct {
		name     string
		job      schedule.Job
		backends []schedule.Backend
		anew     map[schedule.Ref]bool
		want     string
		lost     []uint64
	}{
		{"a loader", lossy(share, false, nil), live(2, 1), nil, "102@b1 leave m2", []uint64{102}},
		{"a repair task, started anew", lossy(share, true, nil), live(2, 1, 2), anew, "-190", []uint64{190}},
		{"a classic loader", lossy(classic, false, nil), live(2, 1), nil, "102@b1", []uint64{102}},
		{"a repair task that ran", lossy(share, true, nil), live(2, 2), nil, "101@b2 -190 leave m1", []uint64{190}},
		{"a classic job waits for its repair task", lossy(classic, true, nil), live(2, 1, 2), nil, "101@- 102@-", nil},
		{"for the next one", lossy(classic, false, suspects), live(2, 1, 2), nil, "101@- 102@-", nil},
		{"and not of another topic", lossy(classic, false, []*typesv1.PartitionRanges{{}}), live(2, 1, 2), nil, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := schedule.Make(schedule.Input{NowMs: 1e9, Jobs: []schedule.Job{tt.job}, Backends: tt.backends, Ended: tt.anew, Lost: tt.anew, Ran: ran, MemberID: memberIDs()})
			var lost []uint64
			for _, c := range plan.Commands {
				lost = append(lost, c.GetScheduleTasks().LostTaskIds...)
			}
			if got := tell(plan); got != tt.want || !slices.Equal(lost, tt.lost) {
				t.Errorf("got  %s, lost %v\nwant %s, lost %v", got, lost, tt.want, tt.lost)
			}
		})
	}
}
