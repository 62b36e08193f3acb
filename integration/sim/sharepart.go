package sim

import (
	"cmp"
	"slices"
	"time"

	"shoal/internal/offsets"
)

// A recordState is the state of an offset in a share group
// (share-groups.md, 1.1).
type recordState int8

const (
	available recordState = iota
	acquired
	acknowledged
	archived
)

// String is Kafka's name.
func (s recordState) String() string {
	return [...]string{"AVAILABLE", "ACQUIRED", "ACKNOWLEDGED", "ARCHIVED"}[s]
}

// terminal: never delivered again.
func (s recordState) terminal() bool { return s == acknowledged || s == archived }

// A delivery is what a share group knows of one offset.
type delivery struct {
	state recordState
	count int16
	owner string    // member, while acquired
	until time.Time // end of the lock, while acquired
}

// settings are the group's configs.
type settings struct {
	lock   time.Duration // share.record.lock.duration.ms
	limit  int16         // share.delivery.count.limit
	window int64         // share.partition.max.record.locks
}

// A sharePart is a share-partition: a partition's log as one group reads it at
// read_committed.
type sharePart struct {
	cfg   settings
	log   *plog
	stats *stats

	start int64      // SPSO
	fetch int64      // first offset never fetched: SPEO + 1
	known []delivery // of start to fetch

	// What a new leader finds. Acquisitions are not persisted, nor are their
	// delivery counts (1.7).
	storedStart int64
	stored      []delivery
	// described is the start offset that is told to others: it trails the
	// truth by one write.
	described int64
}

// newSharePart is pinned at the log's beginning.
func newSharePart(cfg settings, log *plog, stats *stats) *sharePart {
	s := &sharePart{cfg: cfg, log: log, stats: stats}
	s.pin(0)
	return s
}

// pin is AlterShareGroupOffsets: it wipes states and counts.
func (s *sharePart) pin(start int64) {
	s.start, s.fetch, s.known = start, start, nil
	s.persist()
	s.described = start
}

// at is the delivery of an offset in the window.
func (s *sharePart) at(o int64) *delivery { return &s.known[o-s.start] }

// persist writes the state, as after acknowledgements, releases and time-outs.
func (s *sharePart) persist() {
	s.described = s.storedStart
	for len(s.known) > 0 && s.known[0].state.terminal() {
		s.known = s.known[1:]
		s.start++
	}
	old := s.storedStart
	previous := s.stored
	s.storedStart = s.start
	s.stored = make([]delivery, len(s.known))
	for i, d := range s.known {
		if d.state == acquired {
			// The count of the delivery that runs is not written.
			d = delivery{}
			if at := s.start + int64(i) - old; at >= 0 && at < int64(len(previous)) {
				d.count = previous[at].count
			}
		}
		s.stored[i] = delivery{state: d.state, count: d.count}
	}
}

// failOver is what a new leader makes of what is stored.
func (s *sharePart) failOver() {
	s.start = s.storedStart
	s.known = slices.Clone(s.stored)
	for len(s.known) > 0 && s.known[len(s.known)-1] == (delivery{}) {
		s.known = s.known[:len(s.known)-1]
	}
	s.fetch = s.start + int64(len(s.known))
}

// expire ends the locks that ran out.
func (s *sharePart) expire(now time.Time) {
	s.give(func(d *delivery) bool {
		over := !d.until.After(now)
		if over {
			s.stats.add(ExpiredLocks)
		}
		return over
	})
}

// dropMember ends what a member holds, as when its session is closed.
func (s *sharePart) dropMember(member string) {
	s.give(func(d *delivery) bool { return d.owner == member })
}

// give ends the deliveries that which names.
func (s *sharePart) give(which func(*delivery) bool) {
	changed := false
	for i := range s.known {
		if d := &s.known[i]; d.state == acquired && which(d) {
			s.release(s.start+int64(i), d)
			changed = true
		}
	}
	if changed {
		s.persist()
	}
}

// release ends one delivery without an outcome.
func (s *sharePart) release(o int64, d *delivery) {
	d.state, d.owner = available, ""
	if d.count >= s.cfg.limit {
		s.stats.add(SpentDeliveries)
	}
	if d.count >= s.cfg.limit || o < s.log.start {
		d.state = archived
	}
}

