package routineload

import (
	"context"
	"fmt"
	"strings"

	"shoal/fe/loaddef"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// codeCreateTasks is Doris's CREATE_TASKS_ERR: no task can be made of the
// definition. Jobs that are paused for it are resumed by themselves.
const codeCreateTasks = 103

// A fit is the outcome of CheckFit, for as long as neither side changes.
type fit struct {
	load   *typesv1.RoutineLoad
	schema *typesv1.Schema
	err    error
}

// fits tells why a job's definition does not fit its table any more. It asks
// again only when one of them has changed. A table that is gone is another
// matter.
func (m *Manager) fits(job *raftlogv1.Job) error {
	var schema *typesv1.Schema
	m.cfg.Store.View(func(st *state.State) {
		if table := st.TableByID(job.TableId); table != nil {
			schema = catalog.Newest(table)
		}
	})
	if schema == nil {
		return nil
	}
	m.mu.Lock()
	known := m.fitting[job.Id]
	m.mu.Unlock()
	if known.load == job.Load && known.schema == schema {
		return known.err
	}
	known = fit{job.Load, schema, loaddef.CheckFit(job.Load, schema)}
	m.mu.Lock()
	m.fitting[job.Id] = known
	m.mu.Unlock()
	return known.err
}

// pauseUnfit pauses the jobs whose definition does not fit their table any more,
// since a column that it names was dropped or renamed.
func (m *Manager) pauseUnfit(ctx context.Context) {
	for _, job := range m.all() {
		if !job.Started || jobs.Ended(job.State) || job.State == raftlogv1.JobState_JOB_STATE_PAUSED {
			continue
		}
		misfit := m.fits(job)
		if misfit == nil {
			continue
		}
		why := strings.TrimPrefix(misfit.Error(), "errCode = 2, detailMessage = ")
		err := m.changeState(ctx, &raftlogv1.ChangeJobState{
			JobId: job.Id, From: job.State, To: raftlogv1.JobState_JOB_STATE_PAUSED, ReasonCode: codeCreateTasks,
			Reason: fmt.Sprintf("the definition does not fit table %s.%s any more: %s", job.DatabaseName, job.TableName, why),
		})
		if err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn("job was not paused", "job_id", job.Id, "reason", why, "err", err)
		}
	}
}
