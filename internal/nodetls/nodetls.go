// Package nodetls is how Shoal's processes prove to each other, over gRPC and
// Raft, that they are of one cluster: mutual TLS 1.3 by certificates of the cluster's own
// authority, from a folder of three files.
//
// Both ends present a certificate and verify the other's against ca.crt; who
// calls checks also the name of whom it called. A certificate for servers makes
// a node, one for clients alone an operator, and Node tells them apart.
// Handshakes read the files again when they have changed, so a renewal needs no
// restart; files that cannot be used leave the ones before them in use.
// Connections are verified when they are made and not again.
//
// Beside the certificates may lie the cluster's token, a secret that nodes send
// with each call. It tells apart clusters that have one authority.
//
// Without a folder connections are in clear, over loopback only: Plain and PlainAllowed.
//
// Issue makes the authority and the folders. Nothing here starts a goroutine;
// Credentials are safe for concurrent use.
package nodetls

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

const (
	// expirySoon is how long before its end a certificate is warned of.
	expirySoon = 30 * 24 * time.Hour
	// repeatAfter is how long the same refusal is not logged again: who is
	// refused tries again every second.
	repeatAfter = time.Minute
)

// Credentials are what one process shows and accepts. They are
// credentials.TransportCredentials for both ends.
type Credentials struct {
	dir string
	log *slog.Logger

	mu     sync.Mutex
	files  *files
	stamp  string // of the files when they were read
	told   string // last line that tell logged
	toldAt time.Time
}

// Open reads the folder. The error names the file, what is wrong with it, and
// what to do.
func Open(dir string, log *slog.Logger) (*Credentials, error) {
	stamp := stampOf(dir)
	f, err := read(dir)
	if err != nil {
		return nil, err
	}
	c := &Credentials{dir: dir, log: log, files: f, stamp: stamp}
	c.warnOfExpiry()
	return c, nil
}

// CheckHost refuses to serve as host with a certificate that those who call it
// would not accept.
func (c *Credentials) CheckHost(host string) error {
	f := c.current()
	leaf := f.cert.Leaf
	if !Node(leaf) {
		return fmt.Errorf("%s is an operator's certificate, with which no node can serve: take the folder that was made for this host", f.certPath())
	}
	if err := leaf.VerifyHostname(host); err != nil {
		return f.explain(err, f.certPath(), leaf)
	}
	return nil
}

// Node tells whether a certificate is a node's, and not an operator's.
func Node(cert *x509.Certificate) bool {
	return slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
}

// ByNode tells whether the other end of a connection has a node's certificate,
// and not an operator's or none.
func ByNode(info credentials.AuthInfo) bool {
	proved, ok := info.(credentials.TLSInfo)
	return ok && len(proved.State.PeerCertificates) > 0 && Node(proved.State.PeerCertificates[0])
}

// current are the files as they are now, or the last that could be used.
func (c *Credentials) current() *files {
	c.mu.Lock()
	defer c.mu.Unlock()
	stamp := stampOf(c.dir)
	if stamp == c.stamp {
		return c.files
	}
	f, err := read(c.dir)
	if err != nil {
		c.tell("the new certificates cannot be used, the old ones stay in use", err, "dir", c.dir)
		return c.files
	}
	c.files, c.stamp = f, stamp
	c.log.Info("certificates were read again", "dir", c.dir, "valid_until", f.cert.Leaf.NotAfter)
	c.warnOfExpiry()
	return f
}

func (c *Credentials) warnOfExpiry() {
	if until := c.files.cert.Leaf.NotAfter; time.Until(until) < expirySoon {
		c.log.Warn("the certificate expires soon: renew it with `shoal certs`", "file", c.files.certPath(), "valid_until", until)
	}
}

// tell logs a warning, unless it is the last one again. c.mu is held.
func (c *Credentials) tell(msg string, err error, args ...any) {
	line := msg + err.Error()
	if line == c.told && time.Since(c.toldAt) < repeatAfter {
		return
	}
	c.told, c.toldAt = line, time.Now()
	c.log.Warn(msg, append(args, "err", err)...)
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *Credentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	f := c.current()
	conn, info, err := credentials.NewTLS(f.client()).ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, f.explainHandshake(err, authority)
	}
	// In TLS 1.3 a server says what it holds of the client's certificate only
	// after the client's handshake, in the place of its first words. A client
	// that spoke before it listened might lose them. gRPC closes raw when ctx
	// ends.
	words := bufio.NewReaderSize(conn, 16)
	if _, err := words.Peek(1); err != nil {
		conn.Close()
		return nil, nil, f.explainHandshake(err, authority)
	}
	return accepted{conn, words}, info, nil
}

// ServerHandshake implements credentials.TransportCredentials. Who is refused
// is logged: nobody else would tell.
func (c *Credentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	f := c.current()
	conn, info, err := credentials.NewTLS(f.server()).ServerHandshake(raw)
	if err == nil {
		return conn, info, nil
	}
	if !errors.Is(err, io.EOF) { // not one that only looked whether the port is open
		host, _, _ := net.SplitHostPort(raw.RemoteAddr().String())
		err = f.explainHandshake(err, "the client at "+host)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tell("a connection is refused", err, "remote", raw.RemoteAddr().String())
	}
	return nil, nil, err
}

// Info implements credentials.TransportCredentials.
func (c *Credentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements credentials.TransportCredentials. The copy is the same: what
// a connection is to change is in its own tls.Config.
func (c *Credentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName implements credentials.TransportCredentials. Names are
// always those that were called.
func (c *Credentials) OverrideServerName(string) error {
	return errors.New("the server's name is the one that is called")
}

// client is made anew for each handshake, as server is: so nothing is resumed
// that was verified under other files.
func (f *files) client() *tls.Config {
	// Without GetClientCertificate one of another authority would not be shown
	// at all, and the server could not say what is wrong with it.
	show := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &f.cert, nil }
	return &tls.Config{MinVersion: tls.VersionTLS13, GetClientCertificate: show, RootCAs: f.roots}
}

func (f *files) server() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{f.cert}, ClientCAs: f.roots, ClientAuth: tls.RequireAndVerifyClientCert}
}

// accepted is a connection whose server has begun to speak.
type accepted struct {
	net.Conn
	words *bufio.Reader
}

func (a accepted) Read(b []byte) (int, error) { return a.words.Read(b) }
