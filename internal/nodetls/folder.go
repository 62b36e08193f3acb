package nodetls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The files of a folder, under the names that Kubernetes and cert-manager use.
const (
	caFile   = "ca.crt"  // authorities that are trusted, PEM
	certFile = "tls.crt" // own certificate, and intermediate ones if any
	keyFile  = "tls.key" // its key, which only its owner may read
)

// files are the content of a folder that can be used.
type files struct {
	dir   string
	roots *x509.CertPool
	cert  tls.Certificate // with its Leaf
}

func (f *files) certPath() string { return filepath.Join(f.dir, certFile) }

// stampOf changes when a file of the folder does.
func stampOf(dir string) string {
	var stamp strings.Builder
	for _, name := range []string{caFile, certFile, keyFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			fmt.Fprintln(&stamp, info.ModTime().UnixNano(), info.Size(), info.Mode())
		} else {
			fmt.Fprintln(&stamp, err)
		}
	}
	return stamp.String()
}

// read reads a folder and refuses what the other ends would: a certificate
// that is not valid now, or of another authority.
func read(dir string) (*files, error) {
	f := &files{dir: dir, roots: x509.NewCertPool()}
	ca, err := readFile(filepath.Join(dir, caFile))
	if err != nil {
		return nil, err
	}
	if !f.roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s has no certificate in PEM", filepath.Join(dir, caFile))
	}
	cert, err := readFile(f.certPath())
	if err != nil {
		return nil, err
	}
	key, err := readKey(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, err
	}
	if f.cert, err = tls.X509KeyPair(cert, key); err != nil {
		return nil, fmt.Errorf("%s with %s: %w", f.certPath(), keyFile, err)
	}
	between := x509.NewCertPool()
	between.AppendCertsFromPEM(cert)
	options := x509.VerifyOptions{Roots: f.roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := f.cert.Leaf.Verify(options); err != nil {
		return nil, f.explain(err, f.certPath(), f.cert.Leaf)
	}
	return f, nil
}

func readFile(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: `shoal certs` makes it", path)
	}
	return content, err
}

// readKey reads a private key's file, which nobody else may be able to.
func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others (mode %o): chmod 600 it", path, info.Mode().Perm())
	}
	return readFile(path)
}
