// Package rpc is what a backend offers over gRPC: BackendService, for
// frontends only.
//
// It turns requests into calls of the executor, the prober, the readers of
// previews and footers and the query engine, and their errors into status codes; it keeps nothing. A Server is registered
// before the backend knows its cluster, and answers UNAVAILABLE until Attach.
package rpc

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/be/executor"
	backendv1 "shoal/proto/backend/v1"
)

// Tasks is the part of the executor that frontends use.
type Tasks interface {
	Submit(*backendv1.Leadership, *backendv1.TaskSpec) error
	Cancel(*backendv1.Leadership, *backendv1.TaskRef) error
	Heartbeat(leader *backendv1.Leadership, number uint64, want []*backendv1.TaskRef) ([]*backendv1.TaskStatus, []*backendv1.TaskRef, error)
	// Slots is how many tasks may run.
	Slots() int
}

// Querier answers SELECTs. columns is called once, then send for each batch of
// rows; both may block, which holds the query back.
type Querier interface {
	Query(ctx context.Context, req *backendv1.QueryRequest, columns func(*backendv1.ResultSchema) error, send func(*backendv1.RowBatch) error) error
}

// Prober proves what asked offsets hold.
type Prober interface {
	Probe(ctx context.Context, req *backendv1.ProbeRequest) (*backendv1.ProbeResponse, error)
}

// Reader reads a few records for people to look at.
type Reader interface {
	ReadRecords(ctx context.Context, req *backendv1.ReadRecordsRequest) (*backendv1.ReadRecordsResponse, error)
}

// DryRunner takes a few records through a job's mapping and loads nothing.
type DryRunner interface {
	DryRun(ctx context.Context, req *backendv1.DryRunRequest) (*backendv1.DryRunResponse, error)
}

// Deliverer produces the messages of error rows to a topic, and returns how many
// once the broker has them.
type Deliverer interface {
	Deliver(ctx context.Context, req *backendv1.DeliverDeadLettersRequest) (int64, error)
}

// FooterReader reads the footers of rowset files. send is called for each, in
// the order of the paths, and may block.
type FooterReader interface {
	ReadFooters(ctx context.Context, paths []string, send func(*backendv1.ReadFootersResponse) error) error
}

// Backend is what a Server serves.
type Backend struct {
	ID uint64
	// ClusterID is whose frontends are obeyed. Backends of two clusters may have
	// the same id, and come after each other at one address.
	ClusterID string
	Tasks     Tasks
	Queries   Querier
	Probes    Prober
	Reads     Reader
	DryRuns   DryRunner
	Letters   Deliverer
	Footers   FooterReader
	Version   string
	// StartedMS is when the process started, in milliseconds since 1970. A
	// frontend tells a restarted backend by it.
	StartedMS int64
	// Learn takes over what a valid heartbeat says about the frontends.
	Learn func(*backendv1.HeartbeatRequest)
	// WarehouseError says why the warehouse refuses writes, "" while it takes
	// them.
	WarehouseError func() string
}

// Server implements BackendService.
type Server struct {
	backendv1.UnimplementedBackendServiceServer
	backend atomic.Pointer[Backend]
}

// Register offers the service on r.
func (s *Server) Register(r grpc.ServiceRegistrar) { backendv1.RegisterBackendServiceServer(r, s) }

// Attach makes the server answer for b.
func (s *Server) Attach(b *Backend) { s.backend.Store(b) }

func (s *Server) attached() (*Backend, error) {
	b := s.backend.Load()
	if b == nil {
		return nil, status.Error(codes.Unavailable, "the backend has not joined its cluster yet")
	}
	return b, nil
}

// Heartbeat implements BackendService.
func (s *Server) Heartbeat(_ context.Context, req *backendv1.HeartbeatRequest) (*backendv1.HeartbeatResponse, error) {
	b, err := s.attached()
	if err != nil {
		return nil, err
	}
	if req.BackendId != b.ID || req.ClusterId != b.ClusterID {
		return nil, status.Errorf(codes.NotFound, "this is backend %d of cluster %s, not %d of %s", b.ID, b.ClusterID, req.BackendId, req.ClusterId)
	}
	statuses, lacking, err := b.Tasks.Heartbeat(req.Leadership, req.Number, req.Tasks)
	if err != nil {
		return nil, toStatus(err)
	}
	b.Learn(req)
	return text(&backendv1.HeartbeatResponse{
		Slots: uint32(b.Tasks.Slots()), Tasks: statuses, Lacking: lacking, Version: b.Version,
		StartTimeMs: b.StartedMS, WarehouseError: b.WarehouseError(),
	}), nil
}

