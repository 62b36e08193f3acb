package removal

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shoal/fe/state"
	"shoal/internal/rowsetname"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

var topic = []byte("0123456789abcdef")

// A model is a cluster's state, moved by commands, and the next offset to load.
type model struct {
	*state.State
	index                uint64
	now                  int64 // milliseconds since 1970
	backend, db          uint64
	jobs, tables, offset int
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newModel(t fataler) *model {
	m := &model{State: state.New()}
	m.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
	m.backend = m.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{
		Backend: &raftlogv1.Backend{NodeUuid: "be", Host: "h", RpcPort: 1}}}})
	m.db = m.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "db"}}})
	return m
}

// apply applies a command that may be refused.
func (m *model) apply(cmd *raftlogv1.Command) state.Result {
	m.index++
	cmd.AtMs, cmd.Rules = m.now, state.Rules
	return m.Apply(m.index, cmd)
}

func (m *model) do(t fataler, cmd *raftlogv1.Command) uint64 {
	t.Helper()
	r := m.apply(cmd)
	if r.Err != nil {
		t.Fatalf("%v: %v", cmd, r.Err)
	}
	return r.ID
}

func (m *model) createTable(t fataler) uint64 {
	m.tables++
	return m.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
		DatabaseId: m.db, Name: fmt.Sprint("t", m.tables), Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "id", Type: "int"}}}}}}}})
}

func (m *model) createJob(t fataler, table uint64) uint64 {
	m.jobs++
	id := m.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{Job: &raftlogv1.Job{
		DatabaseId: m.db, Name: fmt.Sprint("j", m.jobs), TableId: table, Load: &typesv1.RoutineLoad{MaxErrorNumber: 1 << 40, MaxFilterRatio: 1}}}}})
	m.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{
		JobId: id, Starts: []*raftlogv1.LedgerStart{{TopicId: topic}}}}})
	return id
}

// schedule gives each task of a job a new epoch, and the job so many more tasks.
func (m *model) schedule(job uint64, more int) {
	c := &raftlogv1.ScheduleTasks{JobId: job}
	for _, task := range m.JobByID(job).GetTasks() {
		c.Assignments = append(c.Assignments, &raftlogv1.TaskAssignment{TaskId: task.Id, BackendId: m.backend})
	}
	for range more {
		c.Assignments = append(c.Assignments, &raftlogv1.TaskAssignment{BackendId: m.backend})
	}
	m.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: c}})
}

func (m *model) changeJob(id uint64, to raftlogv1.JobState) {
	m.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{JobId: id, To: to}}})
}

// txn is what a task at an epoch would ask for, with rows at the given offset or,
// if it is below 0, at new ones.
func (m *model) txn(job *raftlogv1.Job, task *raftlogv1.Task, number uint64, offset int) *frontendv1.CommitTxnRequest {
	if offset < 0 {
		offset = m.offset
		m.offset++
	}
	name := rowsetname.Name{Table: job.TableId, Incarnation: m.ClusterInfo().Incarnation, Job: job.Id, Task: task.Id, Epoch: task.Epoch, Number: number}
	bad := name
	bad.Errors = true
	digest := sha256.Sum256(fmt.Append(nil, name, offset))
	return &frontendv1.CommitTxnRequest{
		JobId: job.Id, TaskId: task.Id, Epoch: task.Epoch, Number: number, Digest: digest[:], Label: name.String(), TableId: job.TableId, SchemaVersion: 1, Generation: 1,
		Rowset: &typesv1.Rowset{Path: name.String(), Rows: 1, Bytes: 10, SchemaVersion: 1}, ErrorRowset: &typesv1.Rowset{Path: bad.String(), Rows: 1, Bytes: 10},
		Partitions: []*typesv1.PartitionOffsets{{TopicId: topic, Loaded: []*typesv1.EpochRange{{First: int64(offset), Last: int64(offset)}}}},
		Counters:   &typesv1.Counters{TotalRows: 2, LoadedRows: 1, ErrorRows: 1},
	}
}

