package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"shoal/be/executor"
	"shoal/be/task"
	"shoal/fe/schedule"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// A backend is a backend's process and what survives it: its name.
type backend struct {
	s    *Sim
	nr   int
	name string
	uuid string

	// Of the process that runs now.
	proc    *process
	id      uint64    // what the frontends call it, 0 before it registered
	leader  *frontend // that is asked first
	startMs int64
	tasks   []*running
	heard   time.Time
	term    uint64
	newest  uint64 // of the leader's heartbeats
	index   uint64 // the leader's, as last heard
	ends    bool   // it was told to
	slots   uint32
}

// A running is a task that runs, or that ended and is still wanted.
type running struct {
	ref    schedule.Ref
	task   *task.Task
	cancel context.CancelFunc
	member *member // nil in classic mode
	done   <-chan struct{}
}

var (
	errDown    = errors.New("connection refused")
	errTimeout = errors.New("no answer in time")
	errRan     = errors.New("this process has run that epoch already")
	errEnds    = errors.New("it is being ended")
	errTerm    = errors.New("an older term")
)

func (b *backend) place() place { return backendPlace + place(b.nr) }

// fate is that of a request to the broker.
func (b *backend) fate() fate { return b.s.net.fate(b.place(), brokerPlace) }

// start begins a new process.
func (b *backend) start() {
	b.proc = &process{name: b.name}
	b.id, b.leader, b.tasks, b.term, b.newest, b.index = 0, nil, nil, 0, 0, 0
	b.startMs, b.ends = b.s.w.now.UnixMilli(), false
	b.heard = b.s.w.now
	b.slots = uint32(b.s.cfg.Slots)
	b.s.w.spawn(b.proc, b.watch)
}

// crash ends the process, and with the machine that it runs on what it had not
// synced, and starts another some time later. The broker may or may not notice
// that its connections are gone.
func (b *backend) crash(back time.Duration) {
	b.s.w.tell("%s dies", b.name)
	b.s.w.after(b.s.world, back, b.start)
	b.proc.dead = true
	b.s.lose(b.proc)
	noticed := b.s.w.chance(0.5)
	for _, r := range b.tasks {
		if r.member != nil {
			b.s.broker.disconnect(r.member.id, noticed)
			b.s.broker.silence(r.member.id)
		}
	}
}

// finishLimit is be/executor's: how long tasks may take to settle what they hold
// when the backend is told to end.
const finishLimit = 10 * time.Second

// stop is SIGTERM: tasks finish, the process ends, and another starts later.
func (b *backend) stop(back time.Duration) {
	w := b.s.w
	w.tell("%s is told to end", b.name)
	b.slots = 0
	for _, r := range b.tasks {
		r.task.Finish()
	}
	for over := w.now.Add(finishLimit); w.now.Before(over) && slices.ContainsFunc(b.tasks, func(r *running) bool { return !closed(r.done) }); {
		w.sleep(time.Second)
	}
	for _, r := range b.tasks {
		r.cancel()
	}
	w.sleep(time.Second)
	b.crash(back)
}

// watch registers, and drains everything when no frontend is heard.
func (b *backend) watch() {
	for {
		if b.id == 0 {
			if id, err := b.register(); err == nil {
				b.id = id
			}
		}
		b.s.w.sleep(time.Second)
		if b.s.w.now.Sub(b.heard) >= executor.Grace {
			for _, r := range b.tasks {
				r.cancel()
			}
		}
	}
}

// heartbeat is the executor's side of BackendService.Heartbeat. One that another
// has overtaken changes nothing.
func (b *backend) heartbeat(from *frontend, req *backendv1.HeartbeatRequest) (*backendv1.HeartbeatResponse, error) {
	if !b.follow(req.Leadership.Term) {
		return nil, errTerm
	}
	b.heard, b.leader = b.s.w.now, from
	b.index = max(b.index, req.AppliedIndex)
	resp := &backendv1.HeartbeatResponse{Slots: b.slots, StartTimeMs: b.startMs}
	if req.Number > b.newest {
		b.newest = req.Number
		resp.Lacking = b.reconcile(req.Tasks)
	}
	for _, r := range b.tasks {
		status := r.task.Status()
		status.Ended = closed(r.done)
		resp.Tasks = append(resp.Tasks, status)
	}
	return resp, nil
}

