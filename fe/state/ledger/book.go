package ledger

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"shoal/internal/offsets"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A Key names a partition for ever: topic ids are not given twice.
type Key struct {
	TopicID   [16]byte
	Partition int32
}

// KeyOf makes a Key from what messages hold, and says whether they can name a
// partition.
func KeyOf(topicID []byte, partition int32) (key Key, ok bool) {
	if len(topicID) != len(key.TopicID) || partition < 0 {
		return key, false
	}
	copy(key.TopicID[:], topicID)
	key.Partition = partition
	return key, key.TopicID != [16]byte{}
}

func (k Key) compare(o Key) int {
	return cmp.Or(bytes.Compare(k.TopicID[:], o.TopicID[:]), cmp.Compare(k.Partition, o.Partition))
}

// A Book is the ledgers of all jobs.
type Book struct {
	jobs  map[uint64]map[Key]*Ledger
	count int
}

// NewBook is a Book without ledgers.
func NewBook() *Book { return &Book{jobs: map[uint64]map[Key]*Ledger{}} }

// CheckStarts tells whether ledgers can be opened at starts: an error names
// the first that can't.
func CheckStarts(starts []*raftlogv1.LedgerStart) error {
	for _, s := range starts {
		if _, ok := KeyOf(s.TopicId, s.Partition); !ok || s.Start < 0 || s.Start > maxOffset {
			return fmt.Errorf("%w: no ledger can start at offset %d of partition %d of topic id %x", ErrMalformed, s.Start, s.Partition, s.TopicId)
		}
	}
	return nil
}

// Open opens a job's ledgers at starts that CheckStarts passed, by the log entry
// at index. A partition that has one already keeps it.
func (b *Book) Open(jobID uint64, generation uint32, index uint64, starts []*raftlogv1.LedgerStart) {
	for _, s := range starts {
		key, _ := KeyOf(s.TopicId, s.Partition)
		if b.Get(jobID, key) == nil {
			l := New(s.Start, generation)
			l.trace = begun(s.Traced, index)
			b.put(jobID, key, l)
		}
	}
}

// Restart begins a generation of a job's ledgers at starts that CheckStarts
// passed, by the log entry at index. Ledgers of other partitions go on, unless
// only is set: then they are dropped. No epoch that could commit to the former
// ledgers may be left.
func (b *Book) Restart(jobID uint64, generation uint32, index uint64, starts []*raftlogv1.LedgerStart, only bool) {
	former := maps.Clone(b.jobs[jobID])
	if only {
		b.Drop(jobID)
	}
	for _, s := range starts {
		key, _ := KeyOf(s.TopicId, s.Partition)
		next := New(s.Start, generation)
		next.trace = begun(s.Traced, index)
		if old := former[key]; old != nil {
			next.skipped = old.skips(s.Start)
		}
		if b.Get(jobID, key) != nil {
			b.count--
		}
		b.put(jobID, key, next)
	}
}

func (b *Book) put(jobID uint64, key Key, l *Ledger) {
	if b.jobs[jobID] == nil {
		b.jobs[jobID] = map[Key]*Ledger{}
	}
	b.jobs[jobID][key] = l
	b.count++
}

// Get is a partition's ledger, nil where none was opened.
func (b *Book) Get(jobID uint64, key Key) *Ledger { return b.jobs[jobID][key] }

// Forget drops remembered void and expired ranges of a job that were settled
// up to the log index through.
func (b *Book) Forget(jobID uint64, through uint64) {
	for _, l := range b.jobs[jobID] {
		l.Forget(through)
	}
}

// Drop removes a job's ledgers. No epoch that could commit to them may be left.
func (b *Book) Drop(jobID uint64) {
	b.count -= len(b.jobs[jobID])
	delete(b.jobs, jobID)
}

// A View is a ledger as readers see it; it does not change any more.
type View struct {
	Key
	Generation uint32
	// Offsets below Start are not the job's; Settled is the lowest unsettled one.
	Start, Settled int64
	// Ranges is what is settled above Settled. Not to be changed.
	Ranges offsets.Set
	// Skipped is what ALTER passed over below Start. Not to be changed.
	Skipped offsets.Set
	// Numbers of offsets, see Ledger.
	Loaded, Void, Expired, Conflicts, Repaired int64
	// Remembered is how many void and expired ranges are not forgotten yet.
	Remembered int
	// Losses is how often in a row the backend of the partition's reader died
	// while Settled was what it is.
	Losses int
	Trace  Trace // not to be changed
}

// UnsettledOf is the part of some ranges that is not settled.
func (v View) UnsettledOf(ranges []*typesv1.OffsetRange) (out []*typesv1.OffsetRange) {
	for _, r := range offsets.Of(asRanges(ranges)...).Above(v.Settled).Subtract(v.Ranges) {
		out = append(out, &typesv1.OffsetRange{First: r.First, Last: r.Last})
	}
	return out
}

// Views is a job's ledgers, ordered by topic id and partition.
func (b *Book) Views(jobID uint64) []View {
	views := make([]View, 0, len(b.jobs[jobID]))
	for _, key := range sortedKeys(b.jobs[jobID]) {
		views = append(views, b.jobs[jobID][key].View(key))
	}
	return views
}

// View is the ledger, of the partition of that key.
func (l *Ledger) View(key Key) View {
	return View{
		Key: key, Generation: l.generation, Start: l.start, Settled: l.settled, Ranges: l.ranges, Skipped: l.skipped,
		Loaded: l.loaded, Void: l.void, Expired: l.expired, Conflicts: l.conflicts, Repaired: l.repaired, Remembered: len(l.voids), Losses: l.lossesNow(), Trace: l.trace,
	}
}

// Clone is a copy that stays as it is when b changes.
func (b *Book) Clone() *Book {
	c := NewBook()
	for jobID, ledgers := range b.jobs {
		for key, l := range ledgers {
			c.put(jobID, key, l.clone())
		}
	}
	return c
}

// Len is the number of ledgers.
func (b *Book) Len() int { return b.count }

// all yields every ledger, ordered by job and key.
func (b *Book) all() iter.Seq2[uint64, Key] {
	return func(yield func(uint64, Key) bool) {
		for _, jobID := range slices.Sorted(maps.Keys(b.jobs)) {
			for _, key := range sortedKeys(b.jobs[jobID]) {
				if !yield(jobID, key) {
					return
				}
			}
		}
	}
}

func sortedKeys(ledgers map[Key]*Ledger) []Key {
	return slices.SortedFunc(maps.Keys(ledgers), Key.compare)
}
