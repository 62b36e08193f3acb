package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// maxPool is how many idle connections are kept to another frontend.
const maxPool = 3

// inFlight is how many requests a follower is sent before it has answered. With
// more than one, raft sends to it by a pipeline; if an answer fails in there
// while another request is on its way, what sends may wait for what reads, which
// has ended: the follower gets nothing more from this leader, and raft's
// Shutdown does not return (raft v1.8.0).
const inFlight = 1

func newTransport(cfg Config) transport {
	stream := &stream{Listener: cfg.Listener, addr: cfg.Listener.Addr(), dial: cfg.Dial, greeting: greeting{id: cfg.ID, tls: cfg.TLS, token: cfg.Token, logger: cfg.Logger}, open: map[*conn]bool{}}
	if cfg.Advertise != "" {
		stream.addr = advertised(cfg.Advertise)
	}
	if stream.dial == nil {
		stream.dial = dialTCP
	}
	return transport{new(gate), raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: stream, MaxPool: maxPool, Timeout: rpcTimeout, MaxRPCsInFlight: inFlight, Logger: hclogger(cfg.Logger),
	})}
}

// A transport says whom it means when it dials an address: see greeting.
type transport struct {
	heartbeats *gate
	*raft.NetworkTransport
}

// A gate is open until the transport is closed.
type gate struct {
	mu     sync.RWMutex
	closed bool
}

// SetHeartbeatHandler implements raft.Transport. Raft handles heartbeats on the
// goroutines of connections, which its shutdown does not wait for; one that
// found the log closed would end the process by a panic.
func (t transport) SetHeartbeatHandler(handle func(raft.RPC)) {
	t.NetworkTransport.SetHeartbeatHandler(t.heartbeats.guard(handle))
}

// guard is handle while the gate is open.
func (g *gate) guard(handle func(raft.RPC)) func(raft.RPC) {
	return func(rpc raft.RPC) {
		g.mu.RLock()
		defer g.mu.RUnlock()
		if g.closed {
			rpc.Respond(nil, raft.ErrTransportShutdown)
			return
		}
		handle(rpc)
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// Close ends the transport, and returns once no heartbeat is being handled.
func (t transport) Close() error {
	t.heartbeats.close()
	return t.NetworkTransport.Close()
}

// AppendEntries implements raft.Transport.
func (t transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	return t.NetworkTransport.AppendEntries(id, addressOf(id, target), args, resp)
}

// AppendEntriesPipeline implements raft.Transport.
func (t transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	return t.NetworkTransport.AppendEntriesPipeline(id, addressOf(id, target))
}

// RequestVote implements raft.Transport.
func (t transport) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return t.NetworkTransport.RequestVote(id, addressOf(id, target), args, resp)
}

// RequestPreVote implements raft.WithPreVote.
func (t transport) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return t.NetworkTransport.RequestPreVote(id, addressOf(id, target), args, resp)
}

// InstallSnapshot implements raft.Transport.
func (t transport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	return t.NetworkTransport.InstallSnapshot(id, addressOf(id, target), args, resp, data)
}

// TimeoutNow implements raft.Transport.
func (t transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return t.NetworkTransport.TimeoutNow(id, addressOf(id, target), args, resp)
}

// addressOf is an address with the id of who is meant there, as Dial takes it.
func addressOf(id raft.ServerID, addr raft.ServerAddress) raft.ServerAddress {
	return raft.ServerAddress(id) + "@" + addr
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

// A stream is raft's view of the network. It keeps the connections that are
// open, since raft leaves them, and the goroutines that read them, behind.
type stream struct {
	net.Listener
	addr     net.Addr
	dial     func(ctx context.Context, addr string) (net.Conn, error)
	greeting greeting

	mu     sync.Mutex
	open   map[*conn]bool
	closed bool
}

// A conn is a connection that its stream knows of.
type conn struct {
	net.Conn
	stream *stream
}

// Close closes the connection.
func (c *conn) Close() error {
	c.stream.mu.Lock()
	delete(c.stream.open, c)
	c.stream.mu.Unlock()
	return c.Conn.Close()
}

func (s *stream) keep(raw net.Conn, err error) (*conn, error) {
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(net.ErrClosed, raw.Close())
	}
	c := &conn{raw, s}
	s.open[c] = true
	return c, nil
}

// Accept takes a connection of another frontend.
func (s *stream) Accept() (net.Conn, error) {
	c, err := s.keep(s.Listener.Accept())
	if err != nil {
		return nil, err
	}
	return &greeted{Conn: c, greeting: &s.greeting}, nil
}

// Dial connects to another frontend; addr is an addressOf.
func (s *stream) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout) // raft has no context to offer
	defer cancel()
	id, target, _ := strings.Cut(string(addr), "@")
	c, err := s.keep(s.dial(ctx, target))
	if err != nil {
		return nil, err
	}
	return s.greeting.hear(ctx, c, id, target)
}

// Close ends the listener and every connection.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.open {
		_ = c.Conn.Close() // nobody is left to hear of it
	}
	clear(s.open)
	return s.Listener.Close()
}

// Addr is the address that others use, which need not be the one bound.
func (s *stream) Addr() net.Addr { return s.addr }

// advertised is a host:port that is resolved by who dials it.
type advertised string

// Network is TCP.
func (a advertised) Network() string { return "tcp" }

// String is the host:port.
func (a advertised) String() string { return string(a) }

// hclogger is the logger that raft wants, writing to ours.
func hclogger(logger *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Off})
	l.RegisterSink(sink{logger})
	return l
}

type sink struct{ logger *slog.Logger }

// Accept logs one of raft's messages, a level lower than raft thinks: it warns
// of every election and informs of every step.
func (s sink) Accept(name string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelDebug
	switch {
	case slices.ContainsFunc(args, ended):
	case level == hclog.Error:
		to = slog.LevelError
	case level == hclog.Warn:
		to = slog.LevelInfo
	}
	ctx := context.Background() // raft has no context to offer
	if !s.logger.Enabled(ctx, to) {
		return
	}
	attrs := make([]slog.Attr, 0, len(args)/2)
	for i := 0; i+1 < len(args); i += 2 {
		key := strings.ReplaceAll(fmt.Sprint(args[i]), "-", "_")
		attrs = append(attrs, slog.String(key, text(args[i+1])))
	}
	s.logger.LogAttrs(ctx, to, "raft: "+msg, attrs...)
}

// ended tells whether a value is the error of a connection that this end closed.
func ended(value any) bool {
	err, is := value.(error)
	return is && errors.Is(err, net.ErrClosed)
}

// text is a value as hclog would print it.
func text(value any) string {
	if format, ok := value.(hclog.Format); ok && len(format) > 0 {
		return fmt.Sprintf(fmt.Sprint(format[0]), format[1:]...)
	}
	return fmt.Sprint(value)
}
