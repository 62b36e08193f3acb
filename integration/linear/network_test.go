package linear

import (
	"context"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc/test/bufconn"
)

// A network is listeners in memory. Frontends that are cut off reach nobody, and
// nobody reaches them.
type network struct {
	mu        sync.Mutex
	listeners map[string]*bufconn.Listener
	cut       map[string]bool
	open      map[net.Conn][2]string
}

func newNetwork() *network {
	return &network{listeners: map[string]*bufconn.Listener{}, cut: map[string]bool{}, open: map[net.Conn][2]string{}}
}

func (n *network) listen(id string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := bufconn.Listen(1 << 20)
	n.listeners[address(id)] = l
	return l
}

func address(id string) string { return id + ":9010" }

// dialer is how a frontend connects to others.
func (n *network) dialer(from string) func(ctx context.Context, addr string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		n.mu.Lock()
		l, cut := n.listeners[addr], n.cut[address(from)] || n.cut[addr]
		n.mu.Unlock()
		if l == nil || cut {
			return nil, fmt.Errorf("nobody is reached at %s", addr)
		}
		conn, err := l.DialContext(ctx)
		if err != nil {
			return nil, err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.open[conn] = [2]string{address(from), addr}
		return conn, nil
	}
}

// cutOff ends all connections of a frontend and refuses others.
func (n *network) cutOff(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[address(id)] = true
	for conn, ends := range n.open {
		if ends[0] == address(id) || ends[1] == address(id) {
			conn.Close()
			delete(n.open, conn)
		}
	}
}

func (n *network) heal(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[address(id)] = false
}