// follow takes over a leader's term, if it is not an older one.
func (b *backend) follow(term uint64) bool {
	if term > b.term {
		b.term, b.newest = term, 0
	}
	return term == b.term
}

// reconcile has only run what is wanted, and returns what of it does not.
func (b *backend) reconcile(want []*backendv1.TaskRef) (lacking []*backendv1.TaskRef) {
	for _, t := range want {
		switch r := b.running(refOf(t)); {
		case r == nil:
			lacking = append(lacking, t)
		case t.Drain:
			r.task.Finish()
		}
	}
	b.tasks = slices.DeleteFunc(b.tasks, func(r *running) bool {
		if slices.ContainsFunc(want, func(t *backendv1.TaskRef) bool { return refOf(t) == r.ref }) {
			return false
		}
		r.cancel()
		return closed(r.done)
	})
	return lacking
}

func refOf(t *backendv1.TaskRef) schedule.Ref { return schedule.Ref{TaskID: t.TaskId, Epoch: t.Epoch} }

func (b *backend) running(ref schedule.Ref) *running {
	i := slices.IndexFunc(b.tasks, func(r *running) bool { return r.ref == ref })
	if i < 0 {
		return nil
	}
	return b.tasks[i]
}

// submit is the executor's side of BackendService.SubmitTask.
func (b *backend) submit(req *backendv1.SubmitTaskRequest) error {
	spec := req.Task
	ref := schedule.Ref{TaskID: spec.TaskId, Epoch: spec.Epoch}
	if !b.follow(req.Leadership.Term) {
		return errTerm
	}
	if b.ends {
		return errEnds
	}
	if r := b.running(ref); r != nil {
		if closed(r.done) {
			return errRan
		}
		return nil
	}
	for _, r := range b.tasks {
		switch {
		case r.ref.TaskID != ref.TaskID:
		case r.ref.Epoch > ref.Epoch:
			return errRan
		default:
			r.cancel()
		}
	}
	r := &running{ref: ref}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.task = task.New(task.Config{
		Spec:         spec,
		Source:       b.source(r, spec),
		Writer:       &pipe{b.s, b, b.proc, spec},
		Committer:    &committer{b},
		Runtime:      b.s.w,
		Logger:       slog.New(slog.DiscardHandler),
		MaxBytes:     1 << 20,
		AppliedIndex: func() uint64 { return b.index },
		Blame:        func(error) backendv1.TroubleKind { return backendv1.TroubleKind_TROUBLE_KIND_BROKER },
	})
	b.tasks = append(b.tasks, r)
	b.s.w.tell("%s starts task %d epoch %d after number %d, %s%v", b.name, ref.TaskID, ref.Epoch, spec.LastNumber, spec.MemberId, spec.Partitions)
	r.done = b.s.w.spawn(b.proc, func() {
		err := r.task.Run(ctx)
		b.s.w.tell("task %d epoch %d ended: %v", ref.TaskID, ref.Epoch, err)
	})
	return nil
}

// source is where the records of r come from.
func (b *backend) source(r *running, spec *backendv1.TaskSpec) task.Source {
	id := fmt.Sprintf("%s task %d epoch %d", b.name, spec.TaskId, spec.Epoch)
	if len(spec.Repair) > 0 {
		return b.s.cfg.Mutation.reader(newRepair(b, id, spec.Repair))
	}
	if spec.Load.Mode == typesv1.RoutineLoad_MODE_CLASSIC {
		return b.s.cfg.Mutation.reader(newReader(b, id, spec.Partitions))
	}
	r.member = newMember(b, spec.MemberId)
	return b.s.cfg.Mutation.source(r.member)
}
