package testkafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// User and Password are those of the brokers that Secure starts, for PLAIN and
// SCRAM. The user has no rights but those that a test gives.
const (
	User     = "alice"
	Password = "alice-secret"
)

// Security is whom a secure broker trusts and is, in PEM.
type Security struct {
	CA, OtherCA           []byte // OtherCA signed nothing
	ClientCert, ClientKey []byte // of a client named "client"
}

// Secure starts brokers that listen for TLS and SASL too (scripts/kafka
// --security), with certificates made for this test.
func Secure(tb testing.TB) (*Security, Option) {
	tb.Helper()
	ca, caKey := authority(tb)
	other, _ := authority(tb)
	server, serverKey := ca.sign(tb, caKey, &x509.Certificate{
		Subject: pkix.Name{CommonName: "broker"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	})
	client, clientKey := ca.sign(tb, caKey, &x509.Certificate{Subject: pkix.Name{CommonName: "client"}})
	dir := tb.TempDir()
	for name, text := range map[string][]byte{"server.pem": append(keyPEM(tb, serverKey), server...), "ca.pem": ca.pem()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	s := &Security{CA: ca.pem(), OtherCA: other.pem(), ClientCert: client, ClientKey: keyPEM(tb, clientKey)}
	return s, func(c *config) { c.args = append(c.args, "--security", dir) }
}

// Listener gives the bootstrap servers of a secure broker's listener: SSL, MTLS
// (SSL that wants a client's certificate), SASL_PLAINTEXT or SASL_SSL.
func (b *Broker) Listener(tb testing.TB, name string) string {
	tb.Helper()
	offset := map[string]int{"SSL": 10, "MTLS": 20, "SASL_PLAINTEXT": 30, "SASL_SSL": 40}[name]
	addrs := make([]string, len(b.addrs))
	for i, addr := range b.addrs {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			tb.Fatal(err)
		}
		n, err := strconv.Atoi(port)
		if err != nil || offset == 0 {
			tb.Fatalf("listener %s of %s: %v", name, addr, err)
		}
		addrs[i] = fmt.Sprintf("%s:%d", host, n+offset)
	}
	return strings.Join(addrs, ",")
}

// certificate is one, as it goes over the wire.
type certificate []byte

func (c certificate) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c})
}

// authority makes a certificate that signs others, and its key.
func authority(tb testing.TB) (certificate, *ecdsa.PrivateKey) {
	tb.Helper()
	key := newKey(tb)
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	return create(tb, template, template, key, key), key
}

// sign makes a certificate and its key, signed by this one's.
func (c certificate) sign(tb testing.TB, key *ecdsa.PrivateKey, template *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	tb.Helper()
	parent, err := x509.ParseCertificate(c)
	if err != nil {
		tb.Fatal(err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	own := newKey(tb)
	return create(tb, template, parent, own, key).pem(), own
}

// create makes a certificate that is valid for a day.
func create(tb testing.TB, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) certificate {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = serial, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func keyPEM(tb testing.TB, key *ecdsa.PrivateKey) []byte {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}
