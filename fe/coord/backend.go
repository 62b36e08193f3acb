package coord

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/fe/errno"
	"shoal/fe/result"
	"shoal/internal/engine"
	"shoal/internal/textrow"
	backendv1 "shoal/proto/backend/v1"
)

// tries is how many backends are asked for the same result, one after the other.
const tries = 3

// runOnBackend has a backend answer and passes its rows on. If that one is gone
// before it has said anything, another is asked.
func (c *Coordinator) runOnBackend(ctx context.Context, p *plan, w result.Writer) (err error) {
	for range tries {
		backend, none := c.cfg.Backends.Pick(ctx)
		if none != nil {
			return errno.Wrap(errno.Unknown, none, "no backend can answer the query: %v", none)
		}
		pass := passing{w: w}
		if err = pass.query(ctx, backend, p.request); err == nil {
			return nil
		}
		if pass.cells != nil || status.Code(err) != codes.Unavailable {
			break
		}
	}
	return fromBackend(ctx, err)
}

// passing hands a backend's answer on to a Writer.
type passing struct {
	w     result.Writer
	cells [][]byte // nil before the first message
}

func (p *passing) query(ctx context.Context, backend backendv1.BackendServiceClient, req *backendv1.QueryRequest) error {
	// The stream must end with this call, whatever ends it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := backend.Query(ctx, req)
	if err != nil {
		return err
	}
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.on(resp); err != nil {
			return err
		}
	}
}

func (p *passing) on(resp *backendv1.QueryResponse) error {
	switch body := resp.Body.(type) {
	case *backendv1.QueryResponse_Schema:
		columns := make([]result.Column, len(body.Schema.Columns))
		for i, col := range body.Schema.Columns {
			columns[i] = result.Column{Name: col.Name, Type: col.Type}
		}
		p.cells = make([][]byte, len(columns))
		return p.w.Columns(columns)
	case *backendv1.QueryResponse_Rows:
		for data := body.Rows.Data; len(data) > 0; {
			rest, err := textrow.Next(data, p.cells)
			if err != nil {
				return fmt.Errorf("a backend's answer: %w", err)
			}
			if err := p.w.EncodedRow(data[:len(data)-len(rest)]); err != nil {
				return err
			}
			data = rest
		}
		return p.w.Flush()
	}
	return nil
}

// fromBackend is an error of a backend as the client sees it: what the query's
// writer can mend has a QueryError detail.
func fromBackend(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	st := status.Convert(err)
	for _, detail := range st.Details() {
		if q, ok := detail.(*backendv1.QueryError); ok {
			return errno.New(kindCodes[kinds[q.Kind]], "%s", st.Message())
		}
	}
	if st.Code() == codes.Unavailable {
		return errno.Wrap(errno.Unknown, err, "the backend that ran the query is gone; run it again")
	}
	return err
}

// kinds are the engine's kinds of errors as backends send them.
var kinds = map[backendv1.QueryError_Kind]engine.ErrorKind{
	backendv1.QueryError_KIND_FAILED:           engine.Failed,
	backendv1.QueryError_KIND_SYNTAX:           engine.Syntax,
	backendv1.QueryError_KIND_REFUSED:          engine.Refused,
	backendv1.QueryError_KIND_UNKNOWN_TABLE:    engine.UnknownTable,
	backendv1.QueryError_KIND_UNKNOWN_COLUMN:   engine.UnknownColumn,
	backendv1.QueryError_KIND_OUT_OF_MEMORY:    engine.OutOfMemory,
	backendv1.QueryError_KIND_UNKNOWN_FUNCTION: engine.UnknownFunction,
}
