// Package probe finds out what offsets of a partition hold, by plain fetches
// that load nothing and leave no trace: no group, no commit.
//
// An answer is a proof or nothing, since the ledger lets go for ever of what is
// called void or expired (design, "Nothing lost"):
//
//   - held: a record that a consumer of the job's isolation level sees lies
//     there, or a batch that cannot be decoded, which is not known to be void;
//   - void: a fetch that began at or before the offset passed over it, and saw
//     a later offset or the last stable offset. Control records, what was
//     compacted away and, for those that read committed, aborted transactions
//     are void;
//   - expired: below the leader's log start.
//
// All else is undecided and named by none of them: above all what lies at or
// above the last stable offset, whose transaction may yet commit. (Who reads
// uncommitted records sees up to the high watermark, and it takes that offset's
// place.) Each fetch
// names the topic by its id, so that nothing is ever read of a topic that was
// made anew under the same name, and goes to the leader at the epoch that it
// was found with.
//
// No goroutine is started. One fetch's batches are in memory at a time, and of
// records only the offsets are kept.
package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/source"
	"shoal/internal/offsets"
)

// ErrNoTopic tells that no topic has the id: it was deleted.
var ErrNoTopic = errors.New("no topic has the id")

const (
	// maxFailures is how often in a row something may go wrong that may go
	// right the next time, pause apart.
	maxFailures = 10
	pause       = 200 * time.Millisecond
	fetchBytes  = 1 << 20 // of a fetch; a single larger batch comes whole
	fetchWait   = 500 * time.Millisecond
)

// A Request says what to look at.
type Request struct {
	Topic     string
	TopicID   source.TopicID
	Partition int32
	Offsets   offsets.Set
	// Uncommitted looks as a consumer that reads uncommitted records.
	Uncommitted bool
}

// A Result divides the asked offsets; those in none of the sets are undecided.
type Result struct {
	Void, Expired, Held offsets.Set
	// As the leader last told them, -1 if it never did.
	LogStart, LastStable int64
}

// Run probes by client, which reaches the topic's brokers, until all asked
// offsets that may be read are decided or ctx ends. The Result holds what was
// decided, with an error too. The error wraps ErrNoTopic where the topic is
// gone.
func Run(ctx context.Context, client *kgo.Client, q Request) (Result, error) {
	p := &prober{Request: q, client: client, result: Result{LogStart: -1, LastStable: -1}}
	if err := p.run(ctx); err != nil {
		return p.result, fmt.Errorf("probing topic %s partition %d: %w", q.Topic, q.Partition, err)
	}
	return p.result, nil
}

// prober works through the offsets of one request.
type prober struct {
	Request
	client *kgo.Client
	leader *leader // nil: not known, or no longer
	result Result
}

// leader is who leads the partition.
type leader struct {
	broker *kgo.Broker
	epoch  int32
}

