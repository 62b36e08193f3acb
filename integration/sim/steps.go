package sim

import (
	"math/rand/v2"
	"time"

	"shoal/integration/sim/raftmodel"
)

// A step is a place in what a leader does, where it may be replaced.
type step int

const (
	Barrier   step = iota // elected, earlier terms not applied
	Heartbeat             // before one is sent
	Submit
	Register
	Received  // CommitTxns, not in the log
	Appended  // in the log, on no disk
	Committed // applied, not answered
	Schedule  // before a command of the plan
	Leave     // the plan is carried out, lost members are in the group still
	Audit     // looked, nothing proposed
	Probe     // read, nothing settled
	Repair
	Forget
	TakenOff // the job's tasks, to pin the group again
	Emptied  // the group, and not pinned
	Judged   // files, and none removed
	Statement
	steps
)

func (s step) String() string {
	return [...]string{
		"before its barrier", "before a heartbeat", "before SubmitTask", "before RegisterBackend",
		"with CommitTxn received", "with CommitTxn appended", "with CommitTxn committed and not answered",
		"before it schedules tasks", "before lost members leave", "between look and audit", "between probe and settling",
		"before a repair", "before it forgets voids", "with tasks taken off", "before it pins the group again",
		"between judging and removing files", "in a statement",
	}[s]
}

// A leaderChange is how a leader is replaced.
type leaderChange int

const (
	itDies leaderChange = iota
	itFreezes
	itIsCutOff // from the other frontends, and goes on as long as it believes to lead
	itTransfers
	leaderChanges
)

// arm has the next leader that comes to a step be replaced there. Steps that
// few come to are armed more often.
func (s *Sim) arm(rng *rand.Rand) bool {
	st := step(rng.IntN(int(steps)))
	if rng.IntN(2) == 0 {
		st = []step{Leave, Probe, Repair, Forget, TakenOff, Emptied}[rng.IntN(6)]
	}
	s.armed[st] = leaderChange(rng.IntN(int(leaderChanges)))
	return true
}

// at is a step of what a leader does.
func (l *leadership) at(st step) {
	s := l.s
	if s.check.term > l.term {
		s.check.stats.add(Stale)
	}
	change, armed := s.armed[st]
	if !armed {
		return
	}
	delete(s.armed, st)
	l.replace(st, change)
	s.w.sleep(s.w.between(0, 2*raftmodel.Election)) // what it does next, if it can, is late
}

// replace has another frontend lead, in time.
func (f *frontend) replace(st step, change leaderChange) {
	s := f.s
	s.w.tell("%s is replaced %s", f.name, st)
	s.check.stats.changes[st]++
	switch change {
	case itDies:
		f.crash(s.w.between(0, 20*time.Second))
	case itFreezes:
		f.proc.frozenUntil = s.w.now.Add(s.w.between(raftmodel.Election, 4*raftmodel.Election))
	case itIsCutOff:
		var others []place
		for _, other := range s.frontends {
			if other != f {
				others = append(others, other.place())
			}
		}
		s.net.isolate(f.place(), others, true, true, s.w.now.Add(s.w.between(raftmodel.Election, 4*raftmodel.Election)))
	case itTransfers:
		f.node.Transfer()
	}
}

// armed is a step that an event is in: what happens, happens right behind it.
func (f *frontend) armed(st step) {
	change, armed := f.s.armed[st]
	if !armed {
		return
	}
	delete(f.s.armed, st)
	f.s.w.after(f.proc, 0, func() { f.replace(st, change) })
}

// A deadly step is a place in what a task does, where its backend may die.
type deadly int

const (
	Written  deadly = iota // files, and no CommitTxn sent
	Sent                   // CommitTxn, which may be on its way or lost
	Answered               // and nothing acknowledged
	deadlySteps
)

func (d deadly) String() string {
	return [...]string{"with files written", "with CommitTxn sent", "with its answer, before the acknowledgement"}[d]
}

// at is a step of what a task of b does.
func (b *backend) at(d deadly) {
	if b.s.deadly[d] {
		delete(b.s.deadly, d)
		b.s.check.stats.deaths[d]++
		b.crash(b.s.w.between(0, 5*time.Second))
		b.s.w.live()
	}
}
