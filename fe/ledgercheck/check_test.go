package ledgercheck_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"shoal/fe/ledgercheck"
	"shoal/fe/state"
	"shoal/fe/state/jobs"
	"shoal/internal/offsets"
	"shoal/internal/rowsetmeta"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

var topic = []byte("0123456789abcdef")

// bench is a state with a job that loads into table t from partitions 0 and 1,
// and the footers of its files.
type bench struct {
	t        *testing.T
	state    *state.State
	index    uint64
	db       uint64
	table    uint64
	job      uint64
	number   uint64
	footers  map[string]*backendv1.ReadFootersResponse
	asked    int // most paths of a call
	failure  error
	progress []string
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, state: state.New(), footers: map[string]*backendv1.ReadFootersResponse{}}
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c", Warehouse: "file:///w"}}})
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{Backend: &raftlogv1.Backend{NodeUuid: "b", Host: "h"}}}})
	b.db = b.do(&raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "d"}}})
	b.table = b.createTable("t")
	b.createJob("j", b.table, true)
	return b
}

func (b *bench) do(cmd *raftlogv1.Command) uint64 {
	b.t.Helper()
	b.index++
	r := b.state.Apply(b.index, cmd)
	if r.Err != nil {
		b.t.Fatalf("Apply(%v) = %v", cmd, r.Err)
	}
	for _, a := range r.Txns {
		if a.Outcome != frontendv1.Outcome_OUTCOME_COMMITTED {
			b.t.Fatalf("Apply(%v) = %v", cmd, a)
		}
	}
	return r.ID
}

func (b *bench) createTable(name string) uint64 {
	return b.do(&raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
		DatabaseId: b.db, Name: name, Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "id", Type: "int"}}}}}}}})
}

func starts(traced bool, first ...int64) (out []*raftlogv1.LedgerStart) {
	for p, start := range first {
		out = append(out, &raftlogv1.LedgerStart{TopicId: topic, Partition: int32(p), Start: start, Traced: traced})
	}
	return out
}

// createJob makes a job with a running task; table 0 is a multi-table job.
func (b *bench) createJob(name string, table uint64, traced bool) {
	b.job = b.do(&raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{Job: &raftlogv1.Job{
		DatabaseId: b.db, Name: name, TableId: table, Load: &typesv1.RoutineLoad{MultiTable: table == 0, MaxErrorNumber: 10_000, MaxFilterRatio: 1}}}}})
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{JobId: b.job, Starts: starts(traced, 0, 100)}}})
	b.place()
}

func (b *bench) place() {
	assignment := &raftlogv1.TaskAssignment{BackendId: b.state.Backends()[0].Id}
	if tasks := b.state.JobByID(b.job).Tasks; len(tasks) > 0 {
		assignment.TaskId = tasks[0].Id
	}
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{JobId: b.job, Assignments: []*raftlogv1.TaskAssignment{assignment}}}})
}

// A txn says what one settles of partition 0 and what files it has.
type txn struct {
	partition             int32
	loaded, void, expired string
	rows, errors          int64
	tables                []uint64 // of a multi-table job
}

