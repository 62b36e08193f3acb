package clientprops

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// FuzzKey: no key text does harm, and what is opened is a key in clear.
func FuzzKey(f *testing.F) {
	names, err := filepath.Glob("testdata/*.key")
	if err != nil || len(names) == 0 {
		f.Fatal("no keys in testdata: ", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "hunter2")
	}
	f.Fuzz(func(t *testing.T, text []byte, password string) {
		key, err := decryptKey(text, password)
		if err == nil && (!bytes.Contains(key, []byte("PRIVATE KEY")) || bytes.Contains(key, []byte("DEK-Info"))) {
			t.Errorf("%q became the key %q", text, key)
		}
	})
}

// FuzzClaims: what is taken makes a token of three parts and options of a
// client; all else is an error of its property.
func FuzzClaims(f *testing.F) {
	f.Add("principal=me scope=a,b lifeSeconds=60 extension_x=y")
	f.Add("principalClaimName=sub principal=\"x\" scopeClaimName=s")
	f.Fuzz(func(t *testing.T, config string) {
		s := settings{network: "tcp", protocol: "sasl_plaintext"}
		s.sasl.mechanism, s.sasl.unsecured = "OAUTHBEARER", true
		if err := setClaims(&s, "sasl.oauthbearer.config", config); err != nil {
			return
		}
		if token := s.sasl.claims.token(time.Now()); bytes.Count([]byte(token), []byte(".")) != 2 {
			t.Errorf("%q became the token %s", config, token)
		}
		if opts, err := s.options(); err == nil {
			client, err := kgo.NewClient(opts...)
			if err != nil {
				t.Fatal(err)
			}
			client.Close()
		}
	})
}
