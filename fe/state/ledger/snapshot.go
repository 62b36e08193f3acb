package ledger

import (
	"fmt"
	"iter"

	"shoal/internal/offsets"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// Records yields every ledger as snapshots keep it, ordered by job, topic id
// and partition.
func (b *Book) Records() iter.Seq[*raftlogv1.Ledger] {
	return func(yield func(*raftlogv1.Ledger) bool) {
		for jobID, key := range b.all() {
			if !yield(b.jobs[jobID][key].record(jobID, key)) {
				return
			}
		}
	}
}

func (l *Ledger) record(jobID uint64, key Key) *raftlogv1.Ledger {
	r := &raftlogv1.Ledger{
		JobId: jobID, TopicId: key.TopicID[:], Partition: key.Partition, Generation: l.generation,
		Start: l.start, Settled: l.settled,
		LoadedCount: l.loaded, VoidCount: l.void, ExpiredCount: l.expired, Conflicts: l.conflicts, Repaired: l.repaired,
	}
	r.Ranges, r.Skipped = asMessages(l.ranges), asMessages(l.skipped)
	l.trace.record(r)
	l.losses.record(r)
	for _, e := range l.epochs {
		r.Epochs = append(r.Epochs, &typesv1.EpochRange{First: e.first, Last: e.last, LeaderEpoch: e.epoch})
	}
	for _, v := range l.voids {
		r.Voids = append(r.Voids, &raftlogv1.RememberedVoid{First: v.First, Last: v.Last, Index: v.index, Expired: v.expired})
	}
	return r
}

// Restore adds a ledger from a snapshot. An error says what in it can't be
// true.
func (b *Book) Restore(r *raftlogv1.Ledger) error {
	key, ok := KeyOf(r.TopicId, r.Partition)
	if !ok || b.Get(r.JobId, key) != nil {
		return fmt.Errorf("ledger of job %d, topic id %x, partition %d is there twice or names no partition", r.JobId, r.TopicId, r.Partition)
	}
	l := &Ledger{
		generation: r.Generation, start: r.Start, settled: r.Settled,
		loaded: r.LoadedCount, void: r.VoidCount, expired: r.ExpiredCount, conflicts: r.Conflicts, repaired: r.Repaired,
		trace: restoredTrace(r), losses: restoredLosses(r),
	}
	for _, s := range r.Ranges {
		l.ranges = append(l.ranges, offsets.Range{First: s.First, Last: s.Last})
	}
	for _, s := range r.Skipped {
		l.skipped = append(l.skipped, offsets.Range{First: s.First, Last: s.Last})
	}
	for _, e := range r.Epochs {
		l.epochs = append(l.epochs, epochSpan{e.LeaderEpoch, e.First, e.Last})
	}
	for _, v := range r.Voids {
		l.voids = append(l.voids, remembered{offsets.Range{First: v.First, Last: v.Last}, v.Index, v.Expired})
	}
	if err := l.validate(); err != nil {
		return fmt.Errorf("ledger of job %d, topic id %x, partition %d: %w", r.JobId, r.TopicId, r.Partition, err)
	}
	b.put(r.JobId, key, l)
	return nil
}

// validate checks the invariants that a ledger's own operations rely on.
func (l *Ledger) validate() error {
	if l.start < 0 || l.settled < l.start || l.settled > maxOffset+1 {
		return fmt.Errorf("settled offset %d, start %d", l.settled, l.start)
	}
	floor := l.settled
	for _, r := range l.ranges {
		if r.First <= floor || r.Last < r.First || r.Last > maxOffset {
			return fmt.Errorf("settled range %v is out of bounds or out of order", r)
		}
		floor = r.Last + 1
	}
	floor = -1
	for _, r := range l.skipped {
		if r.First <= floor || r.Last < r.First || r.Last >= l.start {
			return fmt.Errorf("skipped range %v is out of bounds or out of order", r)
		}
		floor = r.Last + 1
	}
	for i, e := range l.epochs {
		if e.last < e.first || i > 0 && (e.epoch <= l.epochs[i-1].epoch || e.first <= l.epochs[i-1].last) {
			return fmt.Errorf("leader epoch %d at offsets %d-%d is out of order", e.epoch, e.first, e.last)
		}
	}
	for i, v := range l.voids {
		if v.Last < v.First || i > 0 && v.First <= l.voids[i-1].Last || l.settledOf(offsets.Set{v.Range}).Count() != v.Count() {
			return fmt.Errorf("void range %v is out of order or not settled", v.Range)
		}
	}
	return nil
}
