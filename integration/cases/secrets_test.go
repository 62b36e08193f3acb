package cases

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestSecretsAtRest: a job's password goes through CREATE, ALTER and a restart,
// and is nowhere in the data folder, the process's log included, nor in what
// statements answer. A reference is stored as it is, and read where the client
// is made.
func TestSecretsAtRest(t *testing.T) {
	t.Parallel()
	security, secure := testkafka.Secure(t)
	broker := testkafka.Start(t, secure)
	permit(t, broker, kadm.NewACLs().Allow("User:"+testkafka.User).AllowHosts().Topics("*").Groups("*").Clusters().
		ResourcePatternType(kmsg.ACLResourcePatternTypeLiteral).Operations(kadm.OpAll))
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "password"), []byte(testkafka.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := cluster.New(t, "standalone", "--secrets-dir", folder)
	p.Setenv("SHOAL_SECRET_KAFKA", testkafka.Password)
	p.Run()
	for name, password := range map[string]string{"clear": testkafka.Password, "env": "${env:SHOAL_SECRET_KAFKA}", "file": "${file:" + folder + "/password}"} {
		t.Run(name, func(t *testing.T) {
			j := prepareSecure(t, p.DB(), broker, share, security, map[string]string{
				"kafka_broker_list": broker.Listener(t, "SASL_SSL"), "property.security.protocol": "sasl_ssl", "property.ssl.ca.location": "FILE:ca.pem",
				"property.sasl.mechanism": "PLAIN", "property.sasl.username": testkafka.User, "property.sasl.password": password,
			})
			messages, _ := ids(1, 6)
			j.exec(j.statement())
			j.produce(messages[:2]...)
			j.waitRows(2)
			j.pause()
			j.exec("ALTER ROUTINE LOAD FOR j FROM KAFKA('property.sasl.password' = " + literal(password) + ")")
			p.Stop()
			p.Run()
			j.db = p.DB()
			j.resume()
			j.produce(messages[2:4]...)
			j.eventually(func() error { // the backend is not back at once
				answer, err := j.try(j.t.Context(), "SELECT count(*) FROM t")
				if err == nil && answer[1][0] != "4" {
					err = fmt.Errorf("%s rows, want 4", answer[1][0])
				}
				return err
			})
			j.pause() // what is not named keeps its secret
			j.exec("ALTER ROUTINE LOAD FOR j FROM KAFKA('property.client.id' = 'altered')")
			j.resume()
			j.produce(messages[4:]...)
			j.waitRows(6)
			j.checkNoSecret()
			shown := fmt.Sprint(j.rows("SHOW CREATE ROUTINE LOAD FOR j"))
			if strings.Contains(shown, password) != strings.HasPrefix(password, "${") {
				t.Errorf("a secret should be hidden, and a reference shown: %s", shown)
			}
			j.exec("STOP ROUTINE LOAD FOR j")
		})
	}
	p.Stop()
	read := 0
	err := filepath.WalkDir(p.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(testkafka.Password)) {
			t.Errorf("%s has the password", path)
		}
		read += bytes.Count(content, []byte("SHOAL_SECRET_KAFKA"))
		return err
	})
	if err != nil || read == 0 {
		t.Errorf("the reference is nowhere (%v): the password was looked for in the wrong place", err)
	}
}
