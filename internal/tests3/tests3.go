// Package tests3 runs a real S3 server, versitygw over a folder, for tests, and
// puts faults between it and its clients.
//
// A server is a process of its own on a loopback port, which it keeps over
// restarts. It ends with the test.
package tests3

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"shoal/internal/testdeps"
)

// AccessKey and SecretKey are what every Server takes.
const (
	AccessKey = "shoal-tests"
	SecretKey = "shoal-tests-secret-key"
)

// startLimit is how long a server may take to answer, on a busy machine.
const startLimit = 60 * time.Second

// A Server is one S3 server.
type Server struct {
	URL string // http://127.0.0.1:port
	Dir string // has a folder for each bucket

	tb      testing.TB
	address string
	out     bytes.Buffer
	cmd     *exec.Cmd
}

// Start starts a server.
func Start(tb testing.TB) *Server {
	tb.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, address: lis.Addr().String(), Dir: tb.TempDir()}
	s.URL = "http://" + s.address
	if err := lis.Close(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	s.Run()
	return s
}

// Run starts the server again after Kill, and waits until it answers.
func (s *Server) Run() {
	s.tb.Helper()
	s.cmd = exec.Command(testdeps.Find(s.tb, testdeps.S3), "--port", s.address, "--quiet", "posix", s.Dir)
	s.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(startLimit); ; <-tick.C {
		conn, err := net.Dial("tcp", s.address)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			s.Kill()
			s.tb.Fatalf("the S3 server does not answer: %v\n%s", err, s.out.String())
		}
	}
}

// Kill ends the server with SIGKILL, if it runs.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.cmd = nil
}

// Bucket makes a bucket and returns the URI of it at this server, or at the
// endpoint of a Proxy.
func (s *Server) Bucket(name, endpoint string) string {
	s.tb.Helper()
	if err := os.MkdirAll(filepath.Join(s.Dir, name), 0o755); err != nil {
		s.tb.Fatal(err)
	}
	return fmt.Sprintf("s3://%s/shoal?endpoint=%s", name, endpoint)
}

// Credentials are the environment variables of a client of the server, as
// KEY, VALUE.
func Credentials() [][2]string {
	return [][2]string{
		{"AWS_ACCESS_KEY_ID", AccessKey}, {"AWS_SECRET_ACCESS_KEY", SecretKey},
		// Whatever the one who runs the tests has set up is none of theirs.
		{"AWS_CONFIG_FILE", os.DevNull}, {"AWS_SHARED_CREDENTIALS_FILE", os.DevNull}, {"AWS_PROFILE", ""}, {"AWS_SESSION_TOKEN", ""},
	}
}

// Setenv makes the test a client of the server.
func Setenv(t *testing.T) {
	for _, kv := range Credentials() {
		t.Setenv(kv[0], kv[1])
	}
}

// Proxy puts a fault before the server: meddle gets every request, and passes
// it on by pass, or does not. It returns the endpoint.
func (s *Server) Proxy(meddle func(w http.ResponseWriter, r *http.Request, pass http.Handler)) string {
	s.tb.Helper()
	to, err := url.Parse(s.URL)
	if err != nil {
		s.tb.Fatal(err)
	}
	transport := &http.Transport{}
	// The host is part of what clients sign, so it stays as they wrote it.
	pass := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, r.In.Host
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { meddle(w, r, pass) }))
	s.tb.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
		transport.CloseIdleConnections()
	})
	return proxy.URL
}

// Refuse answers as S3 does: a status, and an error's code and message.
func Refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
}
