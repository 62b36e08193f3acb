// Package rpc is what a frontend offers over gRPC: FrontendService to backends
// and other frontends, and AdminService to operators and tools. Both may be asked
// of any frontend: one that does not lead names the leader to a backend, and
// passes an operator's call on.
//
// Both turn requests into calls of what the frontend is made of, and errors
// into status codes with details: NotLeader when another frontend should be
// asked, SqlError with what a MySQL client would see. They keep nothing.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/fe/state"
	"shoal/fe/state/cluster"
	"shoal/fe/txn"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// Store is the replicated state.
type Store interface {
	View(f func(*state.State))
	Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error)
}

// Committer settles txns.
type Committer interface {
	Commit(ctx context.Context, req *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error)
}

// Others answers other frontends (fe/forward).
type Others interface {
	ReadIndex(ctx context.Context, req *frontendv1.ReadIndexRequest) (*frontendv1.ReadIndexResponse, error)
	Forward(req *frontendv1.ForwardRequest, stream grpc.ServerStreamingServer[frontendv1.ForwardResponse]) error
	FrontendStatus(ctx context.Context, req *frontendv1.FrontendStatusRequest) (*frontendv1.FrontendStatusResponse, error)
}

// Frontend implements FrontendService.
type Frontend struct {
	frontendv1.UnimplementedFrontendServiceServer
	Store Store
	Txns  Committer
	// Leader tells whether an error means that another frontend leads, and that
	// one's rpc address, empty when it is not known.
	Leader func(err error) (addr string, elsewhere bool)
	// Full says why nothing more should be written here; nil while there is room.
	Full func() error
	// Closed is what the Store says when it is: the backend asks again, another
	// frontend or this one's next process.
	Closed error
	// Others is what other frontends ask of this one.
	Others Others
	// Members takes other frontends into the cluster (fe/membership).
	Members Members
	// AfterCommit is called when a txn was committed and before that is
	// answered, for tests that need a process to die there; nil normally.
	AfterCommit func()
}

// RegisterBackend implements FrontendService.
func (f *Frontend) RegisterBackend(ctx context.Context, req *frontendv1.RegisterBackendRequest) (*frontendv1.RegisterBackendResponse, error) {
	if req.NodeUuid == "" || req.Host == "" || req.RpcPort == 0 || req.RpcPort > 1<<16-1 {
		return nil, status.Error(codes.InvalidArgument, "a backend registers with its node id, host and rpc port")
	}
	if err := f.checkCluster(req); err != nil {
		return nil, err
	}
	applied, err := f.Store.Propose(ctx, &raftlogv1.Command{AtMs: time.Now().UnixMilli(), Body: &raftlogv1.Command_RegisterBackend{
		RegisterBackend: &raftlogv1.RegisterBackend{ByAddress: true, Backend: &raftlogv1.Backend{
			NodeUuid: req.NodeUuid, Host: req.Host, RpcPort: req.RpcPort, HttpPort: req.HttpPort, Slots: req.Slots, Version: req.Version}}}})
	if err == nil {
		err = applied.Err
	}
	switch {
	case errors.Is(err, cluster.ErrBackendDropped):
		return nil, status.Error(codes.PermissionDenied, err.Error())
	case err != nil:
		return nil, f.toStatus(err)
	}
	info := f.info()
	return &frontendv1.RegisterBackendResponse{BackendId: applied.ID, ClusterId: info.ClusterId, Warehouse: info.Warehouse}, nil
}

// checkCluster refuses a backend that belongs to another cluster, whose tasks
// and files are not ours, or that was given another warehouse.
func (f *Frontend) checkCluster(req *frontendv1.RegisterBackendRequest) error {
	info := f.info()
	switch {
	case info == nil:
		return status.Error(codes.Unavailable, "this frontend is not ready: it is joining its cluster, or making it")
	case req.ClusterId != "" && req.ClusterId != info.ClusterId:
		return otherCluster(fmt.Sprintf("the backend belongs to another cluster, %s, and this is %s", req.ClusterId, info.ClusterId), info.ClusterId, req.ClusterId)
	case req.Warehouse != "" && req.Warehouse != info.Warehouse:
		return status.Errorf(codes.InvalidArgument, "the cluster's warehouse is %s, and the backend was given %s: it is fixed at bootstrap, leave --warehouse away", info.Warehouse, req.Warehouse)
	}
	return nil
}

// otherCluster refuses a node in a way that it can tell from its own cluster's.
func otherCluster(text, own, callers string) error {
	return rpcconn.WithDetail(codes.PermissionDenied, text, &frontendv1.OtherCluster{ClusterId: own, CallerClusterId: callers})
}

func (f *Frontend) info() (info *raftlogv1.Cluster) {
	f.Store.View(func(st *state.State) { info = st.ClusterInfo() })
	return info
}

// CommitTxn implements FrontendService.
func (f *Frontend) CommitTxn(ctx context.Context, req *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	if err := f.Full(); err != nil {
		return nil, status.Error(codes.ResourceExhausted, "the frontend commits nothing: "+err.Error())
	}
	resp, err := f.Txns.Commit(ctx, req)
	if err != nil {
		return nil, f.toStatus(err)
	}
	if f.AfterCommit != nil && resp.Outcome == frontendv1.Outcome_OUTCOME_COMMITTED {
		f.AfterCommit()
	}
	return resp, nil
}

// ReadIndex implements FrontendService.
func (f *Frontend) ReadIndex(ctx context.Context, req *frontendv1.ReadIndexRequest) (*frontendv1.ReadIndexResponse, error) {
	return f.Others.ReadIndex(ctx, req)
}

// Forward implements FrontendService.
func (f *Frontend) Forward(req *frontendv1.ForwardRequest, stream grpc.ServerStreamingServer[frontendv1.ForwardResponse]) error {
	return f.Others.Forward(req, stream)
}

// FrontendStatus implements FrontendService.
func (f *Frontend) FrontendStatus(ctx context.Context, req *frontendv1.FrontendStatusRequest) (*frontendv1.FrontendStatusResponse, error) {
	return f.Others.FrontendStatus(ctx, req)
}

// toStatus gives an error its code; an error that is a status already stays
// what it is.
func (f *Frontend) toStatus(err error) error {
	if addr, elsewhere := f.Leader(err); elsewhere {
		return rpcconn.NotLeading(err.Error(), addr)
	}
	if errors.Is(err, txn.ErrMalformed) {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if errors.Is(err, txn.ErrStopped) || errors.Is(err, f.Closed) {
		return status.Error(codes.Unavailable, err.Error())
	}
	if code := status.FromContextError(err).Code(); code != codes.Unknown {
		return status.Error(code, err.Error())
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Internal, err.Error())
}
