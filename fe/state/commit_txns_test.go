package state_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/catalog"
	"shoal/fe/state/ledger"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A commitRule is a case of the rules of a commit: prepare brings the cluster
// into a state, ask is the txn that is judged.
type commitRule struct {
	name    string
	prepare func(c *cluster)
	ask     func(c *cluster) *frontendv1.CommitTxnRequest
	outcome frontendv1.Outcome
	reason  string
	// last tells whether ask is then the last txn of its task.
	last bool
}

var commitRules = []commitRule{
	{name: "new txn", ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{0, 9}) }, outcome: committed, last: true},
	{name: "same number, same digest", prepare: func(c *cluster) { c.commit(c.txn(0, 1, [2]int64{0, 9})) },
		ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{0, 9}) }, outcome: committed, last: true},
	{name: "same number, other digest", prepare: func(c *cluster) { c.commit(c.txn(0, 1, [2]int64{0, 9})) },
		ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{10, 19}) }, outcome: superseded,
		reason: "number 1", last: true},
	{name: "lower number", prepare: func(c *cluster) { c.commit(c.txn(0, 5, [2]int64{0, 9})) },
		ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 4, [2]int64{10, 19}) }, outcome: superseded, reason: "number 5"},
	{name: "lost answer, job paused meanwhile", prepare: func(c *cluster) {
		c.commit(c.txn(0, 1, [2]int64{0, 9}))
		c.changeJob(raftlogv1.JobState_JOB_STATE_PAUSED)
	}, ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{0, 9}) }, outcome: committed, last: true},
	{name: "lost answer, task placed anew meanwhile", prepare: func(c *cluster) {
		c.commit(c.txn(0, 1, [2]int64{0, 9}))
		c.changeJob(raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
	}, ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{0, 9}) }, outcome: committed, last: true},
	{name: "old epoch", prepare: func(c *cluster) {
		c.changeJob(raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
	}, ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{0, 9}) }, outcome: fenced, reason: "at epoch"},
	{name: "epoch that was not given yet", ask: func(c *cluster) *frontendv1.CommitTxnRequest {
		req := c.txn(0, 1, [2]int64{0, 9})
		req.Epoch += 1000
		return req
	}, outcome: fenced, reason: "at epoch"},
	{name: "nothing at all", ask: func(c *cluster) *frontendv1.CommitTxnRequest {
		return &frontendv1.CommitTxnRequest{}
	}, outcome: fenced, reason: "does not exist"},
	{name: "only a task", ask: func(c *cluster) *frontendv1.CommitTxnRequest {
		return &frontendv1.CommitTxnRequest{JobId: c.job, TaskId: c.tasks[0].Id}
	}, outcome: superseded, last: true}, // it equals the zero of a task without txns
	{name: "job paused", prepare: func(c *cluster) { c.changeJob(raftlogv1.JobState_JOB_STATE_PAUSED) },
		ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{0, 9}) }, outcome: aborted, reason: "job j is PAUSED", last: true},
	{name: "job stopped", prepare: func(c *cluster) { c.changeJob(raftlogv1.JobState_JOB_STATE_STOPPED) },
		ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{0, 9}) }, outcome: fenced, reason: "does not exist"},
	{name: "table dropped", prepare: func(c *cluster) {
		c.do(&raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: c.table}}})
	}, ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{0, 9}) }, outcome: aborted, reason: "was dropped", last: true},
	{name: "other table", ask: func(c *cluster) *frontendv1.CommitTxnRequest {
		req := c.txn(0, 1, [2]int64{0, 9})
		req.TableId++
		return req
	}, outcome: aborted, reason: "loads into table", last: true},
	{name: "unknown schema version", ask: func(c *cluster) *frontendv1.CommitTxnRequest {
		req := c.txn(0, 1, [2]int64{0, 9})
		req.SchemaVersion = 2
		return req
	}, outcome: aborted, reason: "the table's schema has changed", last: true},
	{name: "other generation", ask: func(c *cluster) *frontendv1.CommitTxnRequest {
		req := c.txn(0, 1, [2]int64{0, 9})
		req.Generation = 2
		return req
	}, outcome: fenced, reason: "generation 1", last: true},
	{name: "missing ledger", ask: func(c *cluster) *frontendv1.CommitTxnRequest {
		req := c.txn(0, 1, [2]int64{0, 9})
		req.Partitions[0].Partition = 2
		return req
	}, outcome: wait, reason: "no ledger yet"},
	{name: "conflict with another task", prepare: func(c *cluster) { c.commit(c.txn(1, 1, [2]int64{5, 9})) },
		ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{0, 7}) }, outcome: conflict, reason: "loaded already", last: true},
	{name: "void then loaded", prepare: func(c *cluster) { c.commit(c.void(1, 1, [2]int64{0, 9})) },
		ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{0, 7}) }, outcome: committed, last: true},
	{name: "void over loaded", prepare: func(c *cluster) { c.commit(c.txn(1, 1, [2]int64{0, 9})) },
		ask: func(c *cluster) *frontendv1.CommitTxnRequest { return c.void(0, 1, [2]int64{0, 19}) }, outcome: committed, last: true},
	{name: "expired before it was read", ask: func(c *cluster) *frontendv1.CommitTxnRequest {
		req := c.void(0, 1)
		req.Partitions[0].Expired = []*typesv1.OffsetRange{{First: 0, Last: 39}}
		return req
	}, outcome: committed, last: true},
	{name: "log truncated", prepare: func(c *cluster) { c.commit(c.txn(1, 1, [2]int64{0, 9})) },
		ask: func(c *cluster) *frontendv1.CommitTxnRequest {
			req := c.txn(0, 1, [2]int64{5, 12})
			req.Partitions[0].Loaded[0].LeaderEpoch = 2
			return req
		}, outcome: diverged, reason: "log of partition 0 was truncated", last: true},
	{name: "too many ranges", prepare: func(c *cluster) { crowd(c, 1) },
		ask:     func(c *cluster) *frontendv1.CommitTxnRequest { return c.txn(0, 1, [2]int64{9000, 9001}) },
		outcome: wait, reason: "128 settled ranges"},
	{name: "too many ranges, but helps", prepare: func(c *cluster) { crowd(c, 1) },
		ask: func(c *cluster) *frontendv1.CommitTxnRequest {
			return c.txn(0, 1, [2]int64{0, 0}, [2]int64{9000, 9001})
		},
		outcome: committed, last: true},
	{name: "too many error rows", ask: func(c *cluster) *frontendv1.CommitTxnRequest {
		return withErrors(c.txn(0, 1, [2]int64{0, 9}), 6)
	}, outcome: aborted, reason: "more than max_error_number 5", last: true},
}

