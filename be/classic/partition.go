package classic

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/backoff"
	"shoal/be/source"
	"shoal/internal/offsets"
)

// unknown is the broker or the offset that was not told yet.
const unknown = -1

// A partition is one that is read.
type partition struct {
	source.PartitionID
	position int64 // the next offset to hand out
	broker   int32 // its leader, unknown if it must be looked up
	epoch    int32 // the leader's
	end      int64 // what may be read lies below, as last told
	rest     backoff.Backoff
	damaged  int   // tries in a row that brought a batch which could not be decoded
	stuck    error // why it stands still until the task ends
	bounded  bool  // only what follows is read of it, and not all from the position on
	only     offsets.Set

	// In hand, from position on: an answer that is not decoded yet, or a run.
	answer *kmsg.FetchResponseTopicPartition
	run    run
}

// A run is what a fetch told of the offsets from the position to next. Those
// without a record are void, or expired. It is empty where next is zero.
type run struct {
	records []*source.Record
	bytes   int64 // of the records
	next    int64
	expired bool
}

func (p *partition) hasRun() bool { return p.run.next > p.position }

func (p *partition) inHand() bool { return p.answer != nil || p.hasRun() }

// size is how many bytes of p are in hand.
func (p *partition) size() int64 {
	if p.answer != nil {
		return int64(len(p.answer.RecordBatches))
	}
	return p.run.bytes
}

// behind tells whether more is there already.
func (p *partition) behind() bool {
	return p.due() && (p.inHand() || p.position < p.end)
}

// drained tells whether all was handed out that is there.
func (p *partition) drained() bool { return p.end != unknown && p.position >= p.end && !p.inHand() }

// due tells whether its leader may be asked.
func (p *partition) due() bool { return !p.finished() && p.stuck == nil && !p.rest.Resting() }

// mostFailures in a row end the reading of a partition that is bounded: others
// wait for that, and it is tried again by another task. So many for a batch that
// cannot be decoded make any partition stand still.
const mostFailures = 10

// finished tells whether no more of p is to be read. What is not bounded never
// is, nor is what needs a person, who must hear of it.
func (p *partition) finished() bool {
	if unreadable := (*UnreadableError)(nil); errors.As(p.stuck, &unreadable) {
		return false
	}
	return p.bounded && (p.position >= beyond || p.stuck != nil || p.rest.Failures >= mostFailures)
}

// beyond is a position above all offsets.
const beyond = math.MaxInt64

// pass moves on to the next offset that is to be read, if p is bounded.
func (p *partition) pass() {
	if !p.bounded || p.only.Contains(p.position) {
		return
	}
	left := p.only.Above(p.position)
	p.position = beyond
	if len(left) > 0 {
		p.position = left[0].First
	}
	n, _ := slices.BinarySearchFunc(p.run.records, p.position, byOffset)
	p.run.bytes -= source.Size(p.run.records[:n])
	p.run.records = p.run.records[n:]
}

// byOffset finds a record.
func byOffset(r *source.Record, offset int64) int { return cmp.Compare(r.Offset, offset) }

// bound is one above the last offset that may be handed out with the one at the
// position.
func (p *partition) bound() int64 {
	if !p.bounded {
		return beyond
	}
	return p.only.Above(p.position)[0].Last + 1
}

// mostVoids is how many runs of voids are handed out of a partition at a time:
// each of them travels through the log.
const mostVoids = 10_000

// take hands out the next part of the run: up to n records, both limits being
// above zero.
func (p *partition) take(n int, bytes int64) source.Partition {
	bound := min(p.run.next, p.bound())
	within, _ := slices.BinarySearchFunc(p.run.records, bound, byOffset)
	all := p.run.records[:within]
	taken, next := 0, bound
	for voids := 0; taken < len(all) && taken < n && bytes > 0 && voids < mostVoids; taken++ {
		bytes -= source.Size(all[taken : taken+1])
		if taken > 0 && all[taken-1].Offset+1 < all[taken].Offset {
			voids++
		}
	}
	if taken < len(all) {
		next = all[taken-1].Offset + 1
	}
	out := source.Partition{TopicID: p.TopicID, Partition: p.Partition, Records: all[:taken:taken]}
	out.Acquired = offsets.Of(offsets.Range{First: p.position, Last: next - 1})
	void := without(out.Acquired[0], out.Records)
	if p.run.expired {
		out.Expired = void
	} else {
		out.Gaps = void
	}
	p.run.bytes -= source.Size(out.Records)
	p.position, p.run.records = next, p.run.records[taken:]
	p.pass()
	return out
}

// without is the offsets of r that no record has.
func without(r offsets.Range, records []*source.Record) (void offsets.Set) {
	next := r.First
	for _, record := range records {
		if next < record.Offset {
			void = append(void, offsets.Range{First: next, Last: record.Offset - 1})
		}
		next = record.Offset + 1
	}
	if next <= r.Last {
		void = append(void, offsets.Range{First: next, Last: r.Last})
	}
	return void
}

// rewind has everything from to on read again.
func (p *partition) rewind(to int64) {
	if to < p.position {
		p.position, p.answer, p.run = to, nil, run{}
		p.pass()
	}
}

// resume is when p may be asked again, zero if it may now or never.
func (p *partition) resume() time.Time {
	if p.stuck != nil || !p.rest.Resting() {
		return time.Time{}
	}
	return p.rest.Until
}
