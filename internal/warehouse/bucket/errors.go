package bucket

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"

	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ErrUnavailable tells that the server did not answer or could not: it says
// nothing about the bucket, and the same may succeed later.
var ErrUnavailable = errors.New("the S3 server is unavailable")

// noCredentialsError wraps what the SDK says where it finds no credentials.
type noCredentialsError struct{ cause error }

func (e *noCredentialsError) Error() string {
	return "no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, for this process (" + e.cause.Error() + ")"
}

// Unwrap returns what the SDK said.
func (e *noCredentialsError) Unwrap() error { return e.cause }

// An Error is what is wrong with a bucket, for people.
type Error struct {
	text  string
	kinds []error // for errors.Is
}

func (e *Error) Error() string { return e.text }

// Unwrap returns what errors.Is finds: fs.ErrNotExist, ErrUnavailable, the end
// of a context.
func (e *Error) Unwrap() []error { return e.kinds }

// advice says what to do about an error by its code in S3's protocol.
var advice = map[string]string{
	"NoSuchBucket":                 "there is no such bucket: create it, or correct the warehouse's URI",
	"AccessDenied":                 "access is denied: the credentials need s3:ListBucket, s3:ListBucketMultipartUploads, s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload there",
	"Forbidden":                    "access is denied: the credentials need s3:ListBucket, s3:ListBucketMultipartUploads, s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload there",
	"InvalidAccessKeyId":           "the server does not know the access key: check AWS_ACCESS_KEY_ID or AWS_PROFILE",
	"XAdminUserNotFound":           "the server does not know the access key: check AWS_ACCESS_KEY_ID or AWS_PROFILE", // versitygw's
	"SignatureDoesNotMatch":        "the secret does not fit the access key: check AWS_SECRET_ACCESS_KEY or AWS_PROFILE",
	"ExpiredToken":                 "the credentials have expired: renew them",
	"InvalidToken":                 "the session token is refused: check AWS_SESSION_TOKEN",
	"RequestTimeTooSkewed":         "the clock of this machine and the server's differ too much: set them right",
	"PermanentRedirect":            "the bucket is in another region: set region= in the warehouse's URI, or AWS_REGION",
	"MovedPermanently":             "the bucket is in another region: set region= in the warehouse's URI, or AWS_REGION",
	"AuthorizationHeaderMalformed": "the server expects another region: set region= in the warehouse's URI, or AWS_REGION",
	"XAmzContentChecksumMismatch":  "what the server got is not what was sent: the network between damages data",
	"XAmzContentSHA256Mismatch":    "what the server got is not what was sent: the network between damages data",
	"BadDigest":                    "what the server got is not what was sent: the network between damages data",
	"NotImplemented":               "the server lacks a part of S3's protocol that is needed",
	"InvalidObjectState":           "the object was moved to an archive: rowsets must stay readable, take them out of the bucket's lifecycle rules",
	"PreconditionFailed":           "the object was changed by somebody else: rowsets are never written twice",
}

// explain is err for people, or nil.
func explain(err error) error {
	var (
		api     smithy.APIError
		missing *noCredentialsError
		network net.Error
		what    string
		kinds   []error
	)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &missing):
		what = missing.Error()
	case errors.As(err, &api) && api.ErrorCode() != "":
		what = api.ErrorCode()
		if text := api.ErrorMessage(); text != "" {
			what += ": " + text
		}
		if text := advice[api.ErrorCode()]; text != "" {
			what = text + " (" + what + ")"
		}
		kinds = kindsOf(err, api)
	case errors.Is(err, context.DeadlineExceeded):
		what, kinds = "no answer in time", []error{ErrUnavailable, context.DeadlineExceeded}
	case errors.As(err, &network), status(err) >= 500:
		what, kinds = "the server cannot be reached: "+root(err).Error(), []error{ErrUnavailable}
	default:
		what, kinds = root(err).Error(), []error{root(err)}
	}
	return &Error{what, kinds}
}

func kindsOf(err error, api smithy.APIError) []error {
	switch {
	case hasCode(err, "NoSuchKey", "NotFound"):
		return []error{fs.ErrNotExist}
	case status(err) >= 500, hasCode(err, "SlowDown", "RequestTimeout"):
		return []error{ErrUnavailable}
	}
	return nil
}

// hasCode tells whether a server answered with one of these codes.
func hasCode(err error, codes ...string) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode())
}

// status is the HTTP status that came with an error, 0 without one.
func status(err error) int {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// root is what is left of an error without the SDK's layers.
func root(err error) error {
	var operation *net.OpError
	if errors.As(err, &operation) {
		return operation
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}
