package virtual

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"shoal/be/source"
	"shoal/be/task"
	frontendv1 "shoal/proto/frontend/v1"
)

// faults are what goes wrong inside of backends. A nil function is none.
type faults struct {
	mu sync.Mutex
	// write is how long the next write takes, and its error.
	write func(b *backend) (time.Duration, error)
	// read is called with what a backend is about to decode, and takes the time of
	// that.
	read func(ctx context.Context, b *backend, parts []source.Partition)
	// request is how long a CommitTxn is on its way to the frontend.
	request func(b *backend) time.Duration
	// answer tells whether the answer of a CommitTxn is lost.
	answer func(b *backend) (lost bool)
	// afterCommit is called when a txn is committed and not acknowledged yet.
	afterCommit func(b *backend)
	// disk is why the frontend's disk takes no more.
	disk error
}

func (f *faults) full() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.disk
}

// set changes what goes wrong from now on.
func (f *faults) set(change func(f *faults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *faults) writing(b *backend) (time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.write == nil {
		return 0, nil
	}
	return f.write(b)
}

func (f *faults) reading(ctx context.Context, b *backend, parts []source.Partition) {
	f.mu.Lock()
	read := f.read
	f.mu.Unlock()
	if read != nil {
		read(ctx, b, parts)
	}
}

func (f *faults) requesting(b *backend) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.request == nil {
		return 0
	}
	return f.request(b)
}

func (f *faults) answering(b *backend) (lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answer != nil && f.answer(b)
}

func (f *faults) committed(b *backend) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.afterCommit != nil {
		f.afterCommit(b)
	}
}

// pass waits, and tells whether ctx lives on.
func pass(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type faultyWriter struct {
	b      *backend
	writer task.Writer
}

// Ready implements task.Writer: the backend does not know of the faults.
func (f faultyWriter) Ready() error { return nil }

// Write implements task.Writer.
func (f faultyWriter) Write(ctx context.Context, number uint64, label string, parts []source.Partition) (task.Written, error) {
	if f.b.w.faults.reading(ctx, f.b, parts); ctx.Err() != nil {
		return task.Written{}, fmt.Errorf("%w: %w", source.ErrDecoding, ctx.Err())
	}
	delay, err := f.b.w.faults.writing(f.b)
	if err := errors.Join(pass(ctx, delay), err); err != nil {
		return task.Written{}, err
	}
	return f.writer.Write(ctx, number, label, parts)
}

type faultyCommitter struct{ b *backend }

// Commit implements task.Committer.
func (f faultyCommitter) Commit(ctx context.Context, req *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	if err := pass(ctx, f.b.w.faults.requesting(f.b)); err != nil {
		return nil, err
	}
	answer, err := f.b.fe.Commit(ctx, req)
	if err == nil && f.b.w.faults.answering(f.b) {
		return nil, errors.New("the answer was lost")
	}
	return answer, err
}
