// Package source is what every source of records has in common: the shape of
// a fetch, as the pipe reads it and the ledger settles it, and of the
// acknowledgements that answer it.
//
// It is data only. A share source fills it with what the broker acquired for
// this member; a plain fetch fills it with what lies in a range. Nothing here
// owns a connection or a goroutine.
package source

import (
	"encoding/binary"
	"errors"
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

// A PartitionID names a partition for good, also after its topic's name was
// given to another topic.
type PartitionID struct {
	TopicID   TopicID
	Partition int32
}

// A Partition is what one fetch brought from one partition.
//
// Every offset of Acquired is that of a Record or lies in one of Gaps, Unproven,
// Unread and Expired. Offsets outside Acquired are never reported, though the
// broker's batches may carry them (aborted, or held by another member).
type Partition struct {
	TopicID   TopicID
	Topic     string
	Partition int32
	Acquired  offsets.Set
	Records   []*Record // in order of offset
	// Gaps is what the answer passes over: control records, or compacted away.
	Gaps offsets.Set
	// Unproven is what lies behind the last batch of the answer: compacted away,
	// if the broker is right, but nothing later was seen. Acknowledge it as a
	// gap, so that it does not come again and again, and settle it by proof.
	Unproven offsets.Set
	// Expired is what lay below the log's start: gone before it was read.
	Expired offsets.Set
	// Unread is what could not be decoded, for the reason in Err. It is not
	// known to be void: release it.
	Unread offsets.Set
	// Poison is the records that must not be decoded, by offset, and why: each
	// becomes an error row as it is. Sources leave it empty.
	Poison map[int64]string
	// Err is why this partition brought nothing, or not all: a broker's error,
	// or a batch that could not be decoded.
	Err error
	// Deliveries is the highest delivery count that the broker told for an
	// acquired range: a lower bound, for people and alerts only.
	Deliveries int16
}

// ID is the name of p.
func (p *Partition) ID() PartitionID { return PartitionID{p.TopicID, p.Partition} }

// A Fetch is the outcome of one poll.
type Fetch struct {
	Partitions []Partition
	// LockedUntil is when the broker's acquisition locks end at the earliest,
	// judged from before the request was sent. Zero where nothing is locked.
	LockedUntil time.Time
	// Lock is how long such a lock lasts by what the broker said, which may
	// change from fetch to fetch. Zero where nothing is locked.
	Lock time.Duration
	// Acked is what became of the acknowledgements that rode on the request.
	Acked []AckResult
	// Lost lists the partitions of which nothing is held any more that an
	// earlier fetch acquired: their leader moved, or the session with it broke.
	// Others may have those records already. What this fetch brought is held.
	Lost []PartitionID
	// End tells that nothing will come any more unless something is released.
	End bool
	// More tells that there is more already, where the source knows.
	More bool
	// InHand is about how many bytes the source has in memory and did not hand out.
	InHand int64
}

// Limits bound one fetch.
type Limits struct {
	// MaxRecords is what the broker rounds up to whole batches of the producer.
	MaxRecords int32
	// MaxBytes bounds the batches of one answer; the first batch comes whole
	// even if it is larger.
	MaxBytes int32
	// MaxWait is how long to wait for the first record, to the millisecond.
	MaxWait time.Duration
}

// An AckType is what an acknowledgement does to the offsets that it names, by
// the numbers of Kafka's protocol (KIP-932, KIP-1222). Reject is not used.
type AckType int8

const (
	Gap     AckType = 0 // there is no record: done with
	Accept  AckType = 1 // settled: never deliver again
	Release AckType = 2 // deliver again; that costs one of the deliveries
	Renew   AckType = 4 // held on: the lock begins anew
)

// An Ack acknowledges a range of one partition.
type Ack struct {
	PartitionID
	offsets.Range
	Type AckType
}

// Acks acknowledges all of set.
func Acks(id PartitionID, set offsets.Set, how AckType) []Ack {
	acks := make([]Ack, len(set))
	for i, r := range set {
		acks[i] = Ack{id, r, how}
	}
	return acks
}

// An Outcome is what is known of the acknowledgements of one partition in one
// request. The broker applies all of them or none.
type Outcome int8

const (
	// Applied: done, or there was nothing left to do. It proves no ownership:
	// below the group's start offset the broker agrees to anything.
	Applied Outcome = iota
	// Refused: nothing was applied, and at least a part is not held any more.
	Refused
	// Retry: nothing was applied, all is still held; ask again.
	Retry
	// Unknown: the answer was lost, or says that the broker does not know.
	Unknown
)

// String is the outcome's name, for logs.
func (o Outcome) String() string {
	return [...]string{"applied", "refused", "retry", "unknown"}[o]
}

// An AckResult is the outcome for one partition. Err is nil when applied.
type AckResult struct {
	PartitionID
	Outcome Outcome
	Err     error
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

// FirstBatch is the offsets of the first of some record batches, which need not
// be whole or decodable; false if not even that is there. Positions are those of
// magic 2, Kafka's only format since 4.0.
func FirstBatch(batches []byte) (r offsets.Range, ok bool) {
	const baseOffset, magic, lastOffsetDelta, header = 0, 16, 23, 61
	if len(batches) < header || batches[magic] != 2 {
		return r, false
	}
	r.First = int64(binary.BigEndian.Uint64(batches[baseOffset:]))
	r.Last = r.First + int64(int32(binary.BigEndian.Uint32(batches[lastOffsetDelta:])))
	return r, 0 <= r.First && r.First <= r.Last
}

// ErrDecoding is in the error of a write that was ended for taking too long if it
// was the records that took the time, rather than what they are written to.
var ErrDecoding = errors.New("it takes long to make rows of the records")

// Size is the bytes of records as they lie in memory, without their headers of
// fixed size.
func Size(records []*Record) int64 {
	var n int
	for _, r := range records {
		n += len(r.Key) + len(r.Value)
		for _, h := range r.Headers {
			n += len(h.Key) + len(h.Value)
		}
	}
	return int64(n)
}
