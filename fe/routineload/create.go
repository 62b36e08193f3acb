package routineload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

const (
	// maxJobs is Doris's max_routine_load_job_num, compared as Doris does:
	// "more than", before the new one is added.
	maxJobs = 100
	// createTimeout bounds CREATE and RESUME, whose every step has a shorter
	// limit.
	createTimeout = 45 * time.Second
	// undoTimeout bounds the removal of a job that could not be started, which
	// goes on when the client is gone.
	undoTimeout = 10 * time.Second
)

// Create carries out CREATE ROUTINE LOAD. It answers once the job's group is
// set up and pinned and the job is started; if that fails nothing is left of
// the job, and the error says why.
func (m *Manager) Create(ctx context.Context, s *session.Session, stmt *ast.CreateRoutineLoad) error {
	db, table, err := m.target(s, stmt)
	if err != nil {
		return err
	}
	def, err := define(stmt, table, s.Location().String())
	if err != nil {
		return err
	}
	if err := m.checkFree(db, stmt.Job.Name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	client, err := m.cfg.Kafka.Dial(db.Id, def.load)
	if err != nil {
		return brokerError("Failed to create the routine load job", err)
	}
	defer client.Close()
	starts, err := checkBroker(ctx, client, def)
	if err != nil {
		return err
	}
	id, err := m.record(ctx, &raftlogv1.Job{
		DatabaseId: db.Id, Name: stmt.Job.Name, TableId: table.Id, Load: def.load, User: s.User, Comment: stmt.Comment, Starts: starts,
	})
	if err != nil {
		return createError(err, stmt, db)
	}
	if err := m.start(ctx, client, id); err != nil {
		m.undo(ctx, id)
		return brokerError("The share group of routine load job "+stmt.Job.Name+" could not be set up", err)
	}
	m.planSoon()
	return nil
}

// target finds what a job loads into.
func (m *Manager) target(s *session.Session, stmt *ast.CreateRoutineLoad) (db *raftlogv1.Database, table *raftlogv1.Table, err error) {
	if !jobName.MatchString(stmt.Job.Name) {
		return nil, nil, errno.New(errno.WrongRoutineLoadName,
			"Incorrect routine load job name '%s': it begins with a letter, and letters, digits, - and _ follow, 64 characters at most", stmt.Job.Name)
	}
	db, err = m.database(s, stmt.Job.DB)
	if err != nil {
		return nil, nil, err
	}
	if stmt.Table == "" {
		return nil, nil, unsupported("Multi-table routine load jobs, without ON, are not supported yet")
	}
	m.cfg.Store.View(func(st *state.State) { table = st.Table(db.Id, stmt.Table) })
	if table == nil {
		return nil, nil, errno.New(errno.UnknownTable, "Unknown table '%s' in database '%s'", stmt.Table, db.Name)
	}
	return db, table, nil
}

// checkFree refuses names in use and too many jobs, before a broker is asked.
func (m *Manager) checkFree(db *raftlogv1.Database, name string) error {
	live, used := 0, false
	m.cfg.Store.View(func(st *state.State) {
		used = st.JobByName(db.Id, name) != nil
		for _, job := range st.Jobs() {
			if !jobs.Ended(job.State) {
				live++
			}
		}
	})
	switch {
	case used:
		return refuse("Name %s already used in db %s", name, db.Name)
	case live > maxJobs:
		return refuse("There are more than %d routine load jobs that have not ended; STOP some", maxJobs)
	}
	return nil
}

// checkBroker checks broker, topic and group, and resolves where to begin.
func checkBroker(ctx context.Context, client *kafka.Client, def definition) ([]*raftlogv1.LedgerStart, error) {
	const doing = "Failed to create the routine load job"
	if err := client.Ping(ctx); err != nil {
		return nil, brokerError(doing, err)
	}
	if err := client.CheckShareGroups(ctx); err != nil {
		return nil, brokerError(doing, err)
	}
	topic, err := client.Topic(ctx, def.load.Topic)
	if err != nil {
		return nil, brokerError(doing, err)
	}
	offsets, err := begin(ctx, client, def)
	if err != nil {
		return nil, brokerError(doing, err)
	}
	starts := make([]*raftlogv1.LedgerStart, len(topic.Partitions))
	for i, p := range topic.Partitions {
		starts[i] = &raftlogv1.LedgerStart{TopicId: topic.ID[:], Partition: p, Start: offsets[p]}
	}
	return starts, nil
}

// begin is the first offset to read of each partition: where the user's group
// is, if it is anywhere and nothing else was asked for. A group reads
// partitions that it has no offset of from 0.
func begin(ctx context.Context, client *kafka.Client, def definition) (map[int32]int64, error) {
	if def.load.GroupIdGiven {
		members, err := client.Members(ctx, def.load.GroupId)
		if err != nil {
			return nil, err
		}
		if n := len(members); n > 0 {
			return nil, fmt.Errorf("share group '%s' has %d members already: another application reads by it", def.load.GroupId, n)
		}
	}
	if def.adopt {
		positions, err := client.Positions(ctx, def.load.GroupId, def.load.Topic)
		if err != nil {
			return nil, err
		}
		offsets := make(map[int32]int64)
		for p, position := range positions {
			if position.Start >= 0 {
				offsets[p] = position.Start
			}
		}
		if len(offsets) > 0 {
			return offsets, nil
		}
	}
	return client.Resolve(ctx, def.load.Topic, def.start)
}

// record makes the job, not started yet, and returns its id.
func (m *Manager) record(ctx context.Context, job *raftlogv1.Job) (uint64, error) {
	var cluster string
	m.cfg.Store.View(func(st *state.State) { cluster = st.ClusterInfo().GetClusterId() })
	return m.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
		Job: job, GroupPrefix: "shoal-" + cluster + "-",
	}}})
}

