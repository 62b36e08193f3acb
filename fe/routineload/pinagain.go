package routineload

import (
	"context"
	"fmt"
	"strings"
	"time"

	"shoal/fe/auditor"
	"shoal/fe/kafka"
	"shoal/fe/state/jobs"
	"shoal/fe/verdict"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// pinAgain sets a share group going that stands still: the job's tasks are
// taken off their backends, the group is pinned at the settled offsets once it
// is empty, and the tasks are placed again. The job stays RUNNING. Nothing of
// this is replicated but the tasks' epochs: a frontend that dies in between
// leaves tasks without a backend, which the next leader places, and a group
// that it finds blocked again if it still is.
//
// Members that are not the job's are returned, and then nothing is touched.
func (m *Manager) pinAgain(ctx context.Context, job *raftlogv1.Job, why []auditor.Blocked) (strangers []kafka.Member) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	note := verdict.Pinned{At: time.Now(), Why: whereOf(why), Running: true}
	m.notePinned(job.Id, note)
	strangers, err := m.pinEmptied(ctx, job)
	note.Running = false
	switch {
	case err != nil:
		note.Failure = err.Error()
	case len(strangers) > 0:
		note.Failure = fmt.Sprintf("%v is in it, which is none of the job's tasks", strangers[0])
	}
	m.notePinned(job.Id, note)
	m.cfg.Logger.Warn("share group stood still and was pinned again", "job_id", job.Id, "group", job.Load.GroupId, "at", note.Why, "failure", note.Failure)
	return strangers
}

// pinEmptied is pinAgain without the telling.
func (m *Manager) pinEmptied(ctx context.Context, job *raftlogv1.Job) (strangers []kafka.Member, err error) {
	client, err := m.cfg.Kafka.Client(job.Id, job.DatabaseId, job.Load)
	if err != nil {
		return nil, err
	}
	members, err := client.Members(ctx, job.Load.GroupId)
	if err != nil {
		return nil, err
	}
	if strangers = auditor.Strangers(job, members); len(strangers) > 0 {
		return strangers, nil
	}
	defer m.placeAgain(job.Id)
	if job, err = m.takeOff(ctx, job.Id); err != nil {
		return nil, err
	}
	return nil, m.pinSettled(ctx, client, job)
}

// takeOff takes a job's tasks off their backends, and keeps the leader from
// placing them until placeAgain. It returns the job as it was until then.
func (m *Manager) takeOff(ctx context.Context, jobID uint64) (job *raftlogv1.Job, err error) {
	m.planning.Lock()
	defer m.planning.Unlock()
	m.off[jobID] = true
	if job = m.job(jobID); job == nil {
		return nil, jobs.ErrNoJob
	}
	_, err = m.propose(ctx, auditor.TakeOff(job, time.Now()))
	return job, err
}

func (m *Manager) placeAgain(jobID uint64) {
	m.planning.Lock()
	delete(m.off, jobID)
	m.planning.Unlock()
	m.planSoon()
}

// notePinned keeps what verdicts tell of it.
func (m *Manager) notePinned(jobID uint64, note verdict.Pinned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pinned[jobID] = note
}

// whereOf names a few partitions of many.
func whereOf(why []auditor.Blocked) string {
	const most = 3
	var parts []string
	for _, b := range why[:min(most, len(why))] {
		parts = append(parts, b.String())
	}
	if more := len(why) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and in %d more partitions", more))
	}
	return strings.Join(parts, ", ")
}
