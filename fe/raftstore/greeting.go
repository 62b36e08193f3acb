package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"shoal/internal/nodetls"
)

// A greeting begins every connection: who accepts it says who he is, and who
// dialled goes on only if that is whom he means. Raft itself knows addresses. A
// frontend whose folder was emptied, or one of another cluster, may be found at
// an address that the configuration has for somebody else; it must not be given
// that one's log, and its votes are not that one's.
//
// With certificates, both ends prove before that they are nodes of one cluster.
// The cluster's token follows the greeting.
type greeting struct {
	id     string
	tls    *nodetls.Credentials // nil for connections in clear, over loopback
	token  nodetls.Token
	logger *slog.Logger
}

// handshakeTimeout is how long who connects may take to prove who he is.
const handshakeTimeout = 10 * time.Second

// hear is the dialler's part. It closes c on an error.
func (g *greeting) hear(ctx context.Context, c net.Conn, id, target string) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	conn, err := g.expect(ctx, c, id, target)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return conn, nil
}

func (g *greeting) expect(ctx context.Context, c net.Conn, id, target string) (net.Conn, error) {
	transport := nodetls.Plain()
	if g.tls != nil {
		transport = g.tls
	}
	conn, _, err := transport.ClientHandshake(ctx, target, c)
	if err != nil {
		return nil, err
	}
	size := make([]byte, 1)
	if _, err := io.ReadFull(conn, size); err != nil {
		return nil, fmt.Errorf("%s does not say who it is: %w", target, err)
	}
	name := make([]byte, size[0])
	if _, err := io.ReadFull(conn, name); err != nil {
		return nil, fmt.Errorf("%s does not say who it is: %w", target, err)
	}
	if string(name) != id {
		return nil, fmt.Errorf("frontend %q answers at %s, and not %s", name, target, id)
	}
	_, err = g.token.WriteTo(conn)
	return conn, err
}

// greet is the listener's part.
func (g *greeting) greet(c net.Conn) (net.Conn, error) {
	if err := c.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return nil, err
	}
	if g.tls != nil {
		secured, info, err := g.tls.ServerHandshake(c)
		if err != nil {
			return nil, err // logged there
		}
		if !nodetls.ByNode(info) {
			return nil, g.refuse(c, "it has an operator's certificate")
		}
		c = secured
	}
	if _, err := c.Write(append([]byte{byte(len(g.id))}, g.id...)); err != nil {
		return nil, err
	}
	switch admitted, err := g.token.AdmitsFrom(c); {
	case err != nil:
		return nil, err // as of who meant somebody else
	case !admitted:
		return nil, g.refuse(c, "its cluster token is another, or none")
	}
	return c, c.SetDeadline(time.Time{})
}

// refuse says why a frontend hears no more of this one: only the log can.
func (g *greeting) refuse(c net.Conn, reason string) error {
	g.logger.Warn("a connection to raft is refused", "reason", reason, "remote", c.RemoteAddr().String())
	return errors.New(reason)
}

// A greeted connection is greeted when raft first reads it, which it does in a
// goroutine of its own: nobody else waits for a slow or hostile other end.
type greeted struct {
	net.Conn // as it was accepted, until it is greeted
	greeting *greeting
	once     sync.Once
	err      error
}

// Read greets, then reads.
func (g *greeted) Read(b []byte) (int, error) {
	g.once.Do(func() {
		conn, err := g.greeting.greet(g.Conn)
		if err != nil {
			g.err = err
			return
		}
		g.Conn = conn
	})
	if g.err != nil {
		return 0, g.err
	}
	return g.Conn.Read(b)
}
