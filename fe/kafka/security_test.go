package kafka_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/fe/kafka"
	"shoal/internal/testkafka"
)

// TestSecurity: every protocol and mechanism reaches a real broker, and what is
// wrong is told by its name within seconds.
func TestSecurity(t *testing.T) {
	security, secure := testkafka.Secure(t)
	broker := testkafka.Start(t, secure)
	topic := broker.CreateTopic(t, 1, nil)
	allow(t, broker, topic)
	files := map[string][]byte{"ca.pem": security.CA, "other.pem": security.OtherCA, "client.pem": security.ClientCert, "client.key": security.ClientKey}
	password := props("sasl.username", testkafka.User, "sasl.password", testkafka.Password)
	token := props("sasl.mechanism", "OAUTHBEARER", "enable.sasl.oauthbearer.unsecure.jwt", "true", "sasl.oauthbearer.config", "principal="+testkafka.User)
	trusted := props("ssl.ca.location", "FILE:ca.pem")
	own := props("ssl.certificate.location", "FILE:client.pem", "ssl.key.location", "FILE:client.key")
	tests := []struct {
		name, listener string
		props          []map[string]string
		want           string // in the error, empty for none
	}{
		{"tls", "SSL", tls("ssl", trusted), ""},
		{"client's certificate", "MTLS", tls("ssl", trusted, own), ""},
		{"plain", "SASL_PLAINTEXT", tls("sasl_plaintext", password, props("sasl.mechanism", "PLAIN")), ""},
		{"scram 256", "SASL_PLAINTEXT", tls("sasl_plaintext", password, props("sasl.mechanisms", "SCRAM-SHA-256")), ""},
		{"scram 512 over tls", "SASL_SSL", tls("sasl_ssl", trusted, password, props("sasl.mechanism", "SCRAM-SHA-512")), ""},
		{"token", "SASL_PLAINTEXT", tls("sasl_plaintext", token), ""},
		{"token over tls", "SASL_SSL", tls("sasl_ssl", trusted, token), ""},

		{"wrong password, plain", "SASL_PLAINTEXT", tls("sasl_plaintext", props("sasl.mechanism", "PLAIN", "sasl.username", testkafka.User, "sasl.password", "wrong-secret")), "authentication failed"},
		{"wrong password, scram", "SASL_SSL", tls("sasl_ssl", trusted, props("sasl.mechanism", "SCRAM-SHA-512", "sasl.username", testkafka.User, "sasl.password", "wrong-secret")), "authentication failed"},
		{"bad token", "SASL_PLAINTEXT", tls("sasl_plaintext", props("sasl.mechanism", "OAUTHBEARER", "sasl.oauthbearer.token", "wrong-secret")), "authentication failed"},
		{"no sasl", "SASL_PLAINTEXT", tls("plaintext"), "SASL"},
		{"no tls", "SSL", tls("plaintext"), "TLS"},
		{"sasl without tls", "SASL_SSL", tls("sasl_plaintext", password, props("sasl.mechanism", "PLAIN")), "TLS"},
		{"tls to a plain port", "", tls("ssl", trusted), "TLS"},
		{"sasl to a plain port", "", tls("sasl_plaintext", password, props("sasl.mechanism", "PLAIN")), "authentication"},
		{"another authority", "SSL", tls("ssl", props("ssl.ca.location", "FILE:other.pem")), "property.ssl.ca.location"},
		{"the system's authorities", "SSL", tls("ssl"), "property.ssl.ca.location"},
		{"no client's certificate", "MTLS", tls("ssl", trusted), "property.ssl.certificate.location"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr := broker.Addr()
			if tt.listener != "" {
				addr = broker.Listener(t, tt.listener)
			}
			properties := map[string]string{}
			for _, p := range tt.props {
				maps.Copy(properties, p)
			}
			c, err := kafka.Dial(strings.Split(addr, ","), properties, files)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			began := time.Now()
			err = c.Ping(t.Context())
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("Ping took %v, want less than 10 s", took)
			}
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Topic(t.Context(), topic); err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, kafka.ErrUnreachable) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), addr) {
				t.Errorf("Ping = %v, want ErrUnreachable with %q and the address", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "-secret") {
				t.Error("the error shows the secret")
			}
		})
	}
}

func props(pairs ...string) map[string]string {
	out := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// tls is a protocol with more properties.
func tls(protocol string, more ...map[string]string) []map[string]string {
	return append(more, props("security.protocol", protocol))
}

// allow lets everybody who has a name see a topic.
func allow(t *testing.T, broker *testkafka.Broker, topic string) {
	t.Helper()
	adm := kadm.NewClient(plain(t, addrs(broker)))
	acls := kadm.NewACLs().Allow("User:*").AllowHosts().Topics(topic).ResourcePatternType(kmsg.ACLResourcePatternTypeLiteral).Operations(kadm.OpDescribe)
	results, err := adm.CreateACLs(t.Context(), acls)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}
