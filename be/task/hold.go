package task

import (
	"context"
	"fmt"
	"time"

	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
)

// attend runs work in a child and keeps the locks of b until it is done. When
// it must not take longer, because of until or because ctx ended, it releases
// everything, has the child end, and says why. lost tells that a part of b was
// lost, so that work was for nothing; once CommitTxn is sent this is of no
// interest, since the ledger decides who was first.
func (t *Task) attend(ctx context.Context, b *batch, until time.Time, sent bool, work func(context.Context)) (lost bool, err error) {
	child, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done := t.rt.Go(func() { work(child) })
	for !t.rt.Wait(ctx, done, earlier(until, t.renewAt(b))) {
		now := t.rt.Now()
		switch {
		case !now.Before(until):
			err = errSlow
			if sent {
				err = errHeld
			}
		case ctx.Err() != nil && !sent:
			err = errDrained
		case ctx.Err() != nil:
			ctx = context.WithoutCancel(ctx)
			until = earlier(until, t.drainUntil(b))
			b.renewed = time.Time{}
			continue
		default:
			if t.renew(ctx, b) && !sent {
				lost = true
				cancel()
			}
			continue
		}
		cancel()
		t.release(ctx, b)
		t.rt.Wait(context.Background(), done, time.Time{})
		return lost, err
	}
	return lost, nil
}

// drainUntil is how long a task that is to end asks for a txn whose CommitTxn
// was sent: until the locks end, or without locks for a little while, since
// nobody waits for what it holds.
func (t *Task) drainUntil(b *batch) time.Time {
	if b.lockedUntil.IsZero() {
		return t.rt.Now().Add(drainWait)
	}
	return b.lockedUntil
}

// earlier is the earlier of two times, zero being none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// renewAt is when the locks of b are due, zero for never.
func (t *Task) renewAt(b *batch) time.Time {
	if b.renewed.IsZero() || b.empty() {
		return time.Time{}
	}
	return b.renewed.Add(t.lock / 3)
}

// renew starts the locks of b anew, and drops the partitions that are lost:
// somebody else may be loading them already. It tells whether there were any.
func (t *Task) renew(ctx context.Context, b *batch) (lost bool) {
	results, lockedUntil := t.cfg.Source.Acknowledge(context.WithoutCancel(ctx), b.acks(source.Renew))
	b.renewed = t.rt.Now()
	for _, r := range results {
		switch r.Outcome {
		case source.Applied:
		case source.Retry:
			// Still held, but only until the lock that it has.
			lockedUntil = time.Time{}
			b.renewed = b.renewed.Add(-t.lock / 6)
		default:
			t.cfg.Logger.Info("lock not renewed", "partition", r.Partition, "outcome", r.Outcome, "cause", r.Err)
			lost = true
			b.lose(r.PartitionID)
		}
	}
	if !lockedUntil.IsZero() {
		b.lockedUntil = lockedUntil
	}
	t.status.hold(b.records)
	return lost
}

// release gives back everything that b holds. It costs each record a delivery.
func (t *Task) release(ctx context.Context, b *batch) {
	t.acknowledge(ctx, append(b.acks(source.Release), b.unread...))
	t.status.hold(0)
}

// giveBackUnread releases what could not be decoded. Others may fare better;
// in the end the broker archives it, and the auditor finds it.
func (t *Task) giveBackUnread(ctx context.Context, b *batch) error {
	if len(b.unread) == 0 {
		return nil
	}
	t.acknowledge(ctx, b.unread)
	err := fmt.Errorf("records were released that could not be decoded: %w", b.why)
	t.trouble(backendv1.TroubleKind_TROUBLE_KIND_BROKER, err)
	return err
}

// acknowledge sends acks now, also when the task is to end.
func (t *Task) acknowledge(ctx context.Context, acks []source.Ack) {
	if len(acks) == 0 {
		return
	}
	results, _ := t.cfg.Source.Acknowledge(context.WithoutCancel(ctx), acks)
	t.acknowledged(results)
}
