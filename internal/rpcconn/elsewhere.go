package rpcconn

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	frontendv1 "shoal/proto/frontend/v1"
)

// NotLeading is what a frontend that does not lead answers, having done nothing.
// leader is the rpc address of the one that does, empty while it is not known.
func NotLeading(text, leader string) error {
	return WithDetail(codes.FailedPrecondition, text, &frontendv1.NotLeader{LeaderRpcAddr: leader})
}

// WithDetail is the error of a call, with more than its text.
func WithDetail(code codes.Code, text string, detail protoadapt.MessageV1) error {
	st := status.New(code, text)
	if with, err := st.WithDetails(detail); err == nil {
		st = with
	}
	return st.Err()
}

// IsNotLeading tells whether a frontend answered by NotLeading, and who leads if
// it said.
func IsNotLeading(err error) (leader string, is bool) {
	for _, detail := range status.Convert(err).Details() {
		if nl, ok := detail.(*frontendv1.NotLeader); ok {
			return nl.LeaderRpcAddr, true
		}
	}
	return "", false
}

// Elsewhere tells whether a frontend's error means that another one should be
// asked: this one does not lead, or does not answer. leader is the rpc address
// of the one that leads, if it was named.
func Elsewhere(err error) (leader string, is bool) {
	if leader, is := IsNotLeading(err); is {
		return leader, true
	}
	code := status.Code(err)
	return "", code == codes.Unavailable || code == codes.DeadlineExceeded
}
