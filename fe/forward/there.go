package forward

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"shoal/fe/errno"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/internal/rpcconn"
	"shoal/internal/textrow"
	frontendv1 "shoal/proto/frontend/v1"
)

// forward has the leader carry out a statement and hands its result on.
func (c *Cluster) forward(ctx context.Context, leader frontendv1.FrontendServiceClient, id string, req *frontendv1.ForwardRequest, s *session.Session, effects bool, w *tracked) error {
	calling, stop := c.whileLeads(ctx, id)
	defer stop()
	done, err := receive(calling, leader, req, s, w)
	if err == nil {
		return c.finish(ctx, done, s, w)
	}
	switch code := status.Code(err); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case w.failed != nil:
		return err
	case notLeader(err):
		return retry(err)
	case code == codes.Unimplemented || code == codes.PermissionDenied || code == codes.Unauthenticated || code == codes.ResourceExhausted:
		return errno.Wrap(errno.NotAvailable, err, "Server isn't available: frontend %s, which leads, refused the statement: %s", id, status.Convert(err).Message())
	case effects:
		return errno.Wrap(errno.OutcomeUnknown, err, "frontend %s, which led, was lost while it carried out the statement, look whether it took place: %v", id, err)
	case w.began:
		return errno.Wrap(errno.NotAvailable, err, "Server isn't available: frontend %s, which led, was lost in the middle of the result; run the statement again", id)
	}
	return retry(err)
}

// receive asks, hands the result on as it comes, and returns the last message.
// The stream ends with the call.
func receive(ctx context.Context, leader frontendv1.FrontendServiceClient, req *frontendv1.ForwardRequest, s *session.Session, w *tracked) (*frontendv1.ForwardDone, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := leader.Forward(ctx, req)
	if err != nil {
		return nil, err
	}
	var cells [][]byte
	for {
		resp, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		switch body := resp.Body.(type) {
		case *frontendv1.ForwardResponse_Columns:
			columns := make([]result.Column, len(body.Columns.Columns))
			for i, col := range body.Columns.Columns {
				columns[i] = result.Column{Name: col.Name, Type: col.Type}
			}
			cells = make([][]byte, len(columns))
			err = w.Columns(columns)
		case *frontendv1.ForwardResponse_Rows:
			err = handOn(body.Rows, cells, w)
		case *frontendv1.ForwardResponse_Progress:
			s.Progress(body.Progress)
		case *frontendv1.ForwardResponse_Done:
			return body.Done, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// handOn writes rows that came together.
func handOn(rows []byte, cells [][]byte, w result.Writer) error {
	for len(rows) > 0 {
		rest, err := textrow.Next(rows, cells)
		if err != nil {
			return fmt.Errorf("a frontend's answer: %w", err)
		}
		if err := w.EncodedRow(rows[:len(rows)-len(rest)]); err != nil {
			return err
		}
		rows = rest
	}
	return w.Flush()
}

// finish takes over what the statement did to its session. The state here is
// then as new as the statement: who reads it next finds it without waiting. The
// statement is over in any case, so that is given up when it takes long.
func (c *Cluster) finish(ctx context.Context, done *frontendv1.ForwardDone, s *session.Session, w *tracked) error {
	s.DB = done.Database
	for _, warning := range done.Warnings {
		e := errno.From(relayed(warning.What))
		s.Warn(warning.Level, e.Code, e.Msg)
	}
	catching, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := c.catchUp(catching, done.AppliedIndex); err != nil {
		c.cfg.Logger.Debug("the effect of a statement is not here yet", "index", done.AppliedIndex, "err", err)
	}
	if done.Error != nil {
		return relayed(done.Error)
	}
	if !w.began {
		w.OK(done.AffectedRows, done.Info)
	}
	return nil
}

func relayed(e *frontendv1.StatementError) error {
	return errno.Relayed(uint16(e.GetErrno()), e.GetSqlstate(), e.GetMessage())
}

// errMoved ends a call to a frontend that does not lead any more.
var errMoved = errors.New("another frontend leads now")

// whileLeads is ctx for a call to the leader. It ends soon after another
// frontend leads, though the old one, frozen or cut off, never says so.
func (c *Cluster) whileLeads(ctx context.Context, id string) (calling context.Context, stop func()) {
	calling, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		last := time.Now() // seen leading
		for {
			select {
			case <-calling.Done():
				return
			case <-ticker.C:
			}
			if leader := c.cfg.Store.LeaderID(); leader == id || leader == "" {
				last = time.Now()
			} else if time.Since(last) >= grace {
				cancel(errMoved)
			}
		}
	}()
	return calling, func() {
		cancel(nil)
		<-done
	}
}

// notLeader tells whether a frontend answered that it does not lead, so that it
// did nothing.
func notLeader(err error) bool {
	_, is := rpcconn.IsNotLeading(err)
	return is
}

// lost tells whether a call failed because of who was asked.
func lost(err error) bool { return notLeader(err) || status.Code(err) == codes.Unavailable }

// forwardedKey is the metadata of a call that comes from another frontend.
const forwardedKey = "shoal-forwarded"

func markForwarded(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, forwardedKey, "1")
}

func forwarded(ctx context.Context) bool {
	return len(metadata.ValueFromIncomingContext(ctx, forwardedKey)) > 0
}
