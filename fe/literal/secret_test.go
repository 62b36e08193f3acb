package literal_test

import (
	"strings"
	"testing"

	"shoal/fe/literal"
)

func TestHideSecrets(t *testing.T) {
	for _, tt := range []struct{ sql, want string }{
		{"SELECT 'password'", "SELECT 'password'"},
		{`("property.sasl.password" = "x", "kafka_topic" = "t")`, `("property.sasl.password" = '***', "kafka_topic" = "t")`},
		{`("PROPERTY.SASL.PASSWORD"='x''y' 'z')`, `("PROPERTY.SASL.PASSWORD"='***''***' '***')`},
		{`("property.ssl.key.password" = x.y-z)`, `("property.ssl.key.password" = '***'.'***'-'***')`},
		{`("property.sasl.password" "x", "a" = "b")`, `("property.sasl.password" '***', "a" = "b")`},
		{`("property.sasl.password" = "no end, "a" = "b")`, `("property.sasl.password" = '***''***''***''***''***'`},
		{"('sasl.jaas.config' = 'a;b', 'c' = 'd')", "('sasl.jaas.config' = '***', 'c' = 'd')"},
		{"-- 'sasl.password' = 'x'\n'a' = 'b'", "/* *** */\n'a' = 'b'"},
		{"/* my password is x */ SELECT 1", "/* *** */ SELECT 1"},
		{"/*!40000 ('sasl.password' = 'x') */", "/*!40000 ('sasl.password' = '***') */"},
		{"CREATE USER 'u'@'%' IDENTIFIED BY 'x'", "CREATE USER 'u'@'%' IDENTIFIED BY '***'"},
		{"SET PASSWORD = PASSWORD('x')", "SET PASSWORD = PASSWORD('***')"},
		{"SET PASSWORD FOR 'u' = 'x'; SELECT 'a'", "SET PASSWORD FOR '***' = '***'; SELECT 'a'"},
		{`CREATE FILE "k" PROPERTIES ("catalog" = "kafka", "content" = "-----BEGIN", "md5" = "a")`, `CREATE FILE "k" PROPERTIES ("catalog" = "kafka", "content" = '***', "md5" = "a")`},
		{`("Content" = "a\"b", 'CONTENT'='c')`, `("Content" = '***', 'CONTENT'='***')`},
		{`("property.ssl.key.pem" = "a", "property.ssl.ca.pem" = "b")`, `("property.ssl.key.pem" = '***', "property.ssl.ca.pem" = "b")`},
		{`("property.sasl.oauthbearer.token" = "a")`, `("property.sasl.oauthbearer.token" = '***')`},
		{"SELECT content FROM t WHERE content = 'a' AND `content` = 'b'", "SELECT content FROM t WHERE content = 'a' AND `content` = 'b'"},
		{"SELECT password, 'a' FROM t", "SELECT password, 'a' FROM t"},
	} {
		if got := literal.HideSecrets(tt.sql); got != tt.want {
			t.Errorf("HideSecrets(%s)\n = %s\nwant %s", tt.sql, got, tt.want)
		}
	}
}

// Whatever a value holds, nothing of it is left.
func FuzzHideSecrets(f *testing.F) {
	f.Add("x', \"kafka_topic\" = ")
	f.Add("/* */ -- # ( ; \\")
	f.Fuzz(func(t *testing.T, value string) {
		value = strings.ReplaceAll(strings.ReplaceAll(value, `\`, `\\`), `"`, `\"`)
		got := literal.HideSecrets(`("sasl.password" = "` + value + `", 'a' = 'b')`)
		if want := `("sasl.password" = '***', 'a' = 'b')`; got != want {
			t.Errorf("%q shows as %s", value, got)
		}
	})
}
