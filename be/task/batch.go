package task

import (
	"cmp"
	"slices"
	"time"

	"shoal/be/source"
	"shoal/internal/offsets"
)

// A batch is what the open txn holds: the outcome of one or more fetches, each
// offset once.
//
// A child may read the partitions that it was handed while the owner takes
// offsets out, so slices inside are replaced, never changed.
type batch struct {
	parts   []source.Partition // one per partition, in order of arrival
	unread  []source.Ack       // acquired but not decodable: to be released
	why     error              // nothing could be made of unread, nil without
	records int
	bytes   int64
	// acquired is when the first lock began, lockedUntil when the first of them
	// ends, renewed when they were renewed last; all zero without locks.
	acquired, lockedUntil, renewed time.Time
	end                            bool // nothing will come any more
}

func (b *batch) empty() bool { return len(b.parts) == 0 }

// large tells whether b is worth a rowset as it is.
func (b *batch) large() bool { return b.records >= busyRecords || b.bytes >= busyBytes }

// fragments is the most pieces that b holds of one partition.
func (b *batch) fragments() int {
	n := 0
	for i := range b.parts {
		n = max(n, len(b.parts[i].Acquired))
	}
	return n
}

// runs is how many runs of records and of voids b has, at most one of which is
// not known for being beside a void.
func (b *batch) runs() int {
	n := 0
	for i := range b.parts {
		n += len(b.parts[i].Acquired) + 2*len(b.parts[i].Gaps)
	}
	return n
}

// offsets is how many offsets b holds, gaps included.
func (b *batch) offsets() int64 {
	var n int64
	for i := range b.parts {
		n += b.parts[i].Acquired.Count()
	}
	return n
}

// add takes in a fetch that was answered at now. A partition that the source
// lost is dropped first: what the fetch brought of it is held anew. An offset
// delivered again replaces its first copy, which a leader that died had handed
// out.
func (b *batch) add(f source.Fetch, lock time.Duration, now time.Time) {
	b.end = f.End
	for _, id := range f.Lost {
		b.lose(id)
	}
	for _, p := range f.Partitions {
		if len(p.Acquired) == 0 {
			continue
		}
		b.begin(f.LockedUntil, lock, now)
		if len(p.Unread) > 0 {
			b.unread = append(b.unread, source.Acks(p.ID(), p.Unread, source.Release)...)
			b.why = p.Err
		}
		p.Acquired = p.Acquired.Subtract(p.Unread)
		p.Unread = nil
		if len(p.Acquired) > 0 {
			b.drop(p.ID(), p.Acquired)
			b.merge(p)
		}
	}
}

// begin starts the txn's time with the first lock, or without one with the
// first record.
func (b *batch) begin(lockedUntil time.Time, lock time.Duration, now time.Time) {
	switch {
	case !b.acquired.IsZero():
	case lockedUntil.IsZero():
		b.acquired = now
	default:
		b.acquired = lockedUntil.Add(-lock)
		b.renewed = b.acquired
		b.lockedUntil = lockedUntil
	}
}

func (b *batch) merge(p source.Partition) {
	b.records += len(p.Records)
	b.bytes += source.Size(p.Records)
	i := b.index(p.ID())
	if i < 0 {
		b.parts = append(b.parts, p)
		return
	}
	had := &b.parts[i]
	had.Acquired = had.Acquired.Union(p.Acquired)
	had.Gaps = had.Gaps.Union(p.Gaps)
	had.Unproven = had.Unproven.Union(p.Unproven)
	had.Expired = had.Expired.Union(p.Expired)
	had.Deliveries = max(had.Deliveries, p.Deliveries)
	had.Records = inOrder(had.Records, p.Records)
}

// inOrder is the records of both, in order of offset. What a is stays as it is,
// though what is appended to it may lie in the same array.
func inOrder(a, b []*source.Record) []*source.Record {
	if len(a) == 0 || len(b) == 0 || a[len(a)-1].Offset < b[0].Offset {
		return append(a, b...)
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b *source.Record) int { return cmp.Compare(a.Offset, b.Offset) })
	return all
}

// drop takes offsets of a partition out of the batch.
func (b *batch) drop(id source.PartitionID, set offsets.Set) {
	i := b.index(id)
	if i < 0 {
		return
	}
	p := b.parts[i]
	held := p.Acquired.Intersect(set)
	if len(held) == 0 {
		return
	}
	var kept []*source.Record
	for _, r := range p.Records {
		if !held.Contains(r.Offset) {
			kept = append(kept, r)
		}
	}
	b.records += len(kept) - len(p.Records)
	b.bytes += source.Size(kept) - source.Size(p.Records)
	p.Records = kept
	p.Acquired = p.Acquired.Subtract(held)
	p.Gaps = p.Gaps.Subtract(held)
	p.Unproven = p.Unproven.Subtract(held)
	p.Expired = p.Expired.Subtract(held)
	b.parts = slices.Clone(b.parts)
	b.parts[i] = p
	if len(p.Acquired) == 0 {
		b.parts = slices.Delete(b.parts, i, i+1)
	}
}

// lose drops a whole partition.
func (b *batch) lose(id source.PartitionID) {
	if i := b.index(id); i >= 0 {
		b.drop(id, b.parts[i].Acquired)
	}
	b.unread = slices.DeleteFunc(b.unread, func(a source.Ack) bool { return a.PartitionID == id })
}

func (b *batch) index(id source.PartitionID) int {
	return slices.IndexFunc(b.parts, func(p source.Partition) bool { return p.ID() == id })
}

// acks acknowledges everything held in one way.
func (b *batch) acks(how source.AckType) []source.Ack {
	var acks []source.Ack
	for i := range b.parts {
		acks = append(acks, source.Acks(b.parts[i].ID(), b.parts[i].Acquired, how)...)
	}
	return acks
}

// settleable tells whether b holds anything that a txn can settle.
func (b *batch) settleable() bool {
	return slices.ContainsFunc(b.parts, func(p source.Partition) bool { return settles(&p) })
}

// settles tells whether a txn can settle anything of p.
func settles(p *source.Partition) bool { return len(p.Records)+len(p.Gaps)+len(p.Expired) > 0 }

// settled acknowledges everything held as settled: records with ACCEPT, what
// holds none with GAP. The unproven is acknowledged too, which ends its
// deliveries, and is left to the auditor.
func (b *batch) settled() []source.Ack {
	var acks []source.Ack
	for i := range b.parts {
		acks = append(acks, settled(&b.parts[i], b.parts[i].Acquired)...)
	}
	return acks
}

// settled acknowledges set, which is held of p, in order of offset.
func settled(p *source.Partition, set offsets.Set) []source.Ack {
	without := p.Gaps.Union(p.Unproven).Union(p.Expired)
	acks := slices.Concat(
		source.Acks(p.ID(), set.Subtract(without), source.Accept),
		source.Acks(p.ID(), set.Intersect(without), source.Gap))
	slices.SortFunc(acks, func(a, b source.Ack) int { return cmp.Compare(a.First, b.First) })
	return acks
}
