package forward

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"shoal/fe/state"
	"shoal/fe/state/cluster"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
)

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
	conn, err := c.conns.To(addr)
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

// Close closes the connections. Calls under way fail.
func (c *Cluster) Close() { c.conns.Close() }

// Ask is what the frontend at an rpc address says of itself. The error says in
// plain words why it says nothing.
func (c *Cluster) Ask(ctx context.Context, addr string) (*frontendv1.FrontendStatusResponse, error) {
	conn, err := c.conns.To(addr)
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
