package sim

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// onAWhim is why a person pauses a job.
const onAWhim = "on a whim"

// operate is a person who resumes a job that paused, a while later; for that to
// bring back what the group gave up on, nobody may be in it.
func (s *Sim) operate() {
	for {
		s.w.sleep(s.w.between(0, 20*time.Second))
		s.recommission()
		f := s.leader()
		switch {
		case f == nil, f.job().State != raftlogv1.JobState_JOB_STATE_PAUSED:
		case f.job().Reason != onAWhim && len(s.broker.members) > 0 && s.w.chance(0.9):
			s.broker.tick()
		default:
			s.statement((*leadership).resume)
		}
	}
}

// recommission has a backend work again that is decommissioned, or was.
func (s *Sim) recommission() {
	l := s.leader()
	if l == nil {
		return
	}
	for _, b := range l.replica.state.Backends() {
		switch {
		case b.Dropped:
			s.statement(func(l *leadership) {
				l.propose(&raftlogv1.Command{Body: &raftlogv1.Command_AddBackend{AddBackend: &raftlogv1.AddBackend{Host: b.Host, RpcPort: b.RpcPort}}})
			})
			return
		case b.Decommissioning && s.w.chance(0.2):
			s.statement(func(l *leadership) { l.decommission(b.Id, true) })
			return
		}
	}
}

func (l *leadership) decommission(id uint64, cancel bool) {
	l.propose(&raftlogv1.Command{Body: &raftlogv1.Command_DecommissionBackend{
		DecommissionBackend: &raftlogv1.DecommissionBackend{BackendId: id, Cancel: cancel},
	}})
}

// statement is what a person has the leader do. The leader may die of it.
func (s *Sim) statement(do func(*leadership)) {
	f := s.leader()
	s.w.Wait(context.Background(), s.w.spawn(f.proc, func() { do(f) }), s.w.now.Add(time.Minute))
}

// pause is PAUSE ROUTINE LOAD.
func (l *leadership) pause() {
	l.at(Statement)
	r, err := l.propose(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
		JobId: l.s.jobID, To: raftlogv1.JobState_JOB_STATE_PAUSED, Reason: onAWhim,
	}}})
	if err == nil && r.Err == nil {
		l.s.check.stats.add(Pauses)
		l.s.w.tell("is paused %s", onAWhim)
	}
}

// alterMode has the job go on in the other mode, from where it is.
func (l *leadership) alterMode() {
	load := proto.CloneOf(l.job().Load)
	lock := int64(0)
	if load.Mode == typesv1.RoutineLoad_MODE_SHARE_GROUP {
		load.Mode = typesv1.RoutineLoad_MODE_CLASSIC
	} else {
		load.Mode, lock = typesv1.RoutineLoad_MODE_SHARE_GROUP, l.s.cfg.Lock.Milliseconds()
	}
	l.at(Statement)
	r, err := l.propose(&raftlogv1.Command{Body: &raftlogv1.Command_AlterRoutineLoad{AlterRoutineLoad: &raftlogv1.AlterRoutineLoad{
		JobId: l.s.jobID, Load: load, LockDurationMs: lock,
	}}})
	if err == nil && r.Err == nil {
		l.s.check.stats.add(Modes)
		l.s.w.tell("goes on in %v", load.Mode)
	}
}

// resume is RESUME ROUTINE LOAD: the group is pinned at what is settled while
// nobody is in it, which brings back what the broker gave up on.
func (l *leadership) resume() {
	if len(l.s.broker.members) == 0 && l.s.net.fate(l.place(), brokerPlace) == delivered {
		l.pin()
	}
	l.at(Statement)
	l.propose(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
		JobId: l.s.jobID, To: raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE,
	}}})
	l.s.w.tell("resumes with %d members in the group", len(l.s.broker.members))
}
