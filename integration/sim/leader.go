package sim

import (
	"fmt"
	"time"

	febackend "shoal/fe/backend"
	"shoal/fe/kafka"
	"shoal/fe/schedule"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// beatEvery lies between two heartbeats to a backend. fe/backend's are twice
	// as often; what follows from silence is the same.
	beatEvery = time.Second
	// deadBeats heartbeats without an answer, and febackend.DeadAfter of silence,
	// are the death of a backend.
	deadBeats = 2
	// callTimeout is how long a frontend waits for a backend.
	callTimeout = 2 * time.Second
)

// A leadership is what a frontend does and knows as the leader, and no longer.
type leadership struct {
	*frontend
	proc    *process
	term    uint64
	began   time.Time
	calls   []*call // CommitTxns under way
	inbox   []*call // of these, those that are not in the log yet
	health  map[uint64]*health
	ran     map[schedule.Ref]bool // this leader has seen it, or started it
	ended   map[schedule.Ref]bool
	lost    map[schedule.Ref]bool // those that did not end by themselves
	pacer   *schedule.Pacer
	view    *kafka.View // the last look at the topic and its group, nil before the first
	off     bool        // tasks are not to be placed now
	members int         // names given
	beats   uint64      // heartbeats sent
}

// health is what heartbeats told of a backend.
type health struct {
	since, heard time.Time // heard is zero before the first answer
	came         time.Time // it is alive since then
	unanswered   int
	gone         bool // nobody listens there
	slots        int
	tasks        []*backendv1.TaskStatus
}

func (h *health) dead(now time.Time) bool {
	silentSince := h.heard
	if h.heard.IsZero() {
		silentSince = h.since
	}
	return h.gone || h.unanswered >= deadBeats && now.Sub(silentSince) >= febackend.DeadAfter
}

func (h *health) alive(now time.Time) bool { return !h.heard.IsZero() && !h.dead(now) }

// beginLead begins the duties of a leader, behind its barrier.
func (f *frontend) beginLead(term uint64) {
	s := f.s
	l := &leadership{
		frontend: f, proc: &process{name: f.name, parent: f.proc}, term: term, began: s.w.now,
		health: map[uint64]*health{}, ran: map[schedule.Ref]bool{}, ended: map[schedule.Ref]bool{}, lost: map[schedule.Ref]bool{}, pacer: schedule.NewPacer(),
	}
	f.lead = l
	s.w.tell("%s leads with term %d", f.name, term)
	for _, b := range s.backends {
		s.w.spawn(l.proc, func() { l.beat(b) })
	}
	s.w.spawn(l.proc, l.schedule)
	s.w.spawn(l.proc, l.audit)
	s.w.spawn(l.proc, l.clean)
}

// endLead ends them. What was proposed has an unknown outcome.
func (f *frontend) endLead() {
	for index, p := range f.waiting {
		delete(f.waiting, index)
		p.err = errUnknown
		close(p.done)
	}
	if l := f.lead; l != nil {
		f.lead = nil
		l.proc.dead = true
		for _, c := range l.calls {
			c.fail()
		}
	}
}

// leadership is the term that a leader leads in, as calls carry it.
func (l *leadership) leadership() *backendv1.Leadership {
	return &backendv1.Leadership{Incarnation: 1, Term: l.term}
}

// beat heartbeats to one backend.
func (l *leadership) beat(b *backend) {
	for {
		if id := l.idOf(b); id != 0 {
			l.heartbeat(b, id)
		}
		l.s.w.sleep(beatEvery)
	}
}

// idOf is what the state calls a backend, 0 if it does not know it.
func (f *frontend) idOf(b *backend) uint64 {
	for _, known := range f.replica.state.Backends() {
		if known.NodeUuid == b.uuid && !known.Dropped {
			return known.Id
		}
	}
	return 0
}

func (l *leadership) heartbeat(b *backend, id uint64) {
	h := l.health[id]
	if h == nil {
		h = &health{since: l.s.w.now}
		l.health[id] = h
	}
	h.unanswered++
	l.beats++
	st := l.replica.state
	req := &backendv1.HeartbeatRequest{
		Leadership: l.leadership(), BackendId: id,
		Tasks:        schedule.Heartbeat(st.Jobs(), id),
		AppliedIndex: st.Applied(),
		Number:       l.beats,
	}
	l.at(Heartbeat)
	var resp *backendv1.HeartbeatResponse
	err := l.ask(b, func() error {
		answer, err := b.heartbeat(l.frontend, req)
		if resp == nil { // what answers a repeated call goes nowhere
			resp = answer
		}
		return err
	})
	if err != nil {
		h.gone = h.gone || err == errDown
		return
	}
	if !h.alive(l.s.w.now) {
		h.came = l.s.w.now
	}
	h.heard, h.unanswered, h.gone, h.slots, h.tasks = l.s.w.now, 0, false, int(resp.Slots), resp.Tasks
	for _, t := range resp.Tasks {
		l.ran[refOf(t.Task)] = true
		if t.Ended {
			l.ended[refOf(t.Task)] = true
		}
	}
	for _, lacking := range resp.Lacking {
		ref := refOf(lacking)
		switch {
		case l.ended[ref]:
		case l.ran[ref] || l.committed(ref):
			l.ended[ref], l.lost[ref] = true, true // with a commit on its way perhaps
		default:
			l.submitTask(b, id, ref)
		}
	}
}