func (m *model) commit(req *frontendv1.CommitTxnRequest) *frontendv1.CommitTxnResponse {
	return m.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: &raftlogv1.CommitTxns{Txns: []*frontendv1.CommitTxnRequest{req}}}}).Txns[0]
}

// files is what tables and jobs have.
func (m *model) files() (paths []string) {
	for id := range m.LastID() + 1 {
		for _, r := range m.Rowsets(id) {
			paths = append(paths, r.Rowset.Path)
		}
		for _, r := range m.ErrorRowsets(id) {
			paths = append(paths, r.Rowset.Path)
		}
	}
	return paths
}

func TestJudge(t *testing.T) {
	m := newModel(t)
	kept, dropped := m.createTable(t), m.createTable(t)
	job := m.createJob(t, kept)
	m.schedule(job, 1)
	before := m.JobByID(job).Tasks[0].Epoch
	m.schedule(job, 0)
	task := m.JobByID(job).Tasks[0]
	for number := uint64(1); number <= 3; number += 2 { // the second number was never asked for
		if a := m.commit(m.txn(m.JobByID(job), task, number, -1)); a.Outcome != frontendv1.Outcome_OUTCOME_COMMITTED {
			t.Fatal(a)
		}
	}
	m.do(t, &raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: dropped}}})
	of := func(table, incarnation, job, task, epoch, number uint64) string {
		return rowsetname.Name{Table: table, Incarnation: incarnation, Job: job, Task: task, Epoch: epoch, Number: number}.String()
	}
	next := m.LastID() + 1
	for _, tt := range []struct {
		path string
		want Verdict
	}{
		{of(kept, 1, job, task.Id, task.Epoch, 1), Needed},
		{fmt.Sprintf("%d/1-%d-%d-%d-1-errors.parquet", kept, job, task.Id, task.Epoch), Needed},
		{of(kept, 1, job, task.Id, task.Epoch, 2), Unneeded},
		{fmt.Sprintf("%d/1-%d-%d-%d-2-errors.parquet", kept, job, task.Id, task.Epoch), Unneeded},
		{of(dropped, 1, job, task.Id, task.Epoch, 1), Unneeded},
		{of(kept, 1, job, task.Id, task.Epoch, 4), Open},
		{of(kept, 1, job, task.Id, task.Epoch, 1<<60), Open},
		{of(kept, 1, job, task.Id, before, 1), Unneeded},
		{of(kept, 1, job, task.Id, before, 9), Unneeded},
		{of(kept, 1, job, task.Id-1, task.Epoch, 1), Unneeded}, // no such task, and never again
		{of(kept, 1, job-1, task.Id, task.Epoch, 1), Unneeded},
		{of(kept, 1, job, task.Id, next, 1), Ahead},
		{of(kept, 1, job, next, task.Epoch, 1), Ahead},
		{of(kept, 1, next, task.Id, task.Epoch, 1), Ahead},
		{of(next, 1, job, task.Id, before, 1), Ahead},
		{of(kept, 2, job, task.Id, before, 1), Ahead},
		{"shoal-warehouse.json", Foreign},
		{".trial-ABC", Foreign},
		{fmt.Sprintf("%d/mine.parquet", kept), Foreign},
		{of(kept, 1, job, task.Id, before, 1) + ".bak", Foreign},
	} {
		if got := Judge(m.State, []string{tt.path}); got[0] != tt.want {
			t.Errorf("%s is %v, want %v", tt.path, got[0], tt.want)
		}
	}
	m.changeJob(job, raftlogv1.JobState_JOB_STATE_PAUSED)
	if got := Judge(m.State, []string{of(kept, 1, job, task.Id, task.Epoch, 4)}); got[0] != Open {
		t.Errorf("PAUSED keeps the epoch: the next file is %v", got[0])
	}
	m.changeJob(job, raftlogv1.JobState_JOB_STATE_STOPPED)
	if got := Judge(m.State, []string{of(kept, 1, job, task.Id, task.Epoch, 4), of(kept, 1, job, task.Id, task.Epoch, 3)}); got[0] != Unneeded || got[1] != Needed {
		t.Errorf("after STOP the next file is %v, the last one %v", got[0], got[1])
	}
}

