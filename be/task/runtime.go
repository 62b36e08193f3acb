package task

import (
	"context"
	"time"
)

// A Runtime is time and concurrency as a task sees them.
type Runtime interface {
	Now() time.Time
	// Go runs f beside the caller; the channel is closed when f has returned.
	Go(f func()) <-chan struct{}
	// Wait returns when done is closed, at until, or when ctx ends, and tells
	// whether done is closed. A nil done never is; a zero until never comes.
	Wait(ctx context.Context, done <-chan struct{}, until time.Time) bool
}

// Real is the Runtime of goroutines and timers. It works inside a synctest
// bubble.
type Real struct{}

// Now is the wall clock with its monotonic reading.
func (Real) Now() time.Time { return time.Now() }

// Go starts a goroutine.
func (Real) Go(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}

// Wait blocks the calling goroutine.
func (Real) Wait(ctx context.Context, done <-chan struct{}, until time.Time) bool {
	var alarm <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-done:
		return true
	case <-alarm:
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
