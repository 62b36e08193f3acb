package sim

import (
	"math/rand/v2"
	"time"
)

// smallWindow is one that a transaction may fill.
const smallWindow = 10

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
		case s.cfg.Window == smallWindow && w.chance(0.1):
			log.append(2*smallWindow, open) // a window of nothing but aborted records
			log.decide(false)
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

// happenAtBroker lets what happens to logs, group and job happen.
func (s *Sim) happenAtBroker(f Fault, rng *rand.Rand) bool {
	p := rng.IntN(len(s.broker.parts))
	part := s.broker.parts[p]
	switch f {
	case FailOver:
		s.w.tell("partition %d gets another leader", p)
		s.broker.tick()
		s.broker.failOver(p)
	case StateLoss:
		s.w.tell("the group forgets everything of partition %d", p)
		s.broker.tick()
		s.broker.failOver(p)
		part.share.pin(0)
	case Disconnect:
		return s.disconnect(rng)
	case Retention:
		part.log.start = min(part.log.stable(), part.log.start+rng.Int64N(12))
		s.w.tell("log of partition %d starts at %d", p, part.log.start)
	case Compaction:
		part.log.compact(rng)
		s.w.tell("partition %d is compacted", p)
	case Reject:
		return s.reject(p, 1+rng.IntN(20))
	case SkipAhead:
		return s.skipAhead(p, 1+rng.Int64N(20))
	case Pause, ChangeMode:
		l := s.leader()
		if l == nil {
			return false
		}
		s.w.spawn(l.proc, func() {
			if l.pause(); f == ChangeMode {
				l.alterMode()
			}
		})
	}
	return true
}

func (s *Sim) disconnect(rng *rand.Rand) bool {
	n := len(s.broker.members)
	if n == 0 {
		return false
	}
	m := s.broker.members[rng.IntN(n)]
	noticed := rng.IntN(2) == 0
	s.w.tell("%s loses its connection, noticed: %v", m.id, noticed)
	s.broker.disconnect(m.id, noticed)
	return true
}

// reject is a foreign member of the group, which rejects what it gets.
func (s *Sim) reject(p, most int) bool {
	const stranger = "stranger"
	share := s.broker.parts[p].share
	grants := share.acquire(stranger, most, s.w.now)
	for _, g := range grants {
		share.acknowledge(stranger, []ack{{g.Range, ackReject}}, s.w.now)
		s.w.tell("a stranger rejects %d:%v", p, g.Range)
	}
	return len(grants) > 0
}

// skipAhead moves the group's offsets forward, which Kafka lets anybody do while
// nobody is in it.
func (s *Sim) skipAhead(p int, by int64) bool {
	if len(s.broker.members) > 0 {
		return false
	}
	part := s.broker.parts[p]
	part.share.pin(min(part.log.end(), part.share.start+by))
	s.w.tell("the group's offset of partition %d is moved to %d", p, part.share.start)
	return true
}
