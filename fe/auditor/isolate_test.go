package auditor

import (
	"strings"
	"testing"

	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

func suspect(losses uint32, list ...*typesv1.OffsetRange) *raftlogv1.Job {
	job := testJob()
	job.Suspects, job.SuspectLosses = []*typesv1.PartitionRanges{{TopicId: oldTopic[:], Ranges: list}}, losses
	return job
}

// Suspects are read in parts, the lowest first, without what is settled by now. A
// single offset is tried again some times, then loaded as it is, and at last it
// pauses the job.
func TestIsolate(t *testing.T) {
	in := Input{Now: noon, View: view(oldTopic, at(0, 90, 90, 90, 0)), After: []ledger.View{book(5, 8, 9)}}
	for _, tt := range []struct {
		name string
		job  *raftlogv1.Job
		want string
	}{
		{"an eighth of all", suspect(1, set(0, 79)...), "repair topic 1 5-7,10-16"},
		{"one of few", suspect(1, set(6, 7)...), "repair topic 1 6"},
		{"alone", suspect(1, set(7, 7)...), "repair topic 1 7"},
		{"again", suspect(2, set(7, 7)...), "repair topic 1 7"},
		{"as it is", suspect(3, set(7, 7)...), "repair topic 1 7 poison"},
		{"as it is, again", suspect(5, set(7, 7)...), "repair topic 1 7 poison"},
		{"never", suspect(6, set(7, 7)...), "pause"},
		{"settled", suspect(6, set(8, 8)...), "nothing"},
	} {
		in.Job = tt.job
		if got := tellCommand(New().Repair(in)); !strings.HasPrefix(got, tt.want) || tt.want != "pause" && got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Readers of a classic job that are lost one after the other at one offset are
// relieved by a repair task, if there is anything to read.
func TestRepairOfClassic(t *testing.T) {
	job := testJob()
	job.Load.Mode = typesv1.RoutineLoad_MODE_CLASSIC
	in := Input{Now: noon, Job: job, View: view(oldTopic, at(0, 90, 99, -1, 0))}
	for _, tt := range []struct {
		settled int64
		losses  int
		want    string
	}{{5, 2, "nothing"}, {5, 3, "repair topic 1 5-89"}, {90, 3, "nothing"}} {
		l := book(tt.settled)
		l.Losses = tt.losses
		in.After = []ledger.View{l}
		if got := tellCommand(New().Repair(in)); got != tt.want {
			t.Errorf("%d losses at %d: %s, want %s", tt.losses, tt.settled, got, tt.want)
		}
	}
}
