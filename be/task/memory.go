package task

import "shoal/be/source"

// A Memory is the share of the process's memory that the task may take.
type Memory interface {
	// Try raises what the task holds to bytes, or says why there is no room.
	Try(bytes int64) error
	// Hold sets what it holds, whether there is room or not.
	Hold(bytes int64)
}

// A fetch asks for compressed bytes, and what lies in memory then is several times
// that. So the first ones ask for little, and it is learned from what they bring.
const (
	firstWant = 1 << 20 // bytes of records in memory that a fetch is wanted to bring
	leastWant = 256 << 10
	// swell is by how much the bytes of a fetch grow in memory. One batch comes
	// whole whatever was asked for, so up to oneBatch does not count as grown.
	firstSwell = 4
	mostSwell  = 64
	oneBatch   = 1 << 20
	// What records take beside their bytes, and the bytes once more: for error rows,
	// rows on their way to the file, and what is garbage until it is collected.
	recordCost = 256
	byteCost   = 2
)

// room makes sure that the memory for another fetch is there: less of it if need
// be, and otherwise not now. What the source has in hand is there already and will
// do to begin a txn with.
func (t *Task) room(b *batch) error {
	if t.cfg.Memory == nil {
		return nil
	}
	t.want = max(leastWant, min(t.want, t.maxBytes()-b.bytes))
	for {
		more := byteCost * t.want
		if b.records == 0 {
			more = max(0, more-t.inHand)
		}
		err := t.cfg.Memory.Try(cost(b) + t.inHand + more)
		if err == nil || t.want == leastWant {
			return err
		}
		t.want = max(leastWant, t.want/2)
	}
}

// ask is how many bytes a fetch asks for, of most.
func (t *Task) ask(most int64) int64 {
	if t.cfg.Memory == nil {
		return most
	}
	return min(most, max(1, t.want/t.swell))
}

// brought counts what a fetch has brought, which is in b by now, and learns of it.
func (t *Task) brought(f source.Fetch, b *batch, asked int64) {
	if t.cfg.Memory == nil {
		return
	}
	t.inHand = f.InHand
	t.cfg.Memory.Hold(cost(b) + t.inHand)
	var got int64
	for i := range f.Partitions {
		got += source.Size(f.Partitions[i].Records)
	}
	switch {
	case got == 0:
		t.want = firstWant
		return
	case got >= t.want/2:
		t.want = min(2*t.want, maxFetch)
	}
	grown := (got + max(asked, oneBatch) - 1) / max(asked, oneBatch)
	t.swell = min(mostSwell, max(1, grown, t.swell*3/4))
}

// letGo tells that nothing is held any more but what the source has in hand.
func (t *Task) letGo() {
	if t.cfg.Memory != nil {
		t.cfg.Memory.Hold(t.inHand)
	}
}

// cost is about what b takes.
func cost(b *batch) int64 { return byteCost*b.bytes + recordCost*int64(b.records) }
