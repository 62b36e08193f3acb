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
	"shoal/fe/state"
	"shoal/internal/rpcconn"
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
}

// Cluster has a call that changes nothing carried out by the frontend that
// leads: by here, or by there over a connection to it.
type Cluster interface {
	// Led tells, within 2 s, whether a frontend leads.
	Led(ctx context.Context) bool
	Call(ctx context.Context, here func(context.Context) error, there func(context.Context, grpc.ClientConnInterface) error) error
}

// Admin implements AdminService.
type Admin struct {
	adminv1.UnimplementedAdminServiceServer
	Statements Statements
	Jobs       Jobs
	// Nodes is the cluster's processes: of their life, what the leader knows if
	// one leads.
	Nodes   func(ctx context.Context, led bool) []*adminv1.Node
	Cluster Cluster
	// Snapshot is the state of a frontend that leads, as it is now.
	Snapshot func() *state.State
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
	return atLeader(ctx, a, req, adminv1.AdminServiceClient.ListJobs, func(ctx context.Context) (*adminv1.ListJobsResponse, error) {
		jobs, err := a.Jobs.List(ctx, req.All)
		return &adminv1.ListJobsResponse{Jobs: jobs}, err
	})
}

// ListTasks implements AdminService.
func (a *Admin) ListTasks(ctx context.Context, req *adminv1.ListTasksRequest) (*adminv1.ListTasksResponse, error) {
	return atLeader(ctx, a, req, adminv1.AdminServiceClient.ListTasks, func(ctx context.Context) (*adminv1.ListTasksResponse, error) {
		tasks, err := a.Jobs.Tasks(ctx, req.JobId)
		return &adminv1.ListTasksResponse{Tasks: tasks}, err
	})
}

// ListNodes implements AdminService. While no frontend leads it tells what this
// one knows, with no node as the leader.
func (a *Admin) ListNodes(ctx context.Context, req *adminv1.ListNodesRequest) (*adminv1.ListNodesResponse, error) {
	if !a.Cluster.Led(ctx) {
		return &adminv1.ListNodesResponse{Nodes: a.Nodes(ctx, false)}, nil
	}
	return atLeader(ctx, a, req, adminv1.AdminServiceClient.ListNodes, func(ctx context.Context) (*adminv1.ListNodesResponse, error) {
		return &adminv1.ListNodesResponse{Nodes: a.Nodes(ctx, true)}, nil
	})
}

// atLeader has a call that changes nothing answered by the frontend that leads:
// by here if it is this one.
func atLeader[Req, Resp any](ctx context.Context, a *Admin, req *Req, there func(adminv1.AdminServiceClient, context.Context, *Req, ...grpc.CallOption) (*Resp, error), here func(context.Context) (*Resp, error)) (resp *Resp, err error) {
	err = a.Cluster.Call(ctx,
		func(ctx context.Context) (err error) {
			if resp, err = here(ctx); err != nil {
				return sqlStatus(err)
			}
			return nil
		},
		func(ctx context.Context, conn grpc.ClientConnInterface) (err error) {
			resp, err = there(adminv1.NewAdminServiceClient(conn), ctx, req)
			return err
		})
	return resp, answered(err)
}

// answered is err as a client gets it: as it is if another frontend answered so.
func answered(err error) error {
	if _, is := status.FromError(err); is {
		return err
	}
	return sqlStatus(err)
}

// PauseJob implements AdminService.
func (a *Admin) PauseJob(ctx context.Context, req *adminv1.PauseJobRequest) (*adminv1.PauseJobResponse, error) {
	return &adminv1.PauseJobResponse{}, a.control(ctx, "PAUSE", req.Job)
}

// ResumeJob implements AdminService.
func (a *Admin) ResumeJob(ctx context.Context, req *adminv1.ResumeJobRequest) (*adminv1.ResumeJobResponse, error) {
	return &adminv1.ResumeJobResponse{}, a.control(ctx, "RESUME", req.Job)
}

// StopJob implements AdminService.
func (a *Admin) StopJob(ctx context.Context, req *adminv1.StopJobRequest) (*adminv1.StopJobResponse, error) {
	return &adminv1.StopJobResponse{}, a.control(ctx, "STOP", req.Job)
}

// control carries out a statement about one job.
func (a *Admin) control(ctx context.Context, verb string, job *adminv1.JobName) error {
	name := ast.Name{DB: job.GetDatabase(), Name: job.GetName()}
	if err := a.Statements.Execute(ctx, a.Session(), verb+" ROUTINE LOAD FOR "+name.String(), nil, new(result.Description)); err != nil {
		return sqlStatus(err)
	}
	return nil
}

// sqlStatus is an error as a MySQL client would see it, in a status.
func sqlStatus(err error) error {
	e := errno.From(err)
	code := codes.InvalidArgument
	if e.Code == errno.Unknown {
		code = codes.Unknown
	}
	return rpcconn.WithDetail(code, e.Msg, &adminv1.SqlError{Errno: uint32(e.Code.Num), Sqlstate: e.Code.State})
}