// commit commits a txn and keeps the footers of its files; it returns their
// paths, rows first.
func (b *bench) commit(x txn) []string {
	b.t.Helper()
	b.number++
	job := b.state.JobByID(b.job)
	task := job.Tasks[0]
	label := fmt.Sprintf("txn-%d", b.number)
	part := rowsetmeta.Partition{Topic: "orders", TopicID: [16]byte(topic), Partition: x.partition,
		Loaded: parse(b.t, x.loaded), Void: parse(b.t, x.void), Expired: parse(b.t, x.expired)}
	req := &frontendv1.CommitTxnRequest{JobId: b.job, TaskId: task.Id, Epoch: task.Epoch, Number: b.number, Digest: []byte(label), Label: label,
		TableId: job.TableId, Generation: job.Generation, Partitions: []*typesv1.PartitionOffsets{message(part)},
		Counters: &typesv1.Counters{TotalRows: x.rows + x.errors, LoadedRows: x.rows, ErrorRows: x.errors}}
	if job.TableId != 0 {
		req.SchemaVersion = 1
	}
	var paths []string
	file := func(name string, table uint64, rows int64) *typesv1.Rowset {
		r := &typesv1.Rowset{Path: fmt.Sprintf("%d/%s%s.parquet", table, label, name), Rows: rows, Bytes: 100 + rows, SchemaVersion: 1}
		paths = append(paths, r.Path)
		b.footers[r.Path] = &backendv1.ReadFootersResponse{Path: r.Path, Bytes: r.Bytes, Rows: rows, Metadata: map[string]string{
			rowsetmeta.Label: label, rowsetmeta.TableID: fmt.Sprint(table), rowsetmeta.Offsets: rowsetmeta.Encode([]rowsetmeta.Partition{part})}}
		return r
	}
	for _, table := range x.tables {
		req.Tables = append(req.Tables, &frontendv1.TableRows{TableId: table, SchemaVersion: 1, Rowset: file("", table, x.rows/int64(len(x.tables)))})
	}
	if job.TableId != 0 && x.rows > 0 {
		req.Rowset = file("", job.TableId, x.rows)
	}
	if x.errors > 0 {
		req.ErrorRowset = file("-errors", job.TableId, x.errors)
	}
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: &raftlogv1.CommitTxns{Txns: []*frontendv1.CommitTxnRequest{req}}}})
	return paths
}

func parse(t *testing.T, text string) offsets.Set {
	s, err := offsets.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func message(p rowsetmeta.Partition) *typesv1.PartitionOffsets {
	out := &typesv1.PartitionOffsets{TopicId: p.TopicID[:], Partition: p.Partition}
	for _, r := range p.Loaded {
		out.Loaded = append(out.Loaded, &typesv1.EpochRange{First: r.First, Last: r.Last, LeaderEpoch: 1})
	}
	for _, r := range p.Void {
		out.Void = append(out.Void, &typesv1.OffsetRange{First: r.First, Last: r.Last})
	}
	for _, r := range p.Expired {
		out.Expired = append(out.Expired, &typesv1.OffsetRange{First: r.First, Last: r.Last})
	}
	return out
}

// audit settles void and expired offsets as the auditor does.
func (b *bench) audit(void, expired string) {
	p := message(rowsetmeta.Partition{TopicID: [16]byte(topic), Void: parse(b.t, void), Expired: parse(b.t, expired)})
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_SettleOffsets{SettleOffsets: &raftlogv1.SettleOffsets{
		JobId: b.job, Generation: b.state.JobByID(b.job).Generation, Partitions: []*typesv1.PartitionOffsets{p}}}})
}

// say makes a file say that it holds other offsets.
func (b *bench) say(path string, loaded string) {
	b.footers[path].Metadata[rowsetmeta.Offsets] = rowsetmeta.Encode([]rowsetmeta.Partition{{TopicID: [16]byte(topic), Loaded: parse(b.t, loaded)}})
}

func (b *bench) ReadFooters(_ context.Context, paths []string) ([]*backendv1.ReadFootersResponse, error) {
	b.asked = max(b.asked, len(paths))
	var out []*backendv1.ReadFootersResponse
	for _, path := range paths {
		out = append(out, cmp.Or(b.footers[path], &backendv1.ReadFootersResponse{Path: path, Error: "there is no such file"}))
	}
	return out, b.failure
}

func (b *bench) input() ledgercheck.Input { return ledgercheck.Take(b.state, b.job) }

func (b *bench) check(in ledgercheck.Input) *ledgercheck.Report {
	b.t.Helper()
	report, err := ledgercheck.Run(b.t.Context(), in, b, func(done, total int) { b.progress = append(b.progress, fmt.Sprintf("%d of %d", done, total)) })
	if err != nil {
		b.t.Fatal(err)
	}
	return report
}

