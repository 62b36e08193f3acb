package pipe

import (
	"context"
	"errors"
	"testing"
	"time"

	"shoal/be/decode"
	"shoal/be/source"
)

// slowFeed takes a minute for each batch.
type slowFeed struct{ clock *time.Time }

func (f slowFeed) next() (*decode.Batch, error) {
	*f.clock = f.clock.Add(time.Minute)
	return &decode.Batch{}, nil
}

// TestBlame: records are blamed for a write that was ended only if they took most
// of its time, and not a turn to write, a disk or a bucket that hangs.
func TestBlame(t *testing.T) {
	clock := time.Unix(0, 0)
	w := &writer{pipe: &Pipe{cfg: Config{Now: func() time.Time { return clock }}}, now: clock}
	rows := timedFeed{slowFeed{&clock}, w}
	for range 2 {
		if _, err := rows.next(); err != nil {
			t.Fatal(err)
		}
	}
	failure := errors.New("it was interrupted")
	if err := w.blame(t.Context(), failure); err != failure {
		t.Errorf("nobody ended the write: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.blame(ended, failure); !errors.Is(err, source.ErrDecoding) || !errors.Is(err, failure) {
		t.Errorf("records took all the time: %v", err)
	}
	clock = clock.Add(2 * time.Minute)
	if err := w.blame(ended, failure); err != failure {
		t.Errorf("records took half the time: %v", err)
	}
}