// TestCommitTxns takes the rules of a commit one by one, and asks each txn
// twice.
func TestCommitTxns(t *testing.T) {
	for _, tt := range commitRules {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t)
			if tt.prepare != nil {
				tt.prepare(c)
			}
			req := tt.ask(c)
			before := proto.Clone(req)
			got := c.commit(req)
			if got.Outcome != tt.outcome || !strings.Contains(got.Reason, tt.reason) {
				t.Fatalf("answer = %v, want %v with %q", got, tt.outcome, tt.reason)
			}
			if moved := lastNumber(c, req); moved != tt.last {
				t.Errorf("it is the last txn of its task: %v, want %v", moved, tt.last)
			}
			if !proto.Equal(req, before) {
				t.Errorf("the request became %v", req)
			}
			checkRepeated(c, req, got, tt.last)
		})
	}
}

// lastNumber tells whether the txn is the last that was decided of its task.
func lastNumber(c *cluster, req *frontendv1.CommitTxnRequest) bool {
	for _, task := range c.JobByID(c.job).Tasks {
		if task.Id == req.TaskId {
			return task.LastEpoch == req.Epoch && task.LastNumber == req.Number
		}
	}
	return false
}

// checkRepeated asks again, whatever has happened to the job: the same txn is
// answered as before, and nothing but the applied index changes.
func checkRepeated(c *cluster, req *frontendv1.CommitTxnRequest, first *frontendv1.CommitTxnResponse, moves bool) {
	c.t.Helper()
	if moves && first.Outcome != superseded {
		c.try(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{
			ChangeJobState: &raftlogv1.ChangeJobState{JobId: c.job, To: raftlogv1.JobState_JOB_STATE_PAUSED}}})
	}
	before := c.JobByID(c.job)
	if again := c.commit(proto.Clone(req).(*frontendv1.CommitTxnRequest)); !proto.Equal(again, first) {
		c.t.Errorf("asked again the answer is %v, was %v", again, first)
	}
	if c.JobByID(c.job) != before {
		c.t.Error("asking again changed the job")
	}
}

