package clientprops_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/internal/clientprops"
)

// secret is in every test's passwords, and must be in no error.
const secret = "hunter2"

// props are pairs of keys and values.
func props(pairs ...string) map[string]string {
	out := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// sasl are the properties of a mechanism, and more.
func sasl(mechanism string, more ...string) map[string]string {
	out := props("security.protocol", "sasl_plaintext", "sasl.mechanism", mechanism)
	maps.Copy(out, props(more...))
	return out
}

func TestOptions(t *testing.T) {
	pair := newPair(t, "client")
	files := map[string][]byte{"ca.pem": pair.cert, "client.pem": pair.cert, "client.key": pair.key, "empty.pem": nil}
	tests := []struct {
		name  string
		props map[string]string
		key   string // of the error, empty for none
		text  string // in the error
	}{
		{"nothing", nil, "", ""},
		{"client id", props("client.id", "x", "group.id", "g", "kafka_default_offsets", "OFFSET_END"), "", ""},
		{"long client id", props("client.id", strings.Repeat("x", 257)), "client.id", "257 bytes"},
		{"no value", props("sasl.password", "", "security.protocol", ""), "", ""},
		{"misspelt", props("security.protocal", "ssl"), "security.protocal", "did you mean property.security.protocol?"},
		{"unlike anything", props("queue.buffering.max.messages", "1"), "queue.buffering.max.messages", "known are"},
		{"no meaning", props("enable.auto.commit", "true", "fetch.min.bytes", "1", "socket.keepalive.enable", "true"), "", ""},
		{"only one value", props("allow.auto.create.topics", "true"), "allow.auto.create.topics", "only false is"},
		{"java", props("sasl.jaas.config", "… password="+secret), "sasl.jaas.config", "property.sasl.username"},
		{"truststore", props("ssl.truststore.location", "/x.jks"), "ssl.truststore.location", "ssl.ca.location"},
		{"kerberos", props("sasl.kerberos.keytab", "/x"), "sasl.kerberos.keytab", "Kerberos is not supported"},
		{"isolation", props("isolation.level", "read_uncommitted"), "", ""},
		{"bad isolation", props("isolation.level", "serializable"), "isolation.level", "one of read_committed"},
		{"timeouts", props("socket.timeout.ms", "60000", "socket.connection.setup.timeout.ms", "1000", "connections.max.idle.ms", "60000", "receive.message.max.bytes", "1000"), "", ""},
		{"bad timeout", props("socket.timeout.ms", "1"), "socket.timeout.ms", "from 10 to 900000"},
		{"no number", props("socket.timeout.ms", "1s"), "socket.timeout.ms", "'1s'"},
		{"family", props("broker.address.family", "v4"), "", ""},
		{"bad protocol", props("security.protocol", "tls"), "security.protocol", "'tls' is not supported"},

		{"tls", props("security.protocol", "SSL"), "", ""},
		{"authority", props("security.protocol", "ssl", "ssl.ca.location", "FILE:ca.pem"), "", ""},
		{"the system's", props("security.protocol", "ssl", "ssl.ca.location", "probe"), "", ""},
		{"inline", props("security.protocol", "ssl", "ssl.ca.pem", string(pair.cert), "ssl.certificate.pem", string(pair.cert), "ssl.key.pem", string(pair.key)), "", ""},
		{"tls without protocol", props("ssl.ca.location", "FILE:ca.pem"), "ssl.ca.location", "needs property.security.protocol ssl"},
		{"no such upload", props("security.protocol", "ssl", "ssl.ca.location", "FILE:none.pem"), "ssl.ca.location", "CREATE FILE"},
		{"no such path", props("security.protocol", "ssl", "ssl.ca.location", "/no/such/ca.pem"), "ssl.ca.location", "no such file"},
		{"relative path", props("security.protocol", "ssl", "ssl.ca.location", "ca.pem"), "ssl.ca.location", "absolute path"},
		{"no file", props("security.protocol", "ssl", "ssl.ca.location", "/dev/null"), "ssl.ca.location", "not a file"},
		{"no certificate", props("security.protocol", "ssl", "ssl.ca.location", "FILE:empty.pem"), "ssl.ca.location", "no certificate in it"},
		{"twice", props("security.protocol", "ssl", "ssl.ca.location", "FILE:ca.pem", "ssl.ca.pem", string(pair.cert)), "ssl.ca.pem", "property.ssl.ca.location"},
		{"client's", props("security.protocol", "ssl", "ssl.certificate.location", "FILE:client.pem", "ssl.key.location", "FILE:client.key"), "", ""},
		{"key without certificate", props("security.protocol", "ssl", "ssl.key.location", "FILE:client.key"), "ssl.certificate.location", "missing"},
		{"certificate without key", props("security.protocol", "ssl", "ssl.certificate.location", "FILE:client.pem"), "ssl.key.location", "missing"},
		{"wrong way round", props("security.protocol", "ssl", "ssl.certificate.location", "FILE:client.key", "ssl.key.location", "FILE:client.key"), "ssl.certificate.location", "no certificate in it"},
		{"certificate as key", props("security.protocol", "ssl", "ssl.certificate.location", "FILE:client.pem", "ssl.key.location", "FILE:client.pem"), "ssl.key.location", "no private key in it"},
		{"another's key", props("security.protocol", "ssl", "ssl.certificate.location", "FILE:client.pem", "ssl.key.pem", string(newPair(t, "other").key)), "ssl.certificate.location", "do not fit"},
		{"needless password", props("security.protocol", "ssl", "ssl.certificate.location", "FILE:client.pem", "ssl.key.location", "FILE:client.key", "ssl.key.password", secret), "ssl.key.password", "not encrypted"},

		{"plain", sasl("plain", "sasl.username", "u", "sasl.password", secret), "", ""},
		{"scram", sasl("SCRAM-SHA-256", "sasl.username", "u", "sasl.password", secret), "", ""},
		{"scram over tls", props("security.protocol", "SASL_SSL", "sasl.mechanisms", "scram-sha-512", "sasl.username", "u", "sasl.password", secret), "", ""},
		{"both names", sasl("PLAIN", "sasl.mechanisms", "PLAIN", "sasl.username", "u", "sasl.password", secret), "", ""},
		{"names that differ", sasl("PLAIN", "sasl.mechanisms", "SCRAM-SHA-256", "sasl.username", "u", "sasl.password", secret), "sasl.mechanisms", "contradict"},
		{"sasl without protocol", props("sasl.password", secret), "sasl.password", "needs property.security.protocol"},
		{"no mechanism", props("security.protocol", "sasl_ssl", "sasl.username", "u", "sasl.password", secret), "sasl.mechanism", "missing"},
		{"no user", sasl("PLAIN", "sasl.password", secret), "sasl.username", "missing"},
		{"no password", sasl("PLAIN", "sasl.username", "u"), "sasl.password", "missing"},
		{"gssapi", sasl("GSSAPI", "sasl.username", "u", "sasl.password", secret), "sasl.mechanism", "GSSAPI"},
		{"token", sasl("OAUTHBEARER", "sasl.oauthbearer.token", secret), "", ""},
		{"no token", sasl("OAUTHBEARER"), "sasl.oauthbearer.token", "wanted"},
		{"token and password", sasl("OAUTHBEARER", "sasl.oauthbearer.token", secret, "sasl.password", secret), "sasl.mechanism", "takes no sasl.username"},
		{"token for another", sasl("PLAIN", "sasl.username", "u", "sasl.password", secret, "sasl.oauthbearer.token", secret), "sasl.mechanism", "takes no token"},
		{"unsecured", sasl("OAUTHBEARER", "enable.sasl.oauthbearer.unsecure.jwt", "true", "sasl.oauthbearer.config", "principal=me scope=a,b lifeSeconds=60 extension_x=y"), "", ""},
		{"nobody", sasl("OAUTHBEARER", "enable.sasl.oauthbearer.unsecure.jwt", "true", "sasl.oauthbearer.config", "scope=a"), "sasl.oauthbearer.config", "principal=NAME"},
		{"bad claim", sasl("OAUTHBEARER", "sasl.oauthbearer.config", "principle=me"), "sasl.oauthbearer.config", "'principle'"},
		{"claims for a token", sasl("OAUTHBEARER", "sasl.oauthbearer.token", secret, "sasl.oauthbearer.config", "principal=me"), "sasl.oauthbearer.config", "unsecured"},
		{"fetched token", sasl("OAUTHBEARER", "sasl.oauthbearer.method", "oidc"), "sasl.oauthbearer.method", "only default"},
		{"fetched token's secret", sasl("OAUTHBEARER", "sasl.oauthbearer.client.secret", secret), "sasl.oauthbearer.client.secret", "property.sasl.oauthbearer.token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts, err := clientprops.Options(tt.props, files)
			if tt.key == "" {
				if err != nil {
					t.Fatal(err)
				}
				client, err := kgo.NewClient(opts...)
				if err != nil {
					t.Fatalf("the options do not go together: %v", err)
				}
				client.Close()
				return
			}
			var e *clientprops.Error
			if !errors.As(err, &e) || e.Key != tt.key || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want one of %s with %q", err, tt.key, tt.text)
			}
			if strings.Contains(err.Error(), secret) {
				t.Error("the error shows the secret")
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	for key, want := range map[string]bool{
		"sasl.password": true, "ssl.key.password": true, "ssl.key.pem": true, "sasl.oauthbearer.token": true,
		"sasl.username": false, "ssl.ca.pem": false, "no.such": false,
	} {
		if clientprops.IsSecret(key) != want {
			t.Errorf("IsSecret(%s) = %v", key, !want)
		}
	}
}

func TestFiles(t *testing.T) {
	got := clientprops.Files(props("ssl.ca.location", "FILE:b.pem", "ssl.key.location", "FILE:a.pem", "ssl.certificate.location", "FILE:b.pem",
		"client.id", "FILE:c.pem", "sasl.password", "FILE:d"))
	if want := []string{"a.pem", "b.pem"}; !slices.Equal(got, want) {
		t.Errorf("Files = %v, want %v", got, want)
	}
}

func TestReadUncommitted(t *testing.T) {
	if clientprops.ReadUncommitted(nil) || !clientprops.ReadUncommitted(props("isolation.level", "READ_UNCOMMITTED")) {
		t.Error("read_committed is the default, read_uncommitted is another level")
	}
}
