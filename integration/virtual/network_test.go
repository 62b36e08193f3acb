package virtual

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// dialTimeout is kgo's, which leaves it to the dialer.
const dialTimeout = 10 * time.Second

// A network is hosts, and links between each two of them. A connection delays
// what is sent as its dialer says; a link that is cut loses nothing but delivers nothing, as TCP does that
// sends again and again: neither end hears that the other has closed.
type network struct {
	mu        sync.Mutex
	listeners map[string]*listener // by address
	links     map[[2]string]*link  // by hosts, in order
}

func newNetwork() *network {
	return &network{listeners: map[string]*listener{}, links: map[[2]string]*link{}}
}

// A link is the way between two hosts.
type link struct {
	mu    sync.Mutex
	open  chan struct{} // closed while the link is not cut
	wires []*wire
}

func (n *network) link(a, b string) *link {
	if b < a {
		a, b = b, a
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.links[[2]string{a, b}]
	if l == nil {
		l = &link{open: make(chan struct{})}
		close(l.open)
		n.links[[2]string{a, b}] = l
	}
	return l
}

func (l *link) passes() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// cut stops the traffic between two hosts until heal.
func (n *network) cut(a, b string) {
	l := n.link(a, b)
	l.mu.Lock()
	defer l.mu.Unlock()
	if isClosed(l.open) {
		l.open = make(chan struct{})
	}
}

// heal lets everything through that was sent meanwhile.
func (n *network) heal(a, b string) {
	l := n.link(a, b)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !isClosed(l.open) {
		close(l.open)
	}
}

// reset breaks all connections between two hosts, at both ends, with what is on
// its way.
func (n *network) reset(a, b string) {
	l := n.link(a, b)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.wires {
		w.change(func() { w.broken = true })
	}
	l.wires = nil
}

// An address is a host:port on a network.
type address string

func (a address) Network() string { return "virtual" }
func (a address) String() string  { return string(a) }

// A host has a name, and addresses that it listens on.
type host struct {
	network *network
	name    string
	delay   time.Duration // of what goes over its connections, one way
}

func (n *network) host(name string) host { return host{n, name, time.Millisecond} }

// listen has the form that kfake.ListenFn wants.
func (h host) listen(_, addr string) (net.Listener, error) {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	if h.network.listeners[addr] != nil {
		return nil, fmt.Errorf("listen %s: address already in use", addr)
	}
	l := &listener{host: h, addr: address(addr), incoming: make(chan net.Conn), closed: make(chan struct{})}
	h.network.listeners[addr] = l
	return l, nil
}

// dial has the form that kgo.Dialer wants.
func (h host) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	h.network.mu.Lock()
	l := h.network.listeners[addr]
	h.network.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("dial %s: %w", addr, syscall.ECONNREFUSED)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	way := h.network.link(h.name, l.host.name)
	there, back := way.wire(h.delay), way.wire(h.delay)
	select {
	case <-way.passes():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case l.incoming <- &conn{in: there, out: back, local: l.addr, remote: address(h.name)}:
		return &conn{in: back, out: there, local: address(h.name), remote: l.addr}, nil
	case <-l.closed:
		return nil, fmt.Errorf("dial %s: %w", addr, syscall.ECONNREFUSED)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// grpc has the form that grpc.WithContextDialer and raftstore want.
func (h host) grpc(ctx context.Context, addr string) (net.Conn, error) {
	return h.dial(ctx, "virtual", addr)
}

type listener struct {
	host     host
	addr     address
	incoming chan net.Conn
	once     sync.Once
	closed   chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		n := l.host.network
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, string(l.addr))
	})
	return nil
}

func (l *listener) Addr() net.Addr { return l.addr }

// A conn is one end of a connection.
type conn struct {
	in, out       *wire
	local, remote net.Addr
}

func (c *conn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }
func (c *conn) LocalAddr() net.Addr         { return c.local }
func (c *conn) RemoteAddr() net.Addr        { return c.remote }

func (c *conn) Close() error {
	c.out.finish()
	c.in.abandon()
	return nil
}

func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

// SetWriteDeadline has nothing to do: what is written is buffered.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// A wire carries bytes one way.
type wire struct {
	link  *link
	delay time.Duration

	mu        sync.Mutex
	sent      []packet // and not read yet
	finished  bool     // the writer has closed
	abandoned bool     // the reader has closed
	broken    bool     // nothing goes any more
	deadline  time.Time
	changed   chan struct{} // closed and replaced with any of them
}

// A packet is bytes on their way; none say that the writer has closed.
type packet struct {
	bytes []byte
	due   time.Time
}

func (l *link) wire(delay time.Duration) *wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &wire{link: l, delay: delay, changed: make(chan struct{})}
	l.wires = append(l.wires, w)
	return w
}

// change does something to the wire and tells the reader.
func (w *wire) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *wire) write(b []byte) (n int, err error) {
	open := isClosed(w.link.passes())
	w.change(func() {
		switch {
		case w.finished:
			err = net.ErrClosed
		case w.broken, w.abandoned && open:
			err = syscall.ECONNRESET
		case len(b) > 0:
			n = len(b)
			w.sent = append(w.sent, packet{append([]byte(nil), b...), time.Now().Add(w.delay)})
		}
	})
	return n, err
}

func (w *wire) finish() {
	w.change(func() {
		if !w.finished {
			w.finished = true
			w.sent = append(w.sent, packet{due: time.Now().Add(w.delay)})
		}
	})
}

func (w *wire) abandon() { w.change(func() { w.abandoned = true }) }

func (w *wire) setDeadline(t time.Time) { w.change(func() { w.deadline = t }) }

func (w *wire) read(b []byte) (int, error) {
	for {
		passes := w.link.passes()
		open := isClosed(passes)
		n, again, err := w.take(b, open)
		if again == nil {
			return n, err
		}
		if open {
			passes = nil
		}
		await(again.changed, passes, again.until)
	}
}

// A wait says when to look again.
type wait struct {
	changed <-chan struct{}
	until   time.Time // zero for none
}

// take reads what has arrived, or says when to look for more.
func (w *wire) take(b []byte, open bool) (n int, again *wait, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	switch {
	case w.abandoned:
		return 0, nil, net.ErrClosed
	case w.broken:
		return 0, nil, syscall.ECONNRESET
	case !w.deadline.IsZero() && !now.Before(w.deadline):
		return 0, nil, os.ErrDeadlineExceeded
	case !open || len(w.sent) == 0:
		return 0, &wait{w.changed, w.deadline}, nil
	}
	next := &w.sent[0]
	switch {
	case now.Before(next.due):
		return 0, &wait{w.changed, earlier(w.deadline, next.due)}, nil
	case len(next.bytes) == 0:
		return 0, nil, io.EOF
	}
	n = copy(b, next.bytes)
	if next.bytes = next.bytes[n:]; len(next.bytes) == 0 {
		w.sent = w.sent[1:]
	}
	return n, nil, nil
}

// await returns when one of the channels is closed, or at a time that is not
// zero.
func await(a, b <-chan struct{}, until time.Time) {
	var alarm <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-a:
	case <-b:
	case <-alarm:
	}
}

// earlier is the earlier of two times, of which a may be zero for none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