// notice moves the start to the log's, once a fetch ran into it. Below it
// nothing is tracked any more, so whoever holds something there may say of it
// what it likes. It is written with the next acknowledgement.
func (s *sharePart) notice() {
	gone := min(s.log.start-s.start, int64(len(s.known)))
	s.known = s.known[gone:]
	s.start = s.log.start
	s.fetch = max(s.fetch, s.start)
}

// A grant is a range that was acquired, and the highest delivery count in it.
type grant struct {
	offsets.Range
	count int16
}

// acquire hands out up to most records, and the rest of the producer's batch
// that the last of them is in; the window is as soft (1.2). Control records are
// in the ranges, aborted ones are not: those are archived (9.1, point 6). A
// record on its last delivery comes alone (1.4).
func (s *sharePart) acquire(member string, most int, now time.Time) []grant {
	var grants []grant
	before := s.start
	for o := s.start; o < s.log.stable(); o++ {
		if o >= s.fetch {
			full := most <= 0 || s.fetch-before >= s.cfg.window
			if full && !s.goesOn(o, grants) {
				break
			}
			s.known = append(s.known, delivery{})
			s.fetch++
		} else if most <= 0 {
			break
		}
		d := s.at(o)
		if d.state != available {
			continue
		}
		if o < s.log.start {
			s.notice()
			return nil
		}
		if s.log.entries[o].kind == aborted {
			d.state = archived // written with the next acknowledgement
			continue
		}
		last := d.count+1 >= s.cfg.limit && s.cfg.limit > 2
		if last && len(grants) > 0 {
			break
		}
		*d = delivery{state: acquired, count: d.count + 1, owner: member, until: now.Add(s.cfg.lock)}
		if n := len(grants); n > 0 && grants[n-1].Last == o-1 && grants[n-1].count == d.count {
			grants[n-1].Last = o
		} else {
			grants = append(grants, grant{offsets.Range{First: o, Last: o}, d.count})
		}
		most--
		if last {
			break
		}
	}
	return grants
}

// goesOn tells whether o, which was never fetched, is of the batch that was
// acquired last.
func (s *sharePart) goesOn(o int64, grants []grant) bool {
	n := len(grants)
	return n > 0 && grants[n-1].Last == o-1 && s.log.entries[o].batch == s.log.entries[o-1].batch
}

// verb is an acknowledgement's type by Kafka's numbers.
type verb int8

const (
	ackGap     verb = 0
	ackAccept  verb = 1
	ackRelease verb = 2
	ackReject  verb = 3
	ackRenew   verb = 4
)

// An ack is one acknowledgement of a member.
type ack struct {
	offsets.Range
	verb verb
}

// acknowledge applies all acks or, when one names an offset that the member
// does not hold, none. What lies below the start offset is agreed to.
func (s *sharePart) acknowledge(member string, acks []ack, now time.Time) bool {
	slices.SortFunc(acks, func(a, b ack) int { return cmp.Compare(a.First, b.First) })
	for _, a := range acks {
		for o := max(a.First, s.start); o <= a.Last; o++ {
			if o >= s.fetch || s.at(o).state != acquired || s.at(o).owner != member {
				return false
			}
		}
	}
	write := false
	for _, a := range acks {
		for o := max(a.First, s.start); o <= a.Last; o++ {
			d := s.at(o)
			switch a.verb {
			case ackRenew:
				d.until = now.Add(s.cfg.lock)
				continue
			case ackAccept:
				d.state, d.owner = acknowledged, ""
			case ackGap, ackReject:
				d.state, d.owner = archived, ""
			case ackRelease:
				s.release(o, d)
			}
			write = true
		}
	}
	if write {
		s.persist()
	}
	return true
}

// lag is the offsets that may still be delivered, by what is stored.
func (s *sharePart) lag() int64 {
	n := s.log.end() - s.storedStart
	for _, d := range s.stored {
		if d.state.terminal() {
			n--
		}
	}
	return n
}
