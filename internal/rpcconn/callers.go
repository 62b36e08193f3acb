package rpcconn

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"shoal/internal/nodetls"
	adminv1 "shoal/proto/admin/v1"
)

// operators may call these services; all others are for nodes, since tasks carry
// the secrets of jobs and commits are taken at their word.
var operators = []string{"/" + adminv1.AdminService_ServiceDesc.ServiceName + "/", "/grpc.reflection."}

// guard lets callers in: operators to what is for them, nodes to everything.
type guard struct {
	tls   bool // callers have shown certificates
	token nodetls.Token
}

// admit refuses an operator's certificate where a node's is needed, and whoever
// has not the cluster's token there.
func (g guard) admit(ctx context.Context, method string) error {
	for _, service := range operators {
		if strings.HasPrefix(method, service) {
			return nil
		}
	}
	if g.tls && !isNode(ctx) {
		return status.Errorf(codes.PermissionDenied, "%s is for nodes of the cluster, and the certificate is an operator's", method)
	}
	sent, _ := metadata.FromIncomingContext(ctx)
	if !g.token.Admits(sent) {
		return status.Errorf(codes.Unauthenticated, "the caller has another %s than the node that it calls, or none: all nodes of a cluster need the same (--tls-dir or --cluster-token-file), and read it at their start", nodetls.TokenFile)
	}
	return nil
}

// isNode tells whether the caller's certificate is a node's.
func isNode(ctx context.Context) bool {
	caller, ok := peer.FromContext(ctx)
	return ok && nodetls.ByNode(caller.AuthInfo)
}

func (g guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := g.admit(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handle(ctx, req)
}

func (g guard) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := g.admit(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handle(srv, stream)
}
