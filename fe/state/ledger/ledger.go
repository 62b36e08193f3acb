// Package ledger is the delivery ledger: what of each Kafka partition is
// settled, and so what may still become rows.
//
// A Ledger belongs to one partition of one topic id, for one job and one
// generation. It holds one settled offset, below which everything is settled,
// and the disjoint ranges above it. An offset is settled as loaded (a row, an
// error row or a filtered row of a committed txn), as void (proven to hold no
// record) or as expired (gone before it was read). Its invariants:
//
//   - An offset that is loaded never becomes anything else, and is never
//     loaded again: a txn that tries is told so (Verdict.Conflicts).
//   - What is settled is loaded, unless it is remembered as void or expired.
//     Those are remembered apart with the log index that settled them, because
//     a txn that was open then may hold the record after all; such a txn turns
//     them into loaded ones. Once every txn of that time has ended they are
//     forgotten, and from then on answer as if they were loaded.
//   - A void or expired offset of a txn that is settled already, as whatever,
//     says nothing new and is ignored: the first word counts, and both ways
//     there is nothing left to load.
//   - Loaded offsets of a later leader epoch all lie above those of an earlier
//     one, as in Kafka's log. A record that breaks this is from another log
//     than the one that was read before: the log was truncated
//     (Verdict.Diverged).
//
// A Book is the ledgers of all jobs. Ledgers are opened by name and never by a
// commit. Everything here is pure and belongs to one goroutine at a time; what
// views hold is never changed in place.
package ledger

import (
	"shoal/internal/offsets"
	typesv1 "shoal/proto/types/v1"
)

// MaxRanges is how many ranges above the settled offset a partition may have
// before commits that add to them have to wait. The window of a share group
// bounds the holes of a plain topic far below it; on other topics the auditor
// closes holes.
const MaxRanges = 128

// A Ledger is what is settled in one partition.
type Ledger struct {
	generation uint32
	start      int64 // everything below is not the job's, and counts as settled
	settled    int64 // the lowest unsettled offset
	ranges     offsets.Set
	epochs     epochs
	voids      voids
	skipped    offsets.Set // below start: ALTER passed over them
	trace      Trace

	// Offsets by how they are settled, since start. Conflicts counts offsets
	// that txns wanted to load a second time, repaired those that repair tasks
	// loaded.
	loaded, void, expired, conflicts, repaired int64

	losses lostReaders
}

// New is a ledger where nothing at or above start is settled.
func New(start int64, generation uint32) *Ledger {
	return &Ledger{generation: generation, start: start, settled: start}
}

// skips is what is passed over if the next ledger begins at start: what l still
// had to settle below it.
func (l *Ledger) skips(start int64) offsets.Set {
	left := l.unsettledOf(offsets.Of(offsets.Range{First: l.settled, Last: start - 1}))
	return l.skipped.Union(left).Below(start)
}

// A Verdict is what a ledger says to the offsets of a txn. The zero Verdict
// lets it pass.
type Verdict struct {
	// Diverged says how the leader epochs contradict each other, for people.
	Diverged string
	// Conflicts is the offsets that the txn would load and that are loaded.
	Conflicts []*typesv1.EpochRange
	// Wait is set when too many ranges would be left above the settled offset.
	Wait bool
}

// Check judges the offsets that a txn would settle, and changes nothing.
func (l *Ledger) Check(p *typesv1.PartitionOffsets) Verdict {
	if contradiction := l.epochs.contradict(p.Loaded); contradiction != "" {
		return Verdict{Diverged: contradiction}
	}
	if twice := l.loadedOf(loadedSet(p)); len(twice) > 0 {
		return Verdict{Conflicts: cutOut(p.Loaded, twice)}
	}
	return Verdict{Wait: l.crowded(allSet(p))}
}

// crowded tells whether settling s would leave more than MaxRanges ranges
// without helping: a txn that moves the settled offset, or closes as many
// holes as it makes, always passes.
func (l *Ledger) crowded(s offsets.Set) bool {
	if len(l.ranges)+len(s) <= MaxRanges || s.Contains(l.settled) {
		return false
	}
	after := len(l.ranges.Union(s.Above(l.settled)))
	return after > MaxRanges && after > len(l.ranges)
}

// Settle settles offsets that Check let pass, on behalf of the log entry at
// index. A file tells of them.
func (l *Ledger) Settle(p *typesv1.PartitionOffsets, index uint64) { l.settle(p, index) }

// settle returns what is loaded now, and what is void or expired, that was not
// before.
func (l *Ledger) settle(p *typesv1.PartitionOffsets, index uint64) (loaded, barren offsets.Set) {
	all := allSet(p)
	loaded = loadedSet(p)
	loaded = loaded.Subtract(l.loadedOf(loaded))
	rest, void, expired := l.voids.without(loaded)
	l.voids = rest
	l.void -= void
	l.expired -= expired
	l.loaded += loaded.Count()
	l.epochs = l.epochs.with(p.Loaded)

	newVoid := l.unsettledOf(voidSet(p)).Subtract(loaded)
	newExpired := l.unsettledOf(expiredSet(p)).Subtract(loaded).Subtract(newVoid)
	l.voids = l.voids.with(newVoid, index, false).with(newExpired, index, true)
	l.void += newVoid.Count()
	l.expired += newExpired.Count()

	l.ranges = l.ranges.Union(all.Above(l.settled))
	if len(l.ranges) > 0 && l.ranges[0].First == l.settled {
		l.settled = l.ranges[0].Last + 1
		l.ranges = l.ranges[1:]
	}
	return loaded, newVoid.Union(newExpired)
}

// Refuse counts offsets that a txn was told it may not load again.
func (l *Ledger) Refuse(conflicts []*typesv1.EpochRange) {
	l.conflicts += offsets.Set(asRanges(conflicts)).Count()
}

// Repair counts offsets that a repair task has loaded.
func (l *Ledger) Repair(loaded []*typesv1.EpochRange) {
	l.repaired += offsets.Set(asRanges(loaded)).Count()
}

// Forget drops what is remembered of void and expired offsets that were
// settled up to the log index through.
func (l *Ledger) Forget(through uint64) { l.voids = l.voids.after(through) }

// settledOf is the part of s that is settled.
func (l *Ledger) settledOf(s offsets.Set) offsets.Set {
	return append(s.Below(l.settled), s.Intersect(l.ranges)...)
}

// unsettledOf is the part of s that is not settled.
func (l *Ledger) unsettledOf(s offsets.Set) offsets.Set {
	return s.Above(l.settled).Subtract(l.ranges)
}

// loadedOf is the part of s that is loaded, as far as is remembered.
func (l *Ledger) loadedOf(s offsets.Set) offsets.Set {
	settled := l.settledOf(s)
	if len(settled) == 0 {
		return nil
	}
	return settled.Subtract(l.voids.within(settled))
}

// clone is a copy that stays as it is when l changes.
func (l *Ledger) clone() *Ledger {
	c := *l
	c.epochs = append(epochs(nil), l.epochs...)
	c.voids = append(voids(nil), l.voids...)
	return &c
}
