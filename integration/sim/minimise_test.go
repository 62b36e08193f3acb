package sim

import (
	"reflect"
	"testing"
)

// A universe that fails is made smaller, still fails by the same property, and
// is made anew by what is printed of it.
func TestMinimise(t *testing.T) {
	for _, m := range []Mutation{NoConflicts, SplitApply, AcceptFirst} {
		var found Config
		var violation string
		each(1, 1000, m.in(nil), func(cfg Config, o Outcome) bool {
			found, violation = cfg, o.Violation
			return violation == ""
		})
		if violation == "" {
			t.Fatalf("mutation %d is not caught", m)
		}
		small := minimise(found, violation)
		long, short := Run(found, true), Run(small, true)
		if short.Violation == "" || short.Violation[:2] != violation[:2] {
			t.Errorf("seed %d: %q became %q", found.Seed, violation, short.Violation)
		}
		if len(small.happens()) > len(found.happens()) || len(short.Story) > len(long.Story) {
			t.Errorf("seed %d: %d faults and %d bytes of story became %d and %d",
				found.Seed, len(found.happens()), len(long.Story), len(small.happens()), len(short.Story))
		}
		said := trim(found, small)
		again, err := apply(found, said)
		if err != nil || !reflect.DeepEqual(again, small) {
			t.Errorf("%q makes %+v, %v; want %+v", said, again, err, small)
		}
		t.Logf("seed %d: %d faults and %d lines became %d and %d: %s\n%s", found.Seed,
			len(found.happens()), lines(long.Story), len(small.happens()), lines(short.Story), said, tail(short.Story))
	}
	for _, bad := range []string{"network", "rain=3", "only=x", "tasks=many"} {
		if _, err := apply(Config{}, bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