// TestJudgeNeverGoesBack draws what happens to a cluster, with txns that are
// late, repeated, refused or never asked for. What is judged Unneeded once must
// be so for ever, and whatever the state listed as trash must be so at once. At
// the end, without jobs, nothing may be left that is neither Needed nor Unneeded.
func TestJudgeNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		table := m.createTable(t)
		job := m.createJob(t, table)
		m.schedule(job, 2)
		var asked []*frontendv1.CommitTxnRequest
		var files []string
		unneeded := map[string]bool{}
		look := func(after string) {
			for i, v := range Judge(m.State, files) {
				if unneeded[files[i]] && v != Unneeded {
					t.Fatalf("%s was Unneeded, and is %v after %s", files[i], v, after)
				}
				unneeded[files[i]] = v == Unneeded
			}
			for _, f := range m.Trash() {
				if v := Judge(m.State, []string{f.Path}); v[0] != Unneeded {
					t.Fatalf("%s is trash and %v after %s", f.Path, v[0], after)
				}
			}
			for _, path := range m.files() {
				if v := Judge(m.State, []string{path}); v[0] != Needed {
					t.Fatalf("the state has %s, which is %v after %s", path, v[0], after)
				}
			}
		}
		for range rapid.IntRange(30, 90).Draw(t, "steps") {
			step := rapid.SampledFrom([]string{"write", "write", "write", "write", "ask", "ask", "ask", "ask", "schedule", "pause", "resume", "stop", "create", "drop", "truncate", "remove"}).Draw(t, "step")
			live := m.JobByID(job)
			switch step {
			case "write":
				if len(live.GetTasks()) == 0 {
					continue
				}
				task := rapid.SampledFrom(live.Tasks).Draw(t, "task")
				offset := rapid.IntRange(-3, m.offset).Draw(t, "offset")
				last := task.LastNumber
				if task.LastEpoch != task.Epoch {
					last = 0
				}
				req := m.txn(live, task, last+rapid.Uint64Range(1, 3).Draw(t, "number"), offset)
				if !slices.Contains(files, req.Rowset.Path) { // a name is given once
					asked, files = append(asked, req), append(files, req.Rowset.Path, req.ErrorRowset.Path)
				}
			case "ask":
				if len(asked) > 0 {
					m.commit(asked[max(0, len(asked)-1-rapid.IntRange(0, 5).Draw(t, "ago"))])
				}
			case "schedule":
				m.schedule(job, rapid.IntRange(0, 1).Draw(t, "more"))
			case "pause":
				m.changeJob(job, raftlogv1.JobState_JOB_STATE_PAUSED)
			case "resume":
				m.changeJob(job, raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
			case "stop":
				m.changeJob(job, raftlogv1.JobState_JOB_STATE_STOPPED)
			case "create":
				if m.TableByID(table) == nil {
					table = m.createTable(t)
				}
				job = m.createJob(t, table)
				m.schedule(job, 1)
			case "drop":
				m.apply(&raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: table}}})
			case "truncate":
				m.apply(&raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: table}}})
			case "remove":
				m.apply(&raftlogv1.Command{Body: &raftlogv1.Command_RemoveJob{RemoveJob: &raftlogv1.RemoveJob{JobId: job}}})
			}
			look(step)
		}
		for _, job := range m.Jobs() {
			m.changeJob(job.Id, raftlogv1.JobState_JOB_STATE_STOPPED)
		}
		look("the end")
		for i, v := range Judge(m.State, files) {
			if v != Needed && v != Unneeded {
				t.Fatalf("at the end %s is %v", files[i], v)
			}
		}
	})
}
