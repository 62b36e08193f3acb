package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shoal/be/source"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

var (
	errSlow    = errors.New("the txn was not written within half the lock duration, or task time-out in classic mode")
	errHeld    = fmt.Errorf("no frontend answered CommitTxn within %d lock durations, or task time-outs in classic mode", HoldLimit)
	errDrained = errors.New("the task was told to end")
)

// load takes what was polled through the pipe, CommitTxn and acknowledgement.
// An error says why records were released; what they need then is time.
func (t *Task) load(ctx context.Context, b *batch) error {
	sendBy := b.acquired.Add(t.lock / 2)
	for b.settleable() {
		req, err := t.write(ctx, b, sendBy)
		if err != nil {
			return err
		}
		if req == nil { // something was lost meanwhile
			continue
		}
		asked := b.offsets()
		answer, err := t.commit(ctx, b, req)
		if err != nil {
			return err
		}
		if done, err := t.answered(ctx, b, req.Label, answer); done {
			return err
		}
		if b.offsets() == asked {
			t.release(ctx, b)
			return t.internal(fmt.Errorf("the frontend says that %s conflicts, but not with what", req.Label))
		}
		sendBy = t.rt.Now().Add(t.lock / 2)
	}
	t.acknowledge(ctx, b.settled()) // what is left is unproven
	return t.giveBackUnread(ctx, b)
}

// answered does what the frontend's answer asks for. The txn is done unless
// some of its offsets were in the table already: the rest is another txn's.
func (t *Task) answered(ctx context.Context, b *batch, label string, answer *frontendv1.CommitTxnResponse) (done bool, err error) {
	t.status.answered()
	switch answer.Outcome {
	case frontendv1.Outcome_OUTCOME_COMMITTED:
		t.committed(ctx, b, label)
		return true, t.giveBackUnread(ctx, b)
	case frontendv1.Outcome_OUTCOME_CONFLICT:
		// At once and alone: a part of it may be another member's, which then
		// fails the partition's whole request (share-groups.md, trap 8).
		t.acknowledge(ctx, t.conflict(b, answer.Conflicts))
		return false, nil
	case frontendv1.Outcome_OUTCOME_ABORTED:
		t.status.aborted()
		err = fmt.Errorf("the frontend refused the txn: %s", answer.Reason)
		t.trouble(backendv1.TroubleKind_TROUBLE_KIND_REFUSED, err)
	default:
		err = &Ended{answer.Outcome, answer.Reason}
		if answer.Outcome == frontendv1.Outcome_OUTCOME_DIVERGED {
			t.trouble(backendv1.TroubleKind_TROUBLE_KIND_REFUSED, err)
		}
	}
	t.release(ctx, b)
	return true, err
}

// internal reports what must not happen.
func (t *Task) internal(err error) error {
	t.trouble(backendv1.TroubleKind_TROUBLE_KIND_INTERNAL, err)
	return err
}

// committed accepts what is settled now. Acknowledgements ride on the next
// fetch, which comes at once unless the task ends or pauses.
func (t *Task) committed(ctx context.Context, b *batch, label string) {
	t.status.committed(t.rt.Now())
	t.rows = min(t.rows+t.rows/4+1, int(t.cfg.Spec.Load.MaxBatchRows))
	if t.cfg.Hooks.AfterCommit != nil {
		t.cfg.Hooks.AfterCommit(label)
	}
	if ctx.Err() != nil || len(b.unread) > 0 {
		t.acknowledge(ctx, b.settled())
		return
	}
	t.cfg.Source.QueueAcks(b.settled())
}

// conflict takes out of b what is loaded already, and returns how to
// acknowledge it.
func (t *Task) conflict(b *batch, conflicts []*typesv1.PartitionOffsets) []source.Ack {
	var acks []source.Ack
	for _, c := range conflicts {
		id := source.PartitionID{Partition: c.Partition}
		copy(id.TopicID[:], c.TopicId)
		var loaded offsets.Set
		for _, r := range c.Loaded {
			loaded = append(loaded, offsets.Range{First: r.First, Last: r.Last})
		}
		i := b.index(id)
		if i < 0 {
			continue
		}
		p := b.parts[i]
		held := p.Acquired.Intersect(offsets.Of(loaded...))
		acks = append(acks, settled(&p, held)...)
		b.drop(id, held)
	}
	t.status.hold(b.records)
	return acks
}