// load has something of everything that is right, and returns the files.
func (b *bench) load() (paths []string) {
	paths = append(paths, b.commit(txn{loaded: "0-9", rows: 10})...)
	paths = append(paths, b.commit(txn{loaded: "20-29", void: "30-31", rows: 8, errors: 2})...)
	paths = append(paths, b.commit(txn{loaded: "10-14", errors: 5})...)
	b.commit(txn{loaded: "15-18"}) // all of them filtered
	b.audit("19", "")              // an aborted record
	b.commit(txn{void: "32-40"})   // a window of aborted ones
	b.audit("", "41-49")           // what retention took
	b.commit(txn{loaded: "60-64", void: "50-59", rows: 5})
	paths = append(paths, b.commit(txn{loaded: "70-79", rows: 3})...) // above a hole
	return append(paths, b.commit(txn{partition: 1, loaded: "100-109", expired: "110-111", rows: 10})...)
}

func TestRight(t *testing.T) {
	b := newBench(t)
	if r := b.check(b.input()); r.Verdict() != ledgercheck.OK || len(r.Partitions) != 2 {
		t.Errorf("a job without files: %+v", r)
	}
	b.load()
	r := b.check(b.input())
	if r.Verdict() != ledgercheck.OK || r.Files != 7 || r.Rows != 36 {
		t.Errorf("report %+v", r)
	}
	got := r.Partitions[0]
	got.Ledger = r.Partitions[1].Ledger
	if want := (ledgercheck.Partition{Ledger: got.Ledger, Txns: 5, Found: 40, Rowless: 4}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("partition 0: %+v, want %+v", got, want)
	}
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_ForgetVoids{ForgetVoids: &raftlogv1.ForgetVoids{JobId: b.job, ThroughIndex: b.index}}})
	if r := b.check(b.input()); r.Verdict() != ledgercheck.OK {
		t.Errorf("when voids are forgotten: %+v", r)
	}
}

