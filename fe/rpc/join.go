package rpc

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/fe/membership"
	"shoal/fe/state/cluster"
	frontendv1 "shoal/proto/frontend/v1"
)

// Members takes other frontends into the cluster.
type Members interface {
	Join(ctx context.Context, req *frontendv1.JoinFrontendRequest) (*frontendv1.JoinFrontendResponse, error)
}

// JoinFrontend implements FrontendService.
func (f *Frontend) JoinFrontend(ctx context.Context, req *frontendv1.JoinFrontendRequest) (*frontendv1.JoinFrontendResponse, error) {
	resp, err := f.Members.Join(ctx, req)
	switch {
	case err == nil:
		return resp, nil
	case errors.Is(err, membership.ErrIncomplete), errors.Is(err, membership.ErrTaken), errors.Is(err, membership.ErrCopy), errors.Is(err, membership.ErrOtherWarehouse):
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, cluster.ErrFrontendDropped), errors.Is(err, membership.ErrNoMember):
		return nil, status.Error(codes.PermissionDenied, err.Error())
	case errors.Is(err, membership.ErrOtherCluster):
		return nil, otherCluster(err.Error(), f.info().ClusterId, req.ClusterId)
	case errors.Is(err, cluster.ErrNotBootstrapped):
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return nil, f.toStatus(err)
}
