package jobs_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/jobs"
	frontendv1 "shoal/proto/frontend/v1"
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

// TestErrorRowsetsAreLimited: a job keeps the latest, and all that its dead
// letter topic does not have yet. What readers have does not change.
func TestErrorRowsetsAreLimited(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 1)
	task := f.ByID(id).Tasks[0]
	commit := func(from, to uint64) {
		for n := from; n <= to; n++ {
			req := &frontendv1.CommitTxnRequest{JobId: id, TaskId: task.Id, Epoch: task.Epoch, Number: n, ErrorRowset: &typesv1.Rowset{Path: "p", Rows: 1}}
			f.Committed(req, &frontendv1.CommitTxnResponse{TxnId: n}, n)
		}
	}
	kept := func() (n int, oldest uint64) {
		all := f.ErrorRowsets(id)
		return len(all), all[0].TxnId
	}
	commit(1, jobs.MaxErrorRowsets)
	had := f.ErrorRowsets(id)
	commit(jobs.MaxErrorRowsets+1, jobs.MaxErrorRowsets+10)
	if n, oldest := kept(); n != jobs.MaxErrorRowsets || oldest != 11 {
		t.Errorf("%d are kept, the oldest of txn %d", n, oldest)
	}
	if len(had) != jobs.MaxErrorRowsets || had[0].TxnId != 1 || had[len(had)-1].TxnId != jobs.MaxErrorRowsets {
		t.Errorf("a reader's slice has changed: %d, from txn %d", len(had), had[0].TxnId)
	}

	if err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: pausedState, ReasonCode: 100}, 1, f.nextID); err != nil {
		t.Fatal(err)
	}
	load := proto.CloneOf(f.ByID(id).Load)
	load.DeadLetterTopic = "dead"
	if _, err := f.Alter(&raftlogv1.AlterRoutineLoad{JobId: id, Load: load}, "t", f.nextID); err != nil {
		t.Fatal(err)
	}
	commit(jobs.MaxErrorRowsets+11, jobs.MaxErrorRowsets+20)
	if n, oldest := kept(); n != jobs.MaxErrorRowsets+10 || oldest != 11 {
		t.Errorf("with dead letters that wait %d are kept, the oldest of txn %d", n, oldest)
	}
	if err := f.DeadLettersDelivered(&raftlogv1.DeadLettersDelivered{JobId: id, ThroughTxn: 15}); err != nil {
		t.Fatal(err)
	}
	commit(jobs.MaxErrorRowsets+21, jobs.MaxErrorRowsets+21)
	if n, oldest := kept(); n != jobs.MaxErrorRowsets+6 || oldest != 16 {
		t.Errorf("with fewer that wait %d are kept, the oldest of txn %d", n, oldest)
	}
}
