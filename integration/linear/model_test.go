package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	frontendv1 "shoal/proto/frontend/v1"
)

// clients is how many tasks commit at a time. Each is one of the job's, with a
// number of its own for each txn.
const clients = 4

// A call is what a client asks: a commit of offsets under a number, or, with
// number 0, which offsets are loaded.
type call struct {
	client int
	number uint64
	loads  uint64 // offset i as bit i
}

// An answer is what it hears: the outcome, or the loaded offsets.
type answer struct {
	outcome frontendv1.Outcome
	loaded  uint64
}

// A book is all that the service may remember: what is loaded, and each task's
// last txn.
type book struct {
	loaded uint64
	last   [clients]struct {
		number  uint64
		outcome frontendv1.Outcome
	}
}

// commit is the rules of a commit (design, "The delivery ledger"), for one
// partition.
func (b book) commit(c call) (book, frontendv1.Outcome) {
	last := &b.last[c.client]
	switch {
	case c.number == last.number:
		return b, last.outcome
	case c.number < last.number:
		return b, frontendv1.Outcome_OUTCOME_SUPERSEDED
	case b.loaded&c.loads != 0:
		last.outcome = frontendv1.Outcome_OUTCOME_CONFLICT
	default:
		b.loaded |= c.loads
		last.outcome = frontendv1.Outcome_OUTCOME_COMMITTED
	}
	last.number = c.number
	return b, last.outcome
}

// model is one book that answers one call after the other.
var model = porcupine.Model{
	Init: func() any { return book{} },
	Step: func(state, input, output any) (bool, any) {
		b, c, a := state.(book), input.(call), output.(answer)
		if c.number == 0 {
			return a.loaded == b.loaded, b
		}
		next, outcome := b.commit(c)
		return a.outcome == outcome, next
	},
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string {
		c, a := input.(call), output.(answer)
		if c.number == 0 {
			return fmt.Sprintf("read: %x", a.loaded)
		}
		return fmt.Sprintf("txn %d of task %d, %x: %v", c.number, c.client, c.loads, a.outcome)
	},
}