// TestWrong corrupts state or files on purpose, each in one way.
func TestWrong(t *testing.T) {
	for _, tt := range []struct {
		name string
		// corrupt changes what the check is given or what files say.
		corrupt func(b *bench, in *ledgercheck.Input, paths []string)
		verdict string // of partition 0
		want    []string
	}{
		{"rowset gone from the state", func(_ *bench, in *ledgercheck.Input, _ []string) { in.Tables[0] = in.Tables[0][1:] }, ledgercheck.Missing,
			[]string{"offsets 0-9 are settled, and in no file", "no rowset was committed with them", "between the ledger's start and file", "(label txn-3)", "the job counts 36 loaded rows; its files have 26"}},
		{"error rowset gone from the state", func(_ *bench, in *ledgercheck.Input, _ []string) { in.Errors = in.Errors[:1] }, ledgercheck.Missing,
			[]string{"offsets 10-14 are settled", "between file", "(label txn-1) and file", "(label txn-2)", "the job keeps 7 of 7 error rows; its files have 2"}},
		{"error rowset of a txn with rows gone", func(_ *bench, in *ledgercheck.Input, _ []string) { in.Errors = in.Errors[1:] }, ledgercheck.OK,
			[]string{"the job keeps 7 of 7 error rows; its files have 5"}},
		{"file with other offsets", func(b *bench, _ *ledgercheck.Input, paths []string) { b.say(paths[0], "5-12") }, ledgercheck.Missing + ", " + ledgercheck.Twice,
			[]string{paths0 + " of partition 0 offsets 0-9 says it holds partition 0 offsets 5-12", "offsets 10-12 are in file", "offsets 0-4 are settled, and in no file: " + paths0 + " was committed with them"}},
		{"error file with other offsets", func(b *bench, _ *ledgercheck.Input, paths []string) { b.say(paths[3], "11-14") }, ledgercheck.Missing,
			[]string{"-errors.parquet (label txn-3) of partition 0 offsets 10-14 says it holds partition 0 offsets 11-14", "offsets 10 are settled, and in no file: "}},
		{"one of two files with other offsets", func(b *bench, _ *ledgercheck.Input, paths []string) { b.say(paths[2], "20") }, ledgercheck.OK,
			[]string{"-errors.parquet (label txn-2) holds partition 0 offsets 20, and file", "of the same txn does not"}},
		{"file gone", func(b *bench, _ *ledgercheck.Input, paths []string) { delete(b.footers, paths[0]) }, ledgercheck.Missing,
			[]string{paths0 + " of partition 0 offsets 0-9 cannot be read: there is no such file", "offsets 0-9 are settled"}},
		{"file with fewer rows", func(b *bench, _ *ledgercheck.Input, paths []string) { b.footers[paths[0]].Rows-- }, ledgercheck.OK,
			[]string{paths0, "has 9 rows, and was committed with 10", "its files have 35"}},
		{"file of another size", func(b *bench, _ *ledgercheck.Input, paths []string) { b.footers[paths[0]].Bytes++ }, ledgercheck.OK,
			[]string{paths0, "has 111 bytes, and was committed with 110"}},
		{"file of another txn", func(b *bench, _ *ledgercheck.Input, paths []string) {
			b.footers[paths[0]].Metadata[rowsetmeta.Label] = "x"
		}, ledgercheck.OK,
			[]string{paths0, `has the label "x"`}},
		{"file of another table", func(b *bench, _ *ledgercheck.Input, paths []string) {
			b.footers[paths[0]].Metadata[rowsetmeta.TableID] = "1"
		}, ledgercheck.OK,
			[]string{paths0, `is for table id "1"`}},
		{"file without metadata", func(b *bench, _ *ledgercheck.Input, paths []string) {
			delete(b.footers[paths[0]].Metadata, rowsetmeta.Offsets)
		}, ledgercheck.Missing,
			[]string{paths0, "does not say what it holds"}},
		{"file with a partition that the job does not read", func(b *bench, _ *ledgercheck.Input, paths []string) {
			meta := b.footers[paths[3]].Metadata
			meta[rowsetmeta.Offsets] = strings.Replace(meta[rowsetmeta.Offsets], `"partition":0`, `"partition":7`, 1)
		}, ledgercheck.Missing, []string{"holds partition 7 offsets 10-14, of which there is no ledger"}},
		{"rowset twice in the state", func(b *bench, in *ledgercheck.Input, _ []string) {
			again := in.Tables[0][0]
			b.footers["again"] = &backendv1.ReadFootersResponse{Path: "again", Bytes: 110, Rows: 10, Metadata: map[string]string{rowsetmeta.Label: "another",
				rowsetmeta.TableID: fmt.Sprint(b.table), rowsetmeta.Offsets: b.footers[again.Rowset.Path].Metadata[rowsetmeta.Offsets]}}
			in.Tables[0] = append([]*raftlogv1.TableRowset{{TableId: b.table, JobId: b.job, TxnId: again.TxnId, Label: "another", Partitions: again.Partitions,
				Rowset: &typesv1.Rowset{Path: "again", Rows: 10, Bytes: 110}}}, in.Tables[0]...)
		}, ledgercheck.Twice, []string{"offsets 0-9 are in file again (label another) and in " + paths0, "its files have 46"}},
		{"ledger behind its files", func(_ *bench, in *ledgercheck.Input, _ []string) { in.Ledgers[0].Ranges = nil }, ledgercheck.Unsettled + ", " + ledgercheck.Counts,
			[]string{"offsets 70-79 are in file", "(label txn-7), and not settled", "the ledger counts 44 loaded"}},
		{"ledger ahead of its files", func(_ *bench, in *ledgercheck.Input, _ []string) {
			in.Ledgers[0].Settled, in.Ledgers[0].Loaded = 67, in.Ledgers[0].Loaded+2
		}, ledgercheck.Missing,
			[]string{"offsets 65-66 are settled, and in no file"}},
		{"ledger that counts a void as loaded", func(_ *bench, in *ledgercheck.Input, _ []string) { in.Ledgers[0].Loaded++; in.Ledgers[0].Void-- }, ledgercheck.Counts,
			[]string{"the ledger counts 45 loaded"}},
		{"trace that lost a void", func(_ *bench, in *ledgercheck.Input, _ []string) {
			in.Ledgers[0].Trace.Barren = in.Ledgers[0].Trace.Barren.Above(20)
		}, ledgercheck.Missing,
			[]string{"offsets 19 are settled"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			paths := b.load()
			in := b.input()
			tt.corrupt(b, &in, paths)
			r := b.check(in)
			if got := r.Partitions[0].Verdict(); got != tt.verdict || r.Verdict() != ledgercheck.Differs {
				t.Errorf("verdict %s, of the job %s; want %s", got, r.Verdict(), tt.verdict)
			}
			if got := r.Partitions[1].Verdict(); got != ledgercheck.OK {
				t.Errorf("partition 1: %s: %s", got, r.Partitions[1].Differences.String())
			}
			text := r.Differences.String() + "\n" + r.Partitions[0].Differences.String()
			for _, want := range tt.want {
				if want = strings.ReplaceAll(want, paths0, "file "+paths[0]+" (label txn-1)"); !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
		})
	}
}

// paths0 stands for the first file in what is wanted.
const paths0 = "<the first file>"

// TestCuts takes tables away from under jobs.
func TestCuts(t *testing.T) {
	b := newBench(t)
	b.load()
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: b.table}}})
	b.commit(txn{loaded: "65-69,80-89", rows: 12})
	r := b.check(b.input())
	if p := r.Partitions[0]; r.Verdict() != ledgercheck.OK || p.Cut != 25 || p.Found != 30 || r.Rows != 12 {
		t.Errorf("after TRUNCATE: %s: %+v", r.Differences.String(), p)
	}
	in := b.input()
	in.Job = &raftlogv1.Job{Id: b.job, Counters: in.Job.Counters, KeptErrorRows: in.Job.KeptErrorRows}
	if r := b.check(in); !strings.Contains(r.Differences.String(), "the job counts 48 loaded rows; its files have 12, and TRUNCATE and DROP took 0") {
		t.Errorf("with the rows of the cut forgotten: %s", r.Differences.String())
	}
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: b.table}}})
	if r := b.check(b.input()); r.Verdict() != ledgercheck.OK || r.Rows != 0 || r.Partitions[1].Cut != 10 {
		t.Errorf("after DROP: %s: %+v", r.Differences.String(), r.Partitions)
	}
}

