// Package rpcconn is how Shoal's processes speak gRPC with each other: how large
// a message may be, and how soon a connection that fell silent is given up.
//
// Both ends must agree, since a server ends the connection of a client that asks
// more often whether it is there than it permits. It keeps nothing and starts
// nothing. Connections are not encrypted.
package rpcconn

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// maxMessage bounds a message: a CommitTxn with many ranges, a query of a
	// table with many files, a batch of rows with cells of 16 MiB.
	maxMessage = 256 << 20
	// silence is how long a connection with calls under way may bring nothing
	// before the other end is asked whether it is there, and then how long it
	// may take to say so. A machine that is gone says nothing, and without this
	// a query would wait for it as long as its client does.
	silence = 10 * time.Second
)

// ServerOptions are for every gRPC server.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: silence / 2}),
	}
}

// DialOptions are for every connection to such a server.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: silence, Timeout: silence}),
	}
}
