package rpcconn

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Reconnect is how soon a connection between nodes is tried again, and how long a
// try may take. gRPC's own pause grows to two minutes, and what waits for a node
// that is back (records in hand, statements, tasks of a dead backend) cannot.
func Reconnect(try time.Duration) grpc.DialOption {
	return grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
		MinConnectTimeout: try,
	})
}

// ErrClosed says that connections are wanted of a node that ends.
var ErrClosed = errors.New("this node is shutting down")

// Conns keeps one connection to each node that was asked for. It is safe for
// concurrent use.
type Conns struct {
	dial []grpc.DialOption

	mu   sync.Mutex
	open map[string]*grpc.ClientConn // by address; nil once closed
}

// NewConns makes connections with these options. It connects to nobody yet.
func NewConns(dial ...grpc.DialOption) *Conns {
	return &Conns{dial: dial, open: map[string]*grpc.ClientConn{}}
}

// To is the connection to the node at addr (host:port), which need not be there. It
// is closed by Close only. The error names the address, or is ErrClosed.
func (c *Conns) To(addr string) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		return nil, ErrClosed
	}
	if conn := c.open[addr]; conn != nil {
		return conn, nil
	}
	conn, err := grpc.NewClient(addr, c.dial...)
	if err != nil {
		return nil, fmt.Errorf("connection to %q: %w", addr, err)
	}
	c.open[addr] = conn
	return conn, nil
}

// Close closes all connections; calls under way fail.
func (c *Conns) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		conn.Close()
	}
	c.open = nil
}
