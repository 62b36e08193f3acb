// Package virtual tests one frontend and several backends with Kafka's model
// broker in a bubble of virtual time (testing/synctest), where minutes of
// time-outs, locks and pauses pass in a second.
//
// Everything between SQL and files is the real code: statements, Raft on a
// folder, the leader's loops and auditor, heartbeats and CommitTxn over gRPC,
// executor, task, the source of either mode, and in some tests the pipe with DuckDB; a
// faster one in memory stands in for it in the others. The network is of
// memory: each link has a delay and can be cut. Only the wiring of fe/server
// and be/server, which listens on TCP, is repeated here.
//
// Each test ends with the same check: every record that was produced is in
// exactly one visible rowset, the ledger adds up, nothing was accepted before
// it was settled, and no goroutine is left, or the bubble would not end.
//
// Unlike in package sim, order among goroutines that are woken at the same
// instant is the runtime's choice, and Raft's timers are random: a failure may
// take several runs to show again. Calls into DuckDB and the disk take no
// virtual time.
package virtual
