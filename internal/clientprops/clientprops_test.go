package clientprops_test

import (
	"errors"
	"strings"
	"testing"

	"shoal/internal/clientprops"
)

func TestOptions(t *testing.T) {
	scram := map[string]string{"security.protocol": "SASL_SSL", "sasl.mechanisms": "scram-sha-512", "sasl.username": "u", "sasl.password": "hunter2"}
	tests := []struct {
		name  string
		props map[string]string
		opts  int
		key   string // of the error
		text  string // in the error
	}{
		{"nothing", nil, 0, "", ""},
		{"client id", map[string]string{"client.id": "x", "group.id": "g", "kafka_default_offsets": "OFFSET_END"}, 1, "", ""},
		{"tls", map[string]string{"security.protocol": "ssl"}, 1, "", ""},
		{"scram over tls", scram, 2, "", ""},
		{"misspelt", map[string]string{"security.protocal": "ssl"}, 0, "security.protocal", "did you mean property.security.protocol?"},
		{"unlike anything", map[string]string{"queue.buffering.max.messages": "1"}, 0, "queue.buffering.max.messages", "known are"},
		{"not yet", map[string]string{"ssl.ca.location": "FILE:ca.pem"}, 0, "ssl.ca.location", "not supported yet"},
		{"bad protocol", map[string]string{"security.protocol": "tls"}, 0, "security.protocol", "'tls' is none of"},
		{"sasl without protocol", map[string]string{"sasl.password": "hunter2"}, 0, "sasl.password", "needs property.security.protocol"},
		{"no user", map[string]string{"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.password": "hunter2"}, 0, "sasl.username", "missing"},
		{"bad mechanism", map[string]string{"security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI", "sasl.username": "u", "sasl.password": "hunter2"}, 0, "sasl.mechanism", "GSSAPI"},
		{"isolation", map[string]string{"isolation.level": "read_uncommitted"}, 0, "isolation.level", "not supported yet"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts, err := clientprops.Options(tt.props)
			if tt.key == "" {
				if err != nil || len(opts) != tt.opts {
					t.Fatalf("Options = %d options, %v; want %d", len(opts), err, tt.opts)
				}
				return
			}
			var e *clientprops.Error
			if !errors.As(err, &e) || e.Key != tt.key || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want one of %s with %q", err, tt.key, tt.text)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the error shows the password")
			}
		})
	}
}

func TestIsSecret(t *testing.T) {
	if !clientprops.IsSecret("sasl.password") || clientprops.IsSecret("sasl.username") {
		t.Error("the password, and only it, is secret here")
	}
}