// TestErrorRowsetsAreDropped: of a job with more error rowsets than it keeps.
func TestErrorRowsetsAreDropped(t *testing.T) {
	const more = 10
	b := newBench(t)
	for i := range int64(jobs.MaxErrorRowsets + more) {
		x := txn{loaded: fmt.Sprint(i), errors: 1}
		if i%2 == 1 {
			x.rows = 1
		}
		b.commit(x)
	}
	r := b.check(b.input())
	if p := r.Partitions[0]; r.Verdict() != ledgercheck.OK || p.Rowless != more/2 || p.Found != jobs.MaxErrorRowsets+more/2 {
		t.Errorf("%s: %+v: %s", r.Differences.String(), p, p.Differences.String())
	}
	in := b.input()
	in.Errors = in.Errors[1:]
	if r := b.check(in); r.Verdict() != ledgercheck.Differs || !strings.Contains(r.Differences.String(), "the job keeps 4096 of 4106 error rows; its files have 4095") {
		t.Errorf("one more dropped: %s", r.Differences.String())
	}
}

// TestMultiTable: any file of a txn is witness for all that it settles.
func TestMultiTable(t *testing.T) {
	b := newBench(t)
	u := b.createTable("u")
	b.createJob("all", 0, true)
	b.commit(txn{loaded: "0-9", rows: 10, errors: 1, tables: []uint64{b.table, u}})
	paths := b.commit(txn{loaded: "10-19", rows: 8, tables: []uint64{b.table, u}})
	if r := b.check(b.input()); r.Verdict() != ledgercheck.OK || r.Files != 5 || r.Rows != 18 || r.Partitions[0].Found != 20 || r.Partitions[0].Txns != 2 {
		t.Errorf("report %+v: %s", r, r.Differences.String())
	}
	in := b.input()
	in.Tables[1] = in.Tables[1][:1]
	if r := b.check(in); r.Verdict() != ledgercheck.Differs || !strings.Contains(r.Differences.String(), "the job counts 18 loaded rows; its files have 14") {
		t.Errorf("one of two rowsets gone: %s", r.Differences.String())
	}
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: u}}})
	if r := b.check(b.input()); r.Verdict() != ledgercheck.OK || r.Partitions[0].Cut != 0 || r.Rows != 9 {
		t.Errorf("one of two tables truncated: %s: %+v", r.Differences.String(), r.Partitions[0])
	}
	delete(b.footers, paths[0])
	if r := b.check(b.input()); r.Verdict() != ledgercheck.Differs || !strings.Contains(r.Differences.String(), paths[0]+" (label txn-2) of partition 0 offsets 10-19 cannot be read") {
		t.Errorf("the file that is left is gone: %s: %s", r.Differences.String(), r.Partitions[0].Differences.String())
	}
}

