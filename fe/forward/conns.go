package forward

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"

	"shoal/fe/state"
	"shoal/fe/state/cluster"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
)

// reconnect says how soon a connection is tried again. gRPC's own pause grows to
// two minutes, and statements wait for the frontend that is back.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: askTimeout,
}

// reach returns a connection to a frontend that is open now: what is sent over
// it does not fail because nobody is there. Before that nothing was sent.
func (c *Cluster) reach(ctx context.Context, id string) (*grpc.ClientConn, error) {
	var addr string
	c.cfg.Store.View(func(st *state.State) {
		for _, f := range st.Frontends() {
			if f.Id == id {
				addr = cluster.Address(f.Host, f.RpcPort)
			}
		}
	})
	if addr == "" {
		return nil, fmt.Errorf("frontend %s leads, and its address is not known here yet", id)
	}
	conn, err := c.connection(addr)
	if err != nil {
		return nil, err
	}
	if !open(ctx, conn) {
		return nil, fmt.Errorf("frontend %s at %s cannot be reached", id, addr)
	}
	return conn, nil
}

// open tells whether a connection is open, or can be at once: to one that could
// not be reached a moment ago it is tried anew.
func open(ctx context.Context, conn *grpc.ClientConn) bool {
	limit := askTimeout
	if conn.GetState() == connectivity.TransientFailure {
		conn.ResetConnectBackoff()
		limit = pause
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for first := true; ; first = false {
		now := conn.GetState()
		switch {
		case now == connectivity.Ready:
			return true
		case now == connectivity.Shutdown, now == connectivity.TransientFailure && !first:
			return false
		}
		conn.Connect()
		if !conn.WaitForStateChange(ctx, now) {
			return false
		}
	}
}

var errClosed = errors.New("this frontend is shutting down")

func (c *Cluster) connection(addr string) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		return nil, errClosed
	}
	if conn := c.conns[addr]; conn != nil {
		return conn, nil
	}
	conn, err := grpc.NewClient(addr, append([]grpc.DialOption{grpc.WithConnectParams(reconnect)}, c.cfg.Dial...)...)
	if err != nil {
		return nil, fmt.Errorf("frontend address %q: %w", addr, err)
	}
	c.conns[addr] = conn
	return conn, nil
}

// Close closes the connections. Calls under way fail.
func (c *Cluster) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

// Ask is what the frontend at an rpc address says of itself. The error says in
// plain words why it says nothing.
func (c *Cluster) Ask(ctx context.Context, addr string) (*frontendv1.FrontendStatusResponse, error) {
	conn, err := c.connection(addr)
	if err != nil {
		return nil, err
	}
	limit := askTimeout
	if !open(ctx, conn) {
		limit = pause // for the connection to say why
	}
	asking, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := frontendv1.NewFrontendServiceClient(conn).FrontendStatus(asking, &frontendv1.FrontendStatusRequest{})
	if err != nil {
		return nil, errors.New(rpcconn.Plain(err, askTimeout))
	}
	return answer, nil
}
