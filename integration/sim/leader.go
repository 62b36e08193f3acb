package sim

import (
	"fmt"
	"slices"
	"time"

	"shoal/fe/schedule"
	"shoal/fe/state/jobs"
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
	h := f.health[id]
	if h == nil {
		h = &health{startMs: resp.StartTimeMs}
		f.health[id] = h
	}
	if h.startMs != resp.StartTimeMs {
		h.startMs = resp.StartTimeMs
		for _, t := range req.Tasks {
			f.ended[refOf(t)] = true
		}
	}
	h.heard, h.tasks = f.s.w.now, resp.Tasks
	for _, t := range resp.Tasks {
		if t.Ended {
			f.ended[refOf(t.Task)] = true
		}
	}
	for _, ref := range resp.Lacking {
		if !f.ended[refOf(ref)] {
			f.submitTask(b, ref)
		}
	}
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
func (f *frontend) submitTask(b *backend, ref *backendv1.TaskRef) {
	job := f.job()
	i := slices.IndexFunc(job.Tasks, func(t *raftlogv1.Task) bool { return t.Id == ref.TaskId && t.Epoch == ref.Epoch })
	if i < 0 {
		return
	}
	t := job.Tasks[i]
	spec := &backendv1.TaskSpec{
		JobId: job.Id, TaskId: t.Id, Epoch: t.Epoch, Incarnation: 1,
		TableId: job.TableId, Schema: &typesv1.Schema{Version: 1}, Load: job.Load,
		Generation: job.Generation, LockDurationMs: job.LockDurationMs, MemberId: t.MemberId,
	}
	if t.LastEpoch == t.Epoch {
		spec.LastNumber = t.LastNumber
	}
	req := &backendv1.SubmitTaskRequest{Leadership: &backendv1.Leadership{Incarnation: 1, Term: f.term}, Task: spec}
	if err := f.ask(b, func() error { return b.submit(req) }); err == errRan {
		// It ran and is over, or the answer of the first call was lost.
		f.s.w.tell("task %d epoch %d is refused: %v", t.Id, t.Epoch, err)
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
		f.forgetVoids()
	}
}

func (f *frontend) input() schedule.Input {
	in := schedule.Input{NowMs: f.s.w.now.UnixMilli(), Ended: f.ended, MemberID: func() string { return fmt.Sprintf("m%d", f.s.w.rng.IntN(1e6)) }}
	for _, job := range f.state.Jobs() {
		in.Jobs = append(in.Jobs, schedule.Job{Job: job, Partitions: len(f.s.broker.parts), MaxMembers: 200})
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

// forgetVoids forgets what no open txn can hold.
func (f *frontend) forgetVoids() {
	job := f.job()
	through := f.state.Applied()
	for _, t := range job.Tasks {
		h := f.health[t.BackendId]
		if h == nil {
			return
		}
		i := slices.IndexFunc(h.tasks, func(s *backendv1.TaskStatus) bool { return refOf(s.Task) == schedule.Ref{TaskID: t.Id, Epoch: t.Epoch} })
		if i < 0 || h.tasks[i].OpenIndex == 0 {
			return
		}
		through = min(through, h.tasks[i].OpenIndex)
	}
	for _, v := range f.state.Ledgers(job.Id) {
		if v.Remembered > 0 {
			f.propose(&raftlogv1.Command{Body: &raftlogv1.Command_ForgetVoids{ForgetVoids: &raftlogv1.ForgetVoids{JobId: job.Id, ThroughIndex: through}}})
			return
		}
	}
}

// An audit is what the auditor remembers of a partition.
type audit struct {
	settled int64
	since   time.Time // that it has not advanced
}

// audit settles what will not come again, or pauses the job for it.
func (f *frontend) audit() {
	for {
		f.s.w.sleep(max(time.Second, f.s.cfg.Lock/2))
		if f.job().State != raftlogv1.JobState_JOB_STATE_RUNNING {
			continue
		}
		for p, part := range f.s.broker.parts {
			f.s.broker.tick()
			view := f.ledger(p)
			end, start, lag := part.log.end(), part.share.described, part.share.lag()
			f.s.w.sleep(f.s.hop()) // described, then time passes
			f.auditPartition(p, view, start, end, lag)
		}
	}
}

func (f *frontend) ledger(p int) ledger.View {
	for _, v := range f.state.Ledgers(f.jobID) {
		if int(v.Partition) == p {
			return v
		}
	}
	panic("sim: no ledger")
}

func (f *frontend) auditPartition(p int, view ledger.View, start, end, lag int64) {
	a := f.audits[p]
	if a == nil || a.settled != view.Settled || view.Settled == end {
		a = &audit{view.Settled, f.s.w.now}
		f.audits[p] = a
	}
	gone := lag == 0
	below := start
	if gone || f.s.w.now.Sub(a.since) > 2*f.s.cfg.Lock {
		below = end
	}
	open := offsets.Of(offsets.Range{First: view.Settled, Last: below - 1}).Subtract(view.Ranges)
	if len(open) == 0 {
		return
	}
	f.s.w.sleep(f.s.hop())
	if f.s.fate() != delivered {
		return
	}
	proof := f.s.broker.parts[p].log.probe(f.s.cfg.Mutation.probed(open))
	f.s.w.sleep(f.s.hop())
	f.settle(p, view.Generation, f.s.cfg.Mutation.proof(proof))
	lost := proof.held.Intersect(offsets.Of(offsets.Range{First: view.Settled, Last: start - 1}))
	if gone {
		lost = proof.held
	}
	if still := offsets.Of(lost...).Subtract(f.settledOf(p)); len(still) > 0 {
		f.pause(jobs.ReasonCannotResume, fmt.Sprintf("partition %d: offsets %v hold records that will not come again", p, still))
	}
}

func (f *frontend) settledOf(p int) offsets.Set {
	v := f.ledger(p)
	return offsets.Of(offsets.Range{First: 0, Last: v.Settled - 1}).Union(v.Ranges)
}

func (f *frontend) settle(p int, generation uint32, proof probe) {
	if len(proof.void)+len(proof.expired) == 0 {
		return
	}
	f.s.w.tell("auditor settles %d: void %v expired %v", p, proof.void, proof.expired)
	f.s.check.stats.Voids += int(proof.void.Count())
	f.s.check.stats.Expired += int(proof.expired.Count())
	f.propose(&raftlogv1.Command{Body: &raftlogv1.Command_SettleOffsets{SettleOffsets: &raftlogv1.SettleOffsets{
		JobId: f.jobID, Generation: generation,
		Partitions: []*typesv1.PartitionOffsets{{TopicId: topicID[:], Partition: int32(p), Void: ranges(proof.void), Expired: ranges(proof.expired)}},
	}}})
}

func ranges(set offsets.Set) []*typesv1.OffsetRange {
	var out []*typesv1.OffsetRange
	for _, r := range set {
		out = append(out, &typesv1.OffsetRange{First: r.First, Last: r.Last})
	}
	return out
}

// pause is PAUSE ROUTINE LOAD, or the auditor's.
func (f *frontend) pause(code int32, reason string) {
	r := f.propose(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
		JobId: f.jobID, To: raftlogv1.JobState_JOB_STATE_PAUSED, ReasonCode: code, Reason: reason,
	}}})
	if r.Err == nil {
		f.s.check.stats.Pauses++
		f.s.w.tell("pauses: %s", reason)
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
