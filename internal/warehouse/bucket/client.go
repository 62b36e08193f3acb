package bucket

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
)

const (
	// attempts of one request, with growing pauses of at most longestPause.
	attempts     = 4
	longestPause = 2 * time.Second
	dialLimit    = 5 * time.Second
	// stall is how long nothing may move on a connection that is in use.
	stall       = 30 * time.Second
	connections = 32 // idle ones that are kept
)

func newClient(ctx context.Context, place Place) (*s3.Client, *http.Client, error) {
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithEC2IMDSClientEnableState(imds.ClientDisabled),
		config.WithDefaultRegion("us-east-1"),
		config.WithLogger(logging.Nop{}),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(impatience)),
		config.WithRetryer(func() aws.Retryer {
			r := retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = attempts, longestPause })
			// Two writers of a name at once: whoever comes second learns who won.
			return retry.AddWithErrorCodes(r, "ConditionalRequestConflict")
		}))
	if err != nil {
		return nil, nil, err
	}
	if place.Region != "" {
		cfg.Region = place.Region
	}
	// The SDK may have added a CA to it (AWS_CA_BUNDLE); a client of our own can
	// be closed.
	web := &http.Client{
		Transport:     cfg.HTTPClient.(*awshttp.BuildableClient).GetTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = web
		o.Credentials = known{cfg.Credentials}
		o.UsePathStyle = place.PathStyle
		if place.Endpoint != "" {
			o.BaseEndpoint = &place.Endpoint
		}
		// Checksums are our own; what is added on top many servers do not know.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
	})
	return client, web, nil
}

// known are credentials that say what is missing if there are none.
type known struct{ aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (k known) Retrieve(ctx context.Context) (aws.Credentials, error) {
	credentials, err := k.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		err = &noCredentialsError{err}
	}
	return credentials, err
}

// impatience makes a transport give up connections on which nothing moves.
func impatience(t *http.Transport) {
	dialer := &net.Dialer{Timeout: dialLimit, KeepAlive: 30 * time.Second}
	t.MaxIdleConnsPerHost = connections
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &impatient{conn}, nil
	}
}

// impatient is a connection whose deadline moves as long as bytes do.
type impatient struct{ net.Conn }

// Read implements net.Conn.
func (c *impatient) Read(p []byte) (int, error) {
	c.SetDeadline(time.Now().Add(stall))
	return c.Conn.Read(p)
}

// Write implements net.Conn. The answer is waited for meanwhile, and not missed.
func (c *impatient) Write(p []byte) (int, error) {
	c.SetDeadline(time.Now().Add(stall))
	return c.Conn.Write(p)
}