// write runs the pipe. It returns nil and no error when something that the
// files would have held was lost, and b holds less now. On an error everything
// was released.
func (t *Task) write(ctx context.Context, b *batch, sendBy time.Time) (*frontendv1.CommitTxnRequest, error) {
	if b.records == 0 {
		t.take()
		return request(t.cfg.Spec, t.number, b, Written{Counters: &typesv1.Counters{}}), nil
	}
	var w Written
	var last error // of the writer
	t.trying = nil
	parts := t.marked(b.parts)
	lost, err := t.attend(ctx, b, sendBy, false, func(ctx context.Context) {
		t.retry(ctx, backendv1.TroubleKind_TROUBLE_KIND_WAREHOUSE, func() error {
			t.take() // for each attempt, since files of the last may exist
			w, last = t.cfg.Writer.Write(ctx, t.number, label(t.cfg.Spec, t.number), parts)
			return last
		})
	})
	switch {
	case errors.Is(err, errSlow) && t.trying != nil:
		return nil, t.because(err)
	case errors.Is(err, errSlow):
		if errors.Is(last, source.ErrDecoding) {
			t.blameAlone(b)
		}
		if t.classic() { // it takes long to find out: what was written is halved, not what might have been
			t.rows = min(t.rows, b.records)
		}
		t.rows = max(1, t.rows/2)
		t.trouble(backendv1.TroubleKind_TROUBLE_KIND_WAREHOUSE, err)
		return nil, err
	case err != nil || lost:
		return nil, err
	}
	return request(t.cfg.Spec, t.number, b, w), nil
}

// take moves to the next number.
func (t *Task) take() {
	t.number++
	t.status.writing(t.number)
}

// commit asks until there is an answer. On an error everything was released,
// and the txn may still be applied: the ledger decides.
func (t *Task) commit(ctx context.Context, b *batch, req *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	t.status.committing()
	var answer *frontendv1.CommitTxnResponse
	t.trying = nil
	until := t.rt.Now().Add(HoldLimit * t.lock)
	_, err := t.attend(ctx, b, until, true, func(ctx context.Context) {
		t.retry(ctx, backendv1.TroubleKind_TROUBLE_KIND_FRONTEND, func() (err error) {
			answer, err = t.cfg.Committer.Commit(ctx, req)
			return undecided(answer, err)
		})
	})
	if err != nil {
		return nil, t.because(err)
	}
	return answer, nil
}

// because adds to err what the child failed with.
func (t *Task) because(err error) error {
	if t.trying == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, t.trying)
}

// undecided is why the same number has to be asked again, nil if it has not.
func undecided(answer *frontendv1.CommitTxnResponse, err error) error {
	switch {
	case err != nil:
		return err
	case answer.GetOutcome() == frontendv1.Outcome_OUTCOME_WAIT:
		return fmt.Errorf("the frontend makes the txn wait: %s", answer.Reason)
	case answer.GetOutcome() == frontendv1.Outcome_OUTCOME_UNSPECIFIED:
		return errors.New("the frontend gave no outcome")
	}
	return nil
}

// retry does something until it succeeds or ctx ends, with growing pauses.
func (t *Task) retry(ctx context.Context, kind backendv1.TroubleKind, do func() error) {
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		err := do()
		if err == nil || ctx.Err() != nil {
			return
		}
		t.trying = err
		t.trouble(kind, err)
		t.cfg.Logger.Warn("will try again", "trouble", kind, "cause", err, "pause", pause)
		t.rt.Wait(ctx, nil, t.rt.Now().Add(pause))
		if ctx.Err() != nil {
			return
		}
	}
}
