// Package state is the replicated state of the frontend: who the cluster is,
// its catalog, its routine load jobs and their delivery ledgers, and the
// commands that change them.
//
// A State is a value that moves only through Apply. Every frontend holds one
// and applies the same log entries in the same order, so whatever Apply does
// must follow from the state and the command alone. Nothing here reads a
// clock, draws a random number, does I/O, logs, or ranges over a map where the
// order could be seen: the leader decides such things beforehand and puts the
// outcome into the command. A test holds the imports to that.
//
// Each part (cluster, catalog, jobs, ledger, trash) is a package with its own rules;
// this one decodes commands, sees to what concerns several parts (a job needs
// its table, a commit its ledgers), and writes and reads snapshots. A command
// first checks everything and then changes everything: when it fails, the only
// trace is its error, the same on every replica. A log entry that no release
// known here could have written stops the process, since skipping it would
// fork the state.
//
// Messages and slices that readers get are shared with the state. They are
// never changed in place, by Apply nor by readers, so they may be kept after
// the lock that guards a State is released. A State has no lock of its own:
// fe/raftstore holds one.
package state
