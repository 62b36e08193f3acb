package ledger

import (
	"errors"
	"fmt"

	"shoal/internal/offsets"
	typesv1 "shoal/proto/types/v1"
)

// ErrMalformed marks offsets that no ledger can take.
var ErrMalformed = errors.New("malformed offsets")

// maxOffset keeps the arithmetic on ranges from overflowing; Kafka would need
// a century at a billion records a second to get there.
const maxOffset = 1<<62 - 1

// Validate checks that p names a partition and that its ranges are offsets,
// each list sorted and disjoint and no offset in two lists, and that leader
// epochs don't fall. Whoever proposes offsets calls it first; the error says
// what is wrong and is ErrMalformed.
func Validate(p *typesv1.PartitionOffsets) error {
	if _, ok := KeyOf(p.TopicId, p.Partition); !ok {
		return fmt.Errorf("%w: partition %d of topic id %x does not exist in Kafka", ErrMalformed, p.Partition, p.TopicId)
	}
	loaded, void, expired := asRanges(p.Loaded), asRanges(p.Void), asRanges(p.Expired)
	for _, list := range [][]offsets.Range{loaded, void, expired} {
		if err := validateList(list); err != nil {
			return fmt.Errorf("%w: partition %d: %w", ErrMalformed, p.Partition, err)
		}
	}
	for i := 1; i < len(p.Loaded); i++ {
		if p.Loaded[i].LeaderEpoch < p.Loaded[i-1].LeaderEpoch {
			return fmt.Errorf("%w: partition %d: leader epoch falls from %d to %d at offset %d", ErrMalformed, p.Partition,
				p.Loaded[i-1].LeaderEpoch, p.Loaded[i].LeaderEpoch, p.Loaded[i].First)
		}
	}
	all := allSet(p)
	if sum := offsets.Set(loaded).Count() + offsets.Set(void).Count() + offsets.Set(expired).Count(); sum != all.Count() {
		return fmt.Errorf("%w: partition %d: offsets are given as loaded, void or expired twice", ErrMalformed, p.Partition)
	}
	if len(all) == 0 {
		return fmt.Errorf("%w: partition %d: no offsets", ErrMalformed, p.Partition)
	}
	return nil
}

func validateList(list []offsets.Range) error {
	floor := int64(0)
	for _, r := range list {
		if r.First < floor || r.Last < r.First || r.Last > maxOffset {
			return fmt.Errorf("range %d-%d is reversed, out of bounds or out of order", r.First, r.Last)
		}
		floor = r.Last + 1
	}
	return nil
}

// bounds is a range message: OffsetRange or EpochRange.
type bounds interface {
	GetFirst() int64
	GetLast() int64
}

func asRanges[R bounds](list []R) []offsets.Range {
	ranges := make([]offsets.Range, len(list))
	for i, r := range list {
		ranges[i] = offsets.Range{First: r.GetFirst(), Last: r.GetLast()}
	}
	return ranges
}

func loadedSet(p *typesv1.PartitionOffsets) offsets.Set  { return offsets.Of(asRanges(p.Loaded)...) }
func voidSet(p *typesv1.PartitionOffsets) offsets.Set    { return offsets.Of(asRanges(p.Void)...) }
func expiredSet(p *typesv1.PartitionOffsets) offsets.Set { return offsets.Of(asRanges(p.Expired)...) }

func allSet(p *typesv1.PartitionOffsets) offsets.Set {
	return loadedSet(p).Union(voidSet(p)).Union(expiredSet(p))
}

// cutOut is the parts of ranges that are in s, with their leader epochs.
func cutOut(ranges []*typesv1.EpochRange, s offsets.Set) []*typesv1.EpochRange {
	var out []*typesv1.EpochRange
	for _, r := range ranges {
		for _, part := range s.Intersect(offsets.Set{{First: r.First, Last: r.Last}}) {
			out = append(out, &typesv1.EpochRange{First: part.First, Last: part.Last, LeaderEpoch: r.LeaderEpoch})
		}
	}
	return out
}