// SubmitTask implements BackendService.
func (s *Server) SubmitTask(_ context.Context, req *backendv1.SubmitTaskRequest) (*backendv1.SubmitTaskResponse, error) {
	b, err := s.attached()
	if err != nil {
		return nil, err
	}
	if t := req.Task; t.GetTaskId() == 0 || t.Epoch == 0 || t.Load == nil || t.Schema == nil && !t.Load.MultiTable {
		return nil, status.Error(codes.InvalidArgument, "a task comes with its id, epoch, load, and schema or tables")
	}
	if err := b.Tasks.Submit(req.Leadership, req.Task); err != nil {
		return nil, toStatus(err)
	}
	return &backendv1.SubmitTaskResponse{}, nil
}

// CancelTask implements BackendService.
func (s *Server) CancelTask(_ context.Context, req *backendv1.CancelTaskRequest) (*backendv1.CancelTaskResponse, error) {
	b, err := s.attached()
	if err != nil {
		return nil, err
	}
	if err := b.Tasks.Cancel(req.Leadership, req.Task); err != nil {
		return nil, toStatus(err)
	}
	return &backendv1.CancelTaskResponse{}, nil
}

// Probe implements BackendService.
func (s *Server) Probe(ctx context.Context, req *backendv1.ProbeRequest) (*backendv1.ProbeResponse, error) {
	b, err := s.attached()
	if err != nil {
		return nil, err
	}
	resp, err := b.Probes.Probe(ctx, req)
	if err != nil {
		return nil, toStatus(err)
	}
	return resp, nil
}

// ReadRecords implements BackendService.
func (s *Server) ReadRecords(ctx context.Context, req *backendv1.ReadRecordsRequest) (*backendv1.ReadRecordsResponse, error) {
	b, err := s.attached()
	if err != nil {
		return nil, err
	}
	resp, err := b.Reads.ReadRecords(ctx, req)
	if err != nil {
		return nil, toStatus(err)
	}
	return text(resp), nil
}

// DryRun implements BackendService.
func (s *Server) DryRun(ctx context.Context, req *backendv1.DryRunRequest) (*backendv1.DryRunResponse, error) {
	b, err := s.attached()
	if err != nil {
		return nil, err
	}
	if t := req.Task; t.GetLoad() == nil || t.Schema == nil && !t.Load.MultiTable {
		return nil, status.Error(codes.InvalidArgument, "a dry run comes with its schema and load")
	}
	resp, err := b.DryRuns.DryRun(ctx, req)
	if err != nil {
		return nil, toStatus(err)
	}
	return text(resp), nil
}

// DeliverDeadLetters implements BackendService. An older leader may ask, too:
// what is delivered twice does no harm.
func (s *Server) DeliverDeadLetters(ctx context.Context, req *backendv1.DeliverDeadLettersRequest) (*backendv1.DeliverDeadLettersResponse, error) {
	b, err := s.attached()
	if err != nil {
		return nil, err
	}
	delivered, err := b.Letters.Deliver(ctx, req)
	if err != nil {
		return nil, toStatus(err)
	}
	return &backendv1.DeliverDeadLettersResponse{Delivered: delivered}, nil
}

// ReadFooters implements BackendService.
func (s *Server) ReadFooters(req *backendv1.ReadFootersRequest, stream grpc.ServerStreamingServer[backendv1.ReadFootersResponse]) error {
	b, err := s.attached()
	if err != nil {
		return err
	}
	send := func(footer *backendv1.ReadFootersResponse) error { return stream.Send(text(footer)) }
	if err := b.Footers.ReadFooters(stream.Context(), req.Paths, send); err != nil {
		return toStatus(err)
	}
	return nil
}

// Query implements BackendService.
func (s *Server) Query(req *backendv1.QueryRequest, stream grpc.ServerStreamingServer[backendv1.QueryResponse]) error {
	b, err := s.attached()
	if err != nil {
		return err
	}
	columns := func(schema *backendv1.ResultSchema) error {
		return stream.Send(&backendv1.QueryResponse{Body: &backendv1.QueryResponse_Schema{Schema: schema}})
	}
	send := func(batch *backendv1.RowBatch) error {
		return stream.Send(&backendv1.QueryResponse{Body: &backendv1.QueryResponse_Rows{Rows: batch}})
	}
	if err := b.Queries.Query(stream.Context(), req, columns, send); err != nil {
		return toStatus(err)
	}
	return nil
}

// toStatus gives an error its code; what it does not know is INTERNAL, except
// errors that are statuses already.
func toStatus(err error) error {
	switch {
	case errors.Is(err, executor.ErrStaleLeader), errors.Is(err, executor.ErrOldEpoch):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, executor.ErrNoSlot):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, executor.ErrDraining), errors.Is(err, executor.ErrStarting):
		return status.Error(codes.Unavailable, err.Error())
	}
	if code := status.FromContextError(err).Code(); code != codes.Unknown {
		return status.Error(code, err.Error())
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Internal, err.Error())
}
