package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/fe/errno"
	"shoal/fe/literal"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/internal/textrow"
	adminv1 "shoal/proto/admin/v1"
	"shoal/sql/ast"
)

// Statements carries out SQL.
type Statements interface {
	Execute(ctx context.Context, s *session.Session, text string, args []literal.Value, w result.Writer) error
	Use(ctx context.Context, s *session.Session, db string) error
}

// Jobs is the routine load jobs.
type Jobs interface {
	List(ctx context.Context, all bool) ([]*adminv1.Job, error)
	Tasks(ctx context.Context, jobID uint64) ([]*adminv1.Task, error)
	Pause(ctx context.Context, s *session.Session, stmt *ast.PauseRoutineLoad) error
	Resume(ctx context.Context, s *session.Session, stmt *ast.ResumeRoutineLoad) error
	Stop(ctx context.Context, s *session.Session, stmt *ast.StopRoutineLoad) error
}

// Admin implements AdminService.
type Admin struct {
	adminv1.UnimplementedAdminServiceServer
	Statements Statements
	Jobs       Jobs
	Nodes      func() []*adminv1.Node
	// Session makes a session for one call.
	Session func() *session.Session
}

// Execute implements AdminService.
func (a *Admin) Execute(req *adminv1.ExecuteRequest, stream grpc.ServerStreamingServer[adminv1.ExecuteResponse]) error {
	s := a.Session()
	if req.Database != "" {
		if err := a.Statements.Use(stream.Context(), s, req.Database); err != nil {
			return sqlStatus(err)
		}
	}
	w := &executeWriter{stream: stream}
	if err := a.Statements.Execute(stream.Context(), s, req.Sql, nil, w); err != nil {
		return sqlStatus(err)
	}
	return stream.Send(&adminv1.ExecuteResponse{Body: &adminv1.ExecuteResponse_Done{Done: &w.done}})
}

// executeWriter sends a result on a stream.
type executeWriter struct {
	stream grpc.ServerStreamingServer[adminv1.ExecuteResponse]
	cells  [][]byte
	done   adminv1.Done
}

func (w *executeWriter) Columns(columns []result.Column) error {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	w.cells = make([][]byte, len(columns))
	return w.stream.Send(&adminv1.ExecuteResponse{Body: &adminv1.ExecuteResponse_Columns{Columns: &adminv1.Columns{Names: names}}})
}

func (w *executeWriter) Row(cells [][]byte) error {
	row := &adminv1.Row{Cells: make([]*adminv1.Cell, len(cells))}
	for i, c := range cells {
		row.Cells[i] = &adminv1.Cell{Value: c}
	}
	return w.stream.Send(&adminv1.ExecuteResponse{Body: &adminv1.ExecuteResponse_Row{Row: row}})
}

func (w *executeWriter) EncodedRow(row []byte) error {
	if _, err := textrow.Next(row, w.cells); err != nil {
		return err
	}
	return w.Row(w.cells)
}

func (w *executeWriter) Flush() error { return nil }

func (w *executeWriter) OK(affected uint64, info string) {
	w.done.AffectedRows, w.done.Info = affected, info
}

// ListJobs implements AdminService.
func (a *Admin) ListJobs(ctx context.Context, req *adminv1.ListJobsRequest) (*adminv1.ListJobsResponse, error) {
	jobs, err := a.Jobs.List(ctx, req.All)
	if err != nil {
		return nil, sqlStatus(err)
	}
	return &adminv1.ListJobsResponse{Jobs: jobs}, nil
}

// ListTasks implements AdminService.
func (a *Admin) ListTasks(ctx context.Context, req *adminv1.ListTasksRequest) (*adminv1.ListTasksResponse, error) {
	tasks, err := a.Jobs.Tasks(ctx, req.JobId)
	if err != nil {
		return nil, sqlStatus(err)
	}
	return &adminv1.ListTasksResponse{Tasks: tasks}, nil
}

// ListNodes implements AdminService.
func (a *Admin) ListNodes(context.Context, *adminv1.ListNodesRequest) (*adminv1.ListNodesResponse, error) {
	return &adminv1.ListNodesResponse{Nodes: a.Nodes()}, nil
}

// PauseJob implements AdminService.
func (a *Admin) PauseJob(ctx context.Context, req *adminv1.PauseJobRequest) (*adminv1.PauseJobResponse, error) {
	if err := a.Jobs.Pause(ctx, a.Session(), &ast.PauseRoutineLoad{Job: jobName(req.Job)}); err != nil {
		return nil, sqlStatus(err)
	}
	return &adminv1.PauseJobResponse{}, nil
}

// ResumeJob implements AdminService.
func (a *Admin) ResumeJob(ctx context.Context, req *adminv1.ResumeJobRequest) (*adminv1.ResumeJobResponse, error) {
	if err := a.Jobs.Resume(ctx, a.Session(), &ast.ResumeRoutineLoad{Job: jobName(req.Job)}); err != nil {
		return nil, sqlStatus(err)
	}
	return &adminv1.ResumeJobResponse{}, nil
}

// StopJob implements AdminService.
func (a *Admin) StopJob(ctx context.Context, req *adminv1.StopJobRequest) (*adminv1.StopJobResponse, error) {
	if err := a.Jobs.Stop(ctx, a.Session(), &ast.StopRoutineLoad{Job: jobName(req.Job)}); err != nil {
		return nil, sqlStatus(err)
	}
	return &adminv1.StopJobResponse{}, nil
}

func jobName(name *adminv1.JobName) ast.Name {
	return ast.Name{DB: name.GetDatabase(), Name: name.GetName()}
}

// sqlStatus is an error as a MySQL client would see it, in a status.
func sqlStatus(err error) error {
	e := errno.From(err)
	code := codes.InvalidArgument
	if e.Code == errno.Unknown {
		code = codes.Unknown
	}
	return withDetail(status.New(code, e.Msg), &adminv1.SqlError{Errno: uint32(e.Code.Num), Sqlstate: e.Code.State})
}
