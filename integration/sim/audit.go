package sim

import (
	"time"

	"shoal/fe/auditor"
	"shoal/fe/kafka"
	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// audit is the runner of fe/auditor: a look each second, and what follows.
func (l *leadership) audit() {
	audit := auditor.New()
	for {
		l.s.w.sleep(time.Second)
		before := l.ledgers()
		view := l.look()
		l.view = view
		job, after := l.job(), l.ledgers()
		if job.State != raftlogv1.JobState_JOB_STATE_RUNNING && job.State != raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE {
			audit = auditor.New()
			continue
		}
		l.at(Audit)
		in := auditor.Input{Now: l.s.w.now, Job: job, Before: before, After: after, View: view, Tasks: l.statuses()}
		plan := audit.Plan(in)
		l.carryOut(plan.Commands...)
		for _, p := range plan.Probes {
			if answer := l.probe(p); answer != nil {
				l.at(Probe)
				l.carryOut(audit.Judge(job, p, answer, l.s.w.now)...)
			}
		}
		if c := audit.Repair(in); c != nil && l.s.cfg.Mutation != NoRepair {
			l.at(Repair)
			l.carryOut(c)
		}
		if c := audit.Forget(job, after, l.statuses(), l.s.w.now); c != nil {
			l.at(Forget)
			l.carryOut(c)
		}
		if len(plan.Blocked) > 0 && !l.s.cfg.Mutation.leavesBlocked() {
			l.s.w.tell("group stands still at %v", plan.Blocked)
			if c := audit.Refuse(job, l.pinAgain(), l.s.w.now); c != nil {
				l.carryOut(c)
			}
		}
	}
}

// pinAgain is fe/routineload's: the group is pinned at the settled offsets once
// the job's tasks are off and have left it, or were made to. The strangers are
// dead members that an earlier placement has left behind.
func (l *leadership) pinAgain() (strangers []kafka.Member) {
	const patience = 5 // seconds
	w, b := l.s.w, l.s.broker
	w.sleep(l.s.hop())
	if l.s.net.fate(l.place(), brokerPlace) != delivered {
		return nil
	}
	b.tick()
	job := l.job()
	var members []kafka.Member
	for _, m := range b.members {
		members = append(members, kafka.Member{ID: m.id})
	}
	if strangers = auditor.Strangers(job, members); len(strangers) > 0 {
		return strangers
	}
	l.off = true
	defer func() { l.off = false }()
	if r, err := l.propose(auditor.TakeOff(job, w.now)); err != nil || r.Err != nil {
		return nil
	}
	l.at(TakenOff)
	for n := 0; n < patience && len(b.members) > 0; n++ {
		w.sleep(time.Second)
	}
	for _, t := range job.Tasks {
		l.leaveFor(t.MemberId)
	}
	l.at(Emptied)
	if b.tick(); len(b.members) > 0 || l.s.net.fate(l.place(), brokerPlace) != delivered {
		return nil
	}
	l.pin()
	l.s.check.stats.add(Pins)
	w.tell("pins the group again")
	return nil
}

// pin sets the group's offsets to what is settled.
func (f *frontend) pin() {
	for p, part := range f.s.broker.parts {
		part.share.pin(max(f.ledger(p).Settled, part.log.start))
	}
}

// look describes log and group, the log first (fe/kafka). The group's start
// trails the truth by one write.
func (l *leadership) look() *kafka.View {
	b, w := l.s.broker, l.s.w
	view := &kafka.View{At: w.now, Topic: kafka.Topic{Name: "t", ID: kafka.TopicID(topicID)}, Partitions: map[int32]kafka.Partition{}, MaxMembers: 200}
	for p, part := range b.parts {
		view.Topic.Partitions = append(view.Topic.Partitions, int32(p))
		view.Partitions[int32(p)] = kafka.Partition{Log: l.s.cfg.Mutation.log(kafka.Log{Start: part.log.start, End: part.log.end(), StableEnd: part.log.stable()})}
	}
	w.sleep(l.s.hop())
	if l.s.net.fate(l.place(), brokerPlace) != delivered {
		return &kafka.View{At: w.now, Err: errNoAnswer}
	}
	b.tick()
	for p, part := range b.parts {
		at := view.Partitions[int32(p)]
		at.Position = kafka.Position{Start: part.share.described, Lag: part.share.lag()}
		view.Partitions[int32(p)] = at
	}
	w.sleep(l.s.hop())
	return view
}

// probe has a backend read; nil when it did not answer.
func (l *leadership) probe(p auditor.Probe) *backendv1.ProbeResponse {
	w := l.s.w
	b := l.s.backends[w.rng.IntN(len(l.s.backends))]
	w.sleep(l.s.hop())
	if b.proc.dead || l.s.net.fate(l.place(), b.place()) != delivered || l.s.net.fate(b.place(), brokerPlace) != delivered {
		return nil
	}
	proof := l.s.cfg.Mutation.probed(l.s.broker.parts[p.Partition].log.probe(p.Ask), p.Ask)
	w.sleep(l.s.hop())
	return &backendv1.ProbeResponse{Void: ranges(proof.void), Expired: ranges(proof.expired), Held: ranges(proof.held)}
}

// carryOut proposes what the auditor wants.
func (l *leadership) carryOut(commands ...*raftlogv1.Command) {
	for _, c := range commands {
		switch r, err := l.propose(c); {
		case err != nil || r.Err != nil:
			l.s.w.tell("audit refused: %v %v", err, r.Err)
		case c.GetChangeJobState() != nil:
			l.s.check.stats.add(Pauses)
			l.s.w.tell("pauses: %s", c.GetChangeJobState().Reason)
		case c.GetScheduleTasks() != nil:
			l.s.w.tell("has %v repaired", c.GetScheduleTasks().Assignments)
		case c.GetSettleOffsets() != nil:
			l.s.w.tell("auditor settles %v", c.GetSettleOffsets().Partitions)
		}
	}
}

// job is the one job, as this frontend has it.
func (f *frontend) job() *raftlogv1.Job { return f.replica.state.JobByID(f.s.jobID) }

func (f *frontend) ledgers() []ledger.View { return f.replica.state.Ledgers(f.s.jobID) }

func (f *frontend) ledger(p int) ledger.View { return f.replica.ledger(f.s.jobID, p) }

func (r *replica) ledger(job uint64, p int) ledger.View {
	for _, v := range r.state.Ledgers(job) {
		if int(v.Partition) == p {
			return v
		}
	}
	panic("sim: no ledger")
}

func (r *replica) settled(job uint64, p int) offsets.Set {
	v := r.ledger(job, p)
	return offsets.Of(offsets.Range{First: 0, Last: v.Settled - 1}).Union(v.Ranges)
}

func ranges(set offsets.Set) []*typesv1.OffsetRange {
	var out []*typesv1.OffsetRange
	for _, r := range set {
		out = append(out, &typesv1.OffsetRange{First: r.First, Last: r.Last})
	}
	return out
}
