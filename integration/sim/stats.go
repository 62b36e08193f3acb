package sim

import (
	"fmt"
	"strings"
)

// A Count is something that is counted, so that what never happens shows.
type Count int

// Of messages, in the order of fates; of what follows from faults; of what the
// code under test did.
const (
	LostRequests Count = iota
	LostAnswers
	LateMessages
	RepeatedMessages
	CutRequests
	CutAnswers
	ExpiredLocks
	SpentDeliveries // records that the group gave up at its delivery limit
	LostEntries     // of a frontend's log, in a crash
	LostFiles       // that a backend had not synced, in a crash
	RemovedFiles
	Poisoned // backends, by a record
	Installs // snapshots that a follower got from its leader
	Leaders
	Stale // steps of a leader while another had a later term
	Commits
	Conflicts
	Refused
	Waits
	Released
	Pauses
	Modes
	Pins
	Voids
	Expired
	Repaired
	counts
)

func (c Count) String() string {
	return [...]string{
		"requests lost", "answers lost", "messages late", "messages repeated", "requests cut off", "answers cut off",
		"locks expired", "records given up at the delivery limit", "log entries lost in crashes", "files lost in crashes", "files removed", "deaths by a record", "snapshots installed",
		"leaders", "steps of leaders that were none any more",
		"txns committed", "conflicts", "txns refused", "txns told to wait", "records released", "pauses", "changes of mode", "groups pinned again",
		"offsets void", "offsets expired", "records repaired",
	}[c]
}

// stats are counts over a universe, or over many.
type stats struct {
	counts  [counts]int
	faults  [faults]int
	changes [steps]int // of the leader, in the middle of a step
	deaths  [deadlySteps]int
	ranges  int // most settled ranges that a ledger had above its settled offset
}

func (s *stats) add(c Count) { s.counts[c]++ }

// sum adds another universe's.
func (s *stats) sum(o stats) {
	for i, n := range o.counts {
		s.counts[i] += n
	}
	for i, n := range o.faults {
		s.faults[i] += n
	}
	for i, n := range o.changes {
		s.changes[i] += n
	}
	for i, n := range o.deaths {
		s.deaths[i] += n
	}
	s.ranges = max(s.ranges, o.ranges)
}

// missing names what never happened. Txns wait in TestTransactions only.
func (s *stats) missing() []string {
	var out []string
	s.each(func(what string, n int) {
		if n == 0 && what != Waits.String() {
			out = append(out, what)
		}
	})
	return out
}

func (s *stats) each(tell func(what string, n int)) {
	for f, n := range s.faults {
		tell(Fault(f).String(), n)
	}
	for c, n := range s.counts {
		tell(Count(c).String(), n)
	}
	for c, n := range s.changes {
		tell("leader changes "+step(c).String(), n)
	}
	for d, n := range s.deaths {
		tell("deaths of backends "+deadly(d).String(), n)
	}
}

// String is a line for each.
func (s *stats) String() string {
	var out strings.Builder
	s.each(func(what string, n int) { fmt.Fprintf(&out, "%10d %s\n", n, what) })
	return out.String()
}
