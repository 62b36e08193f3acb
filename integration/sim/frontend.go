package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"shoal/fe/schedule"
	"shoal/fe/state"
	"shoal/integration/sim/raftmodel"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// A frontend is a frontend's machine: its disk, and the process that runs on
// it.
type frontend struct {
	s     *Sim
	id    int
	name  string
	disk  *raftmodel.Disk
	clock time.Duration // how wrong its wall clock is

	// Of the process that runs now; nil while none does.
	proc    *process
	node    *raftmodel.Node
	replica *replica
	waiting map[uint64]*proposal // by log index
	lead    *leadership          // nil unless it leads
}

// A replica is the state as one process has it. It stays as it was when that
// dies.
type replica struct {
	state *state.State
	index uint64                   // of the log; state.Applied leaves out entries without a command
	older map[schedule.Ref]decided // by a mutation only: the last txns of older epochs
}

func newReplica(st *state.State, index uint64) *replica {
	return &replica{state: st, index: index, older: map[schedule.Ref]decided{}}
}

// A proposal waits for its entry to be applied.
type proposal struct {
	term   uint64
	result state.Result
	err    error
	done   chan struct{}
}

var (
	errNotLeader = errors.New("not the leader")
	errUnknown   = errors.New("leadership was lost: the command may have been carried out")
)

func (f *frontend) place() place { return frontendPlace + place(f.id) }

// wall is what its clock shows, which nothing may rely on.
func (f *frontend) wall() int64 { return f.s.w.now.Add(f.clock).UnixMilli() }

// start begins a process on what is on the disk.
func (f *frontend) start() {
	f.proc = &process{name: f.name}
	f.waiting, f.lead = map[uint64]*proposal{}, nil
	f.replica = newReplica(state.New(), 0)
	env := &raftEnv{f, f.proc}
	if snapshot, index := f.disk.Snapshot(); snapshot != nil {
		env.Restore(index, snapshot)
	}
	f.s.w.tell("%s starts", f.name)
	f.node = raftmodel.Start(raftmodel.Config{
		ID: f.id, Nodes: len(f.s.frontends), Voters: voters, Rules: f.s.cfg.Mutation.raft(),
	}, f.disk, env)
}

// crash ends the process, and starts another some time later. What its disk
// had not synced is gone, in part or all.
func (f *frontend) crash(back time.Duration) {
	f.s.w.tell("%s dies", f.name)
	f.endLead()
	f.proc.dead = true
	f.proc = nil
	unsynced := f.disk.Unsynced()
	kept := f.s.w.rng.IntN(unsynced + 1)
	f.disk.Crash(kept)
	f.s.check.stats.counts[LostEntries] += unsynced - kept
	f.s.w.after(f.s.world, back, f.start)
}

// propose has the leader carry out a command: appended, replicated, committed,
// applied. After an error it may have been, except errNotLeader.
func (f *frontend) propose(c *raftlogv1.Command) (state.Result, error) {
	p, err := f.begin(c)
	if err != nil {
		return state.Result{}, err
	}
	f.s.w.Wait(context.Background(), p.done, time.Time{})
	return p.result, p.err
}

// begin appends a command to the leader's log.
func (f *frontend) begin(c *raftlogv1.Command) (*proposal, error) {
	c.AtMs = f.wall()
	entry, err := proto.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("sim: marshal %T: %v", c.Body, err))
	}
	index, term, ok := f.node.Propose(entry)
	if !ok {
		return nil, errNotLeader
	}
	p := &proposal{term: term, done: make(chan struct{})}
	f.waiting[index] = p
	return p, nil
}

// raftEnv is what a process gives its raft.
type raftEnv struct {
	f    *frontend
	proc *process
}

func (e *raftEnv) Now() time.Time { return e.f.s.w.now }

func (e *raftEnv) After(d time.Duration, do func()) { e.f.s.w.after(e.proc, d, do) }

func (e *raftEnv) Between(least, most time.Duration) time.Duration {
	return e.f.s.w.between(least, most)
}

// Send is a message without an answer. One that is late or repeated may arrive
// at a process that was started since.
func (e *raftEnv) Send(to int, m raftmodel.Message) {
	s, from, target := e.f.s, e.f.id, e.f.s.frontends[to]
	arrive := func() {
		if target.proc != nil {
			if m.Carries() {
				s.check.stats.add(Installs)
			}
			target.node.Receive(from, m)
		}
	}
	// The target may be another process when the message arrives, or frozen.
	deliver := func(after time.Duration) {
		s.w.after(s.world, after, func() {
			if target.proc != nil {
				s.w.after(target.proc, 0, arrive)
			}
		})
	}
	switch s.net.fate(e.f.place(), target.place()) {
	case lostRequest:
		return
	case late:
		deliver(s.w.between(0, 5*time.Second))
		return
	case repeated:
		deliver(s.w.between(0, 5*time.Second))
	}
	deliver(s.hop())
}

func (e *raftEnv) Synced() time.Duration { return e.f.s.w.between(0, e.f.s.syncs) }

// Apply gives a committed entry to the state.
func (e *raftEnv) Apply(index uint64, entry raftmodel.Entry) {
	f := e.f
	var result state.Result
	if entry.Data != nil {
		var c raftlogv1.Command
		if err := proto.Unmarshal(entry.Data, &c); err != nil {
			panic(fmt.Sprintf("sim: entry %d: %v", index, err))
		}
		result = f.s.cfg.Mutation.apply(f, index, entry.Term, &c)
	}
	f.replica.index = index
	f.s.check.applied(f, index, entry)
	p := f.waiting[index]
	if p == nil {
		return
	}
	delete(f.waiting, index)
	if p.result = result; p.term != entry.Term {
		p.err = errUnknown
	}
	close(p.done)
}

// Restore takes over a snapshot, its own or the leader's.
func (e *raftEnv) Restore(index uint64, snapshot []byte) {
	f := e.f
	st, err := state.ReadSnapshot(bytes.NewReader(f.s.cfg.Mutation.snapshot(snapshot)))
	if err != nil {
		panic(fmt.Sprintf("sim: snapshot: %v", err))
	}
	f.replica = newReplica(st, index)
	if f.s.cfg.Mutation == None && !bytes.Equal(dump(st), snapshot) {
		f.s.check.fail("F1: %s restores another state than the snapshot of index %d was taken of", f.name, index)
	}
}

func (e *raftEnv) Elected(term uint64) {
	e.f.s.w.tell("%s is elected with term %d", e.f.name, term)
	e.f.s.check.elected(e.f, term)
	e.f.armed(Barrier)
}

func (e *raftEnv) Leads(term uint64) { e.f.beginLead(term) }

func (e *raftEnv) Deposed() {
	e.f.s.w.tell("%s does not lead any more", e.f.name)
	e.f.endLead()
}

func dump(st *state.State) []byte {
	var b bytes.Buffer
	if err := st.WriteSnapshot(&b); err != nil {
		panic(fmt.Sprintf("sim: write snapshot: %v", err))
	}
	return b.Bytes()
}

// save takes a snapshot, which replaces the log so far.
func (f *frontend) save() {
	f.s.w.tell("%s takes a snapshot of index %d", f.name, f.replica.index)
	f.node.Compact(dump(f.replica.state.Clone()))
}
