package routineload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	"shoal/fe/verdict"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

// How long RESUME waits for tasks to leave their group by themselves, and for
// the coordinator to take those out that did not.
const (
	leavePatience = 5 * time.Second
	leaveTimeout  = 5 * time.Second
)

// Pause carries out PAUSE ROUTINE LOAD FOR a job, or PAUSE ALL, which skips
// jobs that stay paused anyway.
func (m *Manager) Pause(ctx context.Context, s *session.Session, stmt *ast.PauseRoutineLoad) error {
	pause := func(job *raftlogv1.Job) error {
		return m.changeState(ctx, &raftlogv1.ChangeJobState{
			JobId: job.Id, To: raftlogv1.JobState_JOB_STATE_PAUSED, ReasonCode: jobs.ReasonManualPause, Reason: "User " + s.User + " pauses routine load job",
		})
	}
	if stmt.All {
		return m.forAll(s, pause)
	}
	return m.forOne(s, stmt.Job, pause)
}

// Resume carries out RESUME ROUTINE LOAD FOR a job, or RESUME ALL. A job that
// is not paused restarts its tasks, as in Doris.
func (m *Manager) Resume(ctx context.Context, s *session.Session, stmt *ast.ResumeRoutineLoad) error {
	resume := func(job *raftlogv1.Job) error { return m.resume(ctx, job, false) }
	if stmt.All {
		return m.forAll(s, resume)
	}
	return m.forOne(s, stmt.Job, resume)
}

// Stop carries out STOP ROUTINE LOAD. The leader deletes the group once its
// members have left, if its id is ours.
func (m *Manager) Stop(ctx context.Context, s *session.Session, stmt *ast.StopRoutineLoad) error {
	return m.forOne(s, stmt.Job, func(job *raftlogv1.Job) error {
		return m.changeState(ctx, &raftlogv1.ChangeJobState{JobId: job.Id, To: raftlogv1.JobState_JOB_STATE_STOPPED})
	})
}

// forOne does something to a job that has not ended.
func (m *Manager) forOne(s *session.Session, name ast.Name, do func(*raftlogv1.Job) error) error {
	job, err := m.operable(s, name)
	if err != nil {
		return err
	}
	defer m.planSoon()
	return controlError(do(job))
}

// forAll does something to each job of the session's database that has not
// ended. Failures are logged and no errors, as in Doris.
func (m *Manager) forAll(s *session.Session, do func(*raftlogv1.Job) error) error {
	db, err := m.database(s, "")
	if err != nil {
		return err
	}
	var live []*raftlogv1.Job
	m.cfg.Store.View(func(st *state.State) {
		for _, job := range st.Jobs() {
			if job.DatabaseId == db.Id && !jobs.Ended(job.State) {
				live = append(live, job)
			}
		}
	})
	defer m.planSoon()
	for _, job := range live {
		err := do(job)
		if errors.Is(err, errno.OutcomeUnknown) {
			return err // so will all others be
		}
		if err != nil {
			m.cfg.Logger.Warn("job was skipped", "job_id", job.Id, "job", job.Name, "err", err)
		}
	}
	return nil
}

// controlError is a refusal of the state machine in Doris's words.
func controlError(err error) error {
	var transition jobs.TransitionError
	switch {
	case errors.As(err, &transition):
		return refuse("Could not transform %s to %s", jobs.StateName(transition.From), jobs.StateName(transition.To))
	case errors.Is(err, jobs.ErrMovedOn), errors.Is(err, jobs.ErrNoJob):
		return errno.Wrap(errno.Unknown, err, "errCode = 2, detailMessage = the job has changed meanwhile; look and try again")
	}
	return err
}

// resume lets tasks be placed; in share mode the group is pinned at the settled
// offsets before.
func (m *Manager) resume(ctx context.Context, job *raftlogv1.Job, automatic bool) error {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	if isShare(job.Load) && job.Started && job.State == raftlogv1.JobState_JOB_STATE_PAUSED {
		client, err := m.cfg.Kafka.Dial(job.DatabaseId, job.Load)
		if err != nil {
			return brokerError("Routine load job "+job.Name+" cannot be resumed", err)
		}
		defer client.Close()
		if err := m.pinSettled(ctx, client, job); err != nil {
			return brokerError("Routine load job "+job.Name+" cannot be resumed", err)
		}
		m.notePinned(job.Id, verdict.Pinned{})
	}
	// The group was pinned for what the job was.
	err := m.proposeFor(ctx, job, &raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
		JobId: job.Id, From: job.State, To: raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE, Automatic: automatic,
	}}})
	if err == nil {
		m.noteSetup(job.Id, nil)
	}
	return err
}

// pinSettled empties the group of the job's members and sets its start offsets
// to what is settled, which also wipes delivery counts.
func (m *Manager) pinSettled(ctx context.Context, client *kafka.Client, job *raftlogv1.Job) error {
	if err := client.Ping(ctx); err != nil {
		return err
	}
	if err := emptyGroup(ctx, client, job); err != nil {
		return err
	}
	topic, err := client.Topic(ctx, job.Load.Topic)
	if err != nil {
		return err
	}
	logs, err := client.Logs(ctx, job.Load.Topic)
	if err != nil {
		return err
	}
	var ledgers []ledger.View
	m.cfg.Store.View(func(st *state.State) { ledgers = st.Ledgers(job.Id) })
	starts, err := resumeAt(topic, logs, ledgers)
	if err != nil {
		return err
	}
	return client.Pin(ctx, job.Load.GroupId, job.Load.Topic, starts)
}

// resumeAt is the settled offset of each partition, no less than the log's
// start. Partitions without a ledger are read from their beginning. A log that
// ends below what is settled was truncated: its offsets name other records.
func resumeAt(topic kafka.Topic, logs map[int32]kafka.Log, ledgers []ledger.View) (map[int32]int64, error) {
	starts := make(map[int32]int64, len(logs))
	for p, log := range logs {
		starts[p] = log.Start
	}
	for _, l := range ledgers {
		log, ok := logs[l.Partition]
		if !ok || kafka.TopicID(l.TopicID) != topic.ID {
			continue
		}
		if l.Settled > log.End {
			return nil, fmt.Errorf("the log of topic '%s', partition %d, ends at offset %d, but everything below %d is settled: it was truncated. ALTER ROUTINE LOAD with kafka_partitions and kafka_offsets says where to go on",
				topic.Name, l.Partition, log.End, l.Settled)
		}
		starts[l.Partition] = max(log.Start, l.Settled)
	}
	return starts, nil
}

// emptyGroup waits for the job's members to leave, and takes out those that do
// not. Other members are not touched: ErrNotEmpty.
func emptyGroup(ctx context.Context, client *kafka.Client, job *raftlogv1.Job) error {
	patience, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	err := client.AwaitEmpty(patience, job.Load.GroupId)
	if !errors.Is(err, kafka.ErrNotEmpty) {
		return err
	}
	members, err := client.Members(ctx, job.Load.GroupId)
	if err != nil {
		return err
	}
	var ours []string
	for _, m := range members {
		if slices.ContainsFunc(job.Tasks, func(t *raftlogv1.Task) bool { return t.MemberId == m.ID }) {
			ours = append(ours, m.ID)
		}
	}
	if err := client.Leave(ctx, job.Load.GroupId, ours...); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	return client.AwaitEmpty(bounded, job.Load.GroupId)
}
