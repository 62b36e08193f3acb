// Package clientprops reads the property.* keys of a routine load job: how a
// Kafka client reaches the job's brokers.
//
// Frontends check the broker with these settings and backends read with them,
// so both sides must understand a key the same way; that is why it is here.
// Nothing is ignored: a key that is not known, or a value that is not
// supported, is an *Error that names the key. Errors never hold a secret.
//
// Everything here is pure and safe for concurrent use.
package clientprops

import (
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// The keys, without the prefix "property.". The first three are not the
// client's: the job reads them.
const (
	GroupID          = "group.id"
	DefaultOffsets   = "kafka_default_offsets"
	IsolationLevel   = "isolation.level"
	ClientID         = "client.id"
	SecurityProtocol = "security.protocol"
	SASLMechanism    = "sasl.mechanism"
	SASLMechanisms   = "sasl.mechanisms"
	SASLUsername     = "sasl.username"
	SASLPassword     = "sasl.password"
)

var known = []string{
	GroupID, DefaultOffsets, IsolationLevel, ClientID, SecurityProtocol,
	SASLMechanism, SASLMechanisms, SASLUsername, SASLPassword,
}

// later are keys of Doris that need files on every backend.
var later = []string{
	"ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password",
	"sasl.kerberos.service.name", "sasl.kerberos.keytab", "sasl.kerberos.principal",
}

// secret are keys whose values are never shown.
var secret = []string{SASLPassword, "ssl.key.password"}

// An Error names the property that is wrong.
type Error struct {
	Key    string // without the prefix
	Reason string
}

// Error is one sentence for the user.
func (e *Error) Error() string { return fmt.Sprintf("property.%s %s", e.Key, e.Reason) }

// IsSecret tells whether the value of a key must not be shown.
func IsSecret(key string) bool { return slices.Contains(secret, key) }

// Options turns properties, keys without the prefix, into options of a Kafka
// client. Without security.protocol the connection is plain.
func Options(properties map[string]string) ([]kgo.Opt, error) {
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if err := checkKey(key); err != nil {
			return nil, err
		}
	}
	if level := properties[IsolationLevel]; level != "" && level != "read_committed" {
		return nil, &Error{IsolationLevel, fmt.Sprintf("= '%s' is not supported yet; only read_committed is", level)}
	}
	var opts []kgo.Opt
	if id := properties[ClientID]; id != "" {
		opts = append(opts, kgo.ClientID(id))
	}
	security, err := securityOptions(properties)
	return append(opts, security...), err
}

// securityOptions are those of security.protocol and sasl.*.
func securityOptions(properties map[string]string) ([]kgo.Opt, error) {
	var opts []kgo.Opt
	protocol := strings.ToLower(properties[SecurityProtocol])
	switch protocol {
	case "", "plaintext", "sasl_plaintext":
	case "ssl", "sasl_ssl":
		opts = append(opts, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}))
	default:
		return nil, &Error{SecurityProtocol, fmt.Sprintf("= '%s' is none of plaintext, ssl, sasl_plaintext, sasl_ssl", properties[SecurityProtocol])}
	}
	if !strings.HasPrefix(protocol, "sasl_") {
		for _, key := range []string{SASLMechanism, SASLMechanisms, SASLUsername, SASLPassword} {
			if properties[key] != "" {
				return nil, &Error{key, "needs property.security.protocol sasl_plaintext or sasl_ssl"}
			}
		}
		return opts, nil
	}
	mechanism, err := saslMechanism(properties)
	if err != nil {
		return nil, err
	}
	return append(opts, kgo.SASL(mechanism)), nil
}

// saslMechanism is the one that sasl.mechanism, or librdkafka's
// sasl.mechanisms, names.
func saslMechanism(properties map[string]string) (sasl.Mechanism, error) {
	key, name := SASLMechanism, properties[SASLMechanism]
	if name == "" {
		key, name = SASLMechanisms, properties[SASLMechanisms]
	}
	user, password := properties[SASLUsername], properties[SASLPassword]
	switch {
	case name == "":
		return nil, &Error{SASLMechanism, "is missing: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"}
	case user == "":
		return nil, &Error{SASLUsername, "is missing"}
	case password == "":
		return nil, &Error{SASLPassword, "is missing"}
	}
	switch strings.ToUpper(name) {
	case "PLAIN":
		return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	}
	return nil, &Error{key, fmt.Sprintf("= '%s' is not supported: PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 are", name)}
}

// checkKey refuses a key that nobody would read.
func checkKey(key string) error {
	if slices.Contains(known, key) {
		return nil
	}
	if slices.Contains(later, key) {
		return &Error{key, "is not supported yet; ssl and sasl_ssl verify brokers by the system's certificate authorities"}
	}
	if near := nearest(key); near != "" {
		return &Error{key, fmt.Sprintf("is not known; did you mean property.%s?", near)}
	}
	return &Error{key, "is not known; known are property." + strings.Join(known, ", property.")}
}

// nearest is the known key within a few typing errors, or empty.
func nearest(key string) string {
	best, limit := "", max(2, len(key)/4)+1
	for _, candidate := range slices.Concat(known, later) {
		if d := distance(strings.ToLower(key), candidate); d < limit {
			best, limit = candidate, d
		}
	}
	return best
}

// distance is Levenshtein's: the insertions, deletions and replacements that
// make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
