package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"shoal/fe/errno"
	"shoal/fe/session"
)

// errClientGone is why a connection ends when its client closed it.
var errClientGone = errors.New("client closed the connection")

// A conn is one connection. Its serve goroutine owns everything but in, which
// after login is the reader goroutine's.
type conn struct {
	server   *Server
	ctx      context.Context // ends with the connection; its cause says why
	cancel   context.CancelCauseFunc
	draining <-chan struct{} // closed when idle connections shall end
	process  *session.Process
	host     string // the client's address without port

	net     net.Conn
	in      packetReader
	arrived chan arrival // from the reader goroutine; nil before login
	out     packetWriter

	caps     capability
	nonce    []byte // of the greeting, 20 bytes
	session  *session.Session
	prepared map[uint32]*prepared
	lastID   uint32 // of a prepared statement
}

// An arrival is what the reader goroutine met: a packet, or a fault of the
// client that ends the connection.
type arrival struct {
	packet packet
	err    error
}

func newConn(ctx context.Context, draining <-chan struct{}, s *Server, nc net.Conn) *conn {
	ctx, cancel := context.WithCancelCause(ctx)
	address := nc.RemoteAddr().String()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	c := &conn{
		server: s, ctx: ctx, cancel: cancel, draining: draining, host: host, net: nc,
		process:  s.Processes.Add(address, cancel),
		in:       packetReader{src: bufio.NewReader(nc), limit: loginLimit},
		prepared: make(map[uint32]*prepared),
	}
	c.out = packetWriter{ctx: ctx, dst: nc, timeout: c.writeTimeout}
	return c
}

func (c *conn) writeTimeout() time.Duration {
	if c.session == nil {
		return loginTimeout
	}
	return c.session.WriteTimeout()
}

// serve runs the connection from greeting to end.
func (c *conn) serve() {
	log := c.server.Log.With("connection_id", c.process.ID(), "host", c.host)
	defer c.process.Remove()
	defer c.net.Close()
	defer c.cancel(nil)
	unblock := context.AfterFunc(c.ctx, func() {
		// Errors mean that the socket is closed, which unblocks as well.
		_ = c.net.SetReadDeadline(time.Now())
		_ = c.net.SetWriteDeadline(time.Now().Add(linger))
	})
	defer unblock()

	if err := c.login(); err != nil {
		level := slog.LevelDebug // a port scan, a health check
		if isClientFault(err) {
			level = slog.LevelInfo
		}
		log.Log(c.ctx, level, "MySQL login failed", "error", err)
		return
	}
	log.Debug("MySQL client logged in", "user", c.session.User,
		"client", c.session.Attributes["_client_name"], "client_version", c.session.Attributes["_client_version"])
	c.arrived = make(chan arrival, 1)
	readerDone := make(chan struct{})
	go func() {
		defer close(readerDone)
		c.readAhead()
	}()
	err := c.commands()
	c.cancel(err)
	c.closePrepared()
	c.net.Close()
	<-readerDone
	log.Debug("MySQL connection ended", "reason", err)
}

// readAhead reads packets until the client leaves or errs. It holds one packet
// beyond the one in work, and still sees the end of the stream behind it.
func (c *conn) readAhead() {
	for {
		p, err := c.in.read()
		if err != nil && !isClientFault(err) {
			c.cancel(fmt.Errorf("%w: %w", errClientGone, err))
			return
		}
		select {
		case c.arrived <- arrival{p, err}:
		case <-c.ctx.Done():
			return
		}
		if err != nil && !errors.Is(err, errno.PacketTooLarge) {
			return
		}
	}
}

// isClientFault tells what the client did wrong from a stream that ended.
func isClientFault(err error) bool {
	_, ok := errors.AsType[*errno.Error](err)
	return ok
}

// commands carries out commands until the connection ends, and says why.
func (c *conn) commands() error {
	c.process.Sleep(c.session.DB)
	for {
		p, err := c.awaitCommand()
		switch c.out.seq = p.next; {
		case errors.Is(err, errno.PacketTooLarge):
			c.fail(err)
			err = nil
		case err != nil:
			c.farewell(err)
			return err
		default:
			err = c.command(p.payload)
		}
		if flushed := c.flush(); flushed != nil {
			return flushed
		}
		if err != nil {
			return err
		}
		c.process.Sleep(c.session.DB)
	}
}

// errQuit ends a connection whose client said so.
var errQuit = errors.New("client quit")

// awaitCommand waits for the next command, as long as an idle connection may.
func (c *conn) awaitCommand() (packet, error) {
	idle := time.NewTimer(c.session.IdleTimeout())
	defer idle.Stop()
	select {
	case a := <-c.arrived:
		if a.err == nil && a.packet.seq != 0 {
			a.err = errno.New(errno.PacketsOutOfOrder, "Got packets out of order")
		}
		return a.packet, a.err
	case <-idle.C:
		return packet{}, errno.New(errno.ClientInactive, "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.")
	case <-c.draining:
		return packet{}, errno.New(errno.ServerShutdown, "Server shutdown in progress")
	case <-c.ctx.Done():
		return packet{}, context.Cause(c.ctx)
	}
}

// farewell tells an idle client why its connection ends, if there is anyone to
// tell: it reads this as the answer to its next command.
func (c *conn) farewell(err error) {
	if errors.Is(err, errClientGone) {
		return
	}
	c.out.seq = 1
	c.putERR(err)
	if err := c.flush(); err != nil {
		c.server.Log.Debug("MySQL client not told why its connection ends", "connection_id", c.process.ID(), "error", err)
	}
}

// flush sends what is buffered; a client that does not take it in time is gone.
func (c *conn) flush() error {
	err := c.out.flush()
	if err != nil {
		err = fmt.Errorf("%w: %w", errClientGone, err)
		c.cancel(err)
	}
	return err
}

// awaitPacket is the next packet in the middle of an exchange: from the socket
// before login, from the reader later.
func (c *conn) awaitPacket() (packet, error) {
	if c.arrived == nil {
		return c.in.read()
	}
	timeout := time.NewTimer(loginTimeout)
	defer timeout.Stop()
	select {
	case a := <-c.arrived:
		return a.packet, a.err
	case <-timeout.C:
		return packet{}, errno.New(errno.ClientInactive, "No answer from the client")
	case <-c.ctx.Done():
		return packet{}, context.Cause(c.ctx)
	}
}

// guarded runs a call of the handler. A panic becomes an error, and what fails
// because the command was cancelled fails with the reason for that.
func (c *conn) guarded(ctx context.Context, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.server.Log.Error("statement panicked", "connection_id", c.process.ID(), "panic", p, "stack", string(debug.Stack()))
			err = errno.New(errno.Unknown, "internal error; the frontend's log has the cause")
		}
	}()
	err = call()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// fail sends an error and keeps it for SHOW WARNINGS; causes that nobody
// classified go to the log.
func (c *conn) fail(err error) {
	e := errno.From(err)
	if e.Code == errno.Unknown && e.Err != nil && !errors.Is(err, errClientGone) {
		c.server.Log.Error("statement failed", "connection_id", c.process.ID(), "error", err)
	}
	c.session.Warn(session.LevelError, e.Code, e.Msg)
	c.putERR(err)
}
