package rpcconn

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"shoal/internal/nodetls"
	adminv1 "shoal/proto/admin/v1"
)

// operators may call these services; all others are for nodes, since tasks carry
// the secrets of jobs and commits are taken at their word.
var operators = []string{"/" + adminv1.AdminService_ServiceDesc.ServiceName + "/", "/grpc.reflection."}

// admit refuses an operator's certificate where a node's is needed.
func admit(ctx context.Context, method string) error {
	for _, service := range operators {
		if strings.HasPrefix(method, service) {
			return nil
		}
	}
	if caller, ok := peer.FromContext(ctx); ok && nodetls.ByNode(caller.AuthInfo) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "%s is for nodes of the cluster, and the certificate is an operator's", method)
}

func unaryForNodes(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := admit(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handle(ctx, req)
}

func streamForNodes(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := admit(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handle(srv, stream)
}
