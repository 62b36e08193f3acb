// Package sim is a simulation that replays: a whole cluster, single-threaded, in
// a world of models that has one clock and chance by a seed.
//
// Real are be/task, fe/state with its snapshots, fe/schedule, fe/auditor's
// Audit, fe/removal's Judge and the state behind them: each of three frontends
// (and an observer sometimes) has one of its own, fed by its own log. Models are
// Raft (package raftmodel: elections, replication, disks that forget in a crash
// what was not synced), the network between all machines, the broker (logs,
// share-partitions with states, locks, delivery counts, windows, sessions,
// members; share-groups.md, section 1), the sources on it for either mode, the
// pipe and the warehouse (which remembers which offsets went into which file, and
// forgets in a crash what was not synced), the executor, and the loops of the
// leading frontend. The model of a share-partition is held to the real broker by
// the scripts in testdata.
//
// A seed draws a universe: sizes, fault rates and every choice made in it. For
// a while processes die and freeze, machines are cut off in one direction or
// both, messages are lost, late or repeated, clocks jump, disks are slow, locks
// run out, backends are told to end and are decommissioned, a record ends whoever
// decodes it, partitions' leaders move and the share group's state is lost, jobs
// pause and change their mode, logs are cut off and compacted, somebody else
// rejects records or moves the group's offsets; and the leader of the frontends
// is replaced in the middle of each step of the protocol (steps.go). Then
// all is calm, and everything must settle. What happened is counted, and a fault
// that never did fails the test. After each step these hold:
//
//   - S1: no offset is in two visible rowsets.
//   - S2: every settled offset is in a visible rowset (or an error or filtered
//     row that is counted), or truly holds no record, or had expired; and every
//     file of a visible rowset exists.
//   - A1: no offset is acknowledged at the broker before it is settled.
//   - F1: all frontends apply the same entries, and have the same state, to the
//     byte, when they have applied equally many, by the log or by a snapshot.
//   - F2: no term has two leaders.
//   - L1: when faults stop, everything settles within bounded time.
//
// Mutations break one rule each, outside of the code under test, and have to
// be caught: they prove that the checker can fail. Some rules are double, and a
// mutation of one alone breaks nothing (TestDoubleDefences).
//
// A universe that fails is made smaller as long as it still does (minimise.go):
// fewer faults, machines and records, a quiet network.
//
// Nothing outside of tests imports this package. Actors are coroutines of the
// goroutine that calls Run; there are no others.
package sim
