package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A Fault is a kind of thing that happens.
type Fault int

const (
	KillBackend Fault = iota
	KillInStep        // a backend, in the middle of a step
	KillFrontend
	PowerCut    // of the leading frontend and a backend at once
	StopBackend // by SIGTERM
	Decommission
	FreezeBackend
	FreezeFrontend
	ChangeLeader // in the middle of a step
	Partition    // both ways
	OneWay
	ClockJump
	SlowDisk // of frontends
	SlowWrites
	FullWarehouse
	Snapshot
	FailOver
	StateLoss // of the share group, at the broker
	Disconnect
	Retention
	Compaction
	Reject
	SkipAhead
	Pause
	ChangeMode
	faults // how many there are
)

func (f Fault) String() string {
	return [...]string{
		"backends die", "a backend is to die in a step", "frontends die", "the leader and a backend die at once", "backends are told to end", "backends are decommissioned", "backends freeze", "frontends freeze", "the leader is to change in a step",
		"a machine is cut off", "a machine is cut off one way", "a frontend's clock jumps", "frontends' disks are slow", "writes are slow",
		"the warehouse is full", "frontends take snapshots", "a partition's leader moves", "the share group's state is lost", "a connection is lost",
		"the head of a log is deleted", "a log is compacted", "a stranger rejects records", "the group's offsets are moved", "the job is paused",
		"the job changes its mode",
	}[f]
}

// A happening is a fault at a time. What it draws is its own, so that leaving
// another out changes nothing about it.
type happening struct {
	nr    int
	at    time.Duration
	fault Fault
	rng   *rand.Rand
}

// plan is what happens in a universe.
func (c *Config) plan() []happening {
	rng := rand.New(rand.NewPCG(c.Seed, 0xfa17))
	var plan []happening
	if len(c.Faults) == 0 {
		return nil
	}
	for at := time.Duration(0); ; {
		at += time.Duration(rng.Int64N(int64(2*c.Unsettled) + 1))
		if at > c.Weather {
			return plan
		}
		h := happening{nr: len(plan), at: at, fault: c.Faults[rng.IntN(len(c.Faults))], rng: rand.New(rand.NewPCG(c.Seed, uint64(len(plan))))}
		plan = append(plan, h)
	}
}

// disturb has things happen for a while, and says which will. What waits for a
// step of the protocol still comes when all is calm, once each.
func (s *Sim) disturb() []int {
	var all []int
	for _, h := range s.cfg.plan() {
		if s.cfg.Only != nil && !slices.Contains(s.cfg.Only, h.nr) {
			continue
		}
		all = append(all, h.nr)
		s.w.after(s.world, h.at, func() {
			if s.happen(h.fault, h.rng) {
				s.check.stats.faults[h.fault]++
			}
		})
	}
	s.w.after(s.world, s.cfg.Weather, func() {
		s.w.tell("all is calm")
		s.calm = true
		s.net.calm()
		s.quieten()
	})
	return all
}

// quieten has disks be quick, and the warehouse take everything.
func (s *Sim) quieten() {
	s.writes, s.syncs = 20*time.Millisecond, 2*time.Millisecond
	s.refusesUntil = s.w.now
}

// happen lets a fault happen once, if it can now.
func (s *Sim) happen(f Fault, rng *rand.Rand) bool {
	switch f {
	case KillBackend:
		return s.killBackend(rng)
	case KillInStep:
		s.deadly[deadly(rng.IntN(int(deadlySteps)))] = true
	case StopBackend:
		return s.stopBackend(rng)
	case Decommission:
		return s.decommission(rng)
	case KillFrontend:
		return s.killFrontend(rng)
	case PowerCut:
		return s.cutPower(rng)
	case FreezeBackend:
		return s.freeze(rng, s.someBackend(rng).proc)
	case FreezeFrontend:
		return s.freeze(rng, s.someFrontend(rng).proc)
	case ChangeLeader:
		return s.arm(rng)
	case Partition:
		return s.partition(rng, true, true)
	case OneWay:
		sends := rng.IntN(2) == 0
		return s.partition(rng, sends, !sends)
	case ClockJump:
		return s.jump(rng)
	case SlowDisk:
		s.syncs = upTo(rng, 3*time.Second)
		s.w.tell("frontends' disks sync within %v", s.syncs)
	case SlowWrites:
		s.writes = upTo(rng, s.cfg.Lock)
		s.w.tell("writes take up to %v", s.writes)
	case FullWarehouse:
		s.refusesUntil = s.w.now.Add(upTo(rng, 2*s.cfg.Lock))
		s.w.tell("the warehouse is full until %.1fs", s.refusesUntil.Sub(s.w.start).Seconds())
	case Snapshot:
		return s.snapshot(rng)
	default:
		return s.happenAtBroker(f, rng)
	}
	return true
}

