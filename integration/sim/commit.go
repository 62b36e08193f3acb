package sim

import (
	"context"
	"slices"
	"time"

	"shoal/fe/state"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// commitTimeout is how long a backend waits for the answer of a frontend
// (be/feclient).
const commitTimeout = 5 * time.Second

// A call is a CommitTxn at the leader.
type call struct {
	req    *frontendv1.CommitTxnRequest
	answer *frontendv1.CommitTxnResponse // nil if the outcome is not known
	done   chan struct{}
}

// fail ends a call whose outcome is not known.
func (c *call) fail() {
	if !closed(c.done) {
		close(c.done)
	}
}

// submit puts a CommitTxn before the log; several may share an entry.
func (l *leadership) submit(req *frontendv1.CommitTxnRequest) *call {
	c := &call{req: req, done: make(chan struct{})}
	l.calls = append(l.calls, c)
	l.inbox = append(l.inbox, c)
	if len(l.inbox) == 1 {
		l.s.w.spawn(l.proc, l.flush)
	}
	return c
}

// flush is one group commit.
func (l *leadership) flush() {
	w := l.s.w
	w.sleep(w.between(0, 20*time.Millisecond))
	l.at(Received)
	calls := l.inbox
	l.inbox = nil
	entry := &raftlogv1.CommitTxns{}
	for _, c := range calls {
		entry.Txns = append(entry.Txns, c.req)
	}
	p, err := l.begin(&raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: entry}})
	if err == nil {
		l.at(Appended)
		w.Wait(context.Background(), p.done, time.Time{})
		err = p.err
	}
	if err == nil {
		l.at(Committed)
		for i, c := range calls {
			if c.answer = p.result.Txns[i]; c.answer == nil {
				continue // a mutation
			}
			l.s.check.answered(c.req, c.answer)
		}
	}
	w.sleep(l.s.hop())
	for _, c := range calls {
		c.fail()
	}
	l.calls = slices.DeleteFunc(l.calls, func(c *call) bool { return slices.Contains(calls, c) })
}

// ask calls the leader as be/feclient does: the one that led last first, then
// whom it names, then every other, each once.
func (b *backend) ask(ctx context.Context, do func(*frontend) error) (err error) {
	var tried []*frontend
	for {
		f := b.next(tried)
		if f == nil {
			return err
		}
		tried = append(tried, f)
		if err = do(f); err == nil {
			b.leader = f
			return nil
		}
		if ctx.Err() != nil || err == errUnknown {
			return err
		}
		if err == errNotLeader {
			b.s.w.sleep(b.s.hop())
			if known := f.node.Leader(); known >= 0 {
				b.leader = b.s.frontends[known]
			}
		}
	}
}

// next is the frontend to ask after those tried, nil when all were.
func (b *backend) next(tried []*frontend) *frontend {
	for _, f := range append([]*frontend{b.leader}, b.s.frontends...) {
		if f != nil && !slices.Contains(tried, f) {
			return f
		}
	}
	return nil
}

// A committer is a task's way to the frontends.
type committer struct{ b *backend }

// Commit sends a CommitTxn over a network that loses, delays and repeats.
func (c *committer) Commit(ctx context.Context, req *frontendv1.CommitTxnRequest) (answer *frontendv1.CommitTxnResponse, err error) {
	err = c.b.ask(ctx, func(f *frontend) (err error) {
		answer, err = c.commit(ctx, f, req)
		return err
	})
	if err == nil {
		c.b.at(Answered)
		answer = c.b.s.cfg.Mutation.answer(c.b.s, req, answer)
	}
	return answer, err
}

// commit asks one frontend.
func (c *committer) commit(ctx context.Context, f *frontend, req *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	s, w := c.b.s, c.b.s.w
	req = s.cfg.Mutation.request(req)
	w.sleep(s.hop())
	fate := s.net.fate(c.b.place(), f.place())
	if fate == late || fate == repeated {
		// A message on its way outlives both ends.
		w.spawn(&process{name: "network"}, func() {
			w.sleep(w.between(0, 90*time.Second))
			if f.lead != nil {
				w.tell("late %s arrives", req.Label)
				f.lead.submit(req)
			}
		})
	}
	c.b.at(Sent)
	if fate == lostRequest || fate == late {
		w.Wait(ctx, nil, w.now.Add(commitTimeout))
		return nil, errTimeout
	}
	switch {
	case f.proc == nil:
		return nil, errDown
	case f.proc.frozenUntil.After(w.now):
		w.Wait(ctx, nil, w.now.Add(commitTimeout))
		return nil, errTimeout
	case f.lead == nil:
		return nil, errNotLeader
	}
	pending := f.lead.submit(req)
	if !w.Wait(ctx, pending.done, w.now.Add(commitTimeout)) || fate == lostAnswer || !s.net.reaches(f.place(), c.b.place()) {
		return nil, errTimeout
	}
	if pending.answer == nil {
		return nil, errUnknown
	}
	return pending.answer, nil
}

// register is FrontendService.RegisterBackend.
func (b *backend) register() (id uint64, err error) {
	s := b.s
	err = b.ask(context.Background(), func(f *frontend) error {
		s.w.sleep(s.hop())
		switch fate := s.net.fate(b.place(), f.place()); {
		case fate != delivered:
			s.w.sleep(callTimeout)
			return errTimeout
		case f.proc == nil:
			return errDown
		case f.lead == nil:
			return errNotLeader
		}
		r := f.lead.register(b)
		if !s.w.Wait(context.Background(), r.done, s.w.now.Add(commitTimeout)) {
			return errTimeout
		}
		id = r.id
		return r.err
	})
	return id, err
}

// A registration is of a backend, at the leader.
type registration struct {
	id   uint64
	err  error
	done <-chan struct{}
}

func (l *leadership) register(b *backend) *registration {
	r := &registration{}
	r.done = l.s.w.spawn(l.proc, func() {
		l.at(Register)
		var result state.Result
		result, r.err = l.propose(&raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{
			Backend: &raftlogv1.Backend{NodeUuid: b.uuid, Host: b.name, RpcPort: 9060, HttpPort: 8040, Slots: uint32(l.s.cfg.Slots)},
		}}})
		if r.id = result.ID; r.err == nil {
			r.err = result.Err
		}
	})
	return r
}
