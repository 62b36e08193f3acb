package offsets_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shoal/internal/offsets"
)

const universe = 24

// bits is the naive twin of a Set: a bool for each offset of a small universe.
type bits [universe]bool

func (b bits) set() offsets.Set {
	var ranges []offsets.Range
	for o, in := range b {
		if in {
			ranges = append(ranges, offsets.Range{First: int64(o), Last: int64(o)})
		}
	}
	return offsets.Of(ranges...)
}

func combine(a, b bits, f func(a, b bool) bool) (out bits) {
	for i := range a {
		out[i] = f(a[i], b[i])
	}
	return out
}

func TestSetAgainstBits(t *testing.T) {
	draw := rapid.Custom(func(t *rapid.T) (b bits) {
		for i := range b {
			b[i] = rapid.Bool().Draw(t, "in")
		}
		return b
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		cut := rapid.Int64Range(-1, universe).Draw(t, "cut")
		as, bs := a.set(), b.set()
		check := func(name string, got offsets.Set, want bits) {
			if !slices.Equal(got, want.set()) {
				t.Errorf("%s of %v and %v (cut %d) = %v, want %v", name, as, bs, cut, got, want.set())
			}
		}
		check("Union", as.Union(bs), combine(a, b, func(x, y bool) bool { return x || y }))
		check("Intersect", as.Intersect(bs), combine(a, b, func(x, y bool) bool { return x && y }))
		check("Subtract", as.Subtract(bs), combine(a, b, func(x, y bool) bool { return x && !y }))
		above, below := a, a
		var count int64
		for o := range a {
			above[o] = a[o] && int64(o) >= cut
			below[o] = a[o] && int64(o) < cut
			if parsed, err := offsets.Parse(as.String()); err != nil || !slices.Equal(parsed, as) {
				t.Errorf("Parse(%v) = %v, %v", as, parsed, err)
			}
			if as.Contains(int64(o)) != a[o] {
				t.Errorf("%v.Contains(%d) = %v", as, o, !a[o])
			}
			if a[o] {
				count++
			}
		}
		check("Above", as.Above(cut), above)
		check("Below", as.Below(cut), below)
		if as.Count() != count {
			t.Errorf("%v.Count() = %d, want %d", as, as.Count(), count)
		}
	})
}

func TestOfNormalises(t *testing.T) {
	got := offsets.Of(offsets.Range{First: 5, Last: 9}, offsets.Range{First: 3, Last: 2}, offsets.Range{First: 0, Last: 4}, offsets.Range{First: 12, Last: 12})
	if got.String() != "0-9,12" {
		t.Errorf("Of = %v, want 0-9,12", got)
	}
}
