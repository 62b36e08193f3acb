package sim

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"shoal/fe/auditor"
	febackend "shoal/fe/backend"
	"shoal/fe/kafka"
	"shoal/fe/schedule"
	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// beat heartbeats to one backend each second.
func (f *frontend) beat(b *backend) {
	for {
		if b.id != 0 {
			f.heartbeat(b)
		}
		f.s.w.sleep(time.Second)
	}
}

func (f *frontend) heartbeat(b *backend) {
	id := b.id
	req := &backendv1.HeartbeatRequest{
		Leadership: &backendv1.Leadership{Incarnation: 1, Term: f.term}, BackendId: id,
		Tasks:        schedule.Heartbeat(f.state.Jobs(), id),
		AppliedIndex: f.state.Applied(),
	}
	var resp *backendv1.HeartbeatResponse
	err := f.ask(b, func() (err error) {
		resp, err = b.heartbeat(req)
		return err
	})
	if err != nil {
		return
	}
	f.health[id] = &health{heard: f.s.w.now, tasks: resp.Tasks}
	for _, t := range resp.Tasks {
		f.ran[refOf(t.Task)] = true
		if t.Ended {
			f.ended[refOf(t.Task)] = true
		}
	}
	for _, lacking := range resp.Lacking {
		ref := refOf(lacking)
		switch {
		case f.ended[ref]:
		case f.ran[ref] || f.committed(ref):
			f.ended[ref] = true // it was lost there, with a commit on its way perhaps
		default:
			f.submitTask(b, ref)
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
func (f *frontend) ask(b *backend, call func() error) error {
	w := f.s.w
	w.sleep(f.s.hop())
	fate := f.s.fate()
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
		w.sleep(2 * time.Second)
		return errTimeout
	}
	if b.proc.dead {
		return errDown
	}
	err := call()
	if fate == lostAnswer {
		w.sleep(2 * time.Second)
		return errTimeout
	}
	w.sleep(f.s.hop())
	return err
}

// submitTask sends a backend a task that it lacks.
func (f *frontend) submitTask(b *backend, ref schedule.Ref) {
	spec := febackend.Spec(f.state, b.id, &backendv1.TaskRef{TaskId: ref.TaskID, Epoch: ref.Epoch})
	if spec == nil {
		return
	}
	req := &backendv1.SubmitTaskRequest{Leadership: &backendv1.Leadership{Incarnation: 1, Term: f.term}, Task: spec}
	switch err := f.ask(b, func() error { return b.submit(req) }); err {
	case nil:
		f.ran[ref] = true
	case errRan:
		f.ended[ref] = true
	}
}

// schedule proposes what the plan says, each second.
func (f *frontend) schedule() {
	for {
		f.s.w.sleep(time.Second)
		plan := schedule.Make(f.input())
		for _, c := range plan.Commands {
			if r := f.propose(c); r.Err != nil {
				f.s.w.tell("plan refused: %v", r.Err)
			} else {
				f.s.w.tell("schedules %v", c)
			}
		}
		for _, l := range plan.Leaves {
			for _, m := range l.Members {
				f.s.w.sleep(f.s.hop())
				if f.s.fate() == delivered {
					f.s.broker.leave(m)
				}
			}
		}
	}
}

func (f *frontend) input() schedule.Input {
	in := schedule.Input{NowMs: f.s.w.now.UnixMilli(), Ended: f.ended, MemberID: func() string { return fmt.Sprintf("m%d", f.s.w.rng.IntN(1e6)) }}
	for _, job := range f.state.Jobs() {
		if f.off {
			continue
		}
		planned := schedule.Job{Job: job, MaxMembers: 200, TopicID: topicID[:]}
		for p := range f.s.broker.parts {
			planned.Partitions = append(planned.Partitions, int32(p))
		}
		in.Jobs = append(in.Jobs, planned)
	}
	for _, b := range f.state.Backends() {
		h := f.health[b.Id]
		since := f.began
		if h != nil {
			since = h.heard
		}
		if f.s.w.now.Sub(since) < deadAfter {
			in.Backends = append(in.Backends, schedule.Backend{ID: b.Id, Slots: int(b.Slots), Unheard: h == nil})
		}
	}
	return in
}

// audit is the runner of fe/auditor: a look each second, and what follows.
func (f *frontend) audit() {
	audit := auditor.New()
	for {
		f.s.w.sleep(time.Second)
		before := f.state.Ledgers(f.jobID)
		view := f.look()
		job, after := f.job(), f.state.Ledgers(f.jobID)
		if job.State != raftlogv1.JobState_JOB_STATE_RUNNING && job.State != raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE {
			audit = auditor.New()
			continue
		}
		in := auditor.Input{Now: f.s.w.now, Job: job, Before: before, After: after, View: view, Tasks: f.statuses()}
		plan := audit.Plan(in)
		f.carryOut(plan.Commands)
		for _, p := range plan.Probes {
			if answer := f.probe(p); answer != nil {
				f.carryOut(audit.Judge(job, p, answer, f.s.w.now))
			}
		}
		if c := audit.Repair(in); c != nil && f.s.cfg.Mutation != NoRepair {
			f.carryOut([]*raftlogv1.Command{c})
		}
		if c := audit.Forget(job, after, f.statuses(), f.s.w.now); c != nil {
			f.carryOut([]*raftlogv1.Command{c})
		}
		if len(plan.Blocked) > 0 && !f.s.cfg.Mutation.leavesBlocked() {
			f.s.w.tell("group stands still at %v", plan.Blocked)
			if c := audit.Refuse(job, f.pinAgain(), f.s.w.now); c != nil {
				f.carryOut([]*raftlogv1.Command{c})
			}
		}
	}
}

// pinAgain is fe/routineload's: the group is pinned at the settled offsets once
// the job's tasks are off and have left it, or were made to. The strangers are
// dead members that an earlier placement has left behind.
func (f *frontend) pinAgain() (strangers []kafka.Member) {
	const patience = 5 // seconds
	w, b := f.s.w, f.s.broker
	w.sleep(f.s.hop())
	b.tick()
	job := f.job()
	var members []kafka.Member
	for _, m := range b.members {
		members = append(members, kafka.Member{ID: m.id})
	}
	if strangers = auditor.Strangers(job, members); len(strangers) > 0 {
		return strangers
	}
	f.off = true
	defer func() { f.off = false }()
	if r := f.propose(auditor.TakeOff(job, w.now)); r.Err != nil {
		return nil
	}
	for n := 0; n < patience && len(b.members) > 0; n++ {
		w.sleep(time.Second)
	}
	for _, t := range job.Tasks {
		if w.sleep(f.s.hop()); f.s.fate() == delivered {
			b.leave(t.MemberId)
		}
	}
	if b.tick(); len(b.members) > 0 {
		return nil
	}
	for p, part := range b.parts {
		part.share.pin(max(f.ledger(p).Settled, part.log.start))
	}
	f.s.check.stats.Pins++
	w.tell("pins the group again")
	return nil
}

// look describes log and group, the log first (fe/kafka). The group's start
// trails the truth by one write.
func (f *frontend) look() *kafka.View {
	b := f.s.broker
	view := &kafka.View{At: f.s.w.now, Topic: kafka.Topic{Name: "t", ID: kafka.TopicID(topicID)}, Partitions: map[int32]kafka.Partition{}, MaxMembers: 200}
	for p, part := range b.parts {
		view.Topic.Partitions = append(view.Topic.Partitions, int32(p))
		view.Partitions[int32(p)] = kafka.Partition{Log: kafka.Log{Start: part.log.start, End: part.log.end(), StableEnd: part.log.stable()}}
	}
	f.s.w.sleep(f.s.hop())
	if f.s.fate() != delivered {
		return &kafka.View{At: f.s.w.now, Err: errNoAnswer}
	}
	b.tick()
	for p, part := range b.parts {
		at := view.Partitions[int32(p)]
		at.Position = kafka.Position{Start: part.share.described, Lag: part.share.lag()}
		view.Partitions[int32(p)] = at
	}
	f.s.w.sleep(f.s.hop())
	return view
}

// probe has a backend read; nil when it did not answer.
func (f *frontend) probe(p auditor.Probe) *backendv1.ProbeResponse {
	f.s.w.sleep(f.s.hop())
	if f.s.fate() != delivered {
		return nil
	}
	proof := f.s.cfg.Mutation.probed(f.s.broker.parts[p.Partition].log.probe(p.Ask))
	f.s.w.sleep(f.s.hop())
	return &backendv1.ProbeResponse{Void: ranges(proof.void), Expired: ranges(proof.expired), Held: ranges(proof.held)}
}

// carryOut proposes what the auditor wants.
func (f *frontend) carryOut(commands []*raftlogv1.Command) {
	for _, c := range commands {
		switch r := f.propose(c); {
		case r.Err != nil:
			f.s.w.tell("audit refused: %v", r.Err)
		case c.GetChangeJobState() != nil:
			f.s.check.stats.Pauses++
			f.s.w.tell("pauses: %s", c.GetChangeJobState().Reason)
		case c.GetScheduleTasks() != nil:
			f.s.w.tell("has %v repaired", c.GetScheduleTasks().Assignments)
		case c.GetSettleOffsets() != nil:
			f.s.w.tell("auditor settles %v", c.GetSettleOffsets().Partitions)
		}
	}
}

// statuses is the tasks of all backends that are alive.
func (f *frontend) statuses() []*backendv1.TaskStatus {
	var all []*backendv1.TaskStatus
	for _, b := range f.state.Backends() {
		if h := f.health[b.Id]; h != nil && f.s.w.now.Sub(h.heard) < deadAfter {
			all = append(all, h.tasks...)
		}
	}
	return all
}

func (f *frontend) ledger(p int) ledger.View {
	for _, v := range f.state.Ledgers(f.jobID) {
		if int(v.Partition) == p {
			return v
		}
	}
	panic("sim: no ledger")
}

func (f *frontend) settledOf(p int) offsets.Set {
	v := f.ledger(p)
	return offsets.Of(offsets.Range{First: 0, Last: v.Settled - 1}).Union(v.Ranges)
}

func ranges(set offsets.Set) []*typesv1.OffsetRange {
	var out []*typesv1.OffsetRange
	for _, r := range set {
		out = append(out, &typesv1.OffsetRange{First: r.First, Last: r.Last})
	}
	return out
}

// pause is PAUSE ROUTINE LOAD.
func (f *frontend) pause(why string) {
	r := f.propose(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
		JobId: f.jobID, To: raftlogv1.JobState_JOB_STATE_PAUSED, Reason: why,
	}}})
	if r.Err == nil {
		f.s.check.stats.Pauses++
		f.s.w.tell("is paused: %s", why)
	}
}

