package coord

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/fe/errno"
	backendv1 "shoal/proto/backend/v1"
)

// Every kind of error that a backend can send has a number of MySQL's, and its
// text reaches the client. (What queries answer is tested by fe/stmt's scripts.)
func TestErrorsOfBackends(t *testing.T) {
	for number, name := range backendv1.QueryError_Kind_name {
		kind := backendv1.QueryError_Kind(number)
		if kind == backendv1.QueryError_KIND_UNSPECIFIED {
			continue
		}
		if _, known := kinds[kind]; !known {
			t.Errorf("%s has no kind of the engine's", name)
		}
		st, err := status.New(codes.InvalidArgument, "what is wrong").WithDetails(&backendv1.QueryError{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		if e := errno.From(fromBackend(t.Context(), st.Err())); e.Code.Num == 0 || e.Msg != "what is wrong" {
			t.Errorf("%s reaches the client as %d %q", name, e.Code.Num, e.Msg)
		}
	}
	hidden := status.Error(codes.Internal, "a path of the backend's")
	if e := errno.From(fromBackend(t.Context(), hidden)); e.Code != errno.Unknown || e.Msg == "a path of the backend's" {
		t.Errorf("an error that is not the query's reaches the client: %q", e.Msg)
	}
	if err := fromBackend(t.Context(), hidden); !errors.Is(err, hidden) {
		t.Errorf("its cause is lost to the log: %v", err)
	}
}
