package routineload

import (
	"context"
	"errors"
	"strings"
	"time"

	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/fe/loaddef"
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

// Create carries out CREATE ROUTINE LOAD. It answers once the job is started,
// in share mode with its group set up and pinned; if that fails nothing is left
// of the job, and the error says why.
func (m *Manager) Create(ctx context.Context, s *session.Session, stmt *ast.CreateRoutineLoad) error {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	c, err := m.check(ctx, s, stmt)
	if err != nil {
		return err
	}
	defer c.client.Close()
	id, err := m.record(ctx, &raftlogv1.Job{
		DatabaseId: c.db.Id, Name: stmt.Job.Name, TableId: c.table.GetId(), Load: c.def.Load, User: s.User, Comment: stmt.Comment, Starts: c.starts,
	})
	if err != nil {
		return createError(err, stmt, c.db)
	}
	if err := m.start(ctx, c.client, id); err != nil {
		m.undo(ctx, c, id)
		return brokerError("Routine load job "+stmt.Job.Name+" could not be started", err)
	}
	warn(s, c.def)
	m.planSoon()
	return nil
}

// checked is a new job that nothing speaks against.
type checked struct {
	db     *raftlogv1.Database
	table  *raftlogv1.Table // nil for all tables
	def    *loaddef.Definition
	client *kafka.Client // of its brokers
	starts []*raftlogv1.LedgerStart
}

// check checks a statement against state and broker. The caller closes the
// client.
func (m *Manager) check(ctx context.Context, s *session.Session, stmt *ast.CreateRoutineLoad) (c checked, err error) {
	if c.db, c.table, err = m.target(s, stmt); err != nil {
		return c, err
	}
	if c.def, err = loaddef.Create(stmt, target(c.table), s.Location().String()); err != nil {
		return c, err
	}
	if err = m.checkFree(c.db, stmt.Job.Name); err != nil {
		return c, err
	}
	// From here on the secrets are sealed: nothing of the job is stored before.
	if c.def.Load, err = m.cfg.Secrets.Seal(c.def.Load); err != nil {
		return c, brokerError("Failed to create the routine load job", err)
	}
	if c.client, err = m.cfg.Kafka.Dial(c.db.Id, c.def.Load); err != nil {
		return c, brokerError("Failed to create the routine load job", err)
	}
	if c.starts, err = m.checkBroker(ctx, c.client, c.def); err != nil {
		c.client.Close()
		return c, brokerError("Failed to create the routine load job", err)
	}
	return c, nil
}

// warn leaves a definition's notes for SHOW WARNINGS.
func warn(s *session.Session, def *loaddef.Definition) {
	for _, note := range def.Notes {
		s.Warn(session.LevelWarning, errno.Unknown, note)
	}
}

// target finds what a job loads into; a multi-table job has no table.
func (m *Manager) target(s *session.Session, stmt *ast.CreateRoutineLoad) (db *raftlogv1.Database, table *raftlogv1.Table, err error) {
	if err := loaddef.CheckName(stmt.Job.Name); err != nil {
		return nil, nil, err
	}
	if db, err = m.database(s, stmt.Job.DB); err != nil || stmt.Table == "" {
		return db, nil, err
	}
	m.cfg.Store.View(func(st *state.State) { table = st.Table(db.Id, stmt.Table) })
	if table == nil {
		return nil, nil, errno.New(errno.UnknownTable, "Unknown table '%s' in database '%s'", stmt.Table, db.Name)
	}
	return db, table, nil
}

// target is a table as definitions see it, nil for none.
func target(table *raftlogv1.Table) *loaddef.Target {
	if table == nil {
		return nil
	}
	return &loaddef.Target{Table: table.Name, Schema: catalog.Newest(table), Random: len(table.Distribution) == 0}
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
	case errors.Is(err, catalog.ErrNoDatabase):
		return errno.New(errno.UnknownDatabase, "Unknown database '%s'", db.Name)
	case errors.Is(err, catalog.ErrNoTable):
		return errno.New(errno.UnknownTable, "Unknown table '%s' in database '%s'", stmt.Table, db.Name)
	case errors.Is(err, jobs.ErrGroupInUse):
		return refuse("property.group.id: %v", err)
	}
	return err
}

// start sets up the group of a job in share mode as it was recorded, and starts
// the job. It may be repeated.
func (m *Manager) start(ctx context.Context, client *kafka.Client, id uint64) error {
	job := m.job(id)
	if job == nil || job.Started {
		return nil
	}
	command := &raftlogv1.StartRoutineLoad{JobId: id, Starts: job.Starts}
	if isShare(job.Load) {
		settings, err := configure(ctx, client, job.Load)
		if err != nil {
			return err
		}
		if err := client.Pin(ctx, job.Load.GroupId, job.Load.Topic, offsetsOf(job.Starts)); err != nil {
			return err
		}
		command.Note, command.LockDurationMs = strings.Join(settings.Notes, "; "), settings.Lock.Milliseconds()
	}
	_, err := m.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: command}})
	return err
}

// offsetsOf is starts by partition.
func offsetsOf(starts []*raftlogv1.LedgerStart) map[int32]int64 {
	out := make(map[int32]int64, len(starts))
	for _, s := range starts {
		out[s.Partition] = s.Start
	}
	return out
}

// undo removes a job that could not be started, and its group if the broker can
// be reached. Should the first fail too, the leader goes on trying to start it,
// and SHOW says so.
func (m *Manager) undo(ctx context.Context, c checked, id uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	job := m.job(id)
	if _, err := m.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_RemoveJob{RemoveJob: &raftlogv1.RemoveJob{JobId: id}}}); err != nil {
		m.cfg.Logger.Error("job that could not be started was not removed", "job_id", id, "err", err)
		return
	}
	if !isShare(job.GetLoad()) || job.Load.GroupIdGiven {
		return
	}
	if err := c.client.DeleteGroup(ctx, job.Load.GroupId); err != nil {
		m.cfg.Logger.Warn("group of a job that could not be started is left behind", "job_id", id, "group", job.Load.GroupId, "err", err)
	}
}
