package forward

import (
	"context"
	"runtime/debug"

	"google.golang.org/grpc"

	"shoal/fe/errno"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/internal/rpcconn"
	"shoal/internal/textrow"
	frontendv1 "shoal/proto/frontend/v1"
)

// batch is how many bytes of rows are sent together.
const batch = 64 << 10

// Statements carries out a statement at this frontend, which leads.
type Statements interface {
	ExecuteHere(ctx context.Context, s *session.Session, text string, w result.Writer) error
}

// Service is what other frontends ask of this one: the calls of FrontendService
// that are theirs.
type Service struct {
	*Cluster
	Statements Statements
}

// ReadIndex implements FrontendService.
func (s *Service) ReadIndex(ctx context.Context, _ *frontendv1.ReadIndexRequest) (*frontendv1.ReadIndexResponse, error) {
	if err := s.cfg.Store.ReadIndex(ctx); err != nil {
		return nil, s.notLeading(err)
	}
	return &frontendv1.ReadIndexResponse{AppliedIndex: s.applied(), LiveBackends: s.cfg.LiveBackends()}, nil
}

// FrontendStatus implements FrontendService.
func (s *Service) FrontendStatus(context.Context, *frontendv1.FrontendStatusRequest) (*frontendv1.FrontendStatusResponse, error) {
	return s.Status(), nil
}

// Status is what this frontend says of itself.
func (c *Cluster) Status() *frontendv1.FrontendStatusResponse {
	answer := &frontendv1.FrontendStatusResponse{FrontendId: c.cfg.ID, Version: c.cfg.Version, StartedMs: c.cfg.Started.UnixMilli()}
	c.cfg.Store.View(func(st *state.State) { answer.AppliedIndex, answer.OldestIndex = st.Applied(), c.cfg.Leases.Oldest(st) })
	if why := c.cfg.Full(); why != nil {
		answer.Trouble = why.Error()
	}
	return answer
}

func (c *Cluster) applied() (index uint64) {
	c.cfg.Store.View(func(st *state.State) { index = st.Applied() })
	return index
}

// notLeading is a failure that did nothing, for who asked. Who leads, if anybody
// does, it may find by itself.
func (c *Cluster) notLeading(err error) error {
	addr, _ := c.cfg.Elsewhere(err)
	return rpcconn.NotLeading(err.Error(), addr)
}

// Forward implements FrontendService.
func (s *Service) Forward(req *frontendv1.ForwardRequest, stream grpc.ServerStreamingServer[frontendv1.ForwardResponse]) error {
	if err := s.cfg.Store.ReadIndex(stream.Context()); err != nil {
		return s.notLeading(err)
	}
	ctx, attempt := begin(stream.Context())
	sess := decode(req.Session, s.cfg.Globals)
	w := &sender{stream: stream}
	sess.Progress = w.progress
	err := s.execute(ctx, sess, req.Sql, w)
	if _, elsewhere := s.cfg.Elsewhere(err); elsewhere && !attempt.proposed.Load() && !w.began {
		return s.notLeading(err)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	done := &frontendv1.ForwardDone{AffectedRows: w.affected, Info: w.info, Database: sess.DB, AppliedIndex: s.applied(), Error: failure(err)}
	for _, warning := range sess.Warnings() {
		done.Warnings = append(done.Warnings, &frontendv1.Warning{Level: warning.Level, What: &frontendv1.StatementError{
			Errno: uint32(warning.Code.Num), Sqlstate: warning.Code.State, Message: warning.Message}})
	}
	return stream.Send(&frontendv1.ForwardResponse{Body: &frontendv1.ForwardResponse_Done{Done: done}})
}

// execute carries out a statement. Neither a panic nor a cause that nobody
// classified is for another frontend: they go to the log here.
func (s *Service) execute(ctx context.Context, sess *session.Session, text string, w result.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Logger.Error("statement panicked", "connection_id", sess.ID, "user_host", sess.Host, "panic", p, "stack", string(debug.Stack()))
			err = errno.New(errno.Unknown, "internal error; the log of the frontend that leads has the cause")
		}
	}()
	err = s.Statements.ExecuteHere(ctx, sess, text, w)
	if e := errno.From(err); e != nil && e.Code == errno.Unknown && e.Err != nil && ctx.Err() == nil {
		s.cfg.Logger.Error("statement failed", "connection_id", sess.ID, "user_host", sess.Host, "err", err)
	}
	return err
}

// failure is an error as it crosses, nil for none.
func failure(err error) *frontendv1.StatementError {
	e := errno.From(err)
	if e == nil {
		return nil
	}
	return &frontendv1.StatementError{Errno: uint32(e.Code.Num), Sqlstate: e.Code.State, Message: e.Msg}
}

// sender is a Writer that streams to the frontend which asked. gRPC holds it
// back while that one's client does not read.
type sender struct {
	stream   grpc.ServerStreamingServer[frontendv1.ForwardResponse]
	began    bool
	rows     []byte
	affected uint64
	info     string
}

// Columns implements result.Writer.
func (w *sender) Columns(columns []result.Column) error {
	w.began = true
	msg := &frontendv1.ResultColumns{}
	for _, c := range columns {
		msg.Columns = append(msg.Columns, &frontendv1.ResultColumns_Column{Name: c.Name, Type: c.Type})
	}
	return w.stream.Send(&frontendv1.ForwardResponse{Body: &frontendv1.ForwardResponse_Columns{Columns: msg}})
}

// Row implements result.Writer.
func (w *sender) Row(cells [][]byte) error { return w.grown(textrow.Append(w.rows, cells)) }

// EncodedRow implements result.Writer.
func (w *sender) EncodedRow(row []byte) error { return w.grown(append(w.rows, row...)) }

func (w *sender) grown(rows []byte) error {
	if w.rows = rows; len(rows) < batch {
		return nil
	}
	return w.Flush()
}

// Flush implements result.Writer.
func (w *sender) Flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	rows := w.rows
	w.rows = nil // Send may keep it
	return w.stream.Send(&frontendv1.ForwardResponse{Body: &frontendv1.ForwardResponse_Rows{Rows: rows}})
}

// OK implements result.Writer.
func (w *sender) OK(affected uint64, info string) { w.affected, w.info = affected, info }

// progress tells how far the statement has come. Whether it arrives matters to
// nobody: the next message fails too.
func (w *sender) progress(state string) {
	_ = w.stream.Send(&frontendv1.ForwardResponse{Body: &frontendv1.ForwardResponse_Progress{Progress: state}})
}