// crowd fills partition 0 with as many ranges as it may have, by task i.
func crowd(c *cluster, i int) {
	for n := range int64(ledger.MaxRanges) {
		if a := c.commit(c.txn(i, uint64(n+1), [2]int64{10 * (n + 1), 10*(n+1) + 1})); a.Outcome != committed {
			c.t.Fatalf("range %d: %v", n, a)
		}
	}
}

func withErrors(req *frontendv1.CommitTxnRequest, n int64) *frontendv1.CommitTxnRequest {
	req.Counters.ErrorRows = n
	req.Counters.LoadedRows -= n
	req.Rowset.Rows -= n
	req.ErrorRowset = &typesv1.Rowset{Path: "errors/" + req.Label, Rows: n, Bytes: n, SchemaVersion: 1}
	for i := range n {
		req.Samples = append(req.Samples, &frontendv1.ErrorSample{Offset: i, Reason: "bad"})
	}
	return req
}

func TestCommittedTxnIsVisibleAsAWhole(t *testing.T) {
	c := newCluster(t)
	held := c.JobByID(c.job)
	req := withErrors(c.txn(0, 1, [2]int64{0, 9}), 4)
	req.Partitions[0].Void = []*typesv1.OffsetRange{{First: 10, Last: 10}}
	req.Counters.ReceivedBytes = 100
	answer := c.commit(req)
	if answer.Outcome != committed || answer.TxnId != c.index {
		t.Fatalf("answer = %v", answer)
	}
	rowsets, errorRowsets := c.Rowsets(c.table), c.ErrorRowsets(c.job)
	if len(rowsets) != 1 || rowsets[0].Rowset != req.Rowset || rowsets[0].TxnId != c.index || rowsets[0].Label != req.Label || rowsets[0].JobId != c.job {
		t.Errorf("rowsets = %v", rowsets)
	}
	if v := c.TableByID(c.table).Version; v != c.index {
		t.Errorf("table version = %d, want %d", v, c.index)
	}
	if len(errorRowsets) != 1 || errorRowsets[0].Rowset != req.ErrorRowset {
		t.Errorf("error rowsets = %v", errorRowsets)
	}
	if l := c.Ledgers(c.job)[0]; l.Settled != 11 || l.Loaded != 10 || l.Void != 1 || l.Remembered != 1 {
		t.Errorf("ledger = %+v", l)
	}
	job := c.JobByID(c.job)
	if job.CommittedTxns != 1 || job.Counters.ErrorRows != 4 || job.Counters.LoadedRows != 6 || job.WindowErrors != 4 || job.WindowRows != 10 || job.ErrorsAfterResume != 4 {
		t.Errorf("job = %v", job)
	}
	if len(job.Samples) != 3 || job.Samples[2].Offset != 3 {
		t.Errorf("samples = %v, want the last three", job.Samples)
	}
	if job.Tasks[0].CommittedTxns != 1 || held.CommittedTxns != 0 || held.Tasks[0].LastNumber != 0 {
		t.Errorf("task = %v; held before: %v", job.Tasks[0], held)
	}
}

// TestLostRecordsAreCounted: what a task found deleted before it was read is
// settled with what it read after it, and told apart.
func TestLostRecordsAreCounted(t *testing.T) {
	c := newCluster(t)
	req := c.txn(0, 1, [2]int64{50, 59})
	req.Partitions[0].Expired = []*typesv1.OffsetRange{{First: 0, Last: 49}}
	if a := c.commit(req); a.Outcome != committed {
		t.Fatalf("answer = %v", a)
	}
	if l := c.Ledgers(c.job)[0]; l.Settled != 60 || l.Loaded != 10 || l.Expired != 50 {
		t.Errorf("ledger = %+v", l)
	}
}

