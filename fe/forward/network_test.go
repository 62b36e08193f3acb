package forward_test

import (
	"context"
	"net"
	"sync"
	"syscall"

	"google.golang.org/grpc/test/bufconn"
)

// A network is listeners in memory, each of a host, and connections between
// hosts.
type network struct {
	mu        sync.Mutex
	listeners map[string]listener // by address
	links     map[*link]bool
	silent    map[string]bool // hosts that nothing comes from or goes to
}

type listener struct {
	*bufconn.Listener
	host string
}

func newNetwork() *network {
	return &network{listeners: map[string]listener{}, links: map[*link]bool{}, silent: map[string]bool{}}
}

func (n *network) listen(host, addr string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := listener{bufconn.Listen(1 << 20), host}
	n.listeners[addr] = l
	return l
}

// dialer connects from a host.
func (n *network) dialer(from string) func(ctx context.Context, addr string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		n.mu.Lock()
		l, known := n.listeners[addr]
		mute := n.silent[from] || n.silent[l.host]
		n.mu.Unlock()
		switch {
		case !known:
			return nil, syscall.ECONNREFUSED
		case mute:
			<-ctx.Done()
			return nil, ctx.Err()
		}
		raw, err := l.DialContext(ctx)
		if err != nil {
			return nil, syscall.ECONNREFUSED
		}
		c := &link{Conn: raw, network: n, ends: [2]string{from, l.host}}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.links[c] = true
		return c, nil
	}
}

// silence cuts a host off: its connections stay open and bring nothing.
func (n *network) silence(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent[host] = true
}

// heal ends that, and with it the connections that have lost something.
func (n *network) heal(host string) {
	n.mu.Lock()
	var broken []*link
	delete(n.silent, host)
	for c := range n.links {
		if c.ends[0] == host || c.ends[1] == host {
			broken = append(broken, c)
		}
	}
	n.mu.Unlock()
	for _, c := range broken {
		c.Close()
	}
}

// A link is the dialing end of a connection.
type link struct {
	net.Conn
	network *network
	ends    [2]string
}

func (c *link) mute() bool {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	return c.network.silent[c.ends[0]] || c.network.silent[c.ends[1]]
}

// Write loses everything while one end is cut off.
func (c *link) Write(b []byte) (int, error) {
	if c.mute() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Read does too.
func (c *link) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.mute() {
			return n, err
		}
	}
}

func (c *link) Close() error {
	c.network.mu.Lock()
	delete(c.network.links, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}
