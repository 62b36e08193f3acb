package stmt_test

import (
	"context"
	"fmt"

	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/sql/ast"
)

// recordedJobs keeps what it was asked to do. With failure set, it cannot.
type recordedJobs struct {
	asked   []string
	failure error
}

func (r *recordedJobs) record(s *session.Session, what string, job ast.Name) error {
	if job.DB == "" {
		job.DB = s.DB
	}
	r.asked = append(r.asked, what+" "+job.String())
	return r.failure
}

func (r *recordedJobs) Create(_ context.Context, s *session.Session, stmt *ast.CreateRoutineLoad) error {
	return r.record(s, "create", stmt.Job)
}

func (r *recordedJobs) Pause(_ context.Context, s *session.Session, stmt *ast.PauseRoutineLoad) error {
	return r.record(s, "pause", stmt.Job)
}

func (r *recordedJobs) Resume(_ context.Context, s *session.Session, stmt *ast.ResumeRoutineLoad) error {
	return r.record(s, "resume", stmt.Job)
}

func (r *recordedJobs) Stop(_ context.Context, s *session.Session, stmt *ast.StopRoutineLoad) error {
	return r.record(s, "stop", stmt.Job)
}

func (r *recordedJobs) Alter(_ context.Context, s *session.Session, stmt *ast.AlterRoutineLoad) error {
	return r.record(s, "alter", stmt.Job)
}

func (r *recordedJobs) Explain(_ context.Context, s *session.Session, stmt *ast.ExplainRoutineLoad) (*result.Table, error) {
	return r.table(s, "explain", stmt.Create.Job)
}

func (r *recordedJobs) ShowCreate(_ context.Context, s *session.Session, stmt *ast.ShowCreateRoutineLoad) (*result.Table, error) {
	return r.table(s, "show create", stmt.Job)
}

// Show and its like answer one row that tells how often they were asked.
func (r *recordedJobs) Show(_ context.Context, s *session.Session, stmt *ast.ShowRoutineLoad) (*result.Table, error) {
	if stmt.Job == nil {
		return r.table(s, "show", ast.Name{Name: "all"})
	}
	return r.table(s, "show", *stmt.Job)
}

func (r *recordedJobs) ShowTasks(_ context.Context, s *session.Session, stmt *ast.ShowRoutineLoadTask) (*result.Table, error) {
	return r.table(s, "tasks", stmt.Job)
}

func (r *recordedJobs) ShowLedger(_ context.Context, s *session.Session, stmt *ast.ShowRoutineLoadLedger) (*result.Table, error) {
	return r.table(s, "ledger", stmt.Job)
}

func (r *recordedJobs) CheckLedger(_ context.Context, s *session.Session, stmt *ast.CheckRoutineLoadLedger, progress func(string)) (*result.Table, error) {
	progress("read 1 of 2 files")
	return r.table(s, "check", stmt.Job)
}

// Rows is a job of information_schema.
func (r *recordedJobs) Rows(*session.Session) [][]result.Cell {
	job := make([]result.Cell, 22)
	job[0], job[1], job[18], job[19] = result.Text("12"), result.Text("select.1"), result.Text("0"), result.Text("1")
	return [][]result.Cell{job}
}

func (r *recordedJobs) table(s *session.Session, what string, job ast.Name) (*result.Table, error) {
	if err := r.record(s, what, job); err != nil {
		return nil, err
	}
	return &result.Table{Columns: result.Texts("Name", "Asked"), Rows: [][]result.Cell{{result.Text(job.Name), result.Text(fmt.Sprint(len(r.asked)))}}}, nil
}
