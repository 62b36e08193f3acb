// Package feclient is a backend's way to the leading frontend.
//
// A backend knows some frontends from its flags and all of them from
// heartbeats, and any of them may lead. A Client keeps who led last and follows
// the NotLeader details of those that do not. The heartbeat of a new leader ends
// the wait for the old one, which may be frozen and never answer. It never decides that a call
// failed for good: an error of CommitTxn means that the outcome is unknown, and
// the caller asks the same again (design: Answers).
//
// A Client is safe for concurrent use and starts no goroutines of its own
// beyond those of its gRPC connections.
package feclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	frontendv1 "shoal/proto/frontend/v1"
)

// callTimeout bounds one frontend's turn: one whose machine is gone does not
// even refuse, and another may lead.
const callTimeout = 5 * time.Second

// Client calls the frontend that leads.
type Client struct {
	given []string // the flags', never empty
	conns *rpcconn.Conns

	mu        sync.Mutex
	frontends []string // the heartbeats'
	leader    string   // one to try first
	turns     map[*turn]bool
}

// New returns a client that knows the frontends at addrs (host:port), of which
// there must be one at least. tls is what it shows and accepts, nil for
// connections in clear, token what it sends. The options are added to those of every connection;
// tests set a dialer.
func New(addrs []string, tls *nodetls.Credentials, token nodetls.Token, dial ...grpc.DialOption) (*Client, error) {
	if len(addrs) == 0 {
		return nil, errors.New("no frontend given: name one with --fe host:port")
	}
	dial = slices.Concat(rpcconn.DialOptions(tls, token), []grpc.DialOption{rpcconn.Reconnect(callTimeout)}, dial)
	return &Client{given: slices.Clone(addrs), leader: addrs[0], turns: map[*turn]bool{}, conns: rpcconn.NewConns(dial...)}, nil
}

// Close closes the connections. Calls under way fail.
func (c *Client) Close() { c.conns.Close() }

// Learn takes over what a heartbeat said: who leads, and all frontends. What
// others were asked meanwhile, the leader is asked.
func (c *Client) Learn(leader string, frontends []string) {
	c.follow(leader)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frontends = slices.Clone(frontends)
	for t := range c.turns {
		if t.addr != leader {
			t.cancel(errMoved)
		}
	}
}

// follow remembers who leads, if it is known.
func (c *Client) follow(leader string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if leader != "" {
		c.leader = leader
	}
}

// errMoved ends a turn of a frontend that does not lead any more.
var errMoved = errors.New("another frontend leads now")

// A turn is a call to one frontend that is under way.
type turn struct {
	addr   string
	cancel context.CancelCauseFunc
}

// begin is the context of a frontend's turn. The caller must call end.
func (c *Client) begin(ctx context.Context, addr string) (running context.Context, end func()) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	ctx, cancel := context.WithCancelCause(ctx)
	t := &turn{addr, cancel}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns[t] = true
	return ctx, func() {
		cancel(nil)
		stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.turns, t)
	}
}

// Register makes the backend known to the cluster, and asks each frontend for
// that once. A backend that has a cluster passes over frontends of others; one that
// has none goes to the first that admits it. The error names each frontend that was
// asked, and rpcconn.Refused tells whether it is final.
func (c *Client) Register(ctx context.Context, req *frontendv1.RegisterBackendRequest) (*frontendv1.RegisterBackendResponse, error) {
	member := req.ClusterId != ""
	next := func(err error) bool { return rpcconn.Refused(err, false) && !(member && rpcconn.Refused(err, true)) }
	return call(ctx, c, next, func(ctx context.Context, fe frontendv1.FrontendServiceClient) (*frontendv1.RegisterBackendResponse, error) {
		return fe.RegisterBackend(ctx, req)
	})
}

// Commit sends a txn to be settled. On an error the outcome is unknown. A
// request that the frontend cannot read was not carried out and never will be:
// it counts as aborted.
func (c *Client) Commit(ctx context.Context, req *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	resp, err := call(ctx, c, func(error) bool { return false }, func(ctx context.Context, fe frontendv1.FrontendServiceClient) (*frontendv1.CommitTxnResponse, error) {
		return fe.CommitTxn(ctx, req)
	})
	if status.Code(err) == codes.InvalidArgument {
		return &frontendv1.CommitTxnResponse{Outcome: frontendv1.Outcome_OUTCOME_ABORTED, Reason: err.Error()}, nil
	}
	return resp, err
}

// call does one round: it asks the leader, follows redirections, and moves on
// to the next frontend when one cannot be reached, does not answer in time, or
// gives an answer after which next says so, each frontend once.
func call[T any](ctx context.Context, c *Client, next func(error) bool, do func(context.Context, frontendv1.FrontendServiceClient) (T, error)) (T, error) {
	var zero T
	var tried []string
	var failed error
	for {
		addr := c.next(tried)
		if addr == "" {
			return zero, failed
		}
		tried = append(tried, addr)
		conn, err := c.conns.To(addr)
		if err != nil {
			return zero, err
		}
		turn, end := c.begin(ctx, addr)
		resp, err := do(turn, frontendv1.NewFrontendServiceClient(conn))
		moved := context.Cause(turn) == errMoved
		end()
		if err == nil {
			c.follow(addr)
			return resp, nil
		}
		leader, elsewhere := rpcconn.Elsewhere(err)
		answer := rpcconn.Answer(addr, err)
		if failed != nil {
			failed = fmt.Errorf("%w; %w", answer, failed) // what counts is the last
		} else {
			failed = answer
		}
		if ctx.Err() != nil || !elsewhere && !moved && !next(answer) {
			return zero, failed
		}
		c.follow(leader)
	}
}

// next is the frontend to ask after those tried, "" when all were.
func (c *Client) next(tried []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(tried, c.leader) {
		return c.leader
	}
	for _, addr := range slices.Concat(c.frontends, c.given) {
		if !slices.Contains(tried, addr) {
			return addr
		}
	}
	return ""
}
