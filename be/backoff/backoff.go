// Package backoff spaces what a source of records tries again: a partition
// that is refused, a broker that does not answer, a look-up that failed. So
// nothing is asked in a hot loop, however often the caller polls.
//
// A Backoff is a value without a goroutine, of the goroutine that owns it. Beside
// it stands what sources need to wait for several leaders in turn.
package backoff

import "time"

const (
	firstRest = 50 * time.Millisecond
	maxRest   = 2 * time.Second
)

// A Backoff spaces retries: each failure in a row doubles the rest, up to two
// seconds. The zero value is rested.
type Backoff struct {
	Failures int
	Until    time.Time // zero when rested
	Cause    error     // of the last failure, nil when rested
}

// Fail begins a rest because of cause.
func (b *Backoff) Fail(cause error) {
	rest := maxRest
	if b.Failures < 6 { // beyond, the shift passes maxRest
		rest = min(maxRest, firstRest<<b.Failures)
	}
	b.Failures++
	b.Until, b.Cause = time.Now().Add(rest), cause
}

// OK ends the rest: it worked.
func (b *Backoff) OK() { *b = Backoff{} }

// Resting tells whether it is too early to try again.
func (b *Backoff) Resting() bool { return time.Now().Before(b.Until) }
