package routineload

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shoal/fe/backend"
	"shoal/fe/kafka"
	"shoal/fe/literal"
	"shoal/fe/result"
	"shoal/fe/schedule"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	"shoal/fe/verdict"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

// The columns of the SHOW statements; the first two are Doris's.
var (
	jobColumns = result.Texts("Id", "Name", "CreateTime", "PauseTime", "EndTime", "DbName", "TableName", "IsMultiTable", "State",
		"DataSourceType", "CurrentTaskNum", "JobProperties", "DataSourceProperties", "CustomProperties", "Statistic", "Progress", "Lag",
		"ReasonOfStateChanged", "ErrorLogUrls", "OtherMsg", "User", "Comment", "ComputeGroup")
	taskColumns = result.Texts("TaskId", "TxnId", "TxnStatus", "JobId", "CreateTime", "ExecuteStartTime", "Timeout", "BeId", "DataSourceProperties")
	// InFlight is the offsets below the highest settled one that are not
	// settled; Ranges counts what SettledAbove lists: ranges that are settled
	// above the settled offset. SPSO, LogEnd and Lag are the broker's, unknown
	// while it does not answer; a classic job has no SPSO, which is NULL.
	ledgerColumns = result.Texts("Partition", "TopicId", "Start", "Settled", "SPSO", "LogEnd", "InFlight", "Lag",
		"Loaded", "Void", "Expired", "Repaired", "Conflicts", "Ranges", "SettledAbove")
)

const (
	// shownRanges is how many ranges of a ledger SHOW lists.
	shownRanges = 20
	// shownErrorLogs is how many txns with error rows SHOW names, as in Doris.
	shownErrorLogs = 3
)

// unknown is the cell for what the broker cannot tell now.
const unknown = "unknown"

// row turns cells into a row; NULL stays for empty times.
func row(cells ...string) []result.Cell {
	out := make([]result.Cell, len(cells))
	for i, c := range cells {
		out[i] = result.Text(c)
	}
	return out
}

// look is what is known of one job at one moment.
type look struct {
	job     *raftlogv1.Job
	ledgers []ledger.View
	view    *kafka.View // nil before the first look
	tasks   []*backendv1.TaskStatus
	errors  []*raftlogv1.ErrorRowset
	verdict verdict.Verdict
}

// surroundings are what the looks at several jobs have in common.
type surroundings struct {
	backends   []backend.Status
	refused    map[schedule.Ref]string
	slotsTaken int // on backends that take tasks
}

func (m *Manager) lookAround() surroundings {
	around := surroundings{backends: m.cfg.Backends.Backends(), refused: m.cfg.Backends.Refused()}
	takes := make(map[uint64]bool)
	for _, b := range around.backends {
		takes[b.ID] = b.Takes()
	}
	for _, job := range m.all() {
		for _, t := range job.Tasks {
			if takes[t.BackendId] && !jobs.Repairs(t) {
				around.slotsTaken++
			}
		}
	}
	return around
}

// lookAt gathers what is known of a job: the view before the ledgers, so that
// these have all that the group was done with.
func (m *Manager) lookAt(job *raftlogv1.Job, around surroundings, zone *time.Location) look {
	l := look{job: job, view: m.auditor.View(job.Id), tasks: m.cfg.Backends.Tasks(job.Id)}
	m.cfg.Store.View(func(st *state.State) { l.ledgers, l.errors = st.Ledgers(job.Id), st.ErrorRowsets(job.Id) })
	in := verdict.Input{
		Now: time.Now(), Job: job, Ledgers: l.ledgers, Tasks: l.tasks, Refused: around.refused,
		Backends: around.backends, SlotsTaken: around.slotsTaken, View: l.view, Zone: zone,
	}
	in.Letters = verdict.Letters{Rowsets: len(jobs.DueDeadLetters(job, l.errors)), Trouble: m.letters.Trouble(job.Id)}
	m.mu.Lock()
	in.SetupError, in.Pinned, in.History, in.Wanted = m.setup[job.Id], m.pinned[job.Id], m.tracker.History(job.Id), m.wanted[job.Id]
	m.mu.Unlock()
	l.verdict = verdict.Of(in)
	return l
}

// current is the ledgers of the topic id that is read now: the broker's, or
// the one that the job began with.
func (l look) current() []ledger.View {
	var id kafka.TopicID
	switch {
	case l.view != nil && l.view.Err == nil:
		id = l.view.Topic.ID
	case len(l.job.Starts) > 0:
		id = kafka.TopicID(l.job.Starts[0].TopicId)
	}
	var out []ledger.View
	for _, v := range l.ledgers {
		if kafka.TopicID(v.TopicID) == id {
			out = append(out, v)
		}
	}
	return out
}