// run decides offsets from the lowest on, one fetch after the other.
func (p *prober) run(ctx context.Context) error {
	todo, failures := p.Offsets, 0
	for len(todo) > 0 {
		next, err := p.step(ctx, todo)
		switch {
		case err == nil && next == stop:
			return nil
		case err == nil:
			todo, failures = todo.Above(next), 0
			continue
		case !mayPass(err) || failures == maxFailures:
			return err
		}
		failures++
		p.leader = nil
		if err := wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop is what step answers when nothing above can be decided.
const stop = -1

// step decides offsets from the first of todo on, and answers where the next
// step begins: above that first one, or stop.
func (p *prober) step(ctx context.Context, todo offsets.Set) (next int64, err error) {
	if p.leader == nil {
		if p.leader, err = p.findLeader(ctx); err != nil {
			return 0, err
		}
	}
	from := todo[0].First
	answer, err := p.fetch(ctx, from)
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		return p.outOfRange(ctx, todo)
	case err != nil:
		return 0, err
	}
	if from >= p.endOf(answer) {
		return stop, nil
	}
	held, next, err := p.read(answer, from)
	if err != nil {
		return 0, err
	}
	if next == from {
		return p.nothing(ctx, todo)
	}
	p.passed(todo, held, min(next, p.endOf(answer)))
	return next, nil
}

// passed notes what a fetch says that began at or before todo and saw all below
// next.
func (p *prober) passed(todo, held offsets.Set, next int64) {
	seen := todo.Below(next)
	held = seen.Intersect(held)
	p.result.Held = p.result.Held.Union(held)
	p.result.Void = p.result.Void.Union(seen.Subtract(held))
}

// nothing goes on where a fetch brought nothing although it began below the
// last stable offset. If that part of the log is on the broker itself, a second
// fetch that brings nothing proves that nothing is there. A tiered log must not
// be trusted so: a read from remote storage that takes too long looks the same.
func (p *prober) nothing(ctx context.Context, todo offsets.Set) (next int64, err error) {
	const earliestLocal = -4
	local, err := p.listOffset(ctx, earliestLocal)
	if err != nil {
		return 0, err
	}
	from := todo[0].First
	if from < local {
		return 0, errRemote
	}
	answer, err := p.fetch(ctx, from)
	if err != nil {
		return 0, err
	}
	held, next, err := p.read(answer, from)
	if err != nil {
		return 0, err
	}
	if next == from {
		next = p.endOf(answer)
	}
	p.passed(todo, held, min(next, p.endOf(answer)))
	return next, nil
}

// outOfRange goes on at the leader's log start if that is above what was asked,
// and stops if the log ends below.
func (p *prober) outOfRange(ctx context.Context, todo offsets.Set) (next int64, err error) {
	const earliest = -2
	start, err := p.listOffset(ctx, earliest)
	if err != nil {
		return 0, err
	}
	if start <= todo[0].First {
		return stop, nil
	}
	// ListOffsets names the topic by its name, so its answer is only a hint: a
	// fetch, which names it by id, tells the log start.
	answer, err := p.fetch(ctx, start)
	if err != nil {
		return 0, err
	}
	if answer.LogStartOffset <= todo[0].First {
		return 0, errMoved
	}
	p.result.Expired = p.result.Expired.Union(todo.Below(answer.LogStartOffset))
	return answer.LogStartOffset, nil
}

// endOf is the offset below which an answer may be read.
func (p *prober) endOf(answer *kmsg.FetchResponseTopicPartition) int64 {
	if p.Uncommitted {
		return answer.HighWatermark
	}
	return answer.LastStableOffset
}

// read decodes a fetch that began at from: the offsets that hold records, and
// the offset behind the last that was passed over, which is from where there was
// nothing. Where a batch cannot be read, what is before it still counts;
// it is held itself.
func (p *prober) read(answer *kmsg.FetchResponseTopicPartition, from int64) (held offsets.Set, next int64, err error) {
	isolation := kgo.ReadCommitted()
	if p.Uncommitted {
		isolation = kgo.ReadUncommitted()
	}
	decoded, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset:         from,
		IsolationLevel: isolation,
		Topic:          p.Topic,
		Partition:      p.Partition,
	}, answer, kgo.DefaultDecompressor(), nil)
	if decoded.Err != nil { // next may have been moved past what could not be read
		next = from
		if n := len(decoded.Records); n > 0 {
			next = decoded.Records[n-1].Offset + 1
		}
	}
	if next == from && len(answer.RecordBatches) > 0 {
		if batch, ok := source.FirstBatch(answer.RecordBatches); ok && batch.First <= from && from <= batch.Last {
			return offsets.Of(offsets.Range{First: from, Last: batch.Last}), batch.Last + 1, nil
		}
		return nil, 0, fmt.Errorf("the batch at offset %d cannot be read: %w", from, errors.Join(errDamaged, decoded.Err))
	}
	ranges := make([]offsets.Range, 0, len(decoded.Records))
	for _, r := range decoded.Records {
		if n := len(ranges); n > 0 && ranges[n-1].Last+1 == r.Offset {
			ranges[n-1].Last++
			continue
		}
		ranges = append(ranges, offsets.Range{First: r.Offset, Last: r.Offset})
	}
	return offsets.Of(ranges...), next, nil
}

// wait lets a little time pass.
func wait(ctx context.Context) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
