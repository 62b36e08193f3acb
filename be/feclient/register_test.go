package feclient_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/be/feclient"
	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
)

// registrar answers RegisterBackend as told.
type registrar struct {
	frontendv1.UnimplementedFrontendServiceServer
	answer error
}

func (r registrar) RegisterBackend(context.Context, *frontendv1.RegisterBackendRequest) (*frontendv1.RegisterBackendResponse, error) {
	return &frontendv1.RegisterBackendResponse{ClusterId: "c1"}, r.answer
}

// TestRegisterAmongStrangers: what another cluster's frontend says ends no backend
// of this one, and a new backend goes to the first that admits it.
func TestRegisterAmongStrangers(t *testing.T) {
	st, err := status.New(codes.PermissionDenied, "no").WithDetails(&frontendv1.OtherCluster{ClusterId: "c2", CallerClusterId: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	foreign, dropped, token, later := st.Err(), status.Error(codes.PermissionDenied, "dropped"), status.Error(codes.Unauthenticated, "another token"), status.Error(codes.Unavailable, "later")
	for _, tt := range []struct {
		name, member string
		first, next  error
		want         string // an error's, "" for none
		final        bool
	}{
		{"a member", "c1", foreign, nil, "", false},
		{"a member with another token", "c1", token, nil, "", false},
		{"a member that waits", "c1", foreign, later, "belongs to another cluster, c2, and this one to c1", false},
		{"a member that its cluster dropped", "c1", foreign, dropped, "dropped", true},
		{"a new one", "", status.Error(codes.InvalidArgument, "another warehouse"), nil, "", false},
		{"a new one with another token", "", token, later, "another token", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := feclient.New([]string{serve(t, registrar{answer: tt.first}), serve(t, registrar{answer: tt.next})}, nil, nodetls.Token{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = c.Register(t.Context(), &frontendv1.RegisterBackendRequest{ClusterId: tt.member})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Register = %v, want %q", err, tt.want)
			}
			if rpcconn.Refused(err, tt.member != "") != tt.final {
				t.Errorf("%v is final: %v, want %v", err, !tt.final, tt.final)
			}
		})
	}
}