func (f *frontend) committed(ref schedule.Ref) bool {
	t := f.task(ref)
	return t != nil && t.LastEpoch == ref.Epoch
}

// task is a task at its current epoch, nil if that is another one.
func (f *frontend) task(ref schedule.Ref) *raftlogv1.Task {
	for _, t := range f.job().Tasks {
		if (schedule.Ref{TaskID: t.Id, Epoch: t.Epoch}) == ref {
			return t
		}
	}
	return nil
}

// ask calls a backend. A late or repeated call arrives when it will.
func (l *leadership) ask(b *backend, call func() error) error {
	w := l.s.w
	w.sleep(l.s.hop())
	fate := l.s.net.fate(l.place(), b.place())
	if fate == late || fate == repeated {
		proc := b.proc
		w.spawn(&process{name: "network"}, func() {
			w.sleep(w.between(0, 20*time.Second))
			if !proc.dead && b.proc == proc {
				call()
			}
		})
	}
	if fate == lostRequest || fate == late {
		w.sleep(callTimeout)
		return errTimeout
	}
	if b.proc.dead {
		return errDown
	}
	if thaws := b.proc.frozenUntil; thaws.After(w.now) { // it answers when it thaws
		proc := b.proc
		w.after(proc, 0, func() {
			if b.proc == proc {
				call()
			}
		})
		w.sleep(callTimeout)
		return errTimeout
	}
	err := call()
	if fate == lostAnswer {
		w.sleep(callTimeout)
		return errTimeout
	}
	w.sleep(l.s.hop())
	return err
}

// submitTask sends a backend a task that it lacks.
func (l *leadership) submitTask(b *backend, id uint64, ref schedule.Ref) {
	spec := febackend.Spec(l.replica.state, id, &backendv1.TaskRef{TaskId: ref.TaskID, Epoch: ref.Epoch})
	if spec == nil {
		return
	}
	l.at(Submit)
	req := &backendv1.SubmitTaskRequest{Leadership: l.leadership(), Task: spec}
	switch err := l.ask(b, func() error { return b.submit(req) }); err {
	case nil:
		l.ran[ref] = true
	case errRan:
		l.ended[ref] = true
	}
}

// schedule proposes what the plan says, each second.
func (l *leadership) schedule() {
	for {
		l.s.w.sleep(time.Second)
		plan := schedule.Make(l.input())
		for _, c := range plan.Commands {
			l.at(Schedule)
			if r, err := l.propose(c); err != nil || r.Err != nil {
				l.s.w.tell("plan refused: %v %v", err, r.Err)
			} else {
				l.s.w.tell("schedules %v", c)
			}
		}
		for _, leave := range plan.Leaves {
			for _, m := range leave.Members {
				l.at(Leave)
				l.leaveFor(m)
			}
		}
	}
}

// leaveFor takes a lost member out of the group.
func (l *leadership) leaveFor(member string) {
	l.s.w.sleep(l.s.hop())
	if l.s.net.fate(l.place(), brokerPlace) == delivered {
		l.s.broker.leave(member)
	}
}

func (l *leadership) input() schedule.Input {
	in := schedule.Input{NowMs: l.wall(), Ended: l.ended, Lost: l.lost, Ran: l.ran, MemberID: func() string {
		l.members++
		return fmt.Sprintf("m%d-%d", l.term, l.members)
	}}
	for _, job := range l.replica.state.Jobs() {
		if l.off {
			continue
		}
		planned := schedule.Job{Job: job, MaxMembers: 200, TopicID: topicID[:]}
		for p := range l.s.broker.parts {
			planned.Partitions = append(planned.Partitions, int32(p))
		}
		l.pace(&planned)
		in.Jobs = append(in.Jobs, planned)
	}
	for _, b := range l.replica.state.Backends() {
		if b.Decommissioning {
			in.Decommissioning = append(in.Decommissioning, b.Id)
		}
		switch h := l.health[b.Id]; {
		case b.Dropped || h != nil && h.dead(l.s.w.now):
		case h == nil || !h.alive(l.s.w.now):
			in.Backends = append(in.Backends, schedule.Backend{ID: b.Id, Slots: int(b.Slots), Unheard: true, Avoid: b.Decommissioning})
		default:
			in.Backends = append(in.Backends, schedule.Backend{
				ID: b.Id, Slots: h.slots, Avoid: b.Decommissioning, SinceMs: h.came.Add(l.clock).UnixMilli(),
			})
		}
	}
	return in
}

// statuses is the tasks of all backends that are alive.
func (l *leadership) statuses() []*backendv1.TaskStatus {
	var all []*backendv1.TaskStatus
	for _, b := range l.replica.state.Backends() {
		if h := l.health[b.Id]; h != nil && h.alive(l.s.w.now) {
			all = append(all, h.tasks...)
		}
	}
	return all
}
