package routineload

import (
	"context"
	"errors"
	"time"

	"shoal/fe/kafka"
	"shoal/fe/state"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// upkeepEvery lies between two tries.
	upkeepEvery = 5 * time.Second
	// abandonedAfter is when a job that is not started is no CREATE's any more.
	abandonedAfter = createTimeout + undoTimeout + 5*time.Second
	// cleanUpFor is how long the group of an ended job is tried to be deleted.
	cleanUpFor = time.Hour
)

// upkeepLoop does what needs a broker and no hurry, one job after the other:
// starts that no statement finished, automatic resumptions, and the groups of
// jobs that do not read by them any more.
func (m *Manager) upkeepLoop(ctx context.Context) {
	cleaned := make(map[uint64]bool)
	ticker := time.NewTicker(upkeepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, job := range m.all() {
			m.keepUp(ctx, job.Id, cleaned)
		}
	}
}

// keepUp does what one job needs, as it is by now: each may take a broker's
// time, in which statements change the others.
func (m *Manager) keepUp(ctx context.Context, jobID uint64, cleaned map[uint64]bool) {
	job := m.job(jobID)
	switch now := time.Now(); {
	case job == nil:
	case abandoned(job, now):
		m.finishStart(ctx, job)
	case resumable(job, now):
		m.resumeAlone(ctx, job)
	case !leftGroup(job, now):
		delete(cleaned, jobID)
	case !cleaned[jobID]:
		cleaned[jobID] = m.deleteGroup(ctx, job)
	}
}

// abandoned tells whether a job is not started, and no statement is at it. One
// that was made in a time to come was so under an earlier leader, with another
// clock.
func abandoned(job *raftlogv1.Job, now time.Time) bool {
	age := now.Sub(time.UnixMilli(job.CreatedMs))
	return !jobs.Ended(job.State) && !job.Started && (age > abandonedAfter || age < 0)
}

// leftGroup tells whether a job has left behind a group of its own: it has
// ended lately, or reads partitions of its own now. Only a job that was in
// share mode knows how long locks last.
func leftGroup(job *raftlogv1.Job, now time.Time) bool {
	had := job.LockDurationMs > 0 && !job.Load.GroupIdGiven
	if jobs.Ended(job.State) {
		return had && now.Sub(time.UnixMilli(job.EndedMs)) < cleanUpFor
	}
	return had && !isShare(job.Load)
}

// all is every job.
func (m *Manager) all() (all []*raftlogv1.Job) {
	m.cfg.Store.View(func(st *state.State) { all = st.Jobs() })
	return all
}

// job is the job of that id as it is now, nil if there is none.
func (m *Manager) job(id uint64) (job *raftlogv1.Job) {
	m.cfg.Store.View(func(st *state.State) { job = st.JobByID(id) })
	return job
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
	m.noteSetup(job.Id, err)
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

// resumable tells whether a job is to be resumed without a person now. One that
// was paused or resumed in a time to come was so by another clock, which says
// nothing of how long to wait.
func resumable(job *raftlogv1.Job, now time.Time) bool {
	at, ok := jobs.ResumesAt(job)
	ms := now.UnixMilli()
	return ok && (ms >= at || ms < max(job.PausedMs, job.AutoResumedMs))
}

// resumeAlone resumes a job by itself, if it fits its table and its brokers
// answer. Otherwise SHOW says why not, and it is tried again.
func (m *Manager) resumeAlone(ctx context.Context, job *raftlogv1.Job) {
	if m.fits(job) != nil {
		return // its reason says so
	}
	err := m.checkTopic(ctx, job)
	if err == nil {
		err = m.resume(ctx, job, true)
	}
	m.noteSetup(job.Id, err)
	if err == nil {
		m.cfg.Logger.Info("job is resumed by itself", "job_id", job.Id, "job", job.Name, "after", job.Reason)
		m.planSoon()
	}
}

// checkTopic tells why a job's topic cannot be read now.
func (m *Manager) checkTopic(ctx context.Context, job *raftlogv1.Job) error {
	client, err := m.cfg.Kafka.Dial(job.DatabaseId, job.Load)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, kafka.CheckTimeout)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		return err
	}
	_, err = client.Topic(ctx, job.Load.Topic)
	return err
}

// noteSetup keeps why a job could not be set up, for verdicts.
func (m *Manager) noteSetup(jobID uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.setup, jobID); err != nil {
		m.setup[jobID] = err.Error()
	}
}
