package classic

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/source"
	"shoal/internal/offsets"
)

// Config says what a Reader reads.
type Config struct {
	// Client reaches the topic's brokers. It stays the caller's, who closes it
	// after the last call.
	Client *kgo.Client
	Topic  string
	Starts []Start
	// Uncommitted reads what open and aborted transactions hold too.
	Uncommitted bool
	// SkipExpired hands out what was deleted before it was read as expired,
	// instead of standing still.
	SkipExpired bool
	// ID names the reader to its task.
	ID     string
	Logger *slog.Logger
}

// A Start is a partition and the first offset to read of it.
type Start struct {
	source.PartitionID
	Offset int64
	// Bounded: only these offsets at or above Offset are read, and then no more. It
	// may be that there are none.
	Bounded bool
	Only    offsets.Set
}

// maxRead bounds an answer in memory: what is asked for plus one batch of the
// largest size that brokers are run with.
const maxRead = 256 << 20

// ClientOptions are what a Reader's client needs beyond addresses and
// credentials.
func ClientOptions() []kgo.Opt {
	return []kgo.Opt{kgo.BrokerMaxReadBytes(maxRead), kgo.DisableClientMetrics()}
}

// A Reader reads partitions from their positions on. Of its methods only
// Assigned and ID may be called by other goroutines than the owner's.
type Reader struct {
	cfg      Config
	assigned []source.PartitionID

	parts []*partition // in the order of their turns
	turn  int32        // the broker asked last
	idle  int          // questions in a row that brought nothing

	decompressor kgo.Decompressor
}

// New makes a Reader that has asked nothing yet.
func New(cfg Config) *Reader {
	r := &Reader{cfg: cfg, turn: -1, decompressor: kgo.DefaultDecompressor()}
	for _, s := range cfg.Starts {
		r.assigned = append(r.assigned, s.PartitionID)
		p := &partition{PartitionID: s.PartitionID, position: s.Offset, bounded: s.Bounded, only: s.Only, broker: unknown, end: unknown}
		p.pass()
		r.parts = append(r.parts, p)
	}
	return r
}

// ID is the name that the reader was given.
func (r *Reader) ID() string { return r.cfg.ID }

// Assigned is the partitions that the reader was given.
func (r *Reader) Assigned() []source.PartitionID { return r.assigned }

// Fetch hands out what lies next in the partitions, each in its turn. It asks
// the brokers only if nothing is in hand, and waits for the first record up to
// limits.MaxWait. Limits are kept to the record; limits.MaxBytes is of keys,
// values and headers, and the last record may exceed it.
//
// Troubles of partitions are in the Fetch, for as long as they last; the error
// is the context's only.
func (r *Reader) Fetch(ctx context.Context, limits source.Limits) (source.Fetch, error) {
	deadline := time.Now().Add(limits.MaxWait)
	f := r.handOut(limits)
	for f.End = r.finished(); len(f.Partitions) == 0 && !f.End && ctx.Err() == nil; f.End = r.finished() {
		r.ask(ctx, limits.MaxWait, deadline)
		f = r.handOut(limits)
		if !time.Now().Before(deadline) {
			break
		}
	}
	f.Partitions = append(f.Partitions, r.troubles()...)
	f.More = slices.ContainsFunc(r.parts, (*partition).behind)
	for _, p := range r.parts {
		f.InHand += p.size()
	}
	return f, ctx.Err()
}

// finished tells whether nothing will come any more: all that was asked for was
// handed out, or could not be read.
func (r *Reader) finished() bool {
	return !slices.ContainsFunc(r.parts, func(p *partition) bool { return !p.finished() })
}

// handOut takes from what is in hand, up to the limits.
func (r *Reader) handOut(limits source.Limits) (f source.Fetch) {
	records, bytes := int(limits.MaxRecords), int64(limits.MaxBytes)
	for _, p := range slices.Clone(r.parts) {
		if records <= 0 || bytes <= 0 {
			break
		}
		r.decode(p)
		if !p.hasRun() {
			continue
		}
		part := p.take(records, bytes)
		part.Topic = r.cfg.Topic
		records -= len(part.Records)
		bytes -= source.Size(part.Records)
		f.Partitions = append(f.Partitions, part)
		r.goesLast(p)
	}
	return f
}

// goesLast ends p's turn.
func (r *Reader) goesLast(p *partition) {
	i := slices.Index(r.parts, p)
	r.parts = append(slices.Delete(r.parts, i, i+1), p)
}

// troubles is why partitions bring nothing.
func (r *Reader) troubles() (parts []source.Partition) {
	for _, p := range r.parts {
		if err := cmp.Or(p.stuck, p.rest.Cause); err != nil {
			parts = append(parts, source.Partition{TopicID: p.TopicID, Topic: r.cfg.Topic, Partition: p.Partition, Err: err})
		}
	}
	return parts
}

// Acknowledge moves the position back to what is released, and has nothing else
// to do. It does not wait; nothing is locked.
func (r *Reader) Acknowledge(_ context.Context, acks []source.Ack) (results []source.AckResult, lockedUntil time.Time) {
	r.QueueAcks(acks)
	for _, ack := range acks {
		if !slices.ContainsFunc(results, func(r source.AckResult) bool { return r.PartitionID == ack.PartitionID }) {
			results = append(results, source.AckResult{PartitionID: ack.PartitionID, Outcome: source.Applied})
		}
	}
	return results, time.Time{}
}

// QueueAcks is Acknowledge without its answer.
func (r *Reader) QueueAcks(acks []source.Ack) {
	for _, ack := range acks {
		if i := r.index(ack.PartitionID); i >= 0 && ack.Type == source.Release {
			r.parts[i].rewind(ack.First)
		}
	}
}

func (r *Reader) index(id source.PartitionID) int {
	return slices.IndexFunc(r.parts, func(p *partition) bool { return p.PartitionID == id })
}

// Close has nothing to give back.
func (r *Reader) Close(context.Context) []source.AckResult { return nil }
