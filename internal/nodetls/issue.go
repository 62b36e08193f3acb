package nodetls

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"shoal/internal/atomicfile"
)

const (
	// CAKeyFile lies with ca.crt at the top of what Issue writes, and nowhere else.
	CAKeyFile = "ca.key"
	// operatorDir is the folder of the operators' certificate.
	operatorDir = "operator"

	caValidity   = 10 * 365 * 24 * time.Hour
	certValidity = 365 * 24 * time.Hour
	// clockSkew is how far a node's clock may be behind the issuer's.
	clockSkew = time.Hour
)

// Issued is a folder that Issue wrote, for --tls-dir.
type Issued struct {
	Dir   string
	Names []string // of the node; none for operators
	Until time.Time
}

// Issue makes certificates below dir: for each node, given by its names (DNS
// names or IP addresses), in a folder of its first name, and for operators in
// "operator". The authority is the one in dir, made if there is none. Folders
// that exist get new keys and certificates: that is how they are renewed.
// Certificates are valid from now on for a year, the authority for ten. All
// keys are ECDSA P-256, and all files their owner's alone.
//
// The nodes' folders also get the cluster's token from dir, made with the
// authority or because newToken says so.
func Issue(dir string, nodes [][]string, newToken bool, now time.Time) ([]Issued, error) {
	if err := checkNames(nodes); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	ca, isNew, err := authority(dir, now)
	if err != nil {
		return nil, err
	}
	token, err := tokenOf(dir, isNew || newToken)
	if err != nil {
		return nil, err
	}
	var made []Issued
	for _, names := range nodes {
		issued, err := ca.issue(filepath.Join(dir, names[0]), names, now)
		if err == nil {
			err = token.give(issued.Dir)
		}
		if err != nil {
			return nil, err
		}
		made = append(made, issued)
	}
	operator, err := ca.issue(filepath.Join(dir, operatorDir), nil, now)
	return append(made, operator), err
}

// hostname is what may be in a certificate and name a folder.
var hostname = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,250}[A-Za-z0-9])?$`)

func checkNames(nodes [][]string) error {
	var seen []string
	for _, names := range nodes {
		for _, name := range names {
			switch {
			case net.ParseIP(name) == nil && !hostname.MatchString(name):
				return fmt.Errorf("%q is neither a host name nor an IP address", name)
			case name == operatorDir:
				return fmt.Errorf("no host can be named %q: that is the folder of the operators' certificate", name)
			}
		}
		if slices.Contains(seen, names[0]) {
			return fmt.Errorf("%s is given twice", names[0])
		}
		seen = append(seen, names[0])
	}
	return nil
}

// An issuer signs certificates.
type issuer struct {
	cert *x509.Certificate
	pem  []byte
	key  *ecdsa.PrivateKey
}

// authority reads the folder's authority, or makes one where there is nothing
// of one, and tells whether it did.
func authority(dir string, now time.Time) (ca *issuer, isNew bool, err error) {
	certPath, keyPath := filepath.Join(dir, caFile), filepath.Join(dir, CAKeyFile)
	_, noCert := os.Stat(certPath)
	_, noKey := os.Stat(keyPath)
	switch {
	case errors.Is(noCert, os.ErrNotExist) && errors.Is(noKey, os.ErrNotExist):
		ca, err = newAuthority(certPath, keyPath, now)
		return ca, true, err
	case noCert != nil || noKey != nil:
		return nil, false, fmt.Errorf("the authority needs both %s and %s: %w", certPath, keyPath, errors.Join(noCert, noKey))
	}
	certPEM, err := os.ReadFile(certPath)
	if err != nil {
		return nil, false, err
	}
	keyPEM, err := readKey(keyPath)
	if err != nil {
		return nil, false, err
	}
	ca, err = parseIssuer(certPEM, keyPEM)
	if err != nil {
		return nil, false, fmt.Errorf("%s with %s: %w", certPath, keyPath, err)
	}
	if now.After(ca.cert.NotAfter) {
		return nil, false, fmt.Errorf("the authority %s expired on %s: make a new one in another folder", certPath, day(ca.cert.NotAfter))
	}
	return ca, false, nil
}

// parseIssuer takes an authority whose certificate is the first of its file.
func parseIssuer(certPEM, keyPEM []byte) (*issuer, error) {
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, errors.New("not PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New("the key is not the certificate's")
	}
	return &issuer{cert: cert, pem: certPEM, key: key}, nil
}

func newAuthority(certPath, keyPath string, now time.Time) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		// The name tells two authorities apart where one is refused.
		Subject:   pkix.Name{CommonName: "shoal-" + rand.Text()[:8]},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(caValidity),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	self := &issuer{cert: template, key: key}
	certPEM, err := self.sign(template, key)
	if err != nil {
		return nil, err
	}
	keyPEM, err := writeKey(keyPath, key)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(certPath, certPEM); err != nil {
		return nil, err
	}
	return parseIssuer(certPEM, keyPEM)
}

// issue writes a folder for a node with these names, or for operators if there
// are none.
func (ca *issuer) issue(dir string, names []string, now time.Time) (Issued, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Issued{}, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: operatorDir},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certValidity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if template.NotAfter.After(ca.cert.NotAfter) {
		template.NotAfter = ca.cert.NotAfter
	}
	if len(names) > 0 {
		template.Subject.CommonName = names[0]
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	cert, err := ca.sign(template, key)
	if err != nil {
		return Issued{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Issued{}, err
	}
	if _, err := writeKey(filepath.Join(dir, keyFile), key); err != nil {
		return Issued{}, err
	}
	err = errors.Join(atomicfile.Write(filepath.Join(dir, caFile), ca.pem), atomicfile.Write(filepath.Join(dir, certFile), cert))
	return Issued{Dir: dir, Names: names, Until: template.NotAfter}, err
}

// sign returns a certificate for key as PEM.
func (ca *issuer) sign(template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &key.PublicKey, ca.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// writeKey writes a key and returns the file's content; a file that atomicfile
// makes is its owner's alone.
func writeKey(path string, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return content, atomicfile.Write(path, content)
}
