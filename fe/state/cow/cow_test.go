package cow_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"

	"shoal/fe/state/cow"
)

func TestCopySharesWhatIsInside(t *testing.T) {
	job := &raftlogv1.Job{
		Id:    7,
		Load:  &typesv1.RoutineLoad{Topic: "t", JobProperties: map[string]string{"a": "b"}},
		Tasks: []*raftlogv1.Task{{Id: 1, LastDigest: []byte{1}}, {Id: 2}},
	}
	job.ProtoReflect().SetUnknown([]byte{0xf8, 0x3f, 0x01}) // written by a newer release
	before := proto.Clone(job)

	c := cow.Copy(job)
	if !proto.Equal(c, job) {
		t.Errorf("Copy = %v, want %v", c, job)
	}
	if c == job || c.Load != job.Load || c.Tasks[0] != job.Tasks[0] {
		t.Error("Copy is not one new message that shares what is inside")
	}
	c.Id = 8
	c.Tasks = slices.Clone(c.Tasks)
	c.Tasks[0] = &raftlogv1.Task{Id: 9}
	if !proto.Equal(job, before) {
		t.Errorf("changing the copy changed the original to %v", job)
	}
}

func BenchmarkCopyJob(b *testing.B) {
	job := &raftlogv1.Job{Id: 7, Name: "j", DatabaseId: 1, TableId: 2, Load: &typesv1.RoutineLoad{Topic: "t"},
		State: raftlogv1.JobState_JOB_STATE_RUNNING, Started: true, Generation: 1, Counters: &typesv1.Counters{},
		CreatedMs: 1, CommittedTxns: 5, WindowRows: 6, User: "root", Tasks: make([]*raftlogv1.Task, 8)}
	for b.Loop() {
		cow.Copy(job)
	}
}
