package rpcconn

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	frontendv1 "shoal/proto/frontend/v1"
)

// Elsewhere tells whether a frontend's error means that another one should be
// asked: this one does not lead, or does not answer. leader is the rpc address
// of the one that leads, if it was named.
func Elsewhere(err error) (leader string, is bool) {
	st := status.Convert(err)
	for _, detail := range st.Details() {
		if nl, ok := detail.(*frontendv1.NotLeader); ok {
			return nl.LeaderRpcAddr, true
		}
	}
	return "", st.Code() == codes.Unavailable || st.Code() == codes.DeadlineExceeded
}
