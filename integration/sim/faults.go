package sim

import (
	"time"

	raftlogv1 "shoal/proto/raftlog/v1"
)

// produce appends to the logs while there is weather, and at least until there
// are enough records.
func (s *Sim) produce() {
	w := s.w
	for range s.cfg.Transactions {
		log := s.broker.parts[w.rng.IntN(len(s.broker.parts))].log
		log.append(1, open)
		log.decide(!w.chance(0.1))
	}
	gap := s.cfg.Weather / time.Duration(s.cfg.Records/2+1)
	for n := 0; n < s.cfg.Records; {
		w.sleep(w.between(0, gap))
		log := s.broker.parts[w.rng.IntN(len(s.broker.parts))].log
		size := 1 + w.rng.IntN(8)
		undecided := log.stable() < log.end()
		switch {
		case undecided && w.chance(0.5):
			log.decide(w.chance(0.5))
			size = 1
		case w.chance(0.2):
			log.append(size, open)
		default:
			log.append(size, plain)
		}
		n += size
	}
	for _, p := range s.broker.parts {
		if p.log.stable() < p.log.end() {
			p.log.decide(true)
		}
	}
	s.produced = true
}

// A Fault is a kind of thing that happens.
type Fault int

const (
	KillBackend Fault = iota
	KillFrontend
	Snapshot
	FailOver
	Disconnect
	Pause
	Retention
	Compaction
	FullWarehouse
	SlowWrites
	Freeze
	ChangeMode
	Reject
	SkipAhead
	faults // how many there are
)

// happen lets a fault happen once.
func (s *Sim) happen(f Fault) {
	switch f {
	case KillBackend:
		s.killBackend()
	case KillFrontend:
		s.killFrontend()
	case Snapshot:
		s.fe.saveAlive()
	case FailOver:
		s.failOver()
	case Disconnect:
		s.disconnect()
	case Pause:
		s.pauseJob()
	case Retention:
		s.retain()
	case Compaction:
		s.compact()
	case FullWarehouse:
		s.fillWarehouse()
	case SlowWrites:
		s.slowWrites()
	case Freeze:
		s.freeze()
	case ChangeMode:
		s.changeMode()
	case Reject:
		s.reject()
	case SkipAhead:
		s.skipAhead()
	}
}

// disturb lets things happen, then stops.
func (s *Sim) disturb() {
	w := s.w
	end := w.start.Add(s.cfg.Weather)
	for len(s.cfg.Faults) > 0 {
		w.sleep(w.between(0, 2*s.cfg.Unsettled))
		if w.now.After(end) {
			break
		}
		s.happen(s.cfg.Faults[w.rng.IntN(len(s.cfg.Faults))])
	}
	w.tell("all is calm")
	s.calm = true
	s.writes = 20 * time.Millisecond
	s.refusesUntil = w.now
}

func (s *Sim) someBackend() *backend { return s.backends[s.w.rng.IntN(len(s.backends))] }

func (s *Sim) killBackend() {
	b := s.someBackend()
	if b.proc.dead {
		return
	}
	s.w.tell("%s dies", b.name)
	s.check.stats.Kills++
	b.kill()
	s.later(20*time.Second, b.start)
}

func (s *Sim) killFrontend() {
	if s.fe.proc == nil {
		return
	}
	s.w.tell("the frontend dies")
	s.check.stats.Restarts++
	s.fe.kill()
	s.later(20*time.Second, s.fe.start)
}

// later does something after a time, whatever dies meanwhile.
func (s *Sim) later(most time.Duration, do func()) {
	s.w.spawn(&process{name: "world"}, func() {
		s.w.sleep(s.w.between(0, most))
		do()
	})
}

func (f *frontend) saveAlive() {
	if f.proc != nil {
		f.s.w.tell("the frontend takes a snapshot")
		f.save()
	}
}

func (s *Sim) failOver() {
	p := s.w.rng.IntN(len(s.broker.parts))
	s.w.tell("partition %d gets another leader", p)
	s.check.stats.FailOvers++
	s.broker.tick()
	s.broker.failOver(p)
}

