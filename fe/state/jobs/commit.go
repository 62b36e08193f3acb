package jobs

import (
	"bytes"
	"fmt"
	"slices"

	"shoal/fe/state/cow"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// maxSamples is how many samples of error rows a job keeps, the latest.
const maxSamples = 3

func answer(outcome frontendv1.Outcome, format string, args ...any) *frontendv1.CommitTxnResponse {
	return &frontendv1.CommitTxnResponse{Outcome: outcome, Reason: fmt.Sprintf(format, args...)}
}

// CheckNumber is the first rule of a commit: it answers a txn that was decided
// before as then, one with an older number SUPERSEDED, and one of an epoch
// that is not its task's FENCED. It returns nil when the txn is to be decided;
// otherwise nothing moves.
func (j *Jobs) CheckNumber(req *frontendv1.CommitTxnRequest) *frontendv1.CommitTxnResponse {
	task := j.task(req)
	switch {
	case task == nil:
		return answer(frontendv1.Outcome_OUTCOME_FENCED, "task %d of job %d does not exist any more", req.TaskId, req.JobId)
	case task.LastAnswer != nil && req.Epoch == task.LastEpoch && req.Number == task.LastNumber && bytes.Equal(req.Digest, task.LastDigest):
		return task.LastAnswer
	case req.Epoch == task.LastEpoch && req.Number <= task.LastNumber:
		return answer(frontendv1.Outcome_OUTCOME_SUPERSEDED, "task %d has had txn number %d of epoch %d decided, asked was number %d",
			task.Id, task.LastNumber, task.LastEpoch, req.Number)
	case req.Epoch != task.Epoch:
		return answer(frontendv1.Outcome_OUTCOME_FENCED, "task %d is at epoch %d, asked was epoch %d", task.Id, task.Epoch, req.Epoch)
	}
	return nil
}

func (j *Jobs) task(req *frontendv1.CommitTxnRequest) *raftlogv1.Task {
	tasks := j.jobs[req.JobId].GetTasks()
	if i := taskIndex(tasks, req.TaskId); i >= 0 {
		return tasks[i]
	}
	return nil
}

// CheckFence is the second rule, as far as it is the job's: it must be RUNNING,
// and the txn be for its table and its ledgers' generation. It returns nil
// when all is so, and the answer if not. CheckNumber has passed.
func (j *Jobs) CheckFence(req *frontendv1.CommitTxnRequest) *frontendv1.CommitTxnResponse {
	job := j.jobs[req.JobId]
	switch {
	case job.State != raftlogv1.JobState_JOB_STATE_RUNNING:
		return answer(frontendv1.Outcome_OUTCOME_ABORTED, "job %s is %s", job.Name, StateName(job.State))
	case req.Generation != job.Generation:
		return answer(frontendv1.Outcome_OUTCOME_FENCED, "job %s loads generation %d, asked was %d", job.Name, job.Generation, req.Generation)
	case req.TableId != job.TableId:
		return answer(frontendv1.Outcome_OUTCOME_ABORTED, "job %s loads into table %d, asked was %d", job.Name, job.TableId, req.TableId)
	case len(req.Tables) > 0 && !job.Load.MultiTable:
		return answer(frontendv1.Outcome_OUTCOME_ABORTED, "job %s loads into table %d only", job.Name, job.TableId)
	}
	return nil
}

// Committed moves a job by a txn that was applied by the log entry at index:
// counters, window, samples, error rowset, and the task's last txn. It returns
// the error rowsets that the job does not keep any more.
func (j *Jobs) Committed(req *frontendv1.CommitTxnRequest, a *frontendv1.CommitTxnResponse, index uint64) (dropped []*raftlogv1.ErrorRowset) {
	job := cow.Copy(j.jobs[req.JobId])
	task := decided(job, req, a)
	task.CommittedTxns++
	job.CommittedTxns++
	if Repairs(task) {
		job.Repaired += repairedBy(req)
	}
	job.Counters = sum(job.Counters, req.Counters)
	count(job, req)
	addSamples(job, req.Samples)
	if req.ErrorRowset != nil {
		dropped = j.addErrorRowset(job, req, index)
	}
	j.put(job)
	return dropped
}

// addErrorRowset adds a txn's error rowset to a job that is a copy already, and
// returns those that are too many then.
func (j *Jobs) addErrorRowset(job *raftlogv1.Job, req *frontendv1.CommitTxnRequest, index uint64) (dropped []*raftlogv1.ErrorRowset) {
	added := &raftlogv1.ErrorRowset{JobId: job.Id, Rowset: req.ErrorRowset, TxnId: index, Label: req.Label}
	all := append(j.errors[job.Id], added)
	j.errors[job.Id] = latest(job, all)
	dropped = all[:len(all)-len(j.errors[job.Id])]
	if !traced(job) {
		return dropped
	}
	if !HasRows(req) {
		added.Partitions = req.Partitions
	}
	job.KeptErrorRows += req.ErrorRowset.Rows
	for _, d := range dropped {
		job.KeptErrorRows -= d.Rowset.GetRows()
	}
	return dropped
}

// HasRows tells whether a txn adds rows to a table.
func HasRows(req *frontendv1.CommitTxnRequest) bool {
	return req.Rowset != nil || slices.ContainsFunc(req.Tables, func(t *frontendv1.TableRows) bool { return t.Rowset != nil })
}

// Cut counts rows that are taken away with their rowsets.
func (j *Jobs) Cut(rowsets []*raftlogv1.TableRowset) {
	rows := map[uint64]int64{}
	for _, r := range rowsets {
		rows[r.JobId] += r.Rowset.GetRows()
	}
	for id, n := range rows {
		if job := j.jobs[id]; traced(job) {
			job = cow.Copy(job)
			job.CutRows += n
			j.put(job)
		}
	}
}

// traced tells whether what the check of a job's ledgers needs is kept.
func traced(job *raftlogv1.Job) bool {
	starts := job.GetStarts()
	return len(starts) > 0 && !slices.ContainsFunc(starts, func(s *raftlogv1.LedgerStart) bool { return !s.Traced })
}

// Refused notes the answer of a txn that changed nothing.
func (j *Jobs) Refused(req *frontendv1.CommitTxnRequest, a *frontendv1.CommitTxnResponse) {
	job := cow.Copy(j.jobs[req.JobId])
	decided(job, req, a)
	if a.Outcome != frontendv1.Outcome_OUTCOME_CONFLICT {
		job.AbortedTxns++
	}
	j.put(job)
}

// RefusedAndPaused is Refused with a PAUSED job: the txn's samples are kept to
// show why, and the window begins anew.
func (j *Jobs) RefusedAndPaused(req *frontendv1.CommitTxnRequest, a *frontendv1.CommitTxnResponse, code int32, atMs int64) {
	j.Refused(req, a)
	job := paused(j.jobs[req.JobId], code, a.Reason, atMs)
	job.WindowRows, job.WindowErrors = 0, 0
	addSamples(job, req.Samples)
	j.put(job)
}

// decided sets the last txn of the task that asked, in a job that is a copy
// already, and returns the task.
func decided(job *raftlogv1.Job, req *frontendv1.CommitTxnRequest, a *frontendv1.CommitTxnResponse) *raftlogv1.Task {
	i := taskIndex(job.Tasks, req.TaskId)
	task := cow.Copy(job.Tasks[i])
	task.LastEpoch, task.LastNumber, task.LastDigest, task.LastAnswer = req.Epoch, req.Number, req.Digest, a
	job.Tasks = slices.Clone(job.Tasks)
	job.Tasks[i] = task
	return task
}

func addSamples(job *raftlogv1.Job, samples []*frontendv1.ErrorSample) {
	if len(samples) == 0 {
		return
	}
	all := slices.Concat(job.Samples, samples)
	job.Samples = all[max(0, len(all)-maxSamples):]
}

func sum(a, b *typesv1.Counters) *typesv1.Counters {
	return &typesv1.Counters{
		TotalRows:      a.GetTotalRows() + b.GetTotalRows(),
		LoadedRows:     a.GetLoadedRows() + b.GetLoadedRows(),
		ErrorRows:      a.GetErrorRows() + b.GetErrorRows(),
		UnselectedRows: a.GetUnselectedRows() + b.GetUnselectedRows(),
		EmptyMessages:  a.GetEmptyMessages() + b.GetEmptyMessages(),
		ReceivedBytes:  a.GetReceivedBytes() + b.GetReceivedBytes(),
	}
}