func TestTxnOverTheLimitsIsUndone(t *testing.T) {
	c := newCluster(t)
	c.commit(withErrors(c.txn(0, 1, [2]int64{0, 9}), 2))
	ledgers := c.Ledgers(c.job)
	req := withErrors(c.txn(1, 1, [2]int64{10, 19}), 4)
	if a := c.commit(req); a.Outcome != aborted {
		t.Fatalf("answer = %v", a)
	}
	job := c.JobByID(c.job)
	if job.State != raftlogv1.JobState_JOB_STATE_PAUSED || job.ReasonCode != 102 || !strings.Contains(job.Reason, "6 error rows") || job.PausedMs == 0 {
		t.Errorf("job = %v", job)
	}
	if job.WindowErrors != 0 || job.WindowRows != 0 || job.Counters.ErrorRows != 2 || job.AbortedTxns != 1 || len(job.Samples) != 3 {
		t.Errorf("job = %v", job)
	}
	if len(c.Rowsets(c.table)) != 1 || len(c.ErrorRowsets(c.job)) != 1 || c.Ledgers(c.job)[0].Settled != ledgers[0].Settled {
		t.Error("the txn left something behind")
	}
	// After RESUME the same rows come again, in a txn of the new epoch.
	c.changeJob(raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
	c.schedule(1)
	if a := c.commit(withErrors(c.txn(2, 1, [2]int64{10, 19}), 4)); a.Outcome != committed {
		t.Errorf("after RESUME: %v", a)
	}
}

func TestConflictNamesWhatIsLoaded(t *testing.T) {
	c := newCluster(t)
	c.commit(c.txn(1, 1, [2]int64{5, 9}, [2]int64{20, 29}))
	a := c.commit(c.txn(0, 1, [2]int64{0, 6}, [2]int64{25, 40}))
	want := &typesv1.PartitionOffsets{TopicId: topic, Loaded: []*typesv1.EpochRange{{First: 5, Last: 6, LeaderEpoch: 1}, {First: 25, Last: 29, LeaderEpoch: 1}}}
	if a.Outcome != conflict || len(a.Conflicts) != 1 || !proto.Equal(a.Conflicts[0], want) {
		t.Fatalf("answer = %v, want conflicts %v", a, want)
	}
	if l := c.Ledgers(c.job)[0]; l.Conflicts != 7 || l.Loaded != 15 || len(c.Rowsets(c.table)) != 1 {
		t.Errorf("ledger = %+v", l)
	}
	if a := c.commit(c.txn(0, 2, [2]int64{0, 4}, [2]int64{30, 40})); a.Outcome != committed {
		t.Errorf("the rest: %v", a)
	}
}

func TestDivergedPausesUntilAPersonLooks(t *testing.T) {
	c := newCluster(t)
	c.commit(c.txn(0, 1, [2]int64{5, 9}))
	req := c.txn(0, 2, [2]int64{0, 2})
	req.Partitions[0].Loaded[0].LeaderEpoch = 7
	if a := c.commit(req); a.Outcome != diverged {
		t.Fatalf("answer = %v", a)
	}
	if job := c.JobByID(c.job); job.State != raftlogv1.JobState_JOB_STATE_PAUSED || job.ReasonCode != 105 || len(c.Rowsets(c.table)) != 1 {
		t.Errorf("job = %v", job)
	}
}

func TestGroupIsDecidedOneByOne(t *testing.T) {
	c := newCluster(t)
	r := c.try(commitTxns(
		c.txn(0, 1, [2]int64{0, 9}),
		c.txn(1, 1, [2]int64{5, 14}),
		c.txn(0, 1, [2]int64{0, 9}),
		c.txn(1, 2, [2]int64{10, 14}),
		withErrors(c.txn(0, 2, [2]int64{15, 24}), 6),
		c.txn(1, 3, [2]int64{15, 24}),
	))
	for i, want := range []frontendv1.Outcome{committed, conflict, committed, committed, aborted, aborted} {
		if got := r.Txns[i]; got.Outcome != want {
			t.Errorf("txn %d: %v, want %v", i, got, want)
		}
	}
	if l := c.Ledgers(c.job)[0]; l.Settled != 15 || l.Loaded != 15 {
		t.Errorf("ledger = %+v", l)
	}
}

func TestAuditedVoids(t *testing.T) {
	c := newCluster(t)
	settle := func(generation uint32, p *typesv1.PartitionOffsets) error {
		return c.try(&raftlogv1.Command{Body: &raftlogv1.Command_SettleOffsets{SettleOffsets: &raftlogv1.SettleOffsets{
			JobId: c.job, Generation: generation, Partitions: []*typesv1.PartitionOffsets{p}}}}).Err
	}
	void := c.void(0, 1, [2]int64{0, 9}).Partitions[0]
	if err := settle(2, void); err == nil {
		t.Error("another generation's voids were settled")
	}
	if err := settle(1, c.txn(0, 1, [2]int64{0, 1}).Partitions[0]); !errors.Is(err, ledger.ErrMalformed) {
		t.Errorf("an audit that loads = %v, want ErrMalformed", err)
	}
	missing := proto.Clone(void).(*typesv1.PartitionOffsets)
	missing.Partition = 5
	if err := settle(1, missing); !errors.Is(err, ledger.ErrMalformed) {
		t.Errorf("an audit without ledger = %v, want ErrMalformed", err)
	}
	if err := settle(1, void); err != nil {
		t.Fatal(err)
	}
	through := c.index
	if a := c.commit(c.txn(0, 1, [2]int64{3, 3})); a.Outcome != committed {
		t.Errorf("void then loaded by an open txn: %v", a)
	}
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_ForgetVoids{ForgetVoids: &raftlogv1.ForgetVoids{JobId: c.job, ThroughIndex: through}}})
	if a := c.commit(c.txn(0, 2, [2]int64{4, 4})); a.Outcome != conflict {
		t.Errorf("forgotten void then loaded: %v", a)
	}
	if l := c.Ledgers(c.job)[0]; l.Void != 9 || l.Loaded != 1 || l.Remembered != 0 || l.Settled != 10 {
		t.Errorf("ledger = %+v", l)
	}
}

