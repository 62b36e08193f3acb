package raftmodel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A cluster is three voters and an observer on a network that loses a tenth of
// all messages, with disks that take their time, in virtual time.
type cluster struct {
	rng     *rand.Rand
	now     time.Time
	queue   []event // ascending
	members []*member

	log      []Entry        // committed, as whoever applied first saw it
	leaders  map[uint64]int // by term
	restored int
	failed   string // the first property that did not hold
}

type event struct {
	at time.Time
	do func()
}

// A member is a machine, and the Env of the node on it.
type member struct {
	*cluster
	id    int
	life  int // what an earlier life asked for is forgotten
	disk  *Disk
	node  *Node
	rules Rules
	state []string // what was applied
}

func newCluster(seed uint64, rules Rules) *cluster {
	c := &cluster{rng: rand.New(rand.NewPCG(seed, 1)), now: time.UnixMilli(0), leaders: map[uint64]int{}}
	for i := range 4 {
		c.members = append(c.members, &member{cluster: c, id: i, disk: NewDisk([][]byte{[]byte("first")}), rules: rules})
	}
	for _, m := range c.members {
		m.start()
	}
	return c
}

func (m *member) start() {
	m.life++
	m.state = nil
	if snapshot, index := m.disk.Snapshot(); snapshot != nil {
		m.Restore(index, snapshot)
	}
	m.node = Start(Config{ID: m.id, Nodes: 4, Voters: 3, Rules: m.rules}, m.disk, m)
}

func (c *cluster) fail(format string, args ...any) {
	if c.failed == "" {
		c.failed = fmt.Sprintf(format, args...)
	}
}

func (c *cluster) at(at time.Time, do func()) {
	i, _ := slices.BinarySearchFunc(c.queue, at, func(e event, at time.Time) int { return e.at.Compare(at) })
	c.queue = slices.Insert(c.queue, i, event{at, do})
}

func (m *member) Now() time.Time { return m.now }

func (m *member) After(d time.Duration, do func()) {
	life := m.life
	m.at(m.now.Add(d), func() {
		if life == m.life {
			do()
		}
	})
}

func (m *member) Between(least, most time.Duration) time.Duration {
	return least + time.Duration(m.rng.Int64N(int64(most-least)+1))
}

func (m *member) Send(to int, msg Message) {
	if m.rng.IntN(10) > 0 {
		m.at(m.now.Add(m.Between(0, 50*time.Millisecond)), func() { m.members[to].node.Receive(m.id, msg) })
	}
}

func (m *member) Synced() time.Duration { return m.Between(0, 300*time.Millisecond) }

func (m *member) Apply(index uint64, e Entry) {
	if index > uint64(len(m.log)) {
		m.log = append(m.log, e)
	} else if was := m.log[index-1]; was.Term != e.Term || string(was.Data) != string(e.Data) {
		m.fail("another entry is applied at %d", index)
	}
	m.state = append(m.state, string(e.Data))
}

func (m *member) Restore(index uint64, snapshot []byte) {
	m.restored++
	m.state = strings.Split(string(snapshot), ",")
	if uint64(len(m.state)) != index {
		m.fail("a snapshot of %d entries is of index %d", len(m.state), index)
	}
}

func (m *member) Elected(term uint64) {
	if _, led := m.leaders[term]; led {
		m.fail("term %d has two leaders", term)
	}
	m.leaders[term] = m.id
}

func (m *member) Leads(uint64) {
	if len(m.state) == 0 || uint64(len(m.state)) != m.node.Applied() {
		m.fail("a leader has applied %d of %d entries", len(m.state), m.node.Applied())
	}
}

func (m *member) Deposed() {}

// play lets things happen for a while, then none, and returns how many entries
// every member has in the end.
func (c *cluster) play() (applied int) {
	storm := c.now.Add(30 * time.Second)
	for end := storm.Add(10 * time.Second); c.failed == "" && c.now.Before(end); {
		e := c.queue[0]
		c.queue, c.now = c.queue[1:], e.at
		e.do()
		m := c.members[c.rng.IntN(len(c.members))]
		m.node.Propose(fmt.Append(nil, c.now.UnixMilli()))
		if c.now.After(storm) {
			continue
		}
		switch c.rng.IntN(200) {
		case 0:
			m.disk.Crash(c.rng.IntN(m.disk.Unsynced() + 1))
			m.start()
		case 1:
			m.node.Compact([]byte(strings.Join(m.state, ",")))
		case 2:
			m.node.Transfer()
		}
	}
	applied = len(c.log)
	for _, m := range c.members {
		applied = min(applied, len(m.state))
	}
	return applied
}

// Whatever crashes and gets lost, all apply the same, no term has two leaders,
// and it goes on.
func TestAgreement(t *testing.T) {
	restored := 0
	for seed := range uint64(100) {
		c := newCluster(seed, Rules{})
		if applied := c.play(); c.failed != "" || applied < 100 || len(c.log)-applied > 100 {
			t.Errorf("seed %d: %s; %d terms, all have applied %d of %d entries", seed, c.failed, len(c.leaders), applied, len(c.log))
		}
		restored += c.restored
	}
	if restored == 0 {
		t.Error("no snapshot was restored")
	}
}

// Rules are needed. (That votes are kept, the simulation shows.)
func TestBrokenRules(t *testing.T) {
	for name, rules := range map[string]Rules{
		"answers unsynced": {AnswersUnsynced: true}, "votes blindly": {VotesBlindly: true},
	} {
		caught := false
		for seed := uint64(0); seed < 300 && !caught; seed++ {
			c := newCluster(seed, rules)
			c.play()
			if caught = c.failed != ""; caught {
				t.Logf("%s: seed %d: %s", name, seed, c.failed)
			}
		}
		if !caught {
			t.Errorf("%s: not noticed", name)
		}
	}
}
