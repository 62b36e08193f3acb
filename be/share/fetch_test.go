package share_test

import (
	"testing"

	"shoal/be/source"
)

// Several fetches may be gathered before anything is acknowledged: a fetch
// accepts nothing.
func TestFetchesGather(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		for range 4 {
			w.produce(0, 10)
		}
		m := w.join()
		m.limits.MaxRecords = 10
		var fetches []source.Fetch
		for range 4 {
			fetches = append(fetches, m.fetch())
		}
		m.ack(source.Applied, acks(source.Accept, fetches...)...)
		wantAcquired(t, fetches[3], "30-39", 1)
		m.wantNothing(2 * lock)
	})
}
