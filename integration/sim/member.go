package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"shoal/be/source"
)

// requestTimeout is how long a client waits for a broker's answer.
const requestTimeout = 10 * time.Second

var errNoAnswer = errors.New("no answer from the broker")

// A member is the share source of one task: what be/share is on a real broker,
// with the same contract.
type member struct {
	s       *Sim
	b       *backend
	id      string
	session int                         // the broker's, as this side knows it
	leaders []int                       // of the partitions, as this side knows them
	held    map[source.PartitionID]bool // something was acquired since it was lost
	lost    []source.PartitionID        // not yet reported
	queue   []source.Ack
	turn    int
}

func newMember(b *backend, id string) *member {
	return &member{s: b.s, b: b, id: id, leaders: make([]int, len(b.s.broker.parts)), held: map[source.PartitionID]bool{}, session: -1}
}

func (m *member) ID() string { return m.id }

func (m *member) Assigned() []source.PartitionID {
	var ids []source.PartitionID
	for _, p := range m.s.broker.assigned(m.id) {
		ids = append(ids, partitionID(p))
	}
	return ids
}

func partitionID(p int) source.PartitionID {
	return source.PartitionID{TopicID: topicID, Partition: int32(p)}
}

// sync opens a session where there is none, and finds out what was lost.
func (m *member) sync() {
	b := m.s.broker
	joined := b.join(m.id)
	if m.session != joined.session {
		m.session = joined.session
		m.loseAll()
	}
	for p := range b.parts {
		if m.leaders[p] != b.parts[p].leader {
			m.leaders[p] = b.parts[p].leader
			m.lose(partitionID(p))
		}
	}
}

func (m *member) lose(id source.PartitionID) {
	if m.held[id] {
		delete(m.held, id)
		m.lost = append(m.lost, id)
	}
}

func (m *member) loseAll() {
	for p := range m.s.broker.parts {
		m.lose(partitionID(p))
	}
}

// broken ends the session on both sides, as a lost connection does. The broker
// may take until the locks end to notice.
func (m *member) broken() {
	m.s.broker.disconnect(m.id, m.s.w.chance(0.5))
	m.loseAll()
	if joined := m.s.broker.member(m.id); joined != nil {
		m.session = joined.session
	}
}

func (m *member) Fetch(ctx context.Context, limits source.Limits) (f source.Fetch, err error) {
	w := m.s.w
	deadline := w.now.Add(limits.MaxWait)
	w.Wait(ctx, nil, w.now.Add(w.between(0, limits.MaxWait)))
	fate := m.b.fate()
	if fate == lostRequest {
		w.sleep(requestTimeout)
		f.Acked = outcomes(m.queue, source.Unknown, errNoAnswer)
		m.queue = nil
		m.broken()
	} else {
		m.exchange(limits, &f)
		if fate == lostAnswer {
			m.forget(&f)
			w.sleep(requestTimeout)
			m.broken()
		}
	}
	f.Lost, m.lost = m.lost, nil
	if fate != delivered {
		return f, errNoAnswer
	}
	if f.LockedUntil.IsZero() && w.now.Before(deadline) {
		w.Wait(ctx, nil, deadline)
	} else {
		w.sleep(m.s.hop())
	}
	return f, nil
}

// forget is what remains of an answer that did not arrive.
func (m *member) forget(f *source.Fetch) {
	for i := range f.Acked {
		f.Acked[i].Outcome, f.Acked[i].Err = source.Unknown, errNoAnswer
	}
	f.Partitions, f.LockedUntil = nil, time.Time{}
}

// exchange is a fetch at the broker: acknowledgements first, then one of the
// assigned partitions, each in its turn.
func (m *member) exchange(limits source.Limits, f *source.Fetch) {
	w, b := m.s.w, m.s.broker
	b.tick()
	f.Acked = m.apply(m.queue)
	m.queue = nil
	m.sync()
	assigned := b.assigned(m.id)
	if len(assigned) == 0 {
		return
	}
	m.turn++
	part := assigned[m.turn%len(assigned)]
	most := min(int(limits.MaxRecords), 1+w.rng.IntN(m.s.cfg.FetchRecords))
	p := b.fetch(m.id, part, most)
	if len(p.Acquired) == 0 {
		return
	}
	m.held[p.ID()] = true
	f.Partitions = append(f.Partitions, p)
	f.LockedUntil, f.Lock = w.now.Add(m.s.cfg.Lock), m.s.cfg.Lock
	w.tell("%s acquires %d:%v gaps %v (delivery %d)", m.id, part, p.Acquired, p.Gaps, p.Deliveries)
}

func (m *member) QueueAcks(acks []source.Ack) { m.queue = append(m.queue, acks...) }

func (m *member) Acknowledge(_ context.Context, acks []source.Ack) (results []source.AckResult, lockedUntil time.Time) {
	w := m.s.w
	w.live()
	acks = append(m.queue, acks...)
	m.queue = nil
	sent := w.now
	w.sleep(m.s.hop())
	fate := m.b.fate()
	if fate != lostRequest {
		m.s.broker.tick()
		results = m.apply(acks)
	}
	if fate != delivered {
		w.sleep(requestTimeout)
		m.broken()
		return outcomes(acks, source.Unknown, errNoAnswer), time.Time{}
	}
	w.sleep(m.s.hop())
	if slices.ContainsFunc(acks, func(a source.Ack) bool { return a.Type == source.Renew }) {
		lockedUntil = sent.Add(m.s.cfg.Lock)
	}
	return results, lockedUntil
}

// apply acknowledges at the broker, each partition for itself.
func (m *member) apply(acks []source.Ack) []source.AckResult {
	b := m.s.broker
	results := outcomes(acks, source.Applied, nil)
	for i := range results {
		r := &results[i]
		part := b.parts[r.Partition]
		var of []ack
		for _, a := range acks {
			if a.PartitionID == r.PartitionID {
				of = append(of, ack{a.Range, verb(a.Type)})
			}
		}
		joined := b.member(m.id)
		current := joined != nil && joined.session == m.session && m.leaders[r.Partition] == part.leader
		if !current || !part.share.acknowledge(m.id, of, m.s.w.now) {
			r.Outcome, r.Err = source.Refused, errors.New("INVALID_RECORD_STATE")
		}
		m.s.acknowledged(m.id, int(r.Partition), of, r.Outcome)
	}
	return results
}

// outcomes is one result for each partition of acks.
func outcomes(acks []source.Ack, outcome source.Outcome, err error) []source.AckResult {
	var results []source.AckResult
	for _, a := range acks {
		if !slices.ContainsFunc(results, func(r source.AckResult) bool { return r.PartitionID == a.PartitionID }) {
			results = append(results, source.AckResult{PartitionID: a.PartitionID, Outcome: outcome, Err: err})
		}
	}
	return results
}

func (m *member) Close(ctx context.Context) []source.AckResult {
	m.s.w.live()
	var results []source.AckResult
	if len(m.queue) > 0 {
		results, _ = m.Acknowledge(ctx, nil)
	}
	if m.b.fate() == delivered {
		m.s.broker.leave(m.id)
	} else {
		m.s.broker.silence(m.id)
	}
	return results
}
