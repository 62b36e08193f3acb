package backend

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"shoal/fe/state"
	"shoal/fe/state/cluster"
	backendv1 "shoal/proto/backend/v1"
)

// Pool calls backends for queries, at any frontend. Its connections are its own:
// those of a Registry end with a leadership, and queries do not.
type Pool struct {
	state Viewer
	live  func() []uint64
	dial  []grpc.DialOption

	mu     sync.Mutex
	pooled map[string]pooled // by address
	turn   int
}

type pooled struct {
	conn   *grpc.ClientConn
	client backendv1.BackendServiceClient
}

// NewPool makes a pool of the backends that live names, connected to with these
// options. It connects to nobody yet.
func NewPool(viewer Viewer, live func() []uint64, dial ...grpc.DialOption) *Pool {
	quick := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}
	dial = append([]grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: DeadAfter})}, dial...)
	return &Pool{state: viewer, live: live, dial: dial, pooled: map[string]pooled{}}
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
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn++
	addr := stay[p.turn%len(stay)]
	if known, ok := p.pooled[addr]; ok {
		return known.client, nil
	}
	conn, err := grpc.NewClient(addr, p.dial...)
	if err != nil {
		return nil, err
	}
	p.pooled[addr] = pooled{conn, backendv1.NewBackendServiceClient(conn)}
	return p.pooled[addr].client, nil
}

// Close closes the connections. Queries under way fail.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.pooled {
		known.conn.Close()
	}
	clear(p.pooled)
}