// alterMode has the job go on in the other mode, from where it is.
func (f *frontend) alterMode() {
	load := proto.CloneOf(f.job().Load)
	lock := int64(0)
	if load.Mode == typesv1.RoutineLoad_MODE_SHARE_GROUP {
		load.Mode = typesv1.RoutineLoad_MODE_CLASSIC
	} else {
		load.Mode, lock = typesv1.RoutineLoad_MODE_SHARE_GROUP, f.s.cfg.Lock.Milliseconds()
	}
	r := f.propose(&raftlogv1.Command{Body: &raftlogv1.Command_AlterRoutineLoad{AlterRoutineLoad: &raftlogv1.AlterRoutineLoad{
		JobId: f.jobID, Load: load, LockDurationMs: lock,
	}}})
	if r.Err == nil {
		f.s.check.stats.Modes++
		f.s.w.tell("goes on in %v", load.Mode)
	}
}

// resume is RESUME ROUTINE LOAD: the group is pinned at what is settled while
// nobody is in it, which brings back what the broker gave up on.
func (f *frontend) resume() {
	if len(f.s.broker.members) == 0 {
		for p, part := range f.s.broker.parts {
			part.share.pin(f.ledger(p).Settled)
		}
	}
	f.propose(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
		JobId: f.jobID, To: raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE,
	}}})
	f.s.w.tell("resumes with %d members in the group", len(f.s.broker.members))
}
