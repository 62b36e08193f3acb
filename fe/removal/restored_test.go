package removal

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"

	"shoal/fe/state"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// restored is the state as a new incarnation has it that begins with this one: a
// snapshot in which incarnation and counter are raised.
func restored(t *testing.T, st *state.State) *state.State {
	t.Helper()
	var before, after bytes.Buffer
	var header raftlogv1.SnapshotHeader
	if err := errors.Join(st.WriteSnapshot(&before), protodelim.UnmarshalFrom(&before, &header)); err != nil {
		t.Fatal(err)
	}
	protodelim.MarshalTo(&after, &header)
	for {
		var record raftlogv1.SnapshotRecord
		err := protodelim.UnmarshalFrom(&before, &record)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c := record.GetCluster(); c != nil {
			c.Incarnation, c.LastId = c.Incarnation+1, c.LastId+1_000_000
		}
		protodelim.MarshalTo(&after, &record)
	}
	out, err := state.ReadSnapshot(&after)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What was committed after the snapshot that a cluster was restored from is
// needed by nobody, once the epochs are raised; the other way round, the old
// incarnation knows nothing of the new one.
func TestJudgeOfRestoredCluster(t *testing.T) {
	m := newModel(t)
	table := m.createTable(t)
	job := m.createJob(t, table)
	m.schedule(job, 1)
	load := func(number uint64) string {
		t.Helper()
		req := m.txn(m.JobByID(job), m.JobByID(job).Tasks[0], number, -1)
		if a := m.commit(req); a.Outcome != frontendv1.Outcome_OUTCOME_COMMITTED {
			t.Fatal(a)
		}
		return req.Rowset.Path
	}
	early := load(1)
	saved := restored(t, m.State)
	late := load(2)
	m.schedule(job, 0)
	later := load(1)

	old := m.State
	m.State = saved
	for _, tt := range []struct {
		epochs string
		want   [3]Verdict
	}{
		// Whoever asks with the epoch of the snapshot could commit it. That of the later
		// one is of a task that the snapshot knows, and never was its.
		{"not raised yet", [3]Verdict{Needed, Open, Unneeded}},
		{"raised", [3]Verdict{Needed, Unneeded, Unneeded}},
	} {
		got := Judge(m.State, []string{early, late, later})
		if [3]Verdict(got) != tt.want {
			t.Errorf("epochs are %s: %v, want %v", tt.epochs, got, tt.want)
		}
		m.schedule(job, 0)
	}
	newest := load(1)
	if got := Judge(m.State, []string{newest}); got[0] != Needed {
		t.Errorf("of the new incarnation: %v", got)
	}
	if got := Judge(old, []string{early, late, later, newest}); got[0] != Needed || got[1] != Needed || got[2] != Needed || got[3] != Ahead {
		t.Errorf("by the old incarnation: %v", got)
	}
}
