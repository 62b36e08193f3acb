// Package sim is a simulation that replays: the task loop, the state machine
// with its ledger, and the scheduler run as they are, single-threaded, in a
// world of models that has one clock and one source of chance.
//
// Real are be/task, fe/state with its snapshots, fe/schedule and fe/auditor's
// Audit. Models are the broker (logs, share-partitions with states, locks, delivery counts, windows,
// sessions, members; share-groups.md, section 1), the sources on it for either
// mode, the pipe
// (which remembers which offsets went into which file), the executor, and the
// frontend's loops. The model of a share-partition is held to the real broker
// by the scripts in testdata.
//
// A seed draws a universe: sizes, fault rates and every choice made in it. For
// a while processes die, messages are lost, late or repeated, leaders move,
// locks run out, writes stall, jobs pause and change their mode, logs are cut off and compacted,
// somebody else rejects records or moves the group's offsets. Then
// all is calm, and everything must settle. After each step these hold:
//
//   - S1: no offset is in two visible rowsets.
//   - S2: every settled offset is in a visible rowset (or an error or filtered
//     row that is counted), or truly holds no record, or had expired.
//   - A1: no offset is acknowledged at the broker before it is settled.
//   - F1: what a frontend restores from snapshot and log is what it had.
//   - L1: when faults stop, everything settles within bounded time.
//
// Mutations break one rule each, outside of the code under test, and have to
// be caught: they prove that the checker can fail.
//
// Nothing outside of tests imports this package. Actors are coroutines of the
// goroutine that calls Run; there are no others.
package sim
