package clientprops

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

// tlsSettings are what ssl.* says. A pem is the text with the key that it came
// by.
type tlsSettings struct {
	given         string // any of the keys, empty for none
	ca, cert, key pemText
	keyPassword   string
	anyBroker     bool // certificates are not verified at all
	anyName       bool // they may be another host's
}

type pemText struct {
	from string
	text []byte
}

// location sets a PEM text from a file.
func location(field func(*tlsSettings) *pemText) setter {
	return func(s *settings, key, value string) error {
		text, err := readLocation(key, value, s.files)
		if err != nil {
			return err
		}
		return s.setPEM(field(&s.tls), key, text)
	}
}

// inline sets a PEM text that is the value itself, or a secret of the node.
func inline(field func(*tlsSettings) *pemText) setter {
	return func(s *settings, key, value string) error {
		text, err := resolve(key, value)
		if err != nil {
			return err
		}
		return s.setPEM(field(&s.tls), key, []byte(text))
	}
}

func (s *settings) setPEM(field *pemText, key string, text []byte) error {
	if field.from != "" {
		return wrong(key, "and property.%s are the same thing twice: give one of them", field.from)
	}
	*field, s.tls.given = pemText{key, text}, key
	return nil
}

func caText(t *tlsSettings) *pemText   { return &t.ca }
func certText(t *tlsSettings) *pemText { return &t.cert }
func keyText(t *tlsSettings) *pemText  { return &t.key }

// setCALocation also knows librdkafka's word for the system's authorities.
func setCALocation(s *settings, key, value string) error {
	if value == "probe" {
		s.tls.given = key
		return nil
	}
	return location(caText)(s, key, value)
}

func setKeyPassword(s *settings, key, value string) (err error) {
	s.tls.given = key
	s.tls.keyPassword, err = resolve(key, value)
	return err
}

func setVerification(s *settings, key, value string) error {
	s.tls.given, s.tls.anyBroker = key, strings.EqualFold(value, "false")
	return nil
}

func setIdentification(s *settings, key, value string) error {
	s.tls.given, s.tls.anyName = key, strings.EqualFold(value, "none")
	return nil
}

// tlsConfig is that of the connections, nil where they are plain.
func (s *settings) tlsConfig() (*tls.Config, error) {
	if s.protocol != "ssl" && s.protocol != "sasl_ssl" {
		if s.tls.given != "" {
			return nil, wrong(s.tls.given, "needs property.security.protocol ssl or sasl_ssl")
		}
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.tls.anyBroker}
	if s.tls.ca.from != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(s.tls.ca.text) {
			return nil, wrong(s.tls.ca.from, "has no certificate in it: PEM text with BEGIN CERTIFICATE is wanted")
		}
	}
	if s.tls.anyName && !s.tls.anyBroker {
		// Go verifies name and chain together or neither: so the chain here.
		config.InsecureSkipVerify = true
		config.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, config.RootCAs) }
	}
	cert, err := s.tls.certificate()
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	return config, err
}

// verifyChain is what TLS does by itself, without the host's name.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	rest := x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		rest.AddCert(cert)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: rest})
	return err
}

// certificate is the client's own, nil without one.
func (t *tlsSettings) certificate() (*tls.Certificate, error) {
	switch {
	case t.cert.from == "" && t.key.from == "" && t.keyPassword == "":
		return nil, nil
	case t.cert.from == "":
		return nil, wrong("ssl.certificate.location", "is missing: a client's key needs its certificate (or ssl.certificate.pem)")
	case t.key.from == "":
		return nil, wrong("ssl.key.location", "is missing: a client's certificate needs its key (or ssl.key.pem)")
	}
	key, err := decryptKey(t.key.text, t.keyPassword)
	if errors.Is(err, errPassword) {
		return nil, wrong("ssl.key.password", "%v", err)
	}
	if err != nil {
		return nil, wrong(t.key.from, "%v", err)
	}
	if !hasBlock(t.cert.text, "CERTIFICATE") {
		return nil, wrong(t.cert.from, "has no certificate in it: PEM text with BEGIN CERTIFICATE is wanted")
	}
	cert, err := tls.X509KeyPair(t.cert.text, key)
	if err != nil {
		return nil, wrong(t.cert.from, "and property.%s do not fit: %v", t.key.from, err)
	}
	return &cert, nil
}

// hasBlock tells whether a PEM text has a block of a type.
func hasBlock(text []byte, kind string) bool {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return false
		}
		if block.Type == kind {
			return true
		}
		text = rest
	}
}
