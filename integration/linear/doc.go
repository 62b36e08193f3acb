// Package linear holds the transaction service to linearizability: three
// frontends commit and read in virtual time while their leader is cut off, ended
// and started again, and porcupine looks for an order of all that clients asked
// and heard which one ledger alone could have given.
//
// There are only tests here. Everything is the real code of a frontend, down to
// Raft and its files, but for gRPC and the network, which is memory that can be cut.
package linear