// partition is where the broker says that log and group are; ok is false when
// it did not.
func (l look) partition(key ledger.Key) (p kafka.Partition, ok bool) {
	if l.view == nil || l.view.Err != nil || l.view.Topic.ID != kafka.TopicID(key.TopicID) {
		return p, false
	}
	p, ok = l.view.Partitions[key.Partition]
	return p, ok
}

// partitionLag is what of a partition is yet to be loaded, in offsets.
func (l look) partitionLag(v ledger.View) (n int64, known bool) {
	p, ok := l.partition(v.Key)
	if !ok {
		return 0, false
	}
	return verdict.PartitionLag(l.job.Load, v, p)
}

// Show carries out SHOW [ALL] ROUTINE LOAD but for its WHERE. Without ALL jobs
// that have ended are left out.
func (m *Manager) Show(_ context.Context, s *session.Session, stmt *ast.ShowRoutineLoad) (*result.Table, error) {
	name := ast.Name{}
	if stmt.Job != nil {
		name = *stmt.Job
	}
	db, err := m.database(s, name.DB)
	if err != nil {
		return nil, err
	}
	table := &result.Table{Columns: jobColumns}
	around := m.lookAround()
	for _, job := range m.all() {
		switch {
		case job.DatabaseId != db.Id, !stmt.All && jobs.Ended(job.State), stmt.Job != nil && job.Name != name.Name,
			stmt.Filter.Like != nil && !literal.Like(*stmt.Filter.Like, job.Name):
			continue
		}
		table.Rows = append(table.Rows, m.lookAt(job, around, s.Location()).jobRow(s.Location()))
	}
	if stmt.Job != nil && len(table.Rows) == 0 {
		return nil, refuse("There is no job named %s in db %s, include history: %v", name.Name, db.Name, stmt.All)
	}
	return table, nil
}

// jobRow is a row of SHOW ROUTINE LOAD.
func (l look) jobRow(zone *time.Location) []result.Cell {
	job := l.job
	cells := row(strconv.FormatUint(job.Id, 10), job.Name, "", "", "", job.DatabaseName, job.TableName, strconv.FormatBool(job.Load.MultiTable),
		jobs.StateName(job.State), "KAFKA", strconv.Itoa(jobs.Placed(job)), jobProperty(job), dataSource(l), custom(job),
		statistic(job, l.tasks, time.Now()), l.progress(), l.lag(), reasonOf(job), l.errorLogs(),
		time.Now().In(zone).Format(time.DateTime)+":"+l.verdict.Text, job.User, job.Comment, "")
	cells[2], cells[3], cells[4] = moment(job.CreatedMs, zone), moment(job.PausedMs, zone), moment(job.EndedMs, zone)
	return cells
}

// liveTasks are the tasks that run or wait for a slot. Those of a paused job do
// neither; they are kept for RESUME and not shown, as Doris has none then.
func liveTasks(job *raftlogv1.Job) []*raftlogv1.Task {
	if job.State == raftlogv1.JobState_JOB_STATE_PAUSED {
		return nil
	}
	return job.Tasks
}

// reasonOf is ReasonOfStateChanged, in Doris's form.
func reasonOf(job *raftlogv1.Job) string {
	if job.State != raftlogv1.JobState_JOB_STATE_PAUSED && job.State != raftlogv1.JobState_JOB_STATE_CANCELLED {
		return ""
	}
	return fmt.Sprintf("ErrorReason{code=errCode = %d, msg='%s'}", job.ReasonCode, job.Reason)
}

// errorLogs is ErrorLogUrls: for each of the last txns with error rows a query
// that shows them, which SHOW LOAD WARNINGS ON takes as well.
func (l look) errorLogs() string {
	var queries []string
	for _, rowset := range l.errors[max(0, len(l.errors)-shownErrorLogs):] {
		queries = append(queries, "SELECT * FROM information_schema.routine_load_errors WHERE label = '"+rowset.Label+"'")
	}
	return strings.Join(queries, ", ")
}

// moment is a time as Doris prints it, NULL for none.
func moment(ms int64, zone *time.Location) result.Cell {
	if ms == 0 {
		return nil
	}
	return result.Text(time.UnixMilli(ms).In(zone).Format(time.DateTime))
}

