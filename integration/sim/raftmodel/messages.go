package raftmodel

// A Message is one between nodes, of any kind.
type Message struct {
	Kind Kind
	Term uint64 // the sender's
	// Of the last entry of a candidate, the entry before Entries, the snapshot,
	// or the last entry that an answer speaks of.
	Index, LogTerm uint64
	Entries        []Entry
	Commit         uint64
	Snapshot       []byte
	OK             bool
}

// A Kind is what a message is.
type Kind int8

const (
	voteRequest Kind = iota
	voteAnswer
	appendEntries
	install
	appendAnswer // to both
	timeoutNow
)

// Carries tells whether a message has what makes a follower catch up: a
// snapshot.
func (m *Message) Carries() bool { return m.Kind == install }

// Receive takes in a message.
func (n *Node) Receive(from int, m Message) {
	if m.Term > n.disk.term {
		n.depose(m.Term)
	}
	switch m.Kind {
	case voteRequest:
		n.vote(from, m)
	case voteAnswer:
		if n.role == candidate && m.Term == n.disk.term && m.OK {
			n.votes[from] = true
			n.count()
		}
	case appendEntries, install:
		if m.Term < n.disk.term {
			n.env.Send(from, Message{Kind: appendAnswer, Term: n.disk.term})
			return
		}
		n.follow(from)
		if m.Kind == install {
			n.restore(from, m)
		} else {
			n.extend(from, m)
		}
	case appendAnswer:
		if n.role == leader && m.Term == n.disk.term {
			n.answered(from, m)
		}
	case timeoutNow:
		if m.Term == n.disk.term && n.role == follower && n.cfg.ID < n.cfg.Voters {
			n.stand()
		}
	}
}

// vote is for one candidate a term, whose log is as new as n's.
func (n *Node) vote(from int, m Message) {
	last := n.disk.last()
	term := n.disk.termAt(last)
	newer := m.LogTerm > term || m.LogTerm == term && m.Index >= last
	ok := m.Term == n.disk.term && (n.disk.vote == nobody || n.disk.vote == from) && (newer || n.cfg.Rules.VotesBlindly)
	if ok {
		n.disk.vote = from
		n.heard()
	}
	n.env.Send(from, Message{Kind: voteAnswer, Term: n.disk.term, OK: ok})
}

// follow hears the leader of the term.
func (n *Node) follow(from int) {
	n.role, n.leader = follower, from
	n.heard()
}

// extend takes over a leader's entries behind one that both have.
func (n *Node) extend(from int, m Message) {
	d := n.disk
	if m.Index < d.index { // the snapshot has some of them
		have := min(d.index-m.Index, uint64(len(m.Entries)))
		m.Entries, m.Index = m.Entries[have:], m.Index+have
		if m.Index < d.index {
			n.env.Send(from, Message{Kind: appendAnswer, Term: d.term, Index: m.Index, OK: true})
			return
		}
		m.LogTerm = d.indexTerm
	}
	if m.Index > d.last() || d.termAt(m.Index) != m.LogTerm {
		n.env.Send(from, Message{Kind: appendAnswer, Term: d.term, Index: min(d.last(), m.Index-1)})
		return
	}
	for i, e := range m.Entries {
		at := m.Index + 1 + uint64(i)
		if at <= d.last() && d.termAt(at) != e.Term {
			n.truncate(at)
		}
		if at > d.last() {
			d.entries = append(d.entries, e)
		}
	}
	upTo := m.Index + uint64(len(m.Entries))
	has := min(upTo, d.synced)
	if n.cfg.Rules.AnswersUnsynced {
		has = upTo
	}
	n.env.Send(from, Message{Kind: appendAnswer, Term: d.term, Index: has, OK: true})
	if has < upTo {
		n.unsent = append(n.unsent, due{upTo, from, Message{Kind: appendAnswer, Term: d.term, Index: upTo, OK: true}})
	}
	n.sync()
	n.commitTo(min(m.Commit, upTo))
}

// truncate drops entries that another leader has others for. They are never
// committed ones, unless a rule is broken: then it shows when the others are
// applied.
func (n *Node) truncate(from uint64) {
	n.drop(from - 1)
	n.disk.entries = n.disk.entries[:from-n.disk.index-1]
	n.commit, n.applied = min(n.commit, from-1), min(n.applied, from-1)
}

// drop ends what goes on with entries behind one.
func (n *Node) drop(last uint64) {
	n.disk.synced = min(n.disk.synced, last)
	n.broken++
	n.unsent = nil
}

// restore takes over a snapshot.
func (n *Node) restore(from int, m Message) {
	if m.Index > n.commit {
		if m.Index > n.disk.last() || n.disk.termAt(m.Index) != m.LogTerm {
			n.drop(m.Index)
			n.disk.entries, n.disk.index = nil, m.Index
		}
		n.disk.replace(m.Index, m.LogTerm, m.Snapshot)
		n.commit, n.applied = m.Index, m.Index
		n.env.Restore(m.Index, m.Snapshot)
	}
	n.env.Send(from, Message{Kind: appendAnswer, Term: n.disk.term, Index: m.Index, OK: true})
}

// answered learns what a follower has.
func (n *Node) answered(from int, m Message) {
	n.contact[from] = n.env.Now()
	if !m.OK {
		n.next[from] = max(n.match[from], min(n.next[from]-1, m.Index)) + 1
		n.replicate(from)
		return
	}
	n.match[from] = max(n.match[from], m.Index)
	n.next[from] = n.match[from] + 1
	n.settle()
}
