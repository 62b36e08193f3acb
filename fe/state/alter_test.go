package state_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/catalog"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// altered is the job's definition with a change.
func altered(c *cluster, change func(*typesv1.RoutineLoad)) *typesv1.RoutineLoad {
	load := proto.Clone(c.JobByID(c.job).Load).(*typesv1.RoutineLoad)
	change(load)
	return load
}

// TestAlterKeepsThePlace: without starts the ledgers go on, whatever else
// changes, the mode too.
func TestAlterKeepsThePlace(t *testing.T) {
	c := newCluster(t)
	c.commit(c.txn(0, 1, [2]int64{0, 9}, [2]int64{20, 29}))
	c.changeJob(raftlogv1.JobState_JOB_STATE_PAUSED)
	before := c.Ledgers(c.job)[0]
	c.do(alterJob(&raftlogv1.AlterRoutineLoad{JobId: c.job, Load: altered(c, func(l *typesv1.RoutineLoad) { l.Mode = typesv1.RoutineLoad_MODE_CLASSIC })}))
	if l := c.Ledgers(c.job)[0]; l.Settled != before.Settled || l.Ranges.String() != before.Ranges.String() || l.Loaded != 20 {
		t.Errorf("ledger = %+v, was %+v", l, before)
	}
	if a := c.commit(c.txn(1, 1, [2]int64{10, 19})); a.Outcome != fenced {
		t.Errorf("a commit of before ALTER: %v", a)
	}
	c.changeJob(raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
	c.schedule(1)
	if a := c.commit(c.txn(2, 1, [2]int64{10, 24})); a.Outcome != conflict {
		t.Errorf("what the former mode loaded comes again: %v, want CONFLICT", a)
	}
	if a := c.commit(c.txn(2, 2, [2]int64{10, 19})); a.Outcome != committed || c.Ledgers(c.job)[0].Settled != 30 {
		t.Errorf("what it had left out: %v, ledger %+v", a, c.Ledgers(c.job)[0])
	}
}

// TestAlterOfOffsetsBeginsAGeneration: the partitions named start anew, to be
// loaded again; what ran for the former generation is fenced.
func TestAlterOfOffsetsBeginsAGeneration(t *testing.T) {
	c := newCluster(t)
	c.commit(c.txn(0, 1, [2]int64{0, 9}))
	c.changeJob(raftlogv1.JobState_JOB_STATE_PAUSED)
	load := altered(c, func(*typesv1.RoutineLoad) {})
	c.do(alterJob(&raftlogv1.AlterRoutineLoad{JobId: c.job, Load: load, Starts: []*raftlogv1.LedgerStart{{TopicId: topic, Partition: 0, Start: 5}}}))
	c.changeJob(raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
	c.schedule(1)
	views := c.Ledgers(c.job)
	if len(views) != 2 || views[0].Settled != 5 || views[0].Generation != 2 || views[0].Loaded != 0 || views[1].Generation != 1 {
		t.Fatalf("ledgers = %+v", views)
	}
	if a := c.commit(c.txn(2, 1, [2]int64{5, 14})); a.Outcome != fenced {
		t.Errorf("a commit for generation 1: %v", a)
	}
	req := c.txn(2, 2, [2]int64{5, 14})
	req.Generation = 2
	if a := c.commit(req); a.Outcome != committed {
		t.Errorf("loaded again: %v", a)
	}
	c.changeJob(raftlogv1.JobState_JOB_STATE_PAUSED)
	other := []byte("fedcba9876543210")
	c.do(alterJob(&raftlogv1.AlterRoutineLoad{JobId: c.job, ReplaceLedgers: true, Starts: []*raftlogv1.LedgerStart{{TopicId: other, Partition: 3, Start: 7}},
		Load: altered(c, func(l *typesv1.RoutineLoad) { l.Topic = "invoices" })}))
	if views := c.Ledgers(c.job); len(views) != 1 || views[0].Partition != 3 || string(views[0].TopicID[:]) != string(other) || views[0].Settled != 7 {
		t.Errorf("ledgers for another topic = %+v", views)
	}
}

func TestAlterThatIsRefused(t *testing.T) {
	c := newCluster(t)
	other := c.do(createTable(c.do(createDatabase("other")).ID, "t")).ID
	load := altered(c, func(*typesv1.RoutineLoad) {})
	running := &raftlogv1.AlterRoutineLoad{JobId: c.job, Load: load}
	if err := c.try(alterJob(running)).Err; !errors.Is(err, jobs.ErrNotPaused) {
		t.Errorf("of a running job = %v, want ErrNotPaused", err)
	}
	c.changeJob(raftlogv1.JobState_JOB_STATE_PAUSED)
	for name, tt := range map[string]struct {
		c    *raftlogv1.AlterRoutineLoad
		want error
	}{
		"no job":           {&raftlogv1.AlterRoutineLoad{JobId: 99, Load: load}, jobs.ErrNoJob},
		"no definition":    {&raftlogv1.AlterRoutineLoad{JobId: c.job}, jobs.ErrIncomplete},
		"no table":         {&raftlogv1.AlterRoutineLoad{JobId: c.job, Load: load, TableId: 99}, catalog.ErrNoTable},
		"another database": {&raftlogv1.AlterRoutineLoad{JobId: c.job, Load: load, TableId: other}, catalog.ErrNoTable},
		"one table for a multi-table job": {&raftlogv1.AlterRoutineLoad{JobId: c.job,
			Load: altered(c, func(l *typesv1.RoutineLoad) { l.MultiTable = true })}, catalog.ErrNoTable},
		"bad start": {&raftlogv1.AlterRoutineLoad{JobId: c.job, Load: load, Starts: []*raftlogv1.LedgerStart{{TopicId: topic, Start: -1}}}, ledger.ErrMalformed},
	} {
		held := c.JobByID(c.job)
		if err := c.try(alterJob(tt.c)).Err; !errors.Is(err, tt.want) || c.JobByID(c.job) != held {
			t.Errorf("%s: %v, want %v and no change", name, err, tt.want)
		}
	}
}
