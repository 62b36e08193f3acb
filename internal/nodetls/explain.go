package nodetls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// explain says in an operator's words what is wrong with a certificate; whose
// names it.
func (f *files) explain(err error, whose string, cert *x509.Certificate) error {
	var invalid x509.CertificateInvalidError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("%s is valid from %s until %s only, and now it is %s: renew it with `shoal certs`", whose,
			day(invalid.Cert.NotBefore), day(invalid.Cert.NotAfter), day(time.Now()))
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return fmt.Errorf("%s is not for what it is used for: an operator's certificate cannot serve, a node's can do both", whose)
	case errors.As(err, &authority):
		return fmt.Errorf("%s is signed by authority %s, which %s does not have: all nodes of a cluster need certificates of one authority", whose,
			cert.Issuer.CommonName, filepath.Join(f.dir, caFile))
	case errors.As(err, &name):
		return fmt.Errorf("%s is for %s and not for %s: make one with `shoal certs --host %s`", whose, strings.Join(names(cert), ", "), name.Host, name.Host)
	}
	return fmt.Errorf("%s: %w", whose, err)
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// names are what a certificate is for, "nothing" for an operator's.
func names(cert *x509.Certificate) []string {
	all := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return []string{"nothing"}
	}
	return all
}

// explainHandshake says why a handshake with other failed, or the connection
// ended right after it.
func (f *files) explainHandshake(err error, other string) error {
	var refused *tls.CertificateVerificationError
	var clear tls.RecordHeaderError
	switch {
	case errors.As(err, &refused):
		return f.explain(refused.Err, "the certificate of "+other, refused.UnverifiedCertificates[0])
	case errors.As(err, &clear):
		return fmt.Errorf("%s speaks without TLS: it needs --tls-dir, as all of the cluster do (%w)", other, err)
	}
	// What the other end sends of certificates has no type of its own.
	if _, alert, found := strings.Cut(err.Error(), "remote error: tls: "); found && strings.Contains(alert, "certificate") {
		return fmt.Errorf("%s refuses %s: %s; its log says more (%w)", other, f.certPath(), alert, err)
	}
	return fmt.Errorf("%s: %w", other, err)
}
