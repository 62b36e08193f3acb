package nodetls_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	adminv1 "shoal/proto/admin/v1"
	frontendv1 "shoal/proto/frontend/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// issue makes certificates and returns their folder.
func issue(t *testing.T, dir string, at time.Time, hosts ...string) string {
	t.Helper()
	var nodes [][]string
	for _, host := range hosts {
		nodes = append(nodes, strings.Split(host, ","))
	}
	if _, err := nodetls.Issue(dir, nodes, false, at); err != nil {
		t.Fatal(err)
	}
	return dir
}

// logbook is what was logged.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func open(t *testing.T, dir string) (*nodetls.Credentials, *logbook) {
	t.Helper()
	var log logbook
	creds, err := nodetls.Open(dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return creds, &log
}

// serve offers a frontend's services, which do nothing, until stop is called or
// the test ends. What stop returns after is in the log.
func serve(t *testing.T, opts ...grpc.ServerOption) (addr string, stop func()) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(opts...)
	frontendv1.RegisterFrontendServiceServer(srv, frontendv1.UnimplementedFrontendServiceServer{})
	adminv1.RegisterAdminServiceServer(srv, adminv1.UnimplementedAdminServiceServer{})
	done := make(chan struct{})
	go func() { defer close(done); srv.Serve(lis) }()
	stop = sync.OnceFunc(func() { srv.Stop(); <-done })
	t.Cleanup(stop)
	return lis.Addr().String(), stop
}

// call reaches one service or the other over a new connection. UNIMPLEMENTED is
// what the services say of themselves: the call was let through.
func call(t *testing.T, addr string, admin bool, opts ...grpc.DialOption) error {
	t.Helper()
	conn, err := grpc.NewClient(addr, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if admin {
		_, err = adminv1.NewAdminServiceClient(conn).ListNodes(ctx, &adminv1.ListNodesRequest{})
	} else {
		_, err = frontendv1.NewFrontendServiceClient(conn).RegisterBackend(ctx, &frontendv1.RegisterBackendRequest{})
	}
	return err
}

// raw is the TLS of somebody who does not use this package.
func raw(t *testing.T, certDir, caDir string) *tls.Config {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool(), ClientAuth: tls.RequireAnyClientCert}
	if certDir != "" {
		cert, err := tls.LoadX509KeyPair(filepath.Join(certDir, "tls.crt"), filepath.Join(certDir, "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	ca, err := os.ReadFile(filepath.Join(caDir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	config.RootCAs.AppendCertsFromPEM(ca)
	return config
}

func credsOf(config *tls.Config) grpc.DialOption {
	return grpc.WithTransportCredentials(credentials.NewTLS(config))
}

func wants(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q, want %q in it", what, text, w)
		}
	}
}

// TestWhoMayCall: nodes call everything, operators the admin service alone, and
// nobody else anything; the frontend's log says why.
func TestWhoMayCall(t *testing.T) {
	now := time.Now()
	ours := issue(t, t.TempDir(), now.Add(-400*24*time.Hour), "old")
	issue(t, ours, now, "127.0.0.1", "backend1")
	theirs := issue(t, t.TempDir(), now, "backend1")
	// A stranger who trusts this cluster's authority as well as its own.
	both := filepath.Join(theirs, "backend1")
	add(t, filepath.Join(both, "ca.crt"), filepath.Join(ours, "ca.crt"))
	node, _ := open(t, filepath.Join(ours, "backend1"))
	operator, _ := open(t, filepath.Join(ours, "operator"))
	stranger, _ := open(t, both)
	old12 := raw(t, filepath.Join(ours, "backend1"), ours)
	old12.MaxVersion = tls.VersionTLS12
	for _, tt := range []struct {
		name  string
		dial  []grpc.DialOption
		admin bool
		code  codes.Code
		err   string // that a caller with this package sees
		log   string // of the frontend
	}{
		{name: "node", dial: rpcconn.DialOptions(node, nodetls.Token{}), code: codes.Unimplemented},
		{name: "node as operator", dial: rpcconn.DialOptions(node, nodetls.Token{}), admin: true, code: codes.Unimplemented},
		{name: "operator", dial: rpcconn.DialOptions(operator, nodetls.Token{}), admin: true, code: codes.Unimplemented},
		{name: "operator as node", dial: rpcconn.DialOptions(operator, nodetls.Token{}), code: codes.PermissionDenied, err: "the certificate is an operator's"},
		{name: "other authority", dial: rpcconn.DialOptions(stranger, nodetls.Token{}), code: codes.Unavailable,
			err: both + "/tls.crt: unknown certificate authority", log: "is signed by authority "},
		{name: "expired", dial: []grpc.DialOption{credsOf(raw(t, filepath.Join(ours, "old"), ours))}, code: codes.Unavailable, log: "renew it with"},
		{name: "no certificate", dial: []grpc.DialOption{credsOf(raw(t, "", ours))}, code: codes.Unavailable, log: "didn't provide a certificate"},
		{name: "TLS 1.2", dial: []grpc.DialOption{credsOf(old12)}, code: codes.Unavailable, log: "unsupported versions"},
		{name: "in clear", dial: rpcconn.DialOptions(nil, nodetls.Token{}), code: codes.Unavailable, err: "if it uses TLS, give --tls-dir", log: "speaks without TLS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			creds, log := open(t, filepath.Join(ours, "127.0.0.1"))
			addr, stop := serve(t, rpcconn.ServerOptions(creds, nodetls.Token{})...)
			err := call(t, addr, tt.admin, tt.dial...)
			if status.Code(err) != tt.code {
				t.Errorf("call = %v, want %v", err, tt.code)
			}
			wants(t, "the caller's error", err.Error(), tt.err)
			stop()
			wants(t, "the frontend's log", log.String(), tt.log)
			if tt.log == "" && log.String() != "" {
				t.Errorf("the frontend logged %s", log)
			}
		})
	}
}

