// Package source is what every source of records has in common: the shape of
// a fetch, as the pipe reads it and the ledger settles it.
//
// It is data only. A share source fills it with what the broker acquired for
// this member; a plain fetch fills it with what lies in a range. Nothing here
// owns a connection or a goroutine.
package source

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/internal/offsets"
)

// A Record is a Kafka record as the client library decoded it. Offset,
// LeaderEpoch, Timestamp, Key, Value and Headers are meaningful; a nil Value is
// a tombstone. Records are read-only once fetched.
type Record = kgo.Record

// A TopicID is Kafka's permanent id of a topic (KIP-516). A topic that is
// deleted and created again under its old name has another one.
type TopicID [16]byte

// A Partition is what one fetch brought from one partition.
//
// Every offset of Acquired is either that of a Record or lies in Gaps: a
// control record, or one compacted away. Offsets outside Acquired are never
// reported, though the broker's batches may carry them (aborted, or held by
// another member).
type Partition struct {
	TopicID   TopicID
	Topic     string
	Partition int32
	Acquired  offsets.Set
	Gaps      offsets.Set
	Records   []*Record // in order of offset
	// Deliveries is the highest delivery count that the broker told for an
	// acquired range: a lower bound, for people and alerts only.
	Deliveries int16
}

// A Fetch is the outcome of one poll.
type Fetch struct {
	Partitions []Partition
	// LockedUntil is when the broker's acquisition locks end at the earliest,
	// judged from before the request was sent. Zero where nothing is locked.
	LockedUntil time.Time
}

// Records is the number of records in f.
func (f Fetch) Records() int {
	n := 0
	for i := range f.Partitions {
		n += len(f.Partitions[i].Records)
	}
	return n
}

// Empty tells whether f acquired nothing at all, not even a gap.
func (f Fetch) Empty() bool {
	for i := range f.Partitions {
		if len(f.Partitions[i].Acquired) > 0 {
			return false
		}
	}
	return true
}
