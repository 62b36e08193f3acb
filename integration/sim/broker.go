package sim

import (
	"slices"
	"time"

	"shoal/be/source"
	"shoal/internal/offsets"
)

// topicID is the one topic of the simulation.
var topicID = source.TopicID{0: 0x51, 15: 1}

// sessionTimeout is how long a dead member stays in the group (trap 30).
const sessionTimeout = 45 * time.Second

// A broker is the cluster that holds the topic and the share group.
type broker struct {
	w       *World
	stats   *stats
	parts   []*partition
	members []*groupMember // in order of joining
}

// A partition is a log, its leader and the share-partition on it.
type partition struct {
	log    *plog
	share  *sharePart
	leader int // raised when leadership moves; sessions with an older one are gone
}

// A groupMember is a member as the broker sees it.
type groupMember struct {
	id      string
	session int       // raised when the connection broke
	goneAt  time.Time // when its silence ends its membership; zero while it lives
}

func newBroker(w *World, partitions int, cfg settings, stats *stats) *broker {
	b := &broker{w: w, stats: stats}
	for range partitions {
		log := &plog{epoch: 1}
		b.parts = append(b.parts, &partition{log: log, share: newSharePart(cfg, log, stats)})
	}
	return b
}

// tick does what the broker does by its own clock.
func (b *broker) tick() {
	for _, p := range b.parts {
		p.share.expire(b.w.now)
	}
	for _, m := range slices.Clone(b.members) {
		if !m.goneAt.IsZero() && !m.goneAt.After(b.w.now) {
			b.leave(m.id)
		}
	}
}

func (b *broker) member(id string) *groupMember {
	i := slices.IndexFunc(b.members, func(m *groupMember) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return b.members[i]
}

// join adds a member, or finds it.
func (b *broker) join(id string) *groupMember {
	if m := b.member(id); m != nil {
		return m
	}
	m := &groupMember{id: id}
	b.members = append(b.members, m)
	return m
}

// leave takes a member out of the group and gives back what it holds.
func (b *broker) leave(id string) {
	b.members = slices.DeleteFunc(b.members, func(m *groupMember) bool { return m.id == id })
	b.drop(id)
}

// drop gives back what a member holds.
func (b *broker) drop(id string) {
	for _, p := range b.parts {
		p.share.dropMember(id)
	}
}

// disconnect ends a member's sessions; noticed, what it holds is given back.
func (b *broker) disconnect(id string, noticed bool) {
	if m := b.member(id); m != nil {
		m.session++
	}
	if noticed {
		b.drop(id)
	}
}

// silence is what the broker hears of a member whose process died.
func (b *broker) silence(id string) {
	if m := b.member(id); m != nil && m.goneAt.IsZero() {
		m.goneAt = b.w.now.Add(sessionTimeout)
	}
}

// assigned is what the simple assignor gives a member: partitions are shared
// only where members outnumber them.
func (b *broker) assigned(id string) []int {
	i := slices.IndexFunc(b.members, func(m *groupMember) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	if len(b.members) > len(b.parts) {
		return []int{i % len(b.parts)}
	}
	var out []int
	for p := range b.parts {
		if p%len(b.members) == i {
			out = append(out, p)
		}
	}
	return out
}

// failOver moves the leadership of a partition: locks and the counts of running
// deliveries are forgotten.
func (b *broker) failOver(part int) {
	p := b.parts[part]
	p.leader++
	p.log.epoch++
	p.share.failOver()
}

// fetch acquires for a member and reads what it got.
func (b *broker) fetch(id string, part, most int) source.Partition {
	p := b.parts[part]
	out := source.Partition{TopicID: topicID, Topic: "t", Partition: int32(part)}
	seen := int64(-1) // the last offset of which there is anything in the answer
	for _, g := range p.share.acquire(id, most, b.w.now) {
		out.Acquired = append(out.Acquired, g.Range)
		out.Deliveries = max(out.Deliveries, g.count)
		for o := g.First; o <= g.Last; o++ {
			e := p.log.entries[o]
			if e.kind != removed {
				seen = o
			}
			if e.kind == plain {
				out.Records = append(out.Records, &source.Record{Offset: o, LeaderEpoch: e.epoch, Value: []byte("v")})
			} else {
				out.Gaps = append(out.Gaps, offsets.Range{First: o, Last: o})
			}
		}
	}
	out.Acquired, out.Gaps = offsets.Of(out.Acquired...), offsets.Of(out.Gaps...)
	for o := seen + 1; o < p.log.end() && p.log.entries[o].kind == removed; o++ {
		behind := offsets.Of(offsets.Range{First: o, Last: o}).Intersect(out.Acquired)
		out.Unproven = out.Unproven.Union(behind)
	}
	out.Gaps = out.Gaps.Subtract(out.Unproven)
	return out
}
