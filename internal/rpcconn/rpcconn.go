// Package rpcconn is how Shoal's processes speak gRPC with each other: who may
// call what, how large a message may be, and how soon a connection that fell
// silent is given up.
//
// Both ends must agree, since a server ends the connection of a client that asks
// more often whether it is there than it permits. It keeps nothing and starts
// nothing. What proves who speaks is internal/nodetls; without it, connections
// are in clear and go over loopback only.
package rpcconn

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"shoal/internal/nodetls"
)

const (
	// maxMessage bounds a message: a CommitTxn with many ranges, a query of a
	// table with many files, a batch of rows with cells of 16 MiB. No other
	// place sets a limit.
	maxMessage = 256 << 20
	// silence is how long a connection with calls under way may bring nothing
	// before the other end is asked whether it is there, and then how long it
	// may take to say so. A machine that is gone says nothing, and without this
	// a query would wait for it as long as its client does.
	silence = 10 * time.Second
)

// ServerOptions are for every gRPC server. tls is what it shows and accepts, nil
// for one that listens on loopback in clear; token is what it wants of nodes.
func ServerOptions(tls *nodetls.Credentials, token nodetls.Token) []grpc.ServerOption {
	guard := guard{tls: tls != nil, token: token}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.ConnectionTimeout(silence),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: silence / 2}),
		grpc.UnaryInterceptor(guard.unary), grpc.StreamInterceptor(guard.stream),
	}
	if tls == nil {
		return options
	}
	return append(options, grpc.Creds(tls))
}

// DialOptions are for every connection to such a server. tls is nil for one in
// clear, which beyond loopback is refused; operators have no token.
func DialOptions(tls *nodetls.Credentials, token nodetls.Token) []grpc.DialOption {
	transport := nodetls.Plain()
	if tls != nil {
		transport = tls
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: silence, Timeout: silence}),
	}
	if token.IsNone() {
		return options
	}
	return append(options, grpc.WithPerRPCCredentials(token))
}
