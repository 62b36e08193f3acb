package routineload

import (
	"context"
	"strconv"

	"shoal/fe/loaddef"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

var createColumns = result.Texts("JobId", "JobName", "CreateStmt")

// ShowCreate carries out SHOW [ALL] CREATE ROUTINE LOAD; ALL gives every job of
// the name, those that have ended too. The statement has the start that CREATE,
// or ALTER to another topic, gave, and not where the job stands.
func (m *Manager) ShowCreate(_ context.Context, s *session.Session, stmt *ast.ShowCreateRoutineLoad) (*result.Table, error) {
	var shown []*raftlogv1.Job
	if !stmt.All {
		job, err := m.operable(s, stmt.Job)
		if err != nil {
			return nil, err
		}
		shown = append(shown, job)
	} else {
		db, err := m.database(s, stmt.Job.DB)
		if err != nil {
			return nil, err
		}
		m.cfg.Store.View(func(st *state.State) { shown = st.JobsByName(db.Id, stmt.Job.Name) })
		if len(shown) == 0 {
			return nil, refuse("There is no job named %s in db %s", stmt.Job.Name, db.Name)
		}
	}
	table := &result.Table{Columns: createColumns}
	for _, job := range shown {
		text := loaddef.Statement(ast.Name{Name: job.Name}, job.TableName, job.Load, job.Comment).String()
		table.Rows = append(table.Rows, row(strconv.FormatUint(job.Id, 10), job.Name, text))
	}
	return table, nil
}
