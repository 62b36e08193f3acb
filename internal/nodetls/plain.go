package nodetls

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// PlainAllowed refuses an address that nodes must not use in clear, as listener
// or as the other end: any but loopback.
func PlainAllowed(addr net.Addr) error {
	if tcp, ok := addr.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return fmt.Errorf("what is in clear is for loopback only, and %s is not: make certificates with `shoal certs` and give --tls-dir", addr)
	}
	return nil
}

// Plain are the credentials of a client without certificates: none, and no way
// beyond loopback.
func Plain() credentials.TransportCredentials { return plain{insecure.NewCredentials()} }

type plain struct {
	credentials.TransportCredentials
}

func (p plain) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if err := PlainAllowed(raw.RemoteAddr()); err != nil {
		return nil, nil, err
	}
	conn, info, err := p.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	return &mute{Conn: conn, authority: authority}, info, nil
}

// A mute is a connection whose other end has said nothing so far. If it ends
// so, that end may have waited for TLS.
type mute struct {
	net.Conn
	authority string
	heard     atomic.Bool
}

func (m *mute) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	if n > 0 {
		m.heard.Store(true)
	}
	return n, m.explain(err)
}

func (m *mute) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	return n, m.explain(err)
}

func (m *mute) explain(err error) error {
	if err == nil || m.heard.Load() {
		return err
	}
	return fmt.Errorf("%s said nothing; if it uses TLS, give --tls-dir (%w)", m.authority, err)
}

func (p plain) Clone() credentials.TransportCredentials { return p }
