package jobs_test

import (
	"errors"
	"testing"

	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

func TestDeadLettersDelivered(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 1)
	before := f.ByID(id)
	for _, tt := range []struct {
		name      string
		command   *raftlogv1.DeadLettersDelivered
		want      error
		through   uint64
		delivered int64
	}{
		{"first", &raftlogv1.DeadLettersDelivered{JobId: id, ThroughTxn: 7, Delivered: 3}, nil, 7, 3},
		{"none with a message", &raftlogv1.DeadLettersDelivered{JobId: id, ThroughTxn: 9}, nil, 9, 3},
		{"the same again", &raftlogv1.DeadLettersDelivered{JobId: id, ThroughTxn: 9, Delivered: 3}, jobs.ErrMovedOn, 9, 3},
		{"an older one", &raftlogv1.DeadLettersDelivered{JobId: id, ThroughTxn: 7, Delivered: 3}, jobs.ErrMovedOn, 9, 3},
		{"no such job", &raftlogv1.DeadLettersDelivered{JobId: id + 1, ThroughTxn: 10, Delivered: 3}, jobs.ErrNoJob, 9, 3},
		{"next", &raftlogv1.DeadLettersDelivered{JobId: id, ThroughTxn: 10, Delivered: 2}, nil, 10, 5},
	} {
		if err := f.DeadLettersDelivered(tt.command); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if job := f.ByID(id); job.DeadLettersThrough != tt.through || job.DeadLetters != tt.delivered {
			t.Errorf("%s: %d delivered through %d, want %d through %d", tt.name, job.DeadLetters, job.DeadLettersThrough, tt.delivered, tt.through)
		}
	}
	if before.DeadLetters != 0 || before.DeadLettersThrough != 0 {
		t.Error("a job that a reader got has changed")
	}
}

func TestDueDeadLetters(t *testing.T) {
	var all []*raftlogv1.ErrorRowset
	for _, txn := range []uint64{3, 5, 5, 8} {
		all = append(all, &raftlogv1.ErrorRowset{TxnId: txn})
	}
	for _, tt := range []struct {
		topic   string
		through uint64
		want    int
	}{{"dead", 0, 4}, {"dead", 3, 3}, {"dead", 4, 3}, {"dead", 5, 1}, {"dead", 8, 0}, {"", 0, 0}} {
		job := &raftlogv1.Job{Load: &typesv1.RoutineLoad{DeadLetterTopic: tt.topic}, DeadLettersThrough: tt.through}
		if due := jobs.DueDeadLetters(job, all); len(due) != tt.want {
			t.Errorf("topic %q through %d: %d are due, want %d", tt.topic, tt.through, len(due), tt.want)
		}
	}
}