// TestGenerations: a new generation loads again, and only what it loads is its
// own; partitions that did not move go on.
func TestGenerations(t *testing.T) {
	b := newBench(t)
	b.load()
	alter := func(replace bool, s []*raftlogv1.LedgerStart) {
		b.do(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{JobId: b.job, To: raftlogv1.JobState_JOB_STATE_PAUSED}}})
		b.do(&raftlogv1.Command{Body: &raftlogv1.Command_AlterRoutineLoad{AlterRoutineLoad: &raftlogv1.AlterRoutineLoad{
			JobId: b.job, Load: b.state.JobByID(b.job).Load, Starts: s, ReplaceLedgers: replace}}})
		b.do(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{JobId: b.job, To: raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE}}})
		b.place()
		b.number = 100 * (b.number/100 + 1)
	}
	alter(false, starts(true, 5))
	b.commit(txn{loaded: "5-24", rows: 20})
	b.commit(txn{partition: 1, loaded: "112-113", rows: 2})
	r := b.check(b.input())
	if p := r.Partitions; r.Verdict() != ledgercheck.OK || p[0].Found != 20 || p[1].Found != 12 {
		t.Errorf("loaded again: %s: %+v", r.Differences.String(), p)
	}
	before := b.input().Ledgers[0]
	in := b.input()
	in.Ledgers[0].Trace.Since = 0
	if r := b.check(in); r.Partitions[0].Twice == 0 {
		t.Errorf("the former generation's rowsets count though they should not: %+v", r.Partitions[0])
	}
	if before.Trace.Since == 0 {
		t.Fatal("Since is not known")
	}
	other := starts(true, 0)
	other[0].TopicId = []byte("another topic id")
	alter(true, other)
	if r := b.check(b.input()); r.Verdict() != ledgercheck.OK || len(r.Partitions) != 1 || r.Partitions[0].Found != 0 {
		t.Errorf("another topic: %s: %+v", r.Differences.String(), r.Partitions)
	}
}

// TestOldLedger: what a former release did not keep is no difference, and no
// proof.
func TestOldLedger(t *testing.T) {
	b := newBench(t)
	b.createJob("old", b.table, false)
	b.load()
	b.do(&raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: b.table}}})
	if r := b.check(b.input()); r.Verdict() != ledgercheck.Unproven || r.Partitions[0].Verdict() != ledgercheck.Unproven {
		t.Errorf("verdict %s: %s", r.Verdict(), r.Differences.String())
	}
}

// TestManyFiles: footers are asked for in batches, progress is told, and a
// backend that fails is an error.
func TestManyFiles(t *testing.T) {
	b := newBench(t)
	for i := range 300 {
		b.commit(txn{loaded: fmt.Sprint(i), rows: 1})
	}
	if r := b.check(b.input()); r.Verdict() != ledgercheck.OK || r.Partitions[0].Found != 300 {
		t.Errorf("report %+v", r)
	}
	if got := strings.Join(b.progress, ", "); got != "0 of 300, 256 of 300" || b.asked != 256 {
		t.Errorf("progress %s, at most %d at a time", got, b.asked)
	}
	for path := range b.footers {
		delete(b.footers, path)
	}
	if r := b.check(b.input()); r.Partitions[0].Missing != 300 || !strings.HasSuffix(r.Differences.String(), "and 296 more") {
		t.Errorf("all files gone: %s", r.Differences.String())
	}
	b.failure = errors.New("down")
	if _, err := ledgercheck.Run(t.Context(), b.input(), b, func(int, int) {}); !errors.Is(err, b.failure) {
		t.Errorf("Run = %v", err)
	}
}
