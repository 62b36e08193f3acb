// Package removal removes the files of the warehouse that nobody needs.
//
// A file may go when three things hold (docs/decisions/file-removal.md):
//
//   - no table and no job has it, in some version of the replicated state;
//   - its txn can never commit, by that version: its task's epoch is over, or its
//     number decided;
//   - no frontend reads an older version, nor will (fe/lease).
//
// None of them is ever taken back, so whoever once found them true may remove the
// file at any later time: a leader that was paused, or that does not know yet of
// the next one, does no harm. No clock is part of it. A grace time comes on top
// for people, who may want to go back.
//
// There are two ways in. The trash, which the state keeps, is what the state
// machine itself let go; it is removed soon, and then forgotten. A sweep lists
// the warehouse, now and then, and finds what nobody told of: files of txns that
// never came to a commit, and uploads that their writers did not end. Names that
// are not of this cluster's making are left alone, and so are those of an
// incarnation, task or epoch that the version does not know.
//
// Judge is pure. A Remover belongs to the leader, and works in the one goroutine
// that calls Run.
package removal
