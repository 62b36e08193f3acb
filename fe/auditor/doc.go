// Package auditor finds offsets that are not settled and will not come again,
// and has them proven (design: "Nothing lost").
//
// A share group forgets records in silence: at the delivery limit, when
// somebody moves its offsets, when a transaction aborts. The ledger knows every
// offset that is not settled, and this package holds that against where the
// group stands. What a plain fetch of a backend proves to be void or expired is
// settled; records that the group will not deliver again are given to a repair
// task (repair.go). It also opens ledgers for new partitions, notices topics
// that were created again, logs that were truncated and groups that stand still,
// which it has pinned again, and drops what ledgers remember of voids once no
// open txn can hold one of them. What it settles never adds to the ranges of a
// ledger. Of a classic job it does what concerns the topic only (classic.go).
//
// The decisions are an Audit's methods, which are pure: time and views come in,
// commands go out. The Auditor is their runner on the leading frontend; it owns
// one goroutine a job while Run lasts, and keeps the last view of each for the
// scheduler, the verdict and SHOW. It loads nothing and deletes nothing.
package auditor