func (s *Sim) disconnect() {
	if n := len(s.broker.members); n > 0 {
		m := s.broker.members[s.w.rng.IntN(n)]
		noticed := s.w.chance(0.5)
		s.w.tell("%s loses its connection, noticed: %v", m.id, noticed)
		s.broker.disconnect(m.id, noticed)
	}
}

func (s *Sim) pauseJob() {
	if s.fe.proc != nil {
		s.fe.pause(onAWhim)
	}
}

// changeMode is a pause, and ALTER ROUTINE LOAD to the other mode.
func (s *Sim) changeMode() {
	if s.fe.proc != nil {
		s.fe.pause(onAWhim)
		s.fe.alterMode()
	}
}

// reject is a foreign member of the group, which rejects what it gets.
func (s *Sim) reject() {
	const stranger = "stranger"
	p := s.w.rng.IntN(len(s.broker.parts))
	share := s.broker.parts[p].share
	for _, g := range share.acquire(stranger, 1+s.w.rng.IntN(20), s.w.now) {
		share.acknowledge(stranger, []ack{{g.Range, ackReject}}, s.w.now)
		s.w.tell("a stranger rejects %d:%v", p, g.Range)
	}
}

// skipAhead moves the group's offsets forward, which Kafka lets anybody do while
// nobody is in it.
func (s *Sim) skipAhead() {
	if len(s.broker.members) > 0 {
		return
	}
	p := s.w.rng.IntN(len(s.broker.parts))
	part := s.broker.parts[p]
	part.share.pin(min(part.log.end(), part.share.start+1+s.w.rng.Int64N(20)))
	s.w.tell("the group's offset of partition %d is moved to %d", p, part.share.start)
}

// retain deletes the head of a log.
func (s *Sim) retain() {
	p := s.w.rng.IntN(len(s.broker.parts))
	part := s.broker.parts[p]
	part.log.start = min(part.log.stable(), part.log.start+s.w.rng.Int64N(12))
	s.w.tell("log of partition %d starts at %d", p, part.log.start)
}

// compact removes records of a log.
func (s *Sim) compact() {
	p := s.w.rng.IntN(len(s.broker.parts))
	log := s.broker.parts[p].log
	for o := log.start; o < log.stable(); o++ {
		if log.entries[o].kind == plain && s.w.chance(0.1) {
			log.entries[o].kind = removed
		}
	}
	s.w.tell("partition %d is compacted", p)
}

func (s *Sim) fillWarehouse() {
	s.refusesUntil = s.w.now.Add(s.w.between(0, 2*s.cfg.Lock))
	s.w.tell("the warehouse is full until %.1fs", s.refusesUntil.Sub(s.w.start).Seconds())
}

func (s *Sim) slowWrites() {
	s.writes = s.w.between(0, s.cfg.Lock)
	s.w.tell("writes take up to %v", s.writes)
}

// freeze stops a process for a while without ending it.
func (s *Sim) freeze() {
	b := s.someBackend()
	b.proc.frozenUntil = s.w.now.Add(s.w.between(0, 3*s.cfg.Lock))
	s.w.tell("%s is frozen until %.1fs", b.name, b.proc.frozenUntil.Sub(s.w.start).Seconds())
}

// onAWhim is why a person pauses a job.
const onAWhim = "on a whim"

// operate is a person who resumes a job that paused, a while later; for that to
// bring back what the group gave up on, nobody may be in it.
func (s *Sim) operate() {
	for {
		s.w.sleep(s.w.between(0, 20*time.Second))
		job := s.fe.job()
		switch {
		case s.fe.proc == nil, job.State != raftlogv1.JobState_JOB_STATE_PAUSED:
		case job.Reason != onAWhim && len(s.broker.members) > 0 && s.w.chance(0.9):
			s.broker.tick()
		default:
			s.fe.resume()
		}
	}
}
