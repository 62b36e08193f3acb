package lease

import (
	"testing"

	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
)

func TestOldest(t *testing.T) {
	st, index := state.New(), uint64(0)
	next := func() {
		index++
		st.Apply(index, &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{}}})
	}
	var l Leases
	check := func(want uint64) {
		t.Helper()
		if got := l.Oldest(st); got != want {
			t.Errorf("at version %d the oldest that is read is %d, want %d", index, got, want)
		}
	}
	check(0)
	next()
	first, again := l.Hold(st), l.Hold(st)
	next()
	next()
	second := l.Hold(st)
	next()
	check(1)
	first()
	first() // once is enough, twice is none of the other's
	check(1)
	again()
	check(3)
	next()
	second()
	check(5)
}
