package routineload

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"sync"
	"time"

	"shoal/fe/auditor"
	"shoal/fe/kafka"
	"shoal/fe/schedule"
	"shoal/fe/state"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	"shoal/fe/verdict"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// planEvery is the leader's tick; changes make it plan earlier.
const planEvery = time.Second

// RunLeader does the leader's duties until ctx ends. It must not be called
// before the leader's barrier, and needs the registry to run beside it.
func (m *Manager) RunLeader(ctx context.Context) error {
	var duties sync.WaitGroup
	duties.Go(func() { m.auditor.Run(ctx) })
	duties.Go(func() { m.letters.Run(ctx) })
	duties.Go(func() { m.planLoop(ctx) })
	duties.Go(func() { m.upkeepLoop(ctx) })
	duties.Wait()
	m.cfg.Kafka.Retain(func(uint64) bool { return false })
	return nil
}

// planLoop plans each tick and whenever something changed.
func (m *Manager) planLoop(ctx context.Context) {
	var leaves sync.WaitGroup
	defer leaves.Wait()
	ticker := time.NewTicker(planEvery)
	defer ticker.Stop()
	m.pacer = schedule.NewPacer()
	for {
		m.plan(ctx, &leaves)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-m.kick:
		case <-m.cfg.Backends.Changed():
		case <-m.auditor.Changed():
		}
	}
}

// plan is one round: jobs that do not fit their tables are paused before tasks
// are placed, and lost members leave while theirs are placed anew.
func (m *Manager) plan(ctx context.Context, leaves *sync.WaitGroup) {
	m.observe(time.Now())
	m.planning.Lock()
	defer m.planning.Unlock()
	m.pauseUnfit(ctx)
	plan := schedule.Make(m.input(time.Now()))
	for _, leave := range plan.Leaves {
		leaves.Go(func() { m.leave(ctx, leave) })
	}
	for _, command := range plan.Commands {
		result, err := m.cfg.Store.Propose(ctx, command)
		if err == nil {
			err = result.Err
		}
		if err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn("plan was not carried out", "command", fmt.Sprintf("%T", command.Body), "err", err)
		}
	}
	if len(plan.Commands) > 0 {
		m.cfg.Backends.Hurry()
	}
}

// input is what the plan goes by. The caller holds m.planning.
func (m *Manager) input(now time.Time) schedule.Input {
	in := schedule.Input{NowMs: now.UnixMilli(), Ended: m.cfg.Backends.Ended(), MemberID: memberID}
	ledgers := make(map[uint64][]ledger.View)
	m.cfg.Store.View(func(st *state.State) {
		for _, job := range st.Jobs() {
			if m.off[job.Id] {
				continue
			}
			in.Jobs = append(in.Jobs, schedule.Job{
				Job: job, DatabaseGone: st.DatabaseByID(job.DatabaseId) == nil,
				TableGone: !job.Load.MultiTable && st.TableByID(job.TableId) == nil,
			})
			ledgers[job.Id] = st.Ledgers(job.Id)
		}
		for _, b := range st.Backends() {
			if b.Decommissioning {
				in.Decommissioning = append(in.Decommissioning, b.Id)
			}
		}
	})
	in.Lost, in.Ran = m.lost(in.Ended, in.Jobs), m.cfg.Backends.Ran()
	for i := range in.Jobs {
		job := &in.Jobs[i]
		addTopic(job, m.auditor.Seen(job.Id), ledgers[job.Id])
		m.pace(now, job, ledgers[job.Id])
	}
	for _, b := range m.cfg.Backends.Backends() {
		if b.Alive || b.Unheard {
			in.Backends = append(in.Backends, schedule.Backend{
				ID: b.ID, Slots: b.Slots, Unheard: b.Unheard, SinceMs: b.Since.UnixMilli(),
				Avoid: b.BlackListed != "" || b.Decommissioning,
			})
		}
	}
	return in
}

// lost are those of some ended tasks that neither ended by themselves nor were
// refused: their backends were started anew.
func (m *Manager) lost(ended map[schedule.Ref]bool, all []schedule.Job) map[schedule.Ref]bool {
	lost := maps.Clone(ended)
	for ref := range m.cfg.Backends.Refused() {
		delete(lost, ref)
	}
	for _, job := range all {
		for _, s := range m.cfg.Backends.Tasks(job.Id) {
			if s.Ended {
				delete(lost, schedule.Ref{TaskID: s.Task.GetTaskId(), Epoch: s.Task.GetEpoch()})
			}
		}
	}
	return lost
}

// addTopic adds what is to be read, as the topic was last seen. A classic job's
// task needs to be told where to begin, so a partition without a ledger waits
// until the auditor has opened one.
func addTopic(job *schedule.Job, view *kafka.View, ledgers []ledger.View) {
	if view == nil || view.Topic.Name != job.Load.Topic {
		return
	}
	job.Partitions, job.TopicID, job.MaxMembers = view.Topic.Partitions, view.Topic.ID[:], view.MaxMembers
	if isShare(job.Load) {
		return
	}
	job.Partitions = nil
	for _, l := range ledgers { // ordered by partition
		if kafka.TopicID(l.TopicID) == view.Topic.ID && auditor.Reads(job.Load, l.Partition) {
			job.Partitions = append(job.Partitions, l.Partition)
		}
	}
}

// memberID is a random UUID, as Kafka wants it.
func memberID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// leave takes lost members out of their group. If it fails the group's session
// timeout does it.
func (m *Manager) leave(ctx context.Context, leave schedule.Leave) {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	job := m.job(leave.JobID)
	if job == nil {
		return
	}
	client, err := m.cfg.Kafka.Client(job.Id, job.DatabaseId, job.Load)
	if err == nil {
		err = client.Leave(ctx, job.Load.GroupId, leave.Members...)
	}
	if err != nil {
		m.cfg.Logger.Warn("lost members still block their partitions", "job_id", job.Id, "members", leave.Members, "err", err)
	}
}

// observe keeps the history that verdicts need.
func (m *Manager) observe(now time.Time) {
	live := make(map[uint64]*raftlogv1.Job)
	ledgers := make(map[uint64][]ledger.View)
	m.cfg.Store.View(func(st *state.State) {
		for _, job := range st.Jobs() {
			if !jobs.Ended(job.State) {
				live[job.Id], ledgers[job.Id] = job, st.Ledgers(job.Id)
			}
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, job := range live {
		m.tracker.Observe(now, job, ledgers[id], m.auditor.View(id))
	}
	m.tracker.Retain(func(id uint64) bool { return live[id] != nil })
	maps.DeleteFunc(m.wanted, func(id uint64, _ int) bool { return live[id] == nil })
	maps.DeleteFunc(m.fitting, func(id uint64, _ fit) bool { return live[id] == nil })
	maps.DeleteFunc(m.setup, func(id uint64, _ string) bool { return live[id] == nil })
	maps.DeleteFunc(m.pinned, func(id uint64, _ verdict.Pinned) bool { return live[id] == nil })
}