// TestRefusedCommandsChangeNothing compares whole states, but for the index.
func TestRefusedCommandsChangeNothing(t *testing.T) {
	c := newCluster(t)
	before := c.snapshot()
	for name, tt := range map[string]struct {
		cmd  *raftlogv1.Command
		want error
	}{
		"job without table":       {createJob(c.database, 5, "k"), catalog.ErrNoTable},
		"job in another database": {createJob(5, c.table, "k"), catalog.ErrNoTable},
		"database twice":          {createDatabase("db"), catalog.ErrDatabaseExists},
		"ledger without a topic": {&raftlogv1.Command{Body: &raftlogv1.Command_AddLedgers{AddLedgers: &raftlogv1.AddLedgers{
			JobId: c.job, Starts: []*raftlogv1.LedgerStart{{TopicId: topic, Partition: 2}, {Partition: 3}}}}}, ledger.ErrMalformed},
	} {
		if err := c.try(tt.cmd).Err; !errors.Is(err, tt.want) {
			t.Errorf("%s = %v, want %v", name, err, tt.want)
		}
	}
	after := c.snapshot()
	if skip := headerLength(t, before); !bytes.Equal(before[skip:], after[headerLength(t, after):]) {
		t.Error("a refused command changed the state")
	}
}

// headerLength is how many bytes of a snapshot its header takes; the first
// byte is the length of what follows.
func headerLength(t *testing.T, snapshot []byte) int {
	t.Helper()
	if snapshot[0] >= 0x80 {
		t.Fatal("the header's length takes more than one byte")
	}
	return 1 + int(snapshot[0])
}
