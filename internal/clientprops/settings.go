package clientprops

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// settings is what the keys of a job add up to, one after the other; options
// sees that they fit each other.
type settings struct {
	files map[string][]byte

	protocol string
	tls      tlsSettings
	sasl     saslSettings

	network string        // tcp, tcp4 or tcp6
	connect time.Duration // 0 for the default
	more    []kgo.Opt     // of keys that stand alone
}

// defaultConnect is how long connecting, TLS included, may take.
const defaultConnect = 10 * time.Second

// options are those of the client.
func (s *settings) options() ([]kgo.Opt, error) {
	opts := s.more
	config, err := s.tlsConfig()
	if err != nil {
		return nil, err
	}
	if config != nil || s.network != "tcp" || s.connect != 0 {
		opts = append(opts, kgo.Dialer(s.dialer(config)))
	}
	mechanism, err := s.mechanism()
	if err != nil {
		return nil, err
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, nil
}

// dialer connects to brokers, by TLS if there is a config.
func (s *settings) dialer(config *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: defaultConnect}
	if s.connect != 0 {
		plain.Timeout = s.connect
	}
	dial := plain.DialContext
	if config != nil {
		dial = (&tls.Dialer{NetDialer: plain, Config: config}).DialContext
	}
	return func(ctx context.Context, _, broker string) (net.Conn, error) { return dial(ctx, s.network, broker) }
}

// The setters of keys that stand alone.

func setProtocol(s *settings, _, value string) error {
	s.protocol = strings.ToLower(value)
	return nil
}

func setFamily(s *settings, _, value string) error {
	s.network = map[string]string{"any": "tcp", "v4": "tcp4", "v6": "tcp6"}[strings.ToLower(value)]
	return nil
}

func setClientID(s *settings, key, value string) error {
	if len(value) > 256 {
		return wrong(key, "has %d bytes; Kafka clients have names of at most 256", len(value))
	}
	s.more = append(s.more, kgo.ClientID(value))
	return nil
}

func setConnect(s *settings, key, value string) (err error) {
	s.connect, err = milliseconds(key, value, time.Second, 5*time.Minute)
	return err
}

// leastTimeout is the client's default. Fetches wait for records, and one that
// is given up for it ends the connection, with what is held on it.
const leastTimeout = 10 * time.Second

func setTimeout(s *settings, key, value string) error {
	d, err := milliseconds(key, value, 10*time.Millisecond, 15*time.Minute)
	s.more = append(s.more, kgo.RequestTimeoutOverhead(max(d, leastTimeout)))
	return err
}

// milliseconds reads a duration in a range, both ends included.
func milliseconds(key, value string, low, high time.Duration) (time.Duration, error) {
	n, err := number(key, value, low.Milliseconds(), high.Milliseconds())
	return time.Duration(n) * time.Millisecond, err
}

func number(key, value string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < low || n > high {
		return 0, wrong(key, "should be a number from %d to %d, not '%.64s'", low, high, value)
	}
	return n, nil
}
