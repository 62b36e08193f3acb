package routineload

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"shoal/fe/kafka"
	"shoal/fe/schedule"
	"shoal/fe/state"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	"shoal/fe/verdict"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// planEvery is the leader's tick; changes make it plan earlier.
	planEvery = time.Second
	// groupsEvery lies between two tries to start or clean up groups.
	groupsEvery = 5 * time.Second
	// abandonedAfter is when a job that is not started is no CREATE's any more.
	abandonedAfter = createTimeout + undoTimeout + 5*time.Second
	// cleanUpFor is how long the group of an ended job is tried to be deleted.
	cleanUpFor = time.Hour
)

// RunLeader does the leader's duties until ctx ends. It must not be called
// before the leader's barrier, and needs the registry to run beside it.
func (m *Manager) RunLeader(ctx context.Context) error {
	var duties sync.WaitGroup
	duties.Go(func() { m.auditor.Run(ctx) })
	duties.Go(func() { m.planLoop(ctx) })
	duties.Go(func() { m.groupsLoop(ctx) })
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

// plan is one round: lost members leave while their tasks are placed anew.
func (m *Manager) plan(ctx context.Context, leaves *sync.WaitGroup) {
	m.observe(time.Now())
	m.planning.Lock()
	defer m.planning.Unlock()
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
}

// input is what the plan goes by. The caller holds m.planning.
func (m *Manager) input(now time.Time) schedule.Input {
	in := schedule.Input{NowMs: now.UnixMilli(), Ended: m.cfg.Backends.Ended(), MemberID: memberID}
	m.cfg.Store.View(func(st *state.State) {
		for _, job := range st.Jobs() {
			if m.off[job.Id] {
				continue
			}
			in.Jobs = append(in.Jobs, schedule.Job{
				Job: job, DatabaseGone: st.DatabaseByID(job.DatabaseId) == nil, TableGone: st.TableByID(job.TableId) == nil,
			})
		}
	})
	for i := range in.Jobs {
		if view := m.auditor.View(in.Jobs[i].Id); view != nil && view.Err == nil {
			in.Jobs[i].Partitions, in.Jobs[i].MaxMembers = len(view.Partitions), view.MaxMembers
		}
	}
	for _, b := range m.cfg.Backends.Backends() {
		if b.Alive || b.Unheard {
			in.Backends = append(in.Backends, schedule.Backend{ID: b.ID, Slots: b.Slots, Unheard: b.Unheard})
		}
	}
	return in
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
	var job *raftlogv1.Job
	m.cfg.Store.View(func(st *state.State) { job = st.JobByID(leave.JobID) })
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
	maps.DeleteFunc(m.setup, func(id uint64, _ string) bool { return live[id] == nil })
	maps.DeleteFunc(m.pinned, func(id uint64, _ verdict.Pinned) bool { return live[id] == nil })
}

// groupsLoop finishes what statements could not: starts, and the groups of
// ended jobs.
func (m *Manager) groupsLoop(ctx context.Context) {
	cleaned := make(map[uint64]bool)
	ticker := time.NewTicker(groupsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, job := range m.all() {
			age := time.Since(time.UnixMilli(job.CreatedMs))
			switch {
			case !jobs.Ended(job.State) && !job.Started && age > abandonedAfter:
				m.finishStart(ctx, job)
			case jobs.Ended(job.State) && !job.Load.GroupIdGiven && !cleaned[job.Id] && time.Since(time.UnixMilli(job.EndedMs)) < cleanUpFor:
				cleaned[job.Id] = m.deleteGroup(ctx, job)
			}
		}
	}
}

// all is every job.
func (m *Manager) all() (all []*raftlogv1.Job) {
	m.cfg.Store.View(func(st *state.State) { all = st.Jobs() })
	return all
}

// finishStart starts a job whose CREATE never came to its end.
func (m *Manager) finishStart(ctx context.Context, job *raftlogv1.Job) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	client, err := m.cfg.Kafka.Dial(job.DatabaseId, job.Load)
	if err == nil {
		defer client.Close()
		err = m.start(ctx, client, job.Id)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.setup, job.Id); err != nil {
		m.setup[job.Id] = err.Error()
	}
}

// deleteGroup removes the group of an ended job; false to try again later.
func (m *Manager) deleteGroup(ctx context.Context, job *raftlogv1.Job) bool {
	ctx, cancel := context.WithTimeout(ctx, kafka.CheckTimeout)
	defer cancel()
	client, err := m.cfg.Kafka.Dial(job.DatabaseId, job.Load)
	if err != nil {
		return true // it never could be reached with these properties
	}
	defer client.Close()
	err = client.DeleteGroup(ctx, job.Load.GroupId)
	if errors.Is(err, kafka.ErrUnreachable) || errors.Is(err, kafka.ErrNotEmpty) {
		return false
	}
	if err != nil {
		m.cfg.Logger.Warn("group of an ended job is left behind", "job_id", job.Id, "group", job.Load.GroupId, "err", err)
	}
	return true
}
