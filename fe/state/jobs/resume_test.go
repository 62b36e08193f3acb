package jobs_test

import (
	"errors"
	"testing"

	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// TestResumesAt is Doris's back-off: at once, then 20, 40, 80, 160 and 300 s
// after the try before, and never what waits for a person.
func TestResumesAt(t *testing.T) {
	for _, tt := range []struct {
		name    string
		state   raftlogv1.JobState
		code    int32
		tries   int32
		lastMs  int64
		wantMs  int64
		forever bool
	}{
		{name: "first try", state: pausedState, code: 103, wantMs: 5_000},
		{name: "second", state: pausedState, code: 103, tries: 1, lastMs: 100_000, wantMs: 120_000},
		{name: "third", state: pausedState, code: 4, tries: 2, lastMs: 100_000, wantMs: 140_000},
		{name: "fourth", state: pausedState, code: 4, tries: 3, lastMs: 100_000, wantMs: 180_000},
		{name: "fifth", state: pausedState, code: 4, tries: 4, lastMs: 100_000, wantMs: 260_000},
		{name: "sixth", state: pausedState, code: 4, tries: 5, lastMs: 100_000, wantMs: 400_000},
		{name: "hundredth", state: pausedState, code: 4, tries: 100, lastMs: 100_000, wantMs: 400_000},
		{name: "by a user", state: pausedState, code: 100, forever: true},
		{name: "too many bad rows", state: pausedState, code: 102, forever: true},
		{name: "a person is needed", state: pausedState, code: 105, forever: true},
		{name: "without a reason", state: pausedState, forever: true},
		{name: "not paused", state: running, code: 103, forever: true},
	} {
		job := &raftlogv1.Job{State: tt.state, ReasonCode: tt.code, PausedMs: 5_000, AutoResumes: tt.tries, AutoResumedMs: tt.lastMs}
		if ms, ok := jobs.ResumesAt(job); ok == tt.forever || ms != tt.wantMs {
			t.Errorf("%s: ResumesAt = %d, %v, want %d", tt.name, ms, ok, tt.wantMs)
		}
	}
}

// TestAutomaticResumptionsAreCounted: each counts, one after ten minutes counts
// anew, a person's sets all back, and what a person has to see is not resumed.
func TestAutomaticResumptionsAreCounted(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 2)
	pause := func(code int32, atMs int64) {
		t.Helper()
		if err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: pausedState, ReasonCode: code, Reason: "why"}, atMs, f.nextID); err != nil {
			t.Fatal(err)
		}
	}
	resume := func(automatic bool, atMs int64) error {
		return f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, From: pausedState, To: needSchedule, Automatic: automatic}, atMs, f.nextID)
	}
	for i, tt := range []struct {
		automatic bool
		atMs      int64
		want      int32
	}{{true, 1_000_000, 1}, {true, 1_020_000, 2}, {true, 1_060_000, 3}, {true, 1_660_001, 1}, {false, 1_700_000, 0}, {true, 1_710_000, 1}} {
		pause(103, tt.atMs-1)
		if err := resume(tt.automatic, tt.atMs); err != nil {
			t.Fatal(err)
		}
		job := f.ByID(id)
		if job.AutoResumes != tt.want || (job.LastReason == "why") != tt.automatic || (job.AutoResumedMs == tt.atMs) != tt.automatic {
			t.Errorf("resumption %d: %d tries, at %d, last reason %q; want %d", i, job.AutoResumes, job.AutoResumedMs, job.LastReason, tt.want)
		}
	}
	for _, code := range []int32{100, 102, 105} {
		pause(code, 2_000_000)
		held := f.ByID(id)
		if err := resume(true, 3_000_000); !errors.Is(err, jobs.ErrNotAutomatic) || f.ByID(id) != held {
			t.Errorf("automatic resumption from code %d = %v, want ErrNotAutomatic and no change", code, err)
		}
		if err := resume(false, 3_000_000); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPauseOfWhatWouldBeResumed: a user's PAUSE of a job that is paused until it
// can go on by itself makes it stay; other jobs that are paused refuse it.
func TestPauseOfWhatWouldBeResumed(t *testing.T) {
	f := newFixture()
	id := f.create(t, "j", 1)
	for _, tt := range []struct {
		had, code int32
		taken     bool
	}{{103, 100, true}, {4, 100, true}, {103, 105, false}, {100, 100, false}, {102, 100, false}, {105, 100, false}} {
		if err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: pausedState, ReasonCode: tt.had, Reason: "why"}, 1000, f.nextID); err != nil {
			t.Fatal(err)
		}
		err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: pausedState, ReasonCode: tt.code, Reason: "u"}, 2000, f.nextID)
		var refused jobs.TransitionError
		if tt.taken != (err == nil) || !tt.taken && !errors.As(err, &refused) {
			t.Errorf("code %d, paused with %d = %v", tt.had, tt.code, err)
		}
		if job := f.ByID(id); tt.taken != (job.ReasonCode == 100 && job.Reason == "u" && job.PausedMs == 2000) && tt.had != 100 {
			t.Errorf("code %d, paused with %d: code %d, %q at %d", tt.had, tt.code, job.ReasonCode, job.Reason, job.PausedMs)
		}
		if err := f.ChangeState(&raftlogv1.ChangeJobState{JobId: id, To: needSchedule}, 3000, f.nextID); err != nil {
			t.Fatal(err)
		}
	}
}
