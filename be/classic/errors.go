package classic

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"shoal/internal/offsets"
)

// What a failure means to the job. Each wraps its cause, whose text names the
// broker's error.
var (
	// ErrUnauthorized: READ on the topic is missing, or the broker does not
	// know the user.
	ErrUnauthorized = errors.New("the broker refuses access")
	// ErrNoTopic: the topic was deleted; another one may have its name.
	ErrNoTopic = errors.New("the topic was deleted, or made anew under its name")
	// ErrDamaged: a batch cannot be read, such as one of an unknown codec.
	ErrDamaged = errors.New("records cannot be read")
	// ErrUnsupported: the broker is too old.
	ErrUnsupported = errors.New("the broker does not fetch by topic id, which Kafka does since 3.1")
	// ErrUnavailable: everything that passes by itself.
	ErrUnavailable = errors.New("the broker cannot be used now")
)

// failure says what err means, and that it happened in doing what.
func failure(doing string, err error) error {
	kind := ErrUnavailable
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed), errors.Is(err, kerr.SaslAuthenticationFailed):
		kind = ErrUnauthorized
	case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.InconsistentTopicID):
		kind = ErrNoTopic
	case errors.Is(err, kerr.UnsupportedVersion):
		kind = ErrUnsupported
	}
	return fmt.Errorf("%s: %w: %w", doing, kind, err)
}

// UnreadableError says that a batch could not be read, however often that was
// tried.
type UnreadableError struct {
	Topic     string
	Partition int32
	Offsets   offsets.Range // of the batch, from the position on
	Cause     error
}

// Error names the offsets.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("topic %s partition %d: the batch with offsets %v could not be read in %d tries: %v", e.Topic, e.Partition, e.Offsets, mostFailures, e.Cause)
}

// Unwrap is why the batch could not be read.
func (e *UnreadableError) Unwrap() error { return e.Cause }

// OutOfRangeError says that a partition's position lies outside of its log.
type OutOfRangeError struct {
	Topic     string
	Partition int32
	Position  int64 // the next offset to read
	LogStart  int64 // the lowest offset of the log
	LogEnd    int64 // the offset that the next record will get
}

// Error names what is lost, or where the log ends.
func (e *OutOfRangeError) Error() string {
	where := fmt.Sprintf("topic %s partition %d", e.Topic, e.Partition)
	if e.Position < e.LogStart {
		return fmt.Sprintf("%s: lost %d..%d (%d): deleted before they were read, the log starts at %d",
			where, e.Position, e.LogStart-1, e.LogStart-e.Position, e.LogStart)
	}
	return fmt.Sprintf("%s: position %d is beyond the log, which has offsets %d..%d: it was truncated, or the position was given wrong",
		where, e.Position, e.LogStart, e.LogEnd-1)
}
