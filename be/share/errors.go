package share

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"shoal/be/source"
)

// What a failure means to the job. Each wraps its cause, whose text names the
// broker's error.
var (
	// ErrNotAssigned: a member of a new group waits a heartbeat or two for its
	// partitions; more members than the group can use wait longer.
	ErrNotAssigned = errors.New("no partition is assigned to this task yet")
	// ErrUnauthorized: READ on the group or on the topic is missing.
	ErrUnauthorized = errors.New("the broker refuses access")
	// ErrUnknownTopic: deleted, or not known to that broker yet.
	ErrUnknownTopic = errors.New("the broker does not know the topic")
	// ErrFull: group.share.max.size or group.share.max.share.sessions.
	ErrFull = errors.New("the broker has no room for another member of a share group")
	// ErrUnsupported: share groups are off, or the group id is a consumer group's.
	ErrUnsupported = errors.New("the broker does not serve this as a share group")
	// ErrUnavailable: everything that passes by itself.
	ErrUnavailable = errors.New("the broker cannot be used now")
)

// failure says what err means, and that it happened in doing what.
func failure(doing string, err error) error {
	kind := ErrUnavailable
	switch {
	case isAny(err, kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed,
		kerr.ClusterAuthorizationFailed, kerr.SaslAuthenticationFailed):
		kind = ErrUnauthorized
	case isAny(err, kerr.UnknownTopicID, kerr.UnknownTopicOrPartition):
		kind = ErrUnknownTopic
	case isAny(err, kerr.GroupMaxSizeReached, kerr.ShareSessionLimitReached):
		kind = ErrFull
	case isAny(err, kerr.UnsupportedVersion, kerr.GroupIDNotFound, kerr.InconsistentGroupProtocol):
		kind = ErrUnsupported
	}
	return fmt.Errorf("%s: %w: %w", doing, kind, err)
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// isMoved tells whether err says that the partition is led by another broker,
// or was led by this one in an earlier term. Locks do not outlive either.
func isMoved(err error) bool {
	return isAny(err, kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch)
}

// isSessionGone tells whether err says that the request was turned away before
// anything in it was done, because of its session.
func isSessionGone(err error) bool {
	return isAny(err, kerr.ShareSessionNotFound, kerr.InvalidShareSessionEpoch)
}

// outcome is what err, the broker's answer to acknowledgements, says of them.
func outcome(err error) source.Outcome {
	switch {
	case err == nil:
		return source.Applied
	case isAny(err, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator):
		// The state write failed and was undone: the locks stand (KIP-932).
		return source.Retry
	case isAny(err, kerr.InvalidRecordState, kerr.InvalidRequest, kerr.UnknownTopicID, kerr.UnknownTopicOrPartition,
		kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.GroupIDNotFound),
		isMoved(err), isSessionGone(err):
		return source.Refused
	}
	return source.Unknown
}
