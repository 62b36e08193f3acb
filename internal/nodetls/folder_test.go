package nodetls_test

import (
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
)

// TestUnusableFolders: what the other nodes would refuse is refused at the
// start, by the file's name.
func TestUnusableFolders(t *testing.T) {
	other := issue(t, t.TempDir(), time.Now(), "a")
	for _, tt := range []struct {
		name  string
		at    time.Time
		spoil func(folder string) error
		want  []string
	}{
		{"readable key", time.Now(), func(f string) error { return os.Chmod(f+"/tls.key", 0o640) }, []string{"/tls.key may be read by others (mode 640): chmod 600 it"}},
		{"no key", time.Now(), func(f string) error { return os.Remove(f + "/tls.key") }, []string{"/tls.key is missing: `shoal certs` makes it"}},
		{"no certificate", time.Now(), func(f string) error { return os.Remove(f + "/tls.crt") }, []string{"/tls.crt is missing"}},
		{"no authority", time.Now(), func(f string) error { return os.Remove(f + "/ca.crt") }, []string{"/ca.crt is missing"}},
		{"other authority", time.Now(), func(f string) error { return os.Rename(other+"/a/ca.crt", f+"/ca.crt") }, []string{"/tls.crt is signed by", "/ca.crt does not have"}},
		{"authority is no PEM", time.Now(), func(f string) error { return os.WriteFile(f+"/ca.crt", []byte("x"), 0o600) }, []string{"/ca.crt has no certificate in PEM"}},
		{"other key", time.Now(), func(f string) error { return os.Rename(other+"/a/tls.key", f+"/tls.key") }, []string{"/tls.crt with tls.key: tls: private key does not match"}},
		{"expired", time.Now().Add(-366 * 24 * time.Hour), func(string) error { return nil }, []string{"/tls.crt is valid from", "renew it with `shoal certs`"}},
		{"not valid yet", time.Now().Add(2 * time.Hour), func(string) error { return nil }, []string{"/tls.crt is valid from"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := filepath.Join(issue(t, t.TempDir(), tt.at, "a"), "a")
			if err := tt.spoil(folder); err != nil {
				t.Fatal(err)
			}
			_, err := nodetls.Open(folder, slog.New(slog.DiscardHandler))
			if err == nil {
				t.Fatal("the folder was taken")
			}
			wants(t, "Open", err.Error(), append(tt.want, folder)...)
		})
	}
}

func TestCheckHost(t *testing.T) {
	dir := issue(t, t.TempDir(), time.Now(), "fe1,10.0.0.2")
	node, _ := open(t, filepath.Join(dir, "fe1"))
	operator, _ := open(t, filepath.Join(dir, "operator"))
	for _, host := range []string{"fe1", "10.0.0.2"} {
		if err := node.CheckHost(host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := node.CheckHost("fe2"); err == nil || !strings.Contains(err.Error(), "is for fe1, 10.0.0.2 and not for fe2") {
		t.Errorf("another host: %v", err)
	}
	if err := operator.CheckHost("fe1"); err == nil || !strings.Contains(err.Error(), "operator's certificate") {
		t.Errorf("an operator's certificate: %v", err)
	}
}

func TestExpiryIsWarnedOf(t *testing.T) {
	for days, want := range map[int]bool{300: false, 340: true} {
		dir := issue(t, t.TempDir(), time.Now().AddDate(0, 0, -days), "a")
		if _, log := open(t, filepath.Join(dir, "a")); strings.Contains(log.String(), "expires soon") != want {
			t.Errorf("after %d days of 365 the log is %q", days, log)
		}
	}
}

// TestRenewal: the authority stays, all else is new, and all is its owner's
// alone.
func TestRenewal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	contents := func() map[string]string {
		t.Helper()
		all := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %o", path, info.Mode().Perm())
			}
			if !entry.IsDir() {
				content, err := os.ReadFile(path)
				all[strings.TrimPrefix(path, dir)] = string(content)
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	issue(t, dir, time.Now(), "a", "b")
	before := contents()
	issue(t, dir, time.Now(), "a", "c")
	after := contents()
	changed := map[string]bool{"/ca.crt": false, "/ca.key": false, "/a/ca.crt": false, "/a/tls.crt": true, "/a/tls.key": true, "/operator/ca.crt": false,
		"/operator/tls.crt": true, "/operator/tls.key": true, "/b/ca.crt": false, "/b/tls.crt": false, "/b/tls.key": false,
		"/cluster.token": false, "/a/cluster.token": false, "/b/cluster.token": false}
	for path, want := range changed {
		if before[path] == "" || (before[path] != after[path]) != want {
			t.Errorf("%s: changed %v, want %v", path, before[path] != after[path], want)
		}
	}
	if len(after) != len(changed)+4 || after["/c/ca.crt"] != before["/ca.crt"] || after["/c/cluster.token"] != before["/cluster.token"] {
		t.Errorf("%d files, and the new node's authority or token is another", len(after))
	}
	block, _ := pem.Decode([]byte(after["/a/tls.crt"]))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !slices.Equal(cert.DNSNames, []string{"a"}) || cert.IsCA || !nodetls.Node(cert) {
		t.Errorf("certificate of a: %+v, %v", cert, err)
	}
}

func TestIssueRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"": "neither a host name", "../up": "neither a host name", "a b": "neither a host name", "*.example.com": "neither a host name",
		"operator": "no host can be named", "twice": "given twice", "a,": "neither a host name",
	} {
		dir := t.TempDir()
		_, err := nodetls.Issue(dir, [][]string{{"twice"}, strings.Split(name, ",")}, false, time.Now())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%q: %d files were made all the same", name, len(entries))
		}
	}
	dir := issue(t, t.TempDir(), time.Now(), "a")
	spoiled := func(what, want string, at time.Time) {
		t.Helper()
		if _, err := nodetls.Issue(dir, [][]string{{"a"}}, false, at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	spoiled("expired authority", "expired on", time.Now().AddDate(11, 0, 0))
	if err := os.Chmod(filepath.Join(dir, "ca.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	spoiled("readable key", "chmod 600", time.Now())
	if err := os.Remove(filepath.Join(dir, "ca.key")); err != nil {
		t.Fatal(err)
	}
	spoiled("authority without its key", "needs both", time.Now())
}

// TestPlain: in clear nothing goes beyond loopback.
func TestPlain(t *testing.T) {
	for addr, want := range map[string]bool{"127.0.0.1:1": true, "127.3.0.9:1": true, "[::1]:1": true, "10.0.0.1:1": false, "0.0.0.0:1": false, "[::]:1": false} {
		tcp, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := nodetls.PlainAllowed(tcp); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "--tls-dir") {
			t.Errorf("%s: %v", addr, err)
		}
		near, far := net.Pipe()
		conn, _, err := nodetls.Plain().ClientHandshake(t.Context(), addr, elsewhere{near, tcp})
		if (err == nil) != want {
			t.Errorf("to %s: %v, %v", addr, conn, err)
		}
		near.Close()
		far.Close()
	}
	addr, _ := serve(t, rpcconn.ServerOptions(nil, nodetls.Token{})...)
	if err := call(t, addr, false, rpcconn.DialOptions(nil, nodetls.Token{})...); status.Code(err) != codes.Unimplemented {
		t.Errorf("over loopback: %v", err)
	}
}

// elsewhere is a connection to another address.
type elsewhere struct {
	net.Conn
	addr net.Addr
}

func (e elsewhere) RemoteAddr() net.Addr { return e.addr }
