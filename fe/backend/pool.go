package backend

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"shoal/fe/state"
	backendv1 "shoal/proto/backend/v1"
)

// Pool calls backends for queries, at any frontend. Its connections are its own:
// those of a Registry end with a leadership, and queries do not.
type Pool struct {
	state Viewer
	live  func() []uint64
	dial  []grpc.DialOption

	mu    sync.Mutex
	conns map[string]*grpc.ClientConn // by address
	turn  int
}

// NewPool makes a pool of the backends that live names, connected to with these
// options. It connects to nobody yet.
func NewPool(viewer Viewer, live func() []uint64, dial ...grpc.DialOption) *Pool {
	quick := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}
	dial = append([]grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: DeadAfter})}, dial...)
	return &Pool{state: viewer, live: live, dial: dial, conns: map[string]*grpc.ClientConn{}}
}

// Pick calls some backend that is alive; they take turns. One that is being
// decommissioned is asked only if there is no other.
func (p *Pool) Pick() (backendv1.BackendServiceClient, error) {
	live := p.live()
	var stay, leave []string
	p.state.View(func(s *state.State) {
		for _, b := range s.Backends() {
			switch addr := joinHostPort(b.Host, b.RpcPort); {
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
	conn := p.conns[addr]
	if conn == nil {
		var err error
		if conn, err = grpc.NewClient(addr, p.dial...); err != nil {
			return nil, err
		}
		p.conns[addr] = conn
	}
	return backendv1.NewBackendServiceClient(conn), nil
}

// Close closes the connections. Queries under way fail.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	clear(p.conns)
}
