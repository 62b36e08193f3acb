package clientprops

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// saslSettings are what sasl.* says.
type saslSettings struct {
	given           string // any of the keys, empty for none
	from, mechanism string // the mechanism and the key that named it
	// As they were given: they may be references to what changes.
	username, password, token string
	unsecured                 bool
	claims                    claims
}

func setMechanism(s *settings, key, value string) error {
	value = strings.ToUpper(value)
	if s.sasl.mechanism != "" && s.sasl.mechanism != value {
		return wrong(key, "= '%.64s' and property.%s = '%s' contradict each other", value, s.sasl.from, s.sasl.mechanism)
	}
	s.sasl.given, s.sasl.from, s.sasl.mechanism = key, key, value
	return nil
}

// credential sets a name, password or token. It is kept as it was given, and
// resolved to see whether that is possible.
func credential(field func(*saslSettings) *string) setter {
	return func(s *settings, key, value string) error {
		s.sasl.given, *field(&s.sasl) = key, value
		_, err := resolve(key, value)
		return err
	}
}

func username(a *saslSettings) *string { return &a.username }
func password(a *saslSettings) *string { return &a.password }
func token(a *saslSettings) *string    { return &a.token }

func setUnsecured(s *settings, key, value string) error {
	s.sasl.given, s.sasl.unsecured = key, strings.EqualFold(value, "true")
	return nil
}

// mechanism is how the client says who it is, nil where nobody asks.
func (s *settings) mechanism() (sasl.Mechanism, error) {
	if !strings.HasPrefix(s.protocol, "sasl_") {
		if s.sasl.given != "" {
			return nil, wrong(s.sasl.given, "needs property.security.protocol sasl_plaintext or sasl_ssl")
		}
		return nil, nil
	}
	a := &s.sasl
	switch a.mechanism {
	case "":
		return nil, wrong("sasl.mechanism", "is missing: %s", known["sasl.mechanism"].choices())
	case "OAUTHBEARER":
		return a.bearer()
	}
	switch {
	case a.username == "":
		return nil, wrong("sasl.username", "is missing")
	case a.password == "":
		return nil, wrong("sasl.password", "is missing")
	case a.token != "" || a.unsecured || a.claims.given:
		return nil, wrong(a.from, "= '%s' takes no token: that is for OAUTHBEARER", a.mechanism)
	}
	switch a.mechanism {
	case "PLAIN":
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			user, password, err := a.login()
			return plain.Auth{User: user, Pass: password}, err
		}), nil
	case "SCRAM-SHA-256":
		return scram.Sha256(a.scram), nil
	}
	return scram.Sha512(a.scram), nil
}

// login is the user's name and password as they are now.
func (a *saslSettings) login() (user, password string, err error) {
	if user, err = resolve("sasl.username", a.username); err == nil {
		password, err = resolve("sasl.password", a.password)
	}
	return user, password, err
}

func (a *saslSettings) scram(context.Context) (scram.Auth, error) {
	user, password, err := a.login()
	return scram.Auth{User: user, Pass: password}, err
}

// bearer is OAUTHBEARER with the user's token, or with one of their own claims.
func (a *saslSettings) bearer() (sasl.Mechanism, error) {
	switch {
	case a.username != "" || a.password != "":
		return nil, wrong(a.from, "= 'OAUTHBEARER' takes no sasl.username and no sasl.password: give property.sasl.oauthbearer.token")
	case (a.token != "") == a.unsecured:
		return nil, wrong("sasl.oauthbearer.token", "is wanted for OAUTHBEARER (or, for brokers that check no signature, property.enable.sasl.oauthbearer.unsecure.jwt = 'true' instead)")
	case a.unsecured && a.claims.principal == "":
		return nil, wrong("sasl.oauthbearer.config", "wants principal=NAME for an unsecured token")
	case !a.unsecured && a.claims.given:
		return nil, wrong("sasl.oauthbearer.config", "is for unsecured tokens: it needs property.enable.sasl.oauthbearer.unsecure.jwt = 'true'")
	}
	return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
		if a.unsecured {
			return oauth.Auth{Token: a.claims.token(time.Now()), Extensions: a.claims.extensions}, nil
		}
		text, err := resolve("sasl.oauthbearer.token", a.token)
		return oauth.Auth{Token: text}, err
	}), nil
}

// claims are what an unsecured token says (librdkafka,
// sasl.oauthbearer.config).
type claims struct {
	given                     bool
	principal, principalClaim string
	scope                     []string
	scopeClaim                string
	life                      time.Duration
	extensions                map[string]string
}

// setClaims reads name=value pairs with blanks between them.
func setClaims(s *settings, key, value string) error {
	c := claims{given: true, principalClaim: "sub", scopeClaim: "scope", life: time.Hour, extensions: map[string]string{}}
	for pair := range strings.FieldsSeq(value) {
		name, text, _ := strings.Cut(pair, "=")
		extension, isExtension := strings.CutPrefix(name, "extension_")
		switch {
		case text == "":
			return wrong(key, "has '%.64s', which is not name=value", pair)
		case name == "principal":
			c.principal = text
		case name == "principalClaimName":
			c.principalClaim = text
		case name == "scope":
			c.scope = strings.Split(text, ",")
		case name == "scopeClaimName":
			c.scopeClaim = text
		case name == "lifeSeconds":
			seconds, err := number(key+" lifeSeconds", text, 1, 1<<31)
			if err != nil {
				return err
			}
			c.life = time.Duration(seconds) * time.Second
		case isExtension && extension != "":
			c.extensions[extension] = text
		default:
			return wrong(key, "has an unknown name '%.64s'; known are principal, principalClaimName, scope, scopeClaimName, lifeSeconds and extension_NAME", name)
		}
	}
	s.sasl.given, s.sasl.claims = key, c
	return nil
}

// token is a JSON web token without a signature (RFC 7515, "none").
func (c claims) token(now time.Time) string {
	says := map[string]any{c.principalClaim: c.principal, "iat": now.Unix(), "exp": now.Add(c.life).Unix()}
	if len(c.scope) > 0 {
		says[c.scopeClaim] = c.scope
	}
	body, err := json.Marshal(says)
	if err != nil {
		panic("clientprops: claims of texts and numbers are JSON: " + strconv.Quote(err.Error()))
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(body) + "."
}
