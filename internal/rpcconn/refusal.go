package rpcconn

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	frontendv1 "shoal/proto/frontend/v1"
)

// A Refusal is what a frontend says that does not take a node in.
type Refusal struct {
	// Foreign says that it need not be the node's own cluster that refuses:
	// another one's frontend may have come to the address, or one with another
	// token.
	Foreign bool
	reason  string
	err     error
}

// Error implements error, without gRPC's words.
func (r *Refusal) Error() string { return r.reason }

// Unwrap returns the call's error.
func (r *Refusal) Unwrap() error { return r.err }

// Answer is the error of a node's call to the frontend at addr, in an operator's
// words: a *Refusal if the frontend has decided, and nil for nil. It wraps err.
func Answer(addr string, err error) error {
	st := status.Convert(err)
	for _, detail := range st.Details() {
		if other, ok := detail.(*frontendv1.OtherCluster); ok {
			return &Refusal{Foreign: true, reason: fmt.Sprintf("the frontend at %s belongs to another cluster, %s, and this one to %s", addr, other.ClusterId, other.CallerClusterId), err: err}
		}
	}
	switch st.Code() {
	case codes.OK:
		return nil
	case codes.Unauthenticated:
		return &Refusal{Foreign: true, reason: fmt.Sprintf("frontend %s: %s", addr, st.Message()), err: err}
	case codes.PermissionDenied, codes.InvalidArgument:
		return &Refusal{reason: fmt.Sprintf("frontend %s: %s", addr, st.Message()), err: err}
	}
	if strings.Contains(st.Message(), "error reading server preface: http2") {
		return fmt.Errorf("%s is not the rpc port of a frontend (--rpc-addr, 9020 by default): %w", addr, err)
	}
	return fmt.Errorf("frontend %s: %w", addr, err)
}

// Refused tells whether err is the final answer to a node: one that is a member
// of a cluster takes it from nobody but that.
func Refused(err error, member bool) bool {
	var r *Refusal
	return errors.As(err, &r) && !(member && r.Foreign)
}
