package pipe

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"shoal/be/decode"
	typesv1 "shoal/proto/types/v1"
)

// tally is what a txn has come to so far.
type tally struct {
	loaded     int64
	unselected int64
	empty      int64
	received   int64
	bad        badRows
}

func (t *tally) counters() *typesv1.Counters {
	return &typesv1.Counters{
		TotalRows:      t.loaded + t.bad.total + t.unselected,
		LoadedRows:     t.loaded,
		ErrorRows:      t.bad.total,
		UnselectedRows: t.unselected,
		EmptyMessages:  t.empty,
		ReceivedBytes:  t.received,
	}
}

// badRow is an error row and the message that it comes from.
type badRow struct {
	decode.RowError
	message
	table string // that it was meant for
	more  int64  // further error rows of the message, which were not kept
}

// badRows are the error rows of a txn. While they take little memory all of
// them are kept. From errorMemory on it is the first of each message, so that
// no message is forgotten: their records are in memory anyhow.
type badRows struct {
	kept  []badRow
	total int64
	bytes int
}

const (
	errorMemory = 32 << 20
	badRowBytes = 256 // about what one takes besides its texts
)

// add takes the next one. Rows of one message mostly come one after the other. Its
// source may lie in a batch, so that the part that is shown is copied.
func (l *badRows) add(b badRow) {
	l.total++
	if n := len(l.kept); l.bytes >= errorMemory && n > 0 && l.kept[n-1].record == b.record {
		l.kept[n-1].more++
		return
	}
	b.Source = bytes.Clone(b.Source[:min(len(b.Source), rawLimit+1)]) // printable looks at one more
	l.bytes += badRowBytes + len(b.Reason) + len(b.Source)
	l.kept = append(l.kept, b)
}

// sort puts rows into the order of their messages, which those of several tables
// are not, nor those around a message that is not decoded.
func (l *badRows) sort() {
	slices.SortStableFunc(l.kept, func(a, b badRow) int {
		return cmp.Or(bytes.Compare(a.part.TopicID[:], b.part.TopicID[:]), cmp.Compare(a.part.Partition, b.part.Partition),
			cmp.Compare(a.record.Offset, b.record.Offset), cmp.Compare(a.Line, b.Line))
	})
}

// reason says why, and how many rows it stands for.
func (b *badRow) reason() string {
	if b.more == 0 {
		return b.Reason
	}
	return fmt.Sprintf("%s (and %d more error rows of this message)", b.Reason, b.more)
}
