package routineload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"shoal/fe/loaddef"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	"shoal/internal/clientprops"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// object writes JSON, Doris's keys in their order; text that is HTML stays as it
// is.
func object(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "{}" // never: maps and structs of text and numbers
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// jobProperty is JobProperties: every property as it is in effect, all text,
// and Doris's others, of what the clauses say.
func jobProperty(job *raftlogv1.Job) string {
	load := job.Load
	properties := map[string]string{
		"partitions": "*", "columnToColumnExpr": orAll(loaddef.Columns(load)),
		"precedingFilter": orAll(load.PrecedingFilter), "whereExpr": orAll(load.Where),
		"delete": "*", "sequence_col": "*", "merge_type": "APPEND",
	}
	for _, p := range loaddef.Values(load) {
		properties[p.Key] = p.Value
	}
	properties["current_concurrent_number"], properties["desired_concurrent_number"] = strconv.Itoa(jobs.Placed(job)), desired(job)
	if load.Format != typesv1.RoutineLoad_FORMAT_JSON {
		properties["column_separator"], properties["line_delimiter"] = "'"+loaddef.Separator(load)+"'", "\n"
	}
	return object(properties)
}

// orAll is Doris's * for what is not set.
func orAll(text string) string {
	if text == "" {
		return "*"
	}
	return text
}

// defaultConcurrency is Doris's max_routine_load_task_concurrent_num.
const defaultConcurrency = 256

// desired is desired_concurrent_number as it is in effect.
func desired(job *raftlogv1.Job) string {
	switch n := job.Load.DesiredConcurrentNumber; {
	case n > 0:
		return strconv.FormatInt(n, 10)
	case !isShare(job.Load):
		return strconv.Itoa(defaultConcurrency)
	}
	return strconv.Itoa(2 * len(job.Starts))
}

// dataSource is DataSourceProperties.
func dataSource(l look) string {
	var partitions []string
	for _, v := range l.current() {
		partitions = append(partitions, strconv.Itoa(int(v.Partition)))
	}
	return object(struct {
		Topic      string `json:"topic"`
		Partitions string `json:"currentKafkaPartitions"`
		Brokers    string `json:"brokerList"`
	}{l.job.Load.Topic, strings.Join(partitions, ","), strings.Join(l.job.Load.Brokers, ",")})
}

// custom is CustomProperties: property.* with the group's id, secrets hidden.
func custom(job *raftlogv1.Job) string {
	properties := loaddef.CustomProperties(job.Load)
	properties[clientprops.GroupID] = job.Load.GroupId
	return object(properties)
}

// statistic is Statistic. taskExecuteTimeMs is wall time since CREATE, as in
// Doris, so the rates fall while nothing comes.
func statistic(job *raftlogv1.Job, tasks []*backendv1.TaskStatus, now time.Time) string {
	running := []uint64{}
	for _, t := range tasks {
		if t.OpenNumber > 0 {
			running = append(running, t.OpenNumber)
		}
	}
	end := now.UnixMilli()
	if job.EndedMs > 0 {
		end = job.EndedMs
	}
	ms := max(1, end-job.CreatedMs)
	c := job.Counters
	return object(struct {
		ReceivedBytes     int64    `json:"receivedBytes"`
		RunningTxns       []uint64 `json:"runningTxns"`
		ErrorRows         int64    `json:"errorRows"`
		CommittedTaskNum  int64    `json:"committedTaskNum"`
		LoadedRows        int64    `json:"loadedRows"`
		LoadRowsRate      int64    `json:"loadRowsRate"`
		AbortedTaskNum    int64    `json:"abortedTaskNum"`
		ErrorRowsAfter    int64    `json:"errorRowsAfterResumed"`
		TotalRows         int64    `json:"totalRows"`
		UnselectedRows    int64    `json:"unselectedRows"`
		EmptyMessages     int64    `json:"emptyMessages"`
		DeadLetters       int64    `json:"deadLetters,omitempty"`
		ReceivedBytesRate int64    `json:"receivedBytesRate"`
		TaskExecuteTimeMs int64    `json:"taskExecuteTimeMs"`
	}{
		ReceivedBytes: c.GetReceivedBytes(), RunningTxns: running, ErrorRows: c.GetErrorRows(), CommittedTaskNum: job.CommittedTxns,
		LoadedRows: c.GetLoadedRows(), LoadRowsRate: c.GetLoadedRows() * 1000 / ms, AbortedTaskNum: job.AbortedTxns,
		ErrorRowsAfter: job.ErrorsAfterResume, TotalRows: c.GetTotalRows(), UnselectedRows: c.GetUnselectedRows(), EmptyMessages: c.GetEmptyMessages(),
		DeadLetters:       job.DeadLetters,
		ReceivedBytesRate: c.GetReceivedBytes() * 1000 / ms, TaskExecuteTimeMs: ms,
	})
}

// progress is Progress: by partition, the last offset below which all is
// settled.
func (l look) progress() string {
	out := make(partitionMap[string])
	for _, v := range l.current() {
		out[v.Partition] = "OFFSET_ZERO"
		if v.Settled > 0 {
			out[v.Partition] = strconv.FormatInt(v.Settled-1, 10)
		}
	}
	return object(out)
}

// lag is Lag: by partition, what is yet to be loaded. What the broker cannot
// tell is "unknown" in share mode and, as in Doris, -1 in classic.
func (l look) lag() string {
	out := make(partitionMap[any])
	for _, v := range l.current() {
		n, known := l.partitionLag(v)
		switch {
		case known:
			out[v.Partition] = n
		case isShare(l.job.Load):
			out[v.Partition] = unknown
		default:
			out[v.Partition] = -1
		}
	}
	return object(out)
}

// partitionMap is an object with partitions for keys, in the order of numbers.
type partitionMap[V any] map[int32]V

// MarshalJSON implements json.Marshaler.
func (m partitionMap[V]) MarshalJSON() ([]byte, error) {
	parts := make([]string, 0, len(m))
	for _, p := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf(`"%d":%s`, p, object(m[p])))
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// taskSource is DataSourceProperties of a task: in classic mode, as in Doris,
// the next offset of each of its partitions. A share task has no partition of
// its own; it has its group and what it does.
func taskSource(job *raftlogv1.Job, ledgers []ledger.View, task *raftlogv1.Task, status *backendv1.TaskStatus) string {
	if !isShare(job.Load) {
		next := make(partitionMap[int64])
		for _, v := range ledgers {
			if slices.Contains(task.Partitions, v.Partition) && bytes.Equal(task.TopicId, v.TopicID[:]) {
				next[v.Partition] = v.Settled
			}
		}
		return object(next)
	}
	if jobs.Repairs(task) {
		repairs := make(partitionMap[string])
		for _, p := range task.Repair {
			var left offsets.Set
			for _, r := range p.Ranges {
				left = append(left, offsets.Range{First: r.First, Last: r.Last})
			}
			repairs[p.Partition] = left.String()
		}
		return object(repairs)
	}
	return object(struct {
		Group    string `json:"group.id"`
		Member   string `json:"memberId"`
		Phase    string `json:"phase"`
		Held     int64  `json:"heldRecords"`
		Assigned int32  `json:"assignedPartitions"`
		Trouble  string `json:"trouble"`
	}{job.Load.GroupId, task.MemberId, phaseName(status), status.HeldRecords, status.AssignedPartitions, status.Trouble})
}

// phaseName is what a task does, in small letters; empty while it is not known.
func phaseName(status *backendv1.TaskStatus) string {
	if status.Phase == backendv1.TaskStatus_PHASE_UNSPECIFIED {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(status.Phase.String(), "PHASE_"))
}
