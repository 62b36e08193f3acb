package ledger

import (
	"slices"

	"shoal/internal/offsets"
)

// A remembered range is settled as void or expired by the log entry at index.
type remembered struct {
	offsets.Range
	index   uint64
	expired bool
}

// voids is remembered ranges, sorted and disjoint.
type voids []remembered

// at is the index of the first range that ends at or after offset.
func (v voids) at(offset int64) int {
	i, _ := slices.BinarySearchFunc(v, offset, func(r remembered, o int64) int {
		if r.Last < o {
			return -1
		}
		return 1
	})
	return i
}

// within is the remembered offsets that are in s.
func (v voids) within(s offsets.Set) offsets.Set {
	var hits []offsets.Range
	for _, r := range s {
		for i := v.at(r.First); i < len(v) && v[i].First <= r.Last; i++ {
			hits = append(hits, v[i].Range.Intersect(r))
		}
	}
	return offsets.Of(hits...)
}

// without is v less the offsets of s, and how many void and expired offsets
// that takes away.
func (v voids) without(s offsets.Set) (rest voids, void, expired int64) {
	if len(v.within(s)) == 0 {
		return v, 0, 0
	}
	for _, r := range v {
		left := offsets.Set{r.Range}.Subtract(s)
		if gone := r.Count() - left.Count(); r.expired {
			expired += gone
		} else {
			void += gone
		}
		for _, part := range left {
			rest = append(rest, remembered{part, r.index, r.expired})
		}
	}
	return rest, void, expired
}

// with is v and the ranges of s, none of which it has. It may reuse v.
func (v voids) with(s offsets.Set, index uint64, expired bool) voids {
	for _, r := range s {
		v = slices.Insert(v, v.at(r.First), remembered{r, index, expired})
	}
	return v
}

// after is v less what was settled up to index. It may reuse v.
func (v voids) after(index uint64) voids {
	return slices.DeleteFunc(v, func(r remembered) bool { return r.index <= index })
}
