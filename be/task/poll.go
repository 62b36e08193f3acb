package task

import (
	"context"
	"math"
	"time"

	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
)

// A fetch of this size says that the topic is busy: more is there already, and
// a larger rowset costs nobody any time. A txn of this size waits for nothing
// more: what it holds may be all that its partitions give before it is
// acknowledged, and they would only stand still.
const (
	busyRecords = 1000
	busyBytes   = 1 << 20
)

// A fetch asks for little at first and for twice as much each time, but for half
// when what it brought of a partition is in more pieces than this: each piece is
// a range of the ledger for a while, and on a topic full of aborted records the
// whole window would make hundreds at once.
//
// In classic mode a fetch brings what it brings, in one piece; it may ask for
// all that a txn has room for.
const (
	firstFetch   = 200 // records
	mostFetch    = math.MaxInt32 / 2
	maxFragments = 12
)

// A txn that names more runs of records and voids than this is ended: they
// travel through the log. On a plain topic there is one for each partition.
const maxRuns = 20_000

// maxFetch is Kafka's own default for the bytes of one answer.
const maxFetch = 50 << 20

// poll gathers what one txn will hold, from one fetch or more. The batch is
// empty when there was nothing; the source's errors are in the status.
//
// It ends with the first fetch that finds the topic quiet once the txn is large
// or the linger is over, or when a large txn holds some of every partition of a
// share group, which then have no more to give. It ends at the latest when the
// txn is full, when there is no memory for more, at max_batch_interval, or when half of the time is used that
// there is before CommitTxn.
func (t *Task) poll(ctx context.Context) *batch {
	b := &batch{}
	t.status.polling(t.cfg.AppliedIndex(), t.rt.Now())
	wait := pollWait
	for {
		limits := t.limits(b, wait)
		f, err := t.cfg.Source.Fetch(ctx, limits)
		t.acknowledged(f.Acked)
		now := t.rt.Now()
		if f.Lock > 0 {
			t.lock = f.Lock // an operator may change the group's setting at any time
		}
		b.add(f, t.lock, now)
		t.adapt(f, b)
		t.brought(f, b, int64(limits.MaxBytes))
		t.fetched(b, f, err)
		if b.acquired.IsZero() || err != nil || ctx.Err() != nil || !t.gathersOn(b, f, now) || t.room(b) != nil {
			return b
		}
		if wait = 0; !b.large() {
			wait = max(0, b.acquired.Add(t.linger()).Sub(now))
		}
	}
}

// adapt sets how much the next fetch asks for.
func (t *Task) adapt(f source.Fetch, b *batch) {
	switch n := f.Records(); {
	case n == 0:
	case t.scattered(b):
		t.fetch = max(1, n/2)
	default:
		t.fetch = min(2*t.fetch, mostFetch)
	}
}

// scattered tells whether b is in too many pieces for the ledger. What is read
// without locks lies at the settled offset or fills holes, and makes no ranges.
func (t *Task) scattered(b *batch) bool { return !t.classic() && b.fragments() > maxFragments }

// most is how long a txn gathers at most.
func (t *Task) most() time.Duration {
	return min(time.Duration(t.cfg.Spec.Load.MaxBatchIntervalS)*time.Second, t.lock/4)
}

func (t *Task) linger() time.Duration {
	return min(time.Duration(t.cfg.Spec.Load.ShareLingerMs)*time.Millisecond, t.most())
}

// gathersOn decides after fetch f whether to make another.
func (t *Task) gathersOn(b *batch, f source.Fetch, now time.Time) bool {
	switch {
	case f.End || t.finishes() || b.records >= t.rows || b.bytes >= t.maxBytes() || t.scattered(b) || b.runs() > maxRuns:
		return false
	case !b.large() && now.Before(b.acquired.Add(t.linger())):
		return true
	case !t.classic() && b.large() && len(b.parts) >= len(t.cfg.Source.Assigned()):
		return false
	}
	return (f.More || busy(f)) && now.Before(b.acquired.Add(t.most()))
}

func busy(f source.Fetch) bool {
	if f.Records() >= busyRecords {
		return true
	}
	var bytes int64
	for i := range f.Partitions {
		bytes += source.Size(f.Partitions[i].Records)
	}
	return bytes >= busyBytes
}

func (t *Task) maxBytes() int64 { return min(t.cfg.Spec.Load.MaxBatchSize, t.cfg.MaxBytes) }

func (t *Task) limits(b *batch, wait time.Duration) source.Limits {
	return source.Limits{
		MaxRecords: int32(min(max(1, t.rows-b.records), t.fetch)),
		MaxBytes:   int32(t.ask(min(max(1, t.maxBytes()-b.bytes), maxFetch))),
		MaxWait:    wait,
	}
}

// fetched tells the status of a fetch.
func (t *Task) fetched(b *batch, f source.Fetch, err error) {
	for i := range f.Partitions {
		p := &f.Partitions[i]
		if t.graver(p, err, b) {
			err = p.Err
		}
		t.status.delivered(p.Deliveries)
	}
	if err != nil {
		t.trouble(t.cfg.Blame(err), err)
	} else {
		t.status.recovered(backendv1.TroubleKind_TROUBLE_KIND_BROKER, backendv1.TroubleKind_TROUBLE_KIND_AUTHORIZATION,
			backendv1.TroubleKind_TROUBLE_KIND_OUT_OF_RANGE, backendv1.TroubleKind_TROUBLE_KIND_UNREADABLE)
	}
	if f.Records() > 0 {
		t.status.records(t.rt.Now())
	}
	t.status.hold(b.records)
}

// graver tells whether to tell of p's trouble instead of err. That a partition
// stands still outweighs what may pass, but only when nothing of it is held any
// more: the job is going to be paused for it, and what was read of it before
// cannot be read again.
func (t *Task) graver(p *source.Partition, err error, b *batch) bool {
	if p.Err == nil {
		return false
	}
	switch t.cfg.Blame(p.Err) {
	case backendv1.TroubleKind_TROUBLE_KIND_OUT_OF_RANGE, backendv1.TroubleKind_TROUBLE_KIND_UNREADABLE:
		return b.index(p.ID()) < 0
	}
	return err == nil
}

// trouble remembers what went wrong for the heartbeat.
func (t *Task) trouble(kind backendv1.TroubleKind, err error) {
	if kind != backendv1.TroubleKind_TROUBLE_KIND_UNSPECIFIED {
		t.status.trouble(kind, err.Error())
	}
}
