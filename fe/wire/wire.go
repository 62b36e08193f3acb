package wire

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"shoal/fe/errno"
	"shoal/fe/session"
)

const (
	loginTimeout = 10 * time.Second       // for a client to log in
	drainTimeout = 3 * time.Second        // for running statements at shutdown
	linger       = time.Second            // for a client to take its last packet
	acceptPause  = 100 * time.Millisecond // after an accept that failed
	loginLimit   = 1 << 20                // bytes of a packet before login
)

// A Config is what a Server needs; all fields are required.
type Config struct {
	Handler   Handler
	Accounts  Authenticator
	Globals   *session.Globals   // also version and limits
	Processes *session.Processes // connections are listed here, for KILL
	Log       *slog.Logger
}

// A Server accepts connections of MySQL clients.
type Server struct {
	Config
	started   time.Time
	questions atomic.Uint64 // commands so far
}

// New makes a Server; Run starts it.
func New(config Config) *Server { return &Server{Config: config, started: time.Now()} }

// Run serves connections of ln until ctx ends. It then accepts no more, ends
// idle connections, gives running statements 3 seconds, and returns nil when
// all connections are down. A listener that was closed by somebody else is an
// error; Run closes it in any case.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	connections, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	serving, drain := context.WithCancel(ctx)
	defer drain()
	closed := context.AfterFunc(serving, func() { ln.Close() })
	defer closed()

	var wait sync.WaitGroup
	err := s.accept(serving, ln, func(nc net.Conn) {
		c := newConn(connections, serving.Done(), s, nc)
		wait.Go(c.serve)
	})
	drain()
	patience := time.AfterFunc(drainTimeout, func() {
		stop(errno.New(errno.ServerShutdown, "Server shutdown in progress"))
	})
	defer patience.Stop()
	wait.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// accept hands connections to start until the listener is closed. Other
// failures, such as too many open files, pass.
func (s *Server) accept(ctx context.Context, ln net.Listener, start func(net.Conn)) error {
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			s.admit(ctx, nc, start)
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			s.Log.Error("cannot accept a MySQL connection", "error", err)
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
		}
	}
}

// admit starts a connection, or tells it that there are too many.
func (s *Server) admit(ctx context.Context, nc net.Conn, start func(net.Conn)) {
	if uint64(s.Processes.Len()) < uint64(s.Globals.Server().MaxConnections) {
		start(nc)
		return
	}
	out := packetWriter{ctx: ctx, dst: nc, timeout: func() time.Duration { return linger }}
	out.send(appendERR(nil, &errno.Error{Code: errno.TooManyConnections, Msg: "Too many connections"}, false))
	if err := out.flush(); err != nil {
		s.Log.Debug("cannot refuse a MySQL connection", "error", err)
	}
	nc.Close()
}
