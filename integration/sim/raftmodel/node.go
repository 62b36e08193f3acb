// Package raftmodel is a model of Raft for the simulation: elections by term
// with the check that a candidate's log is as new as the voter's, replication
// by messages, commits by majority, snapshots for those that lag behind, and a
// disk that forgets in a crash what it had not synced.
//
// It has no clock, no chance and no goroutines of its own: an Env gives it all
// three, and carries its messages, which may be lost, late or doubled. A Node
// is one process; what outlives it is its Disk. Like hashicorp/raft, which it
// stands for, a leader replicates what it has on its own disk, leads only once
// everything of earlier terms is applied (the barrier), and gives up when it
// does not hear a majority. Membership does not change, and there is no
// pre-vote: a node that comes back may depose a leader, which costs an
// election.
package raftmodel

import (
	"slices"
	"time"
)

// Election is the least time without a leader until a voter stands for it; the
// most is twice that. A leader that hears no majority for that long gives up.
const (
	Heartbeat = 400 * time.Millisecond
	Election  = 1200 * time.Millisecond
)

// An Entry is one of the log. A leader's first has no data.
type Entry struct {
	Term uint64
	Data []byte
}

// Env is the world of one node. Calls of After are forgotten when its process
// dies.
type Env interface {
	Now() time.Time
	// After does something a while later.
	After(d time.Duration, do func())
	// Between is a time from least to most, by chance.
	Between(least, most time.Duration) time.Duration
	Send(to int, m Message)
	// Synced is how long the disk takes to sync.
	Synced() time.Duration
	// Apply takes in a committed entry, Restore a state as of an index.
	Apply(index uint64, e Entry)
	Restore(index uint64, snapshot []byte)
	// Elected: it won. Leads: and everything of earlier terms is applied.
	// Deposed: it does not lead any more.
	Elected(term uint64)
	Leads(term uint64)
	Deposed()
}

// Rules can be broken, to see that it is noticed.
type Rules struct {
	AnswersUnsynced bool // a follower answers before its disk has the entries
	VotesBlindly    bool // a voter does not look at the candidate's log
	ForgetsVotes    bool // a node that starts does not know whom it voted for
}

// Config is what a node is told.
type Config struct {
	ID     int // of 0 to Nodes-1
	Nodes  int
	Voters int // the first ones; the others observe
	Rules  Rules
}

type role int8

const (
	follower role = iota
	candidate
	leader
)

// A Node is one process.
type Node struct {
	cfg  Config
	env  Env
	disk *Disk

	role     role
	leader   int // -1 while none is known
	votes    []bool
	commit   uint64
	applied  uint64
	deadline time.Time // to stand for leader, unless one is heard
	alarm    int       // which call of After counts

	// Of a leader, by node.
	next, match []uint64
	contact     []time.Time
	barrier     uint64 // its first entry
	leads       bool   // which is applied

	syncing bool
	broken  int   // syncs under way that a truncation made void
	unsent  []due // answers that wait for the disk
}

// A due answer is sent once the disk has everything up to index.
type due struct {
	index uint64
	to    int
	m     Message
}

// Start is a process on what is on its disk. The state at the disk's snapshot
// is restored by the caller.
func Start(cfg Config, disk *Disk, env Env) *Node {
	n := &Node{cfg: cfg, env: env, disk: disk, leader: -1, commit: disk.index, applied: disk.index}
	if cfg.Rules.ForgetsVotes {
		disk.vote = nobody
	}
	n.wait()
	return n
}

// Leader is who leads, as far as is known here; -1 if nobody is.
func (n *Node) Leader() int { return n.leader }

// Applied is the index of the last entry that was applied.
func (n *Node) Applied() uint64 { return n.applied }

// Propose adds data to the log, if n leads. It is committed when Apply is
// called with that index and term, and never when with another term.
func (n *Node) Propose(data []byte) (index, term uint64, ok bool) {
	if !n.leads {
		return 0, 0, false
	}
	return n.append(data), n.disk.term, true
}

func (n *Node) append(data []byte) uint64 {
	n.disk.entries = append(n.disk.entries, Entry{Term: n.disk.term, Data: data})
	n.sync()
	return n.disk.last()
}

// Compact has a snapshot of the state at Applied replace the log up to there.
func (n *Node) Compact(snapshot []byte) {
	if n.applied > n.disk.index {
		n.disk.replace(n.applied, n.disk.termAt(n.applied), snapshot)
	}
}

// Transfer has the follower that is the furthest lead instead.
func (n *Node) Transfer() {
	best := -1
	for i := range n.cfg.Voters {
		if i != n.cfg.ID && n.role == leader && (best < 0 || n.match[i] > n.match[best]) {
			best = i
		}
	}
	if best >= 0 {
		n.env.Send(best, Message{Kind: timeoutNow, Term: n.disk.term})
	}
}

// wait sets the time to stand for leader, if n may.
func (n *Node) wait() {
	if n.cfg.ID < n.cfg.Voters {
		n.heard()
		n.wakeAt(n.deadline)
	}
}

