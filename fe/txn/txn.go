// Package txn is where backends' txns enter the replicated log: it checks that
// a request is whole, and commits requests that wait together as one entry.
//
// A Committer adds no delay. While fewer than maxInFlight entries are under
// way, what has come is proposed at once; otherwise it gathers, so entries get
// larger just when the log is the bottleneck. Each txn in an entry is decided
// by itself (fe/state). Which txns share an entry has no meaning.
//
// Run owns the goroutines. Requests that are malformed end here: the state
// machine never sees them.
package txn

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// maxInFlight is how many entries are under way at once: one that is
	// written, one that waits for the disk, and some on the way back.
	maxInFlight = 4
	// maxBatch and maxBatchBytes bound an entry.
	maxBatch      = 256
	maxBatchBytes = 1 << 20
	// maxQueue is how many requests may wait before callers do.
	maxQueue = 1024
)

// ErrStopped says that the Committer does not run any more. The txn may have
// been committed: ask again elsewhere.
var ErrStopped = errors.New("the frontend is shutting down")

// A Proposer carries out commands through the log.
type Proposer interface {
	Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error)
}

// A Committer commits txns in groups.
type Committer struct {
	proposer Proposer
	queue    chan waiting
	stopped  chan struct{}
}

// waiting is a request whose caller waits for one answer.
type waiting struct {
	req    *frontendv1.CommitTxnRequest
	answer chan<- answer
}

type answer struct {
	resp *frontendv1.CommitTxnResponse
	err  error
}

// New makes a Committer. Requests wait until Run runs.
func New(p Proposer) *Committer {
	return &Committer{proposer: p, queue: make(chan waiting, maxQueue), stopped: make(chan struct{})}
}

// Commit has a txn decided, and returns the decision once it is durable. An
// error is ErrMalformed, the Proposer's, ErrStopped or the context's; after
// all but the first the txn may have been committed, unless the Proposer's
// error says otherwise, and the same request is to be asked again. The request
// must not be changed afterwards.
func (c *Committer) Commit(ctx context.Context, req *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	if err := Validate(req); err != nil {
		return nil, err
	}
	decided := make(chan answer, 1)
	select {
	case c.queue <- waiting{req, decided}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.stopped:
		return nil, ErrStopped
	}
	select {
	case a := <-decided:
		return a.resp, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.stopped:
		return nil, ErrStopped
	}
}

// Run proposes what Commit brings until ctx ends, and returns its error once
// nothing is under way. It may be called once.
func (c *Committer) Run(ctx context.Context) error {
	var underWay sync.WaitGroup
	defer func() {
		underWay.Wait()
		close(c.stopped)
	}()
	slots := make(chan struct{}, maxInFlight)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		var first waiting
		select {
		case first = <-c.queue:
		case <-ctx.Done():
			return ctx.Err()
		}
		batch := c.gather(first)
		underWay.Go(func() {
			c.propose(ctx, batch)
			<-slots
		})
	}
}

// gather takes what waits behind first, up to the bounds of an entry.
func (c *Committer) gather(first waiting) []waiting {
	batch := []waiting{first}
	for size := proto.Size(first.req); len(batch) < maxBatch && size < maxBatchBytes; {
		select {
		case next := <-c.queue:
			batch = append(batch, next)
			size += proto.Size(next.req)
		default:
			return batch
		}
	}
	return batch
}

// propose commits a batch and answers each of it.
func (c *Committer) propose(ctx context.Context, batch []waiting) {
	txns := make([]*frontendv1.CommitTxnRequest, len(batch))
	for i, w := range batch {
		txns[i] = w.req
	}
	result, err := c.proposer.Propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: &raftlogv1.CommitTxns{Txns: txns}}})
	if err == nil {
		err = result.Err
	}
	if err != nil {
		err = fmt.Errorf("commit txn: %w", err)
	}
	for i, w := range batch {
		if err != nil {
			w.answer <- answer{err: err}
		} else {
			w.answer <- answer{resp: result.Txns[i]}
		}
	}
}
