package cases

import (
	"database/sql"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/internal/testkafka"
)

// C39: security settings, from a broker that is reached by TLS and SASL.
func TestC39(t *testing.T) {
	t.Parallel()
	security, secure := testkafka.Secure(t)
	broker := testkafka.Start(t, secure)
	permit(t, broker, kadm.NewACLs().Allow("User:"+testkafka.User, "User:CN=client").AllowHosts().Topics("*").Groups("*").Clusters().
		ResourcePatternType(kmsg.ACLResourcePatternTypeLiteral).Operations(kadm.OpAll))
	db := connect(t)
	password := map[string]string{"property.sasl.username": testkafka.User, "property.sasl.password": testkafka.Password}
	trusted := map[string]string{"property.ssl.ca.location": "FILE:ca.pem"}
	t.Run("works", func(t *testing.T) {
		for name, tt := range map[string]struct {
			listener, protocol string
			more               []map[string]string
		}{
			"tls":            {"SSL", "ssl", []map[string]string{trusted}},
			"certificate":    {"MTLS", "ssl", []map[string]string{trusted, {"property.ssl.certificate.pem": string(security.ClientCert), "property.ssl.key.pem": string(security.ClientKey)}}},
			"plain":          {"SASL_PLAINTEXT", "sasl_plaintext", []map[string]string{password, {"property.sasl.mechanism": "PLAIN"}}},
			"scram 256":      {"SASL_PLAINTEXT", "SASL_PLAINTEXT", []map[string]string{password, {"property.sasl.mechanisms": "SCRAM-SHA-256"}}},
			"scram 512, tls": {"SASL_SSL", "sasl_ssl", []map[string]string{trusted, password, {"property.sasl.mechanism": "SCRAM-SHA-512", "property.sasl.mechanisms": "SCRAM-SHA-512"}}},
			"token, tls":     {"SASL_SSL", "sasl_ssl", []map[string]string{trusted, {"property.sasl.mechanism": "OAUTHBEARER", "property.enable.sasl.oauthbearer.unsecure.jwt": "true", "property.sasl.oauthbearer.config": "principal=" + testkafka.User}}},
			"own client id":  {"SASL_PLAINTEXT", "sasl_plaintext", []map[string]string{password, {"property.sasl.mechanism": "PLAIN", "property.client.id": "orders"}}},
		} {
			t.Run(name, func(t *testing.T) {
				both(t, func(t *testing.T, mode string) {
					source := map[string]string{"kafka_broker_list": broker.Listener(t, tt.listener), "property.security.protocol": tt.protocol}
					for _, more := range tt.more {
						maps.Copy(source, more)
					}
					j := prepareSecure(t, db, broker, mode, security, source)
					messages, rows := ids(1, 5)
					j.produce(messages...)
					j.create()
					j.settle(outcome{rows: rows}, 5, 0)
					j.checkNoSecret()
				})
			})
		}
	})
	t.Run("refused", func(t *testing.T) {
		for name, tt := range map[string]struct {
			listener string // the plain one if empty
			source   map[string]string
			want     string
		}{
			"misspelt":       {"", map[string]string{"property.security.protocal": "ssl"}, "property.security.protocol"},
			"wrong password": {"SASL_PLAINTEXT", map[string]string{"property.security.protocol": "sasl_plaintext", "property.sasl.mechanism": "PLAIN", "property.sasl.username": testkafka.User, "property.sasl.password": "wrong-secret"}, "authentication"},
			"plain to tls":   {"SSL", nil, "TLS"},
			"tls to plain":   {"", map[string]string{"property.security.protocol": "ssl"}, "TLS"},
			"untrusted":      {"SSL", map[string]string{"property.security.protocol": "ssl"}, "property.ssl.ca.location"},
			"no certificate": {"MTLS", map[string]string{"property.security.protocol": "ssl", "property.ssl.ca.location": "FILE:ca.pem"}, "property.ssl.certificate.location"},
			"no rights":      {"SASL_PLAINTEXT", map[string]string{"property.security.protocol": "sasl_plaintext", "property.sasl.mechanism": "OAUTHBEARER", "property.enable.sasl.oauthbearer.unsecure.jwt": "true", "property.sasl.oauthbearer.config": "principal=bob"}, "not authorized"},
			"no file":        {"SSL", map[string]string{"property.security.protocol": "ssl", "property.ssl.ca.location": "FILE:none.pem"}, "none.pem"},
		} {
			t.Run(name, func(t *testing.T) {
				both(t, func(t *testing.T, mode string) {
					j := prepareSecure(t, db, broker, mode, security, maps.Clone(tt.source))
					if tt.listener != "" {
						j.source["kafka_broker_list"] = broker.Listener(t, tt.listener)
					}
					began := time.Now()
					err := j.refused()
					if took := time.Since(began); took > 10*time.Second {
						t.Errorf("refused after %v, want less than 10 s", took)
					}
					if !strings.Contains(err.Message, tt.want) || strings.Contains(err.Message, "-secret") {
						t.Errorf("error %v, want one with %q and without secrets", err, tt.want)
					}
				})
			})
		}
	})
}

// prepareSecure is prepare with the authority's certificate uploaded.
func prepareSecure(t *testing.T, db *sql.DB, broker *testkafka.Broker, mode string, security *testkafka.Security, source map[string]string) *job {
	t.Helper()
	if source == nil {
		source = map[string]string{}
	}
	j := prepare(t, db, broker, mode, load{columns: "(id INT)", source: source})
	j.exec(`CREATE FILE "ca.pem" PROPERTIES("catalog"="kafka", "content"=` + literal(string(security.CA)) + ")")
	return j
}

// checkNoSecret fails the test if any statement shows a secret of the job.
func (j *job) checkNoSecret() {
	j.t.Helper()
	for _, statement := range []string{"SHOW ALL ROUTINE LOAD FOR j", "SHOW CREATE ROUTINE LOAD FOR j", "SHOW ROUTINE LOAD TASK WHERE JobName = 'j'", "SELECT * FROM information_schema.routine_load_jobs"} {
		rows, err := j.try(j.t.Context(), statement)
		if err != nil {
			j.t.Errorf("%s: %v", statement, err)
		}
		for _, row := range rows {
			if text := strings.Join(row, "|"); strings.Contains(text, testkafka.Password) || strings.Contains(text, "PRIVATE KEY") {
				j.t.Errorf("%s shows a secret: %s", statement, text)
			}
		}
	}
}

// permit gives rights on a broker, as an operator would.
func permit(t *testing.T, broker *testkafka.Broker, acls *kadm.ACLBuilder) {
	t.Helper()
	results, err := operator(t, broker).CreateACLs(t.Context(), acls)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatalf("%s: %v", r.ErrMessage, r.Err)
		}
	}
}
