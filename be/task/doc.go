// Package task is the loop of one task: poll, pipe, CommitTxn, acknowledge.
//
// A Task reads from a Source, turns what it holds into files through a Writer,
// lets a Committer settle it, and only then acknowledges. It runs txn after
// txn until its context ends or the frontend says that its epoch is over. What
// it relies on, and what follows from it:
//
//   - The delivery ledger alone decides what is loaded. Whatever goes wrong
//     here, a lost lock or a lost answer, costs a delivery and never a row: an
//     acknowledgement is for the broker's sake.
//   - Nothing is ACCEPTed before the frontend said that it is settled; nothing
//     is RELEASEd after it said so. REJECT is never used.
//   - A txn names exactly the offsets in hand. Holes are never bridged.
//   - A number stands for one request and never for another, so the same number
//     can be asked again for as long as the answer is missing. Labels, and with
//     them files, are named by number: none is ever used twice.
//   - What cannot be written is not fetched: while the Writer is not ready nothing
//     is polled, so that an outage costs a delivery, and not one after the other.
//     The same holds while there is no memory for more.
//   - From the first acquire to the sending of CommitTxn a txn has half a lock,
//     after that at most HoldLimit locks, because what it holds blocks the head
//     of a partition for every task of the job.
//
// A classic source locks nothing. There Doris's task time-out takes the place of
// the lock in these limits, what is released is read again by the task itself,
// and a txn goes on for as long as there is more, since nothing has to be
// acknowledged first. So it does for a task that repairs, in share mode: its
// source reads given offsets by plain fetches, and ends with them.
//
// The goroutine that calls Run owns the source. The pipe and CommitTxn run in
// one child at a time, which Run waits for while it renews the locks; it never
// returns before the child has. Time and goroutines come from a Runtime, so
// that a simulation can own both.
//
// Finish means: commit what is held, and end. The end of Run's context means:
// end soon. A txn whose CommitTxn was sent is
// asked for until its locks end, or without locks for ten seconds; everything
// else is released, and the source closed. That is how a task is cancelled, how
// a process ends, and what the executor does when it hears no frontend any more.
package task
