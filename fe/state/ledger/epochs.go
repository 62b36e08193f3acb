package ledger

import (
	"fmt"
	"slices"

	typesv1 "shoal/proto/types/v1"
)

// maxEpochs bounds how many leader epochs a ledger remembers, the newest. Each
// stands for a change of the partition's leader; truncations older than that
// many changes go unnoticed.
const maxEpochs = 64

// An epochSpan is the lowest and the highest loaded offset of a leader epoch.
type epochSpan struct {
	epoch       int32
	first, last int64
}

// epochs is what is known of a partition's leader epochs, as in Kafka's own
// leader epoch cache: ordered by epoch, and so by offset. Only offsets that
// were loaded bear witness, hence a last offset beside the first: between two
// spans nothing is known.
type epochs []epochSpan

// contradict says, for people, how ranges contradict what is known, or "" when
// they don't: a later epoch may not lie below an earlier one, nor in it.
func (e epochs) contradict(ranges []*typesv1.EpochRange) string {
	for _, r := range ranges {
		for _, known := range e {
			if known.epoch > r.LeaderEpoch && known.first <= r.Last || known.epoch < r.LeaderEpoch && known.last >= r.First {
				return fmt.Sprintf("offsets %d-%d now have leader epoch %d, but offsets %d-%d were loaded with leader epoch %d",
					r.First, r.Last, r.LeaderEpoch, known.first, known.last, known.epoch)
			}
		}
	}
	return ""
}

// with is e with loaded ranges that don't contradict it. It may reuse e.
func (e epochs) with(ranges []*typesv1.EpochRange) epochs {
	for _, r := range ranges {
		i, found := slices.BinarySearchFunc(e, r.LeaderEpoch, func(s epochSpan, epoch int32) int {
			return int(int64(s.epoch) - int64(epoch))
		})
		if found {
			e[i].first = min(e[i].first, r.First)
			e[i].last = max(e[i].last, r.Last)
			continue
		}
		e = slices.Insert(e, i, epochSpan{r.LeaderEpoch, r.First, r.Last})
	}
	if over := len(e) - maxEpochs; over > 0 {
		e = slices.Delete(e, 0, over)
	}
	return e
}
