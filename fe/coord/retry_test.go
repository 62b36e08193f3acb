package coord

import (
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/fe/errno"
	"shoal/fe/result"
	backendv1 "shoal/proto/backend/v1"
)

// A line is backends that are picked one after the other.
type line []*scripted

func (l *line) Pick(context.Context) (backendv1.BackendServiceClient, error) {
	if len(*l) == 0 {
		return nil, errors.New("no backend is alive")
	}
	first := (*l)[0]
	*l = (*l)[1:]
	return first, nil
}

// scripted is a backend that sends its messages and ends with err.
type scripted struct {
	backendv1.BackendServiceClient
	messages []*backendv1.QueryResponse
	err      error
}

func (s *scripted) Query(context.Context, *backendv1.QueryRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[backendv1.QueryResponse], error) {
	return &scriptedStream{scripted: s}, nil
}

type scriptedStream struct {
	grpc.ServerStreamingClient[backendv1.QueryResponse]
	*scripted
	sent int
}

func (s *scriptedStream) Recv() (*backendv1.QueryResponse, error) {
	if s.sent == len(s.messages) {
		return nil, s.err
	}
	s.sent++
	return s.messages[s.sent-1], nil
}

// TestAnotherBackend: a backend that is gone before it has said anything is
// passed over. Nothing else is asked twice.
func TestAnotherBackend(t *testing.T) {
	gone := status.Error(codes.Unavailable, "connection refused")
	schema := []*backendv1.QueryResponse{{Body: &backendv1.QueryResponse_Schema{Schema: &backendv1.ResultSchema{Columns: []*backendv1.ResultColumn{{Name: "a", Type: "int"}}}}}}
	well := &scripted{messages: schema, err: io.EOF}
	for name, tt := range map[string]struct {
		line line
		left int
		want errno.Code // zero for an answer
	}{
		"the second answers":         {line{{err: gone}, well, well}, 1, errno.Code{}},
		"all are gone":               {line{{err: gone}, {err: gone}, {err: gone}, well}, 1, errno.Unknown},
		"gone in the middle":         {line{{messages: schema, err: gone}, well}, 1, errno.Unknown},
		"the query is at fault":      {line{{err: status.Error(codes.InvalidArgument, "division by zero")}, well}, 1, errno.Unknown},
		"none is left to be asked":   {line{{err: gone}}, 0, errno.Unknown},
		"the first answers, as ever": {line{well, well}, 1, errno.Code{}},
	} {
		backends := tt.line
		c := New(Config{Backends: &backends})
		var d result.Description
		err := c.runOnBackend(t.Context(), &plan{request: &backendv1.QueryRequest{}}, &d)
		if answered := err == nil; answered != (tt.want == errno.Code{}) || !answered && errno.From(err).Code != tt.want || len(backends) != tt.left {
			t.Errorf("%s: %v, and %d backends were not asked, want %d", name, err, len(backends), tt.left)
		}
	}
}
