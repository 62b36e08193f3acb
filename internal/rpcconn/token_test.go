package rpcconn_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	adminv1 "shoal/proto/admin/v1"
	backendv1 "shoal/proto/backend/v1"
)

// TestToken: a node that has a token takes calls of nodes with the same one only,
// and of operators; one without takes all.
func TestToken(t *testing.T) {
	none, one, other := nodetls.Token{}, token(t, "0123456789abcdef"), token(t, "0123456789abcdee")
	for _, tt := range []struct {
		name           string
		server, caller nodetls.Token
		want           codes.Code // Unimplemented: it was let in
	}{
		{"none", none, none, codes.Unimplemented},
		{"the caller's alone", none, one, codes.Unimplemented},
		{"the same", one, one, codes.Unimplemented},
		{"missing", one, none, codes.Unauthenticated},
		{"another", one, other, codes.Unauthenticated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lis := bufconn.Listen(1 << 16)
			srv := grpc.NewServer(rpcconn.ServerOptions(nil, tt.server)...)
			backendv1.RegisterBackendServiceServer(srv, backendv1.UnimplementedBackendServiceServer{})
			adminv1.RegisterAdminServiceServer(srv, adminv1.UnimplementedAdminServiceServer{})
			go srv.Serve(lis)
			defer srv.Stop()
			conn, err := grpc.NewClient("passthrough:///node", append(rpcconn.DialOptions(nil, tt.caller),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))...)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			node := backendv1.NewBackendServiceClient(conn)
			_, err = node.Heartbeat(t.Context(), &backendv1.HeartbeatRequest{})
			if status.Code(err) != tt.want || strings.Contains(err.Error(), "0123456789") {
				t.Errorf("a call: %v, want %v", err, tt.want)
			}
			stream, err := node.Query(t.Context(), &backendv1.QueryRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			if status.Code(err) != tt.want {
				t.Errorf("a stream: %v, want %v", err, tt.want)
			}
			if _, err := adminv1.NewAdminServiceClient(conn).ListNodes(t.Context(), &adminv1.ListNodesRequest{}); status.Code(err) != codes.Unimplemented {
				t.Errorf("an operator's call: %v", err)
			}
		})
	}
}

func token(t *testing.T, secret string) nodetls.Token {
	t.Helper()
	path := filepath.Join(t.TempDir(), nodetls.TokenFile)
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	token, err := nodetls.ReadToken(path)
	if err != nil {
		t.Fatal(err)
	}
	return token
}
