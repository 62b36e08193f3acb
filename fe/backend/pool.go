package backend

import (
	"context"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"

	"shoal/fe/state"
	"shoal/fe/state/cluster"
	"shoal/internal/rpcconn"
	backendv1 "shoal/proto/backend/v1"
)

// Pool calls backends for queries, at any frontend. Its connections are its own:
// those of a Registry end with a leadership, and queries do not.
type Pool struct {
	state Viewer
	live  func() []uint64
	conns *rpcconn.Conns
	turn  atomic.Uint64
}

// NewPool makes a pool of the backends that live names, connected to with these
// options. It connects to nobody yet.
func NewPool(viewer Viewer, live func() []uint64, dial ...grpc.DialOption) *Pool {
	return &Pool{state: viewer, live: live, conns: rpcconn.NewConns(append([]grpc.DialOption{rpcconn.Reconnect(DeadAfter)}, dial...)...)}
}

// Pick calls some backend that is alive; they take turns. One that is being
// decommissioned is asked only if there is no other. Where none is alive, it
// waits a moment for one.
func (p *Pool) Pick(ctx context.Context) (backendv1.BackendServiceClient, error) {
	return await(ctx, p.pick)
}

func (p *Pool) pick() (backendv1.BackendServiceClient, error) {
	live := p.live()
	var stay, leave []string
	p.state.View(func(s *state.State) {
		for _, b := range s.Backends() {
			switch addr := cluster.Address(b.Host, b.RpcPort); {
			case b.Dropped || !slices.Contains(live, b.Id):
			case b.Decommissioning:
				leave = append(leave, addr)
			default:
				stay = append(stay, addr)
			}
		}
	})
	if len(stay) == 0 {
		stay = leave
	}
	if len(stay) == 0 {
		return nil, ErrNoBackend
	}
	conn, err := p.conns.To(stay[p.turn.Add(1)%uint64(len(stay))])
	if err != nil {
		return nil, err
	}
	return backendv1.NewBackendServiceClient(conn), nil
}

// Close closes the connections. Queries under way fail.
func (p *Pool) Close() { p.conns.Close() }