// ShowTasks carries out SHOW ROUTINE LOAD TASK.
func (m *Manager) ShowTasks(_ context.Context, s *session.Session, stmt *ast.ShowRoutineLoadTask) (*result.Table, error) {
	job, err := m.operable(s, stmt.Job)
	if err != nil {
		return nil, err
	}
	var ledgers []ledger.View
	m.cfg.Store.View(func(st *state.State) { ledgers = st.Ledgers(job.Id) })
	table := &result.Table{Columns: taskColumns}
	statuses := m.cfg.Backends.Tasks(job.Id)
	for _, task := range liveTasks(job) {
		i := slices.IndexFunc(statuses, func(s *backendv1.TaskStatus) bool {
			return s.Task.GetTaskId() == task.Id && s.Task.GetEpoch() == task.Epoch
		})
		status := &backendv1.TaskStatus{}
		if i >= 0 {
			status = statuses[i]
		}
		table.Rows = append(table.Rows, taskRow(job, ledgers, task, status, s.Location()))
	}
	return table, nil
}

// taskRow is a row of SHOW ROUTINE LOAD TASK. The id is the task's and its
// epoch's, in the form of Doris's 128-bit ids.
func taskRow(job *raftlogv1.Job, ledgers []ledger.View, task *raftlogv1.Task, status *backendv1.TaskStatus, zone *time.Location) []result.Cell {
	txn, be := "-1", "-1"
	if status.OpenNumber > 0 {
		txn = strconv.FormatUint(status.OpenNumber, 10)
	}
	if task.BackendId != 0 {
		be = strconv.FormatUint(task.BackendId, 10)
	}
	cells := row(fmt.Sprintf("%016x-%016x", task.Id, task.Epoch), txn, "", strconv.FormatUint(job.Id, 10), "", "",
		strconv.FormatInt(timeoutOf(job), 10), be, taskSource(job, ledgers, task, status))
	cells[2] = txnStatus(status)
	cells[4], cells[5] = moment(task.CreatedMs, zone), moment(task.AssignedMs, zone)
	if task.BackendId == 0 {
		cells[5] = nil
	}
	return cells
}

// timeoutOf is how long a txn may take, in seconds: in share mode as long as a
// task holds records for a commit, else what Doris gives it.
func timeoutOf(job *raftlogv1.Job) int64 {
	const holdLocks, multiplier, least = 10, 10, 60
	if isShare(job.Load) {
		return holdLocks * job.LockDurationMs / 1000
	}
	return max(multiplier*job.Load.MaxBatchIntervalS, least)
}

// txnStatus is the open txn's status in Doris's words, NULL without one.
func txnStatus(status *backendv1.TaskStatus) result.Cell {
	if status.OpenNumber == 0 {
		return nil
	}
	switch status.Phase {
	case backendv1.TaskStatus_PHASE_COMMITTING:
		return result.Text("PRECOMMITTED")
	case backendv1.TaskStatus_PHASE_ACKNOWLEDGING:
		return result.Text("VISIBLE")
	}
	return result.Text("PREPARE")
}

// ShowLedger carries out SHOW ROUTINE LOAD LEDGER: a row for each partition
// and topic id.
func (m *Manager) ShowLedger(_ context.Context, s *session.Session, stmt *ast.ShowRoutineLoadLedger) (*result.Table, error) {
	db, err := m.database(s, stmt.Job.DB)
	if err != nil {
		return nil, err
	}
	var all []*raftlogv1.Job
	m.cfg.Store.View(func(st *state.State) { all = st.JobsByName(db.Id, stmt.Job.Name) })
	if len(all) == 0 {
		return nil, refuse("There is no job named %s in db %s", stmt.Job.Name, db.Name)
	}
	l := m.lookAt(all[len(all)-1], m.lookAround(), s.Location())
	table := &result.Table{Columns: ledgerColumns}
	for _, v := range l.ledgers {
		table.Rows = append(table.Rows, l.ledgerRow(v))
	}
	return table, nil
}

// ledgerRow is a row of SHOW ROUTINE LOAD LEDGER.
func (l look) ledgerRow(v ledger.View) []result.Cell {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	spso, end, lag := unknown, unknown, unknown
	if p, ok := l.partition(v.Key); ok {
		end = number(verdict.LogEnd(v, p))
		if p.Position.Start >= 0 {
			spso = number(p.Position.Start)
		}
	}
	if n, known := l.partitionLag(v); known {
		lag = number(n)
	}
	inFlight, text := int64(0), ""
	if n := len(v.Ranges); n > 0 {
		inFlight = v.Ranges[n-1].Last + 1 - v.Settled - v.Ranges.Count()
		text = v.Ranges[:min(n, shownRanges)].String()
		if n > shownRanges {
			text += fmt.Sprintf(" and %d more", n-shownRanges)
		}
	}
	cells := row(number(int64(v.Partition)), kafka.TopicID(v.TopicID).String(), number(v.Start), number(v.Settled), spso, end,
		number(inFlight), lag, number(v.Loaded), number(v.Void), number(v.Expired), number(v.Repaired), number(v.Conflicts), number(int64(len(v.Ranges))), text)
	if !isShare(l.job.Load) {
		cells[4] = nil
	}
	return cells
}
