package ledger

import (
	"shoal/internal/offsets"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A Trace is what a ledger keeps for the check of rowsets against it: what it
// settled and no rowset tells. Rowsets tell the rest themselves. Offsets may be
// in more than one of the sets, and in a rowset as well: what a txn found void
// another may have loaded since.
type Trace struct {
	// Kept is false for ledgers of releases that did not keep it; the rest is
	// then empty.
	Kept bool
	// Since is the log index that began the ledger: rowsets of txns up to it are
	// of an earlier one, or of none.
	Since uint64
	// Rowless was loaded by txns without a file, of filtered and empty records, or
	// with one of error rows only that is not kept any more.
	Rowless offsets.Set
	// Cut was loaded by rowsets that TRUNCATE or DROP took away.
	Cut offsets.Set
	// Barren was found void or expired by an audit, by a txn without a file, or by
	// one whose rowset was taken away.
	Barren offsets.Set
}

// begun is the trace of a ledger that the log entry at index opens.
func begun(traced bool, index uint64) Trace {
	if !traced {
		return Trace{}
	}
	return Trace{Kept: true, Since: index}
}

// SettleRowless is Settle for what leaves no file behind.
func (l *Ledger) SettleRowless(p *typesv1.PartitionOffsets, index uint64) {
	loaded, barren := l.settle(p, index)
	if l.trace.Kept {
		l.trace.Rowless = l.trace.Rowless.Union(loaded)
		l.trace.Barren = l.trace.Barren.Union(barren)
	}
}

// Cut notes in the ledgers of their jobs that rowsets are taken away.
func (b *Book) Cut(rowsets []*raftlogv1.TableRowset) {
	lost := losses{}
	for _, r := range rowsets {
		lost.add(b, r.JobId, r.TxnId, r.Partitions)
	}
	for l, of := range lost {
		l.trace.Cut = l.trace.Cut.Union(offsets.Of(of.loaded...))
		l.trace.Barren = l.trace.Barren.Union(offsets.Of(of.barren...))
	}
}

// Dropped notes in the ledgers of their jobs that error rowsets are not kept any
// more, as far as nothing else tells what their txns settled.
func (b *Book) Dropped(rowsets []*raftlogv1.ErrorRowset) {
	lost := losses{}
	for _, r := range rowsets {
		lost.add(b, r.JobId, r.TxnId, r.Partitions)
	}
	for l, of := range lost {
		l.trace.Rowless = l.trace.Rowless.Union(offsets.Of(of.loaded...))
		l.trace.Barren = l.trace.Barren.Union(offsets.Of(of.barren...))
	}
}

// losses is what goes with rowsets, by the ledger that settled it.
type losses map[*Ledger]*struct{ loaded, barren []offsets.Range }

func (lost losses) add(b *Book, jobID, txnID uint64, partitions []*typesv1.PartitionOffsets) {
	for _, p := range partitions {
		key, _ := KeyOf(p.TopicId, p.Partition)
		l := b.Get(jobID, key)
		if l == nil || !l.trace.Kept || txnID <= l.trace.Since {
			continue
		}
		of := lost[l]
		if of == nil {
			of = &struct{ loaded, barren []offsets.Range }{}
			lost[l] = of
		}
		of.loaded = append(of.loaded, asRanges(p.Loaded)...)
		of.barren = append(append(of.barren, asRanges(p.Void)...), asRanges(p.Expired)...)
	}
}

// record adds the trace to what a snapshot keeps.
func (t *Trace) record(r *raftlogv1.Ledger) {
	r.Traced, r.Since = t.Kept, t.Since
	r.Rowless, r.Cut, r.Barren = asMessages(t.Rowless), asMessages(t.Cut), asMessages(t.Barren)
}

func restoredTrace(r *raftlogv1.Ledger) Trace {
	return Trace{Kept: r.Traced, Since: r.Since,
		Rowless: offsets.Of(asRanges(r.Rowless)...), Cut: offsets.Of(asRanges(r.Cut)...), Barren: offsets.Of(asRanges(r.Barren)...)}
}

func asMessages(s offsets.Set) []*typesv1.OffsetRange {
	var out []*typesv1.OffsetRange
	for _, r := range s {
		out = append(out, &typesv1.OffsetRange{First: r.First, Last: r.Last})
	}
	return out
}