// heard puts that time off.
func (n *Node) heard() { n.deadline = n.env.Now().Add(n.env.Between(Election, 2*Election)) }

func (n *Node) wakeAt(at time.Time) {
	n.alarm++
	alarm := n.alarm
	n.env.After(at.Sub(n.env.Now()), func() {
		if alarm == n.alarm {
			n.wake()
		}
	})
}

func (n *Node) wake() {
	now := n.env.Now()
	switch {
	case n.role == leader && n.alone(now):
		n.depose(n.disk.term)
	case n.role == leader:
		n.broadcast()
		n.wakeAt(now.Add(Heartbeat))
	case now.Before(n.deadline):
		n.wakeAt(n.deadline)
	default:
		n.stand()
	}
}

// alone tells whether a leader has not heard a majority for too long.
func (n *Node) alone(now time.Time) bool {
	heard := 1
	for i := range n.cfg.Voters {
		if i != n.cfg.ID && now.Sub(n.contact[i]) < Election {
			heard++
		}
	}
	return heard*2 <= n.cfg.Voters
}

// stand begins an election.
func (n *Node) stand() {
	n.disk.term++
	n.disk.vote = n.cfg.ID
	n.role, n.leader = candidate, -1
	n.votes = make([]bool, n.cfg.Voters)
	n.votes[n.cfg.ID] = true
	n.wait()
	for i := range n.cfg.Voters {
		if i != n.cfg.ID {
			n.env.Send(i, Message{Kind: voteRequest, Term: n.disk.term, Index: n.disk.last(), LogTerm: n.disk.termAt(n.disk.last())})
		}
	}
	n.count()
}

// count takes over if a majority voted for n.
func (n *Node) count() {
	votes := 0
	for _, v := range n.votes {
		if v {
			votes++
		}
	}
	if n.role != candidate || votes*2 <= n.cfg.Voters {
		return
	}
	n.role, n.leader, n.leads = leader, n.cfg.ID, false
	n.next, n.match, n.contact = make([]uint64, n.cfg.Nodes), make([]uint64, n.cfg.Nodes), make([]time.Time, n.cfg.Nodes)
	for i := range n.next {
		n.next[i], n.contact[i] = n.disk.last()+1, n.env.Now()
	}
	n.env.Elected(n.disk.term)
	n.barrier = n.append(nil)
	n.broadcast()
	n.wakeAt(n.env.Now().Add(Heartbeat))
}

// depose makes n a follower of a term.
func (n *Node) depose(term uint64) {
	if term > n.disk.term {
		n.disk.term, n.disk.vote = term, nobody
	}
	was := n.role
	n.role, n.leader = follower, -1
	if was == leader {
		n.leads = false
		n.env.Deposed()
		n.wait()
	}
}

// broadcast sends everyone what it lacks, or nothing, to be heard.
func (n *Node) broadcast() {
	for i := range n.cfg.Nodes {
		if i != n.cfg.ID {
			n.replicate(i)
		}
	}
}

func (n *Node) replicate(to int) {
	d := n.disk
	if n.next[to] <= d.index {
		n.env.Send(to, Message{Kind: install, Term: d.term, Index: d.index, LogTerm: d.indexTerm, Snapshot: d.snapshot})
		return
	}
	m := Message{Kind: appendEntries, Term: d.term, Index: n.next[to] - 1, LogTerm: d.termAt(n.next[to] - 1), Commit: n.commit}
	if d.synced >= n.next[to] {
		m.Entries = slices.Clone(d.entries[n.next[to]-d.index-1 : d.synced-d.index])
	}
	n.env.Send(to, m)
}

// settle commits what a majority has, of this term.
func (n *Node) settle() {
	n.match[n.cfg.ID] = n.disk.synced
	have := slices.Clone(n.match[:n.cfg.Voters])
	slices.Sort(have)
	if majority := have[(n.cfg.Voters-1)/2]; majority > n.commit && n.disk.termAt(majority) == n.disk.term {
		n.commitTo(majority)
	}
}

// commitTo applies what is committed.
func (n *Node) commitTo(index uint64) {
	n.commit = max(n.commit, index)
	for n.applied < n.commit {
		n.applied++
		n.env.Apply(n.applied, n.disk.at(n.applied))
	}
	if n.role == leader && !n.leads && n.applied >= n.barrier {
		n.leads = true
		n.env.Leads(n.disk.term)
	}
}

// sync has the disk keep what it was given, one sync at a time.
func (n *Node) sync() {
	if n.syncing || n.disk.synced >= n.disk.last() {
		return
	}
	n.syncing = true
	upTo, broken := n.disk.last(), n.broken
	n.env.After(n.env.Synced(), func() {
		n.syncing = false
		if broken == n.broken {
			n.disk.synced = max(n.disk.synced, upTo)
			n.answer()
			if n.role == leader {
				n.settle()
				n.broadcast()
			}
		}
		n.sync()
	})
}

// answer sends what waited for the disk.
func (n *Node) answer() {
	n.unsent = slices.DeleteFunc(n.unsent, func(d due) bool {
		if d.index > n.disk.synced {
			return false
		}
		n.env.Send(d.to, d.m)
		return true
	})
}