// createError is a refusal of the state machine in words for the client.
func createError(err error, stmt *ast.CreateRoutineLoad, db *raftlogv1.Database) error {
	switch {
	case errors.Is(err, jobs.ErrNameInUse):
		return refuse("Name %s already used in db %s", stmt.Job.Name, db.Name)
	case errors.Is(err, catalog.ErrNoTable):
		return errno.New(errno.UnknownTable, "Unknown table '%s' in database '%s'", stmt.Table, db.Name)
	case errors.Is(err, jobs.ErrGroupInUse):
		return refuse("property.group.id: %v", err)
	}
	return err
}

// start sets up the job's group as it was recorded, and starts the job. It may
// be repeated.
func (m *Manager) start(ctx context.Context, client *kafka.Client, id uint64) error {
	var job *raftlogv1.Job
	m.cfg.Store.View(func(st *state.State) { job = st.JobByID(id) })
	if job == nil || job.Started {
		return nil
	}
	settings, err := client.Configure(ctx, job.Load.GroupId, kafka.Wanted{
		Lock:            time.Duration(job.Load.ShareLockDurationMs) * time.Millisecond,
		DeliveryLimit:   int(job.Load.ShareDeliveryLimit),
		MaxRecordLocks:  int(job.Load.ShareMaxRecordLocks),
		ReadUncommitted: job.Load.ReadUncommitted,
	})
	if err != nil {
		return err
	}
	starts := make(map[int32]int64, len(job.Starts))
	for _, s := range job.Starts {
		starts[s.Partition] = s.Start
	}
	if err := client.Pin(ctx, job.Load.GroupId, job.Load.Topic, starts); err != nil {
		return err
	}
	_, err = m.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{
		JobId: id, Starts: job.Starts, Note: strings.Join(settings.Notes, "; "), LockDurationMs: settings.Lock.Milliseconds(),
	}}})
	return err
}

// undo removes a job that could not be started. Should that fail too, the
// leader goes on trying to start it, and SHOW says so.
func (m *Manager) undo(ctx context.Context, id uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if _, err := m.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_RemoveJob{RemoveJob: &raftlogv1.RemoveJob{JobId: id}}}); err != nil {
		m.cfg.Logger.Error("job that could not be started was not removed", "job_id", id, "err", err)
	}
}
