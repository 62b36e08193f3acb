package share

import "time"

const (
	firstRest = 50 * time.Millisecond
	maxRest   = 2 * time.Second
)

// A backoff spaces retries: each failure in a row doubles the rest. The zero
// value is rested.
type backoff struct {
	failures int
	until    time.Time // zero when rested
	cause    error
}

func (b *backoff) fail(cause error) {
	rest := maxRest
	if b.failures < 6 { // beyond, the shift passes maxRest
		rest = min(maxRest, firstRest<<b.failures)
	}
	b.failures++
	b.until, b.cause = time.Now().Add(rest), cause
}

func (b *backoff) ok() { *b = backoff{} }

func (b *backoff) resting() bool { return time.Now().Before(b.until) }