// add appends a file to another.
func add(t *testing.T, path, other string) {
	t.Helper()
	more, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(was, more...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWhomToTrust: a client speaks with the node that it called and no other.
func TestWhomToTrust(t *testing.T) {
	now := time.Now()
	ours := issue(t, t.TempDir(), now.Add(-400*24*time.Hour), "127.0.0.1")
	expired := raw(t, filepath.Join(ours, "127.0.0.1"), ours)
	issue(t, ours, now, "backend1", "fe1.example.com,10.0.0.2")
	theirs := issue(t, t.TempDir(), now, "127.0.0.1")
	client, _ := open(t, filepath.Join(ours, "backend1"))
	other, _ := open(t, filepath.Join(theirs, "127.0.0.1"))
	misnamed, log := open(t, filepath.Join(ours, "fe1.example.com"))
	for _, tt := range []struct {
		name string
		opts []grpc.ServerOption
		want []string
	}{
		{"other authority", rpcconn.ServerOptions(other, nodetls.Token{}), []string{"the certificate of 127.0.0.1:", "is signed by authority ", ours + "/backend1/ca.crt does not have"}},
		{"other name", rpcconn.ServerOptions(misnamed, nodetls.Token{}), []string{"is for fe1.example.com, 10.0.0.2 and not for 127.0.0.1", "shoal certs --host 127.0.0.1"}},
		{"expired", []grpc.ServerOption{grpc.Creds(credentials.NewTLS(expired))}, []string{"is valid from", "renew it with `shoal certs`"}},
		{"in clear", rpcconn.ServerOptions(nil, nodetls.Token{}), []string{"speaks without TLS", "--tls-dir"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr, stop := serve(t, tt.opts...)
			err := call(t, addr, false, rpcconn.DialOptions(client, nodetls.Token{})...)
			if status.Code(err) != codes.Unavailable {
				t.Errorf("call = %v, want UNAVAILABLE", err)
			}
			wants(t, "the error", err.Error(), tt.want...)
			stop()
		})
	}
	wants(t, "the log of the node with another name", log.String(), "a connection is refused", "refuses "+filepath.Join(ours, "fe1.example.com", "tls.crt"))
}

// TestReload: new files are used from the next connection on, and files that
// cannot be used change nothing.
func TestReload(t *testing.T) {
	dir := issue(t, t.TempDir(), time.Now(), "127.0.0.1", "backend1")
	folder := filepath.Join(dir, "127.0.0.1")
	server, log := open(t, folder)
	client, _ := open(t, filepath.Join(dir, "backend1"))
	addr, _ := serve(t, rpcconn.ServerOptions(server, nodetls.Token{})...)
	reach := func(what string) {
		t.Helper()
		if err := call(t, addr, false, rpcconn.DialOptions(client, nodetls.Token{})...); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", what, err)
		}
	}
	serial := func() string {
		t.Helper()
		config := raw(t, filepath.Join(dir, "backend1"), dir)
		config.NextProtos = []string{"h2"}
		conn, err := tls.Dial("tcp", addr, config)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	reach("at first")
	first := serial()

	good, err := os.ReadFile(filepath.Join(folder, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "tls.crt"), []byte("half a certif"), 0o600); err != nil {
		t.Fatal(err)
	}
	reach("with a broken file")
	wants(t, "the log", log.String(), "the old ones stay in use", folder)
	if strings.Count(log.String(), "stay in use") != 1 || serial() != first {
		t.Errorf("another certificate, or told more than once: %s", log)
	}
	if err := os.WriteFile(filepath.Join(folder, "tls.crt"), good, 0o600); err != nil {
		t.Fatal(err)
	}

	issue(t, dir, time.Now(), "127.0.0.1") // the same authority
	reach("renewed")
	if serial() == first {
		t.Error("the renewed certificate is not in use")
	}
	wants(t, "the log", log.String(), "certificates were read again")

	other := issue(t, t.TempDir(), time.Now(), "127.0.0.1")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(other, "127.0.0.1"), folder); err != nil {
		t.Fatal(err)
	}
	if err := call(t, addr, false, rpcconn.DialOptions(client, nodetls.Token{})...); status.Code(err) != codes.Unavailable {
		t.Errorf("of another authority now, and still trusted: %v", err)
	}
}