func upTo(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(most) + 1))
}

func (s *Sim) someBackend(rng *rand.Rand) *backend { return s.backends[rng.IntN(len(s.backends))] }

// someFrontend is the leader half of the time.
func (s *Sim) someFrontend(rng *rand.Rand) *frontend {
	f := s.frontends[rng.IntN(len(s.frontends))]
	if l := s.leader(); l != nil && rng.IntN(2) == 0 {
		return l.frontend
	}
	return f
}

func (s *Sim) killBackend(rng *rand.Rand) bool {
	b := s.someBackend(rng)
	if b.proc.dead {
		return false
	}
	b.crash(upTo(rng, 20*time.Second))
	return true
}

// stopBackend has a backend end its work and start anew.
func (s *Sim) stopBackend(rng *rand.Rand) bool {
	b := s.someBackend(rng)
	if b.proc.dead || b.ends {
		return false
	}
	b.ends = true
	back := upTo(rng, 10*time.Second)
	s.w.spawn(b.proc, func() { b.stop(back) })
	return true
}

// decommission is ALTER SYSTEM DECOMMISSION BACKEND.
func (s *Sim) decommission(rng *rand.Rand) bool {
	l, b := s.leader(), s.someBackend(rng)
	if l == nil || l.idOf(b) == 0 {
		return false
	}
	s.w.tell("%s is decommissioned", b.name)
	s.w.spawn(l.proc, func() { l.decommission(l.idOf(b), false) })
	return true
}

func (s *Sim) killFrontend(rng *rand.Rand) bool {
	f := s.someFrontend(rng)
	if f.proc == nil {
		return false
	}
	f.crash(upTo(rng, 20*time.Second))
	return true
}

func (s *Sim) cutPower(rng *rand.Rand) bool {
	l, b := s.leader(), s.someBackend(rng)
	if l == nil || b.proc.dead {
		return false
	}
	l.crash(upTo(rng, 5*time.Second))
	b.crash(upTo(rng, time.Second))
	return true
}

// freeze stops a process for a while without ending it.
func (s *Sim) freeze(rng *rand.Rand, p *process) bool {
	if p == nil || p.dead {
		return false
	}
	p.frozenUntil = s.w.now.Add(upTo(rng, 3*s.cfg.Lock))
	s.w.tell("%s is frozen until %.1fs", p.name, p.frozenUntil.Sub(s.w.start).Seconds())
	return true
}

// partition cuts a machine off from some or all others.
func (s *Sim) partition(rng *rand.Rand, sends, hears bool) bool {
	at := s.someBackend(rng).place()
	if rng.IntN(2) == 0 {
		at = s.someFrontend(rng).place()
	}
	var others []place
	all := rng.IntN(2) == 0
	for p := range places {
		if p != at && (all || rng.IntN(2) == 0) {
			others = append(others, p)
		}
	}
	until := s.w.now.Add(upTo(rng, 20*time.Second))
	s.net.isolate(at, others, sends, hears, until)
	s.w.tell("place %d is cut off from %v (sends: %v, hears: %v) until %.1fs", at, others, !sends, !hears, until.Sub(s.w.start).Seconds())
	return true
}

// jump sets a frontend's wall clock, by up to a day.
func (s *Sim) jump(rng *rand.Rand) bool {
	f := s.someFrontend(rng)
	f.clock = upTo(rng, 48*time.Hour) - 24*time.Hour
	s.w.tell("the clock of %s jumps to %v off", f.name, f.clock)
	return true
}

func (s *Sim) snapshot(rng *rand.Rand) bool {
	f := s.someFrontend(rng)
	if f.proc == nil || f.proc.frozenUntil.After(s.w.now) {
		return false
	}
	f.save()
	return true
}
