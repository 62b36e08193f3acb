// Package offsets is arithmetic on ranges of Kafka offsets.
//
// Both sides of Shoal speak of offsets in ranges: the broker acquires and
// acknowledges them so, and the delivery ledger keeps what is settled so.
// A Set is always normalised: its ranges are sorted, disjoint and not
// adjacent, so two Sets hold the same offsets exactly when they are equal.
// Everything here is pure; functions return new values and never alias their
// arguments' backing arrays in a way that a later call could change.
package offsets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Range is the offsets First to Last, both inclusive. It is empty when Last
// is below First.
type Range struct{ First, Last int64 }

// Count is the number of offsets in r.
func (r Range) Count() int64 { return max(0, r.Last-r.First+1) }

// Contains tells whether offset lies in r.
func (r Range) Contains(offset int64) bool { return r.First <= offset && offset <= r.Last }

// Intersect is what r and o have in common, possibly empty.
func (r Range) Intersect(o Range) Range {
	return Range{max(r.First, o.First), min(r.Last, o.Last)}
}

// String is "first-last", or one number for a single offset.
func (r Range) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// A Set is a normalised set of offsets. The nil Set is empty.
type Set []Range

// Of makes a Set from ranges in any order, overlapping or not.
func Of(ranges ...Range) Set {
	sorted := make(Set, 0, len(ranges))
	for _, r := range ranges {
		if r.First <= r.Last {
			sorted = append(sorted, r)
		}
	}
	slices.SortFunc(sorted, func(a, b Range) int {
		switch {
		case a.First < b.First:
			return -1
		case a.First > b.First:
			return 1
		}
		return 0
	})
	return merge(sorted)
}

// merge normalises ranges that are sorted by First, in place.
func merge(sorted Set) Set {
	out := sorted[:0]
	for _, r := range sorted {
		if n := len(out); n > 0 && r.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Count is the number of offsets in s.
func (s Set) Count() int64 {
	var n int64
	for _, r := range s {
		n += r.Count()
	}
	return n
}

// Contains tells whether offset is in s, in logarithmic time.
func (s Set) Contains(offset int64) bool {
	i := s.search(offset)
	return i < len(s) && s[i].First <= offset
}

// search is the index of the first range that ends at or after offset.
func (s Set) search(offset int64) int {
	i, _ := slices.BinarySearchFunc(s, offset, func(r Range, o int64) int {
		if r.Last < o {
			return -1
		}
		return 1
	})
	return i
}

// Union is the offsets in s or in o.
func (s Set) Union(o Set) Set {
	sorted := make(Set, 0, len(s)+len(o))
	i, j := 0, 0
	for i < len(s) || j < len(o) {
		if j == len(o) || i < len(s) && s[i].First <= o[j].First {
			sorted = append(sorted, s[i])
			i++
			continue
		}
		sorted = append(sorted, o[j])
		j++
	}
	return merge(sorted)
}

// Intersect is the offsets in both s and o.
func (s Set) Intersect(o Set) Set {
	var out Set
	for i, j := 0, 0; i < len(s) && j < len(o); {
		if both := s[i].Intersect(o[j]); both.First <= both.Last {
			out = append(out, both)
		}
		if s[i].Last < o[j].Last {
			i++
		} else {
			j++
		}
	}
	return out
}

// Subtract is the offsets in s but not in o.
func (s Set) Subtract(o Set) Set {
	var out Set
	j := 0
	for _, r := range s {
		for j < len(o) && o[j].Last < r.First {
			j++
		}
		for k := j; k < len(o) && o[k].First <= r.Last; k++ {
			if r.First < o[k].First {
				out = append(out, Range{r.First, o[k].First - 1})
			}
			r.First = o[k].Last + 1
		}
		if r.First <= r.Last {
			out = append(out, r)
		}
	}
	return out
}

// Above is the part of s at or above offset.
func (s Set) Above(offset int64) Set {
	i := s.search(offset)
	if i == len(s) {
		return nil
	}
	out := slices.Clone(s[i:])
	out[0].First = max(out[0].First, offset)
	return out
}

// Below is the part of s below offset.
func (s Set) Below(offset int64) Set {
	return s.Intersect(Set{{-1 << 62, offset - 1}})
}

// String is the ranges joined by commas, "none" for the empty set.
func (s Set) String() string {
	if len(s) == 0 {
		return "none"
	}
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = r.String()
	}
	return strings.Join(parts, ",")
}

// Parse reads what Set.String prints; "" is the empty set too. The error names
// the first range that cannot be, or that does not lie above the one before it.
func Parse(text string) (Set, error) {
	if text == "" || text == "none" {
		return nil, nil
	}
	var set Set
	for part := range strings.SplitSeq(text, ",") {
		from, to, several := strings.Cut(part, "-")
		if !several {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 62)
		last, err2 := strconv.ParseUint(to, 10, 62)
		r := Range{int64(first), int64(last)}
		if n := len(set); err != nil || err2 != nil || r.Last < r.First || n > 0 && r.First <= set[n-1].Last+1 {
			return nil, fmt.Errorf("%q is no range of offsets, or out of order", part)
		}
		set = append(set, r)
	}
	return set, nil
}
