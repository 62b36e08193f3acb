package sim

import (
	"context"
	"math"
	"slices"
	"time"

	"shoal/be/source"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// A reader is the classic source of one task: what be/classic is on a real
// broker, with the same contract.
type reader struct {
	s     *Sim
	b     *backend
	id    string
	parts []source.PartitionID
	at    map[source.PartitionID]int64       // positions
	only  map[source.PartitionID]offsets.Set // of a repair task: what is read; nil for all
	turn  int
}

// newRepair reads what a repair task was given, and nothing else.
func newRepair(b *backend, id string, parts []*typesv1.PartitionRanges) *reader {
	r := newReader(b, id, nil)
	r.only = map[source.PartitionID]offsets.Set{}
	for _, p := range parts {
		id := source.PartitionID{TopicID: source.TopicID(p.TopicId), Partition: p.Partition}
		r.parts = append(r.parts, id)
		for _, given := range p.Ranges {
			r.only[id] = r.only[id].Union(offsets.Of(offsets.Range{First: given.First, Last: given.Last}))
		}
	}
	return r
}

// wanted is the next range to read of a partition; false if there is none.
func (r *reader) wanted(id source.PartitionID) (offsets.Range, bool) {
	if r.only == nil {
		return offsets.Range{First: r.at[id], Last: math.MaxInt64 - 1}, true
	}
	left := r.only[id].Above(r.at[id])
	if len(left) == 0 {
		return offsets.Range{}, false
	}
	return left[0], true
}

// finished tells whether there is nothing more to read, ever.
func (r *reader) finished() bool {
	return r.only != nil && !slices.ContainsFunc(r.parts, func(id source.PartitionID) bool { _, more := r.wanted(id); return more })
}

func newReader(b *backend, id string, starts []*backendv1.PartitionStart) *reader {
	r := &reader{s: b.s, b: b, id: id, at: map[source.PartitionID]int64{}}
	for _, start := range starts {
		id := source.PartitionID{TopicID: source.TopicID(start.TopicId), Partition: start.Partition}
		r.parts = append(r.parts, id)
		r.at[id] = start.Offset
	}
	return r
}

func (r *reader) ID() string { return r.id }

func (r *reader) Assigned() []source.PartitionID { return r.parts }

func (r *reader) Fetch(ctx context.Context, limits source.Limits) (f source.Fetch, err error) {
	w := r.s.w
	deadline := w.now.Add(limits.MaxWait)
	w.Wait(ctx, nil, w.now.Add(w.between(0, limits.MaxWait)))
	if r.b.fate() != delivered {
		w.Wait(ctx, nil, w.now.Add(requestTimeout))
		return source.Fetch{Partitions: []source.Partition{{TopicID: topicID, Topic: "t", Err: errNoAnswer}}}, ctx.Err()
	}
	if len(r.parts) > 0 {
		r.turn++
		id := r.parts[r.turn%len(r.parts)]
		most := min(int(limits.MaxRecords), 1+w.rng.IntN(r.s.cfg.FetchRecords))
		if p := r.read(id, most); len(p.Acquired) > 0 {
			f.Partitions = append(f.Partitions, p)
			w.tell("%s reads %d:%v gaps %v expired %v", r.id, id.Partition, p.Acquired, p.Gaps, p.Expired)
		}
	}
	f.More = slices.ContainsFunc(r.parts, func(id source.PartitionID) bool {
		next, more := r.wanted(id)
		return more && next.First < r.log(id).stable()
	})
	f.End = r.finished()
	if len(f.Partitions) == 0 && w.now.Before(deadline) {
		w.Wait(ctx, nil, deadline)
	} else {
		w.sleep(r.s.hop())
	}
	return f, ctx.Err()
}

func (r *reader) log(id source.PartitionID) *plog { return r.s.broker.parts[id.Partition].log }

// read moves on by up to most offsets, or to the log's start.
func (r *reader) read(id source.PartitionID, most int) source.Partition {
	log := r.log(id)
	out := source.Partition{TopicID: id.TopicID, Topic: "t", Partition: id.Partition}
	wanted, more := r.wanted(id)
	if !more {
		return out
	}
	first, next := wanted.First, wanted.First
	if next < log.start {
		next = min(log.start, wanted.Last+1)
		out.Expired = offsets.Of(offsets.Range{First: first, Last: next - 1})
	}
	for end := log.stable(); len(out.Expired) == 0 && next < end && next <= wanted.Last && next < first+int64(most); next++ {
		if e := log.entries[next]; e.kind == plain {
			out.Records = append(out.Records, &source.Record{Offset: next, LeaderEpoch: e.epoch, Value: []byte("v")})
		} else {
			out.Gaps = out.Gaps.Union(offsets.Of(offsets.Range{First: next, Last: next}))
		}
	}
	out.Acquired = offsets.Of(offsets.Range{First: first, Last: next - 1})
	r.at[id] = next
	return out
}

func (r *reader) QueueAcks(acks []source.Ack) {
	for _, a := range acks {
		if a.Type == source.Release {
			r.at[a.PartitionID] = min(r.at[a.PartitionID], a.First)
			r.s.check.stats.counts[Released] += int(a.Count())
		}
	}
}

func (r *reader) Acknowledge(_ context.Context, acks []source.Ack) ([]source.AckResult, time.Time) {
	r.s.w.live()
	r.QueueAcks(acks)
	return outcomes(acks, source.Applied, nil), time.Time{}
}

func (r *reader) Close(context.Context) []source.AckResult {
	r.s.w.live()
	return nil
}
