package backoff

import (
	"context"
	"time"
)

// Patience is how long the next of some leaders, one at least, may wait for a
// record. Alone it has all the time. Of several none may keep the others from
// being asked: they answer at once, until each of them had nothing (idle is how
// many answers in a row had none), and then share the time.
func Patience(leaders, idle int, all time.Duration) time.Duration {
	if leaders > 1 && idle < leaders {
		return 0
	}
	return all / time.Duration(leaders)
}

// Wait returns at t, when wake is closed (nil for never), or when ctx ends.
func Wait(ctx context.Context, wake <-chan struct{}, t time.Time) {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}

// Earlier is the earlier of two times, of which b may be zero for none.
func Earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}
