package clientprops_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/internal/clientprops"
)

// pair is a certificate that signs itself, for one host, and its key, in PEM.
type pair struct{ cert, key []byte }

func newPair(t *testing.T, host string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
}

// TestVerification: whom a client takes for a broker, by its properties. The
// server's certificate is for another host than the one it is reached at.
func TestVerification(t *testing.T) {
	server, stranger := newPair(t, "kafka.example"), newPair(t, "kafka.example")
	cert, err := tls.X509KeyPair(server.cert, server.key)
	if err != nil {
		t.Fatal(err)
	}
	lis, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	handshakes := make(chan error, 1)
	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				close(handshakes)
				return
			}
			handshakes <- conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		lis.Close()
		for range handshakes {
		}
	})
	for _, tt := range []struct {
		name string
		ca   pair
		more []string
		want string // in the client's error; empty where TLS succeeds
	}{
		{"another host", server, nil, "not valid for any names|doesn't contain any IP SANs"},
		{"any host", server, []string{"ssl.endpoint.identification.algorithm", "none"}, ""},
		{"another authority", stranger, []string{"ssl.endpoint.identification.algorithm", "none"}, "unknown authority"},
		{"anybody", stranger, []string{"enable.ssl.certificate.verification", "false"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			properties := props(append(tt.more, "security.protocol", "ssl", "ssl.ca.pem", string(tt.ca.cert))...)
			opts, err := clientprops.Options(properties, nil)
			if err != nil {
				t.Fatal(err)
			}
			client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(lis.Addr().String()), kgo.RequestRetries(0))...)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			_, err = client.SeedBrokers()[0].Request(t.Context(), kmsg.NewPtrApiVersionsRequest())
			if err == nil {
				t.Fatal("the server speaks no Kafka, and yet there was an answer")
			}
			if done := <-handshakes; (done == nil) != (tt.want == "") {
				t.Errorf("the server's handshake ended with %v; the client says %v", done, err)
			}
			found := tt.want == ""
			for _, text := range strings.Split(tt.want, "|") {
				found = found || strings.Contains(err.Error(), text)
			}
			if !found {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestEncryptedKeys: keys as OpenSSL wrote them (openssl genpkey, then openssl
// pkcs8 -topk8 with -v2 and -v2prf as in the files' names), all of them one
// key, and its certificate. The password is hunter2.
func TestEncryptedKeys(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, want := range map[string]string{ // what the error has; empty for none
		"aes-256-sha256.key": "", "aes-128-sha1.key": "", "aes-192-sha512.key": "",
		"des3.key": "not supported", "old.key": "openssl pkcs8 -topk8",
	} {
		try := func(password string) error {
			_, err := clientprops.Options(props("security.protocol", "ssl", "ssl.certificate.location", "FILE:cert", "ssl.key.location", "FILE:key", "ssl.key.password", password),
				map[string][]byte{"cert": read("cert.pem"), "key": read(name)})
			return err
		}
		if err := try(secret); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
		if want != "" {
			continue
		}
		if err := try("wrong"); err == nil {
			t.Errorf("%s: a wrong password opens it", name)
		}
		if err := try(""); err == nil || !strings.Contains(err.Error(), "there is no password") {
			t.Errorf("%s without a password: %v", name, err)
		}
	}
}
