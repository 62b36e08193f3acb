package routineload

import (
	"context"
	"time"

	"shoal/fe/state/jobs"
	"shoal/fe/verdict"
	adminv1 "shoal/proto/admin/v1"
	backendv1 "shoal/proto/backend/v1"
)

// List is the jobs of all databases for the admin API; with ended ones if all.
func (m *Manager) List(_ context.Context, all bool) ([]*adminv1.Job, error) {
	var out []*adminv1.Job
	around := m.lookAround()
	for _, job := range m.all() {
		if !all && jobs.Ended(job.State) {
			continue
		}
		l := m.lookAt(job, around, time.UTC)
		listed := &adminv1.Job{
			Id: job.Id, Database: job.DatabaseName, Name: job.Name, Table: job.TableName, State: jobs.StateName(job.State), Reason: job.Reason,
			Verdict: l.verdict.Text, LoadedRows: job.Counters.GetLoadedRows(), ErrorRows: job.Counters.GetErrorRows(), Tasks: uint32(jobs.Placed(job)),
		}
		if total, known := verdict.Lag(job.Load, l.view, l.ledgers); known {
			listed.Lag = &total
		}
		out = append(out, listed)
	}
	return out, nil
}

// Tasks is the tasks of a job, 0 for all jobs, for the admin API.
func (m *Manager) Tasks(_ context.Context, jobID uint64) ([]*adminv1.Task, error) {
	var out []*adminv1.Task
	for _, job := range m.all() {
		if jobID != 0 && job.Id != jobID {
			continue
		}
		statuses := make(map[uint64]*backendv1.TaskStatus)
		for _, s := range m.cfg.Backends.Tasks(job.Id) {
			statuses[s.Task.GetEpoch()] = s // epochs never come again, in any task
		}
		for _, task := range job.Tasks {
			s := statuses[task.Epoch]
			if s == nil {
				s = &backendv1.TaskStatus{}
			}
			out = append(out, &adminv1.Task{
				Id: task.Id, JobId: job.Id, Epoch: task.Epoch, BackendId: task.BackendId, Phase: phaseName(s),
				CommittedTxns: task.CommittedTxns, AbortedTxns: s.AbortedTxns, Trouble: s.Trouble,
			})
		}
	}
	return out, nil
}
