// Package kafka is what the frontend needs of a job's brokers: the checks of
// CREATE ROUTINE LOAD, the share group's settings and start offsets, and a
// sample of where topic and group stand.
//
// It reads no record and joins no group. It is the only importer of franz-go
// in the frontend. Errors are made for users: they say which broker, topic,
// group or setting is wrong and what to do, and wrap one of the sentinels
// below where a caller decides by it. Nothing here creates a topic.
//
// A Client is safe for concurrent use. It owns the goroutines of its
// connections until Close; calls end with their context.
package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/internal/clientprops"
)

// What callers decide by.
var (
	// ErrUnreachable: no broker answered.
	ErrUnreachable = errors.New("no broker answers")
	// ErrNoTopic: the topic does not exist.
	ErrNoTopic = errors.New("topic does not exist")
	// ErrDenied: the broker's ACLs forbid it.
	ErrDenied = errors.New("not authorized")
	// ErrNotEmpty: the group still has members.
	ErrNotEmpty = errors.New("group has members")
	// ErrNoShareGroups: the broker does not offer share groups.
	ErrNoShareGroups = errors.New("no share groups")
)

// CheckTimeout is how long a user waits at most for a broker that does not
// answer.
const CheckTimeout = 8 * time.Second

// A Client talks to the brokers of one job.
type Client struct {
	brokers []string
	cl      *kgo.Client
	adm     *kadm.Client
	members atomic.Int64 // the broker's group.share.max.size, 0 until asked
}

// Dial makes a client from kafka_broker_list, property.* (without the prefix)
// and the uploaded files that they name. It connects to nothing yet. The error
// names the property or broker that is wrong.
func Dial(brokers []string, properties map[string]string, files map[string][]byte, extra ...kgo.Opt) (*Client, error) {
	opts, err := clientprops.Options(properties, files)
	if err != nil {
		return nil, err
	}
	opts = append(opts,
		kgo.SeedBrokers(brokers...),
		kgo.DialTimeout(5*time.Second),
		kgo.RetryTimeout(CheckTimeout),
		kgo.MetadataMinAge(250*time.Millisecond),
	)
	cl, err := kgo.NewClient(append(opts, extra...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka_broker_list: %w", err)
	}
	adm := kadm.NewClient(cl)
	adm.SetTimeoutMillis(int32(CheckTimeout.Milliseconds()))
	return &Client{brokers: brokers, cl: cl, adm: adm}, nil
}

// Close ends all connections.
func (c *Client) Close() { c.cl.Close() }

// Ping succeeds once any of the listed brokers answers. The error wraps
// ErrUnreachable and says for each address why it does not.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, CheckTimeout)
	defer cancel()
	var (
		mu      sync.Mutex
		reasons = make([]string, len(c.brokers))
		ok      bool
		wg      sync.WaitGroup
	)
	for i, seed := range c.cl.SeedBrokers() {
		wg.Go(func() {
			_, err := seed.Request(ctx, kmsg.NewPtrApiVersionsRequest())
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				ok = true
				cancel()
				return
			}
			reasons[i] = c.brokers[i] + ": " + dialReason(err)
		})
	}
	wg.Wait()
	if ok {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrUnreachable, strings.Join(reasons, "; "))
}

// dialReason says why a broker could not be talked to, without the address.
func dialReason(err error) string {
	var first *kgo.ErrFirstReadEOF
	switch {
	case errors.As(err, &first), errors.Is(err, io.EOF):
		return "the broker closed the connection: it may want another property.security.protocol (TLS, SASL), or have refused the credentials"
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.IllegalSaslState), errors.Is(err, kerr.UnsupportedSaslMechanism):
		return "authentication failed: " + err.Error()
	case tlsReason(err) != "":
		return tlsReason(err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %v", CheckTimeout)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}

// tlsReason says why TLS failed, empty if it did not.
func tlsReason(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		plain     tls.RecordHeaderError
		remote    *net.OpError
	)
	switch {
	case errors.As(err, &authority):
		return "TLS: nobody that is trusted signed the broker's certificate; give its authority by property.ssl.ca.location"
	case errors.As(err, &name):
		return "TLS: the broker's certificate is for another host (property.ssl.endpoint.identification.algorithm): " + name.Error()
	case errors.As(err, &invalid):
		return "TLS: the broker's certificate is not valid: " + invalid.Error()
	case errors.As(err, &plain):
		return "TLS: the port does not speak it; try property.security.protocol plaintext or sasl_plaintext"
	case errors.As(err, &remote) && remote.Op == "remote error": // an alert
		return "TLS: the broker refused the client's certificate, or wants one (property.ssl.certificate.location): " + remote.Err.Error()
	}
	return ""
}

// classify wraps err, if any, with the sentinel that callers decide by, and
// what was attempted.
func classify(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	doing := fmt.Sprintf(format, args...)
	var op *net.OpError
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		return fmt.Errorf("%s: %w (%w)", doing, ErrNoTopic, err)
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.GroupAuthorizationFailed),
		errors.Is(err, kerr.ClusterAuthorizationFailed), errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return fmt.Errorf("%s: %w (%w)", doing, ErrDenied, err)
	case errors.Is(err, kerr.NonEmptyGroup):
		return fmt.Errorf("%s: %w (%w)", doing, ErrNotEmpty, err)
	case errors.As(err, &op), errors.Is(err, context.DeadlineExceeded), errors.Is(err, kgo.ErrClientClosed):
		return fmt.Errorf("%s: %w (%w)", doing, ErrUnreachable, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// retry repeats attempt while the broker says that it will be ready soon,
// until ctx ends; then the broker's last answer is returned.
func retry(ctx context.Context, attempt func() error) error {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		err := attempt()
		if last != nil && ctx.Err() != nil {
			return last
		}
		if !soon(err) {
			return err
		}
		last = err
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

// soon tells whether err passes by itself: a coordinator that loads or moves,
// and a topic that was created a moment ago.
func soon(err error) bool {
	for _, passing := range []error{
		kerr.UnknownTopicOrPartition, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable,
		kerr.NotCoordinator, kerr.NotLeaderForPartition, kerr.LeaderNotAvailable,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}
