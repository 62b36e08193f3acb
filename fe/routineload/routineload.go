// Package routineload creates, shows and steers routine load jobs, and does
// what the leading frontend owes to them.
//
// Statements come in through the Manager's methods, which check them, speak to
// the broker through fe/kafka where they must, and propose commands; errors are
// made for clients (fe/errno). A job is made in three steps that may each be
// repeated: its start offsets are resolved and recorded with it; in share mode
// its group gets its settings and is pinned there; only then it is started and
// may have tasks. RESUME pins again, at the settled offsets, while the group has
// no member. A classic job has no group.
//
// RunLeader is the leader's part: each second, and when something changed, it
// pauses jobs that their table has outgrown, plans where tasks run
// (fe/schedule), lets members of lost backends leave their group, and has the
// auditor look at topics and groups. A group that the auditor finds standing
// still is pinned again as RESUME does it, with the job's tasks off their
// backends meanwhile. With less hurry it finishes starts that a former leader
// began, resumes jobs that need no person, and deletes the groups of jobs that
// read by them no more. It owns its goroutines; nothing runs on a frontend that
// does not lead.
//
// SHOW ROUTINE LOAD has Doris's columns. ReasonOfStateChanged is filled for
// PAUSED and CANCELLED jobs, as in Doris; OtherMsg has the verdict: what a job
// does or why it does not (fe/verdict), in every state.
package routineload

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"shoal/fe/auditor"
	"shoal/fe/backend"
	"shoal/fe/credentials"
	"shoal/fe/deadletter"
	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/fe/lease"
	"shoal/fe/schedule"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/jobs"
	"shoal/fe/verdict"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

// Store is the replicated state: View reads it, Propose changes it. What the
// state machine refuses is an error in the result.
type Store interface {
	View(read func(*state.State))
	Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error)
}

// Config is what a Manager needs.
type Config struct {
	Store    Store
	Backends *backend.Registry
	Kafka    *kafka.Pool
	Leases   *lease.Leases // of the versions whose files are read
	// Secrets seals what is stored; Kafka opens it by the same keeper.
	Secrets *credentials.Keeper
	Logger  *slog.Logger
}

// Manager is the routine load jobs of a cluster. Its methods are safe for
// concurrent use.
type Manager struct {
	cfg     Config
	auditor *auditor.Auditor
	letters *deadletter.Outbox
	kick    chan struct{} // plan at once

	changing sync.Mutex // held by proposeFor

	planning sync.Mutex      // held while a plan is made and carried out
	off      map[uint64]bool // under planning: jobs whose tasks are not to be placed now
	pacer    *schedule.Pacer // under planning
	began    time.Time       // of the pacer's clock

	mu      sync.Mutex
	tracker *verdict.Tracker
	setup   map[uint64]string         // why a job could not be started, or resumed by itself, yet
	fitting map[uint64]fit            // whether definitions fit their tables
	pinned  map[uint64]verdict.Pinned // groups that stood still
	wanted  map[uint64]int            // how many tasks jobs have work for
}

// New makes a manager that starts nothing.
func New(cfg Config) *Manager {
	m := &Manager{
		cfg:     cfg,
		kick:    make(chan struct{}, 1),
		off:     make(map[uint64]bool),
		tracker: verdict.NewTracker(),
		setup:   make(map[uint64]string),
		fitting: make(map[uint64]fit),
		pinned:  make(map[uint64]verdict.Pinned),
		pacer:   schedule.NewPacer(),
		began:   time.Now(),
		wanted:  make(map[uint64]int),
	}
	m.auditor = auditor.NewAuditor(cfg.Store, cfg.Backends, cfg.Kafka, m.pinAgain, cfg.Logger)
	m.letters = deadletter.New(deadletter.Config{Store: cfg.Store, Leases: cfg.Leases, Backends: cfg.Backends, Open: cfg.Kafka.Open, Logger: cfg.Logger})
	return m
}

// planSoon has the leader plan before its next tick.
func (m *Manager) planSoon() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// propose changes the state. A refusal of the state machine comes back as it
// is, anything else as an error for clients.
func (m *Manager) propose(ctx context.Context, cmd *raftlogv1.Command) (uint64, error) {
	cmd.AtMs = time.Now().UnixMilli()
	result, err := m.cfg.Store.Propose(ctx, cmd)
	if err != nil {
		return 0, errno.Wrap(errno.OutcomeUnknown, err, "errCode = 2, detailMessage = the change was not confirmed by the frontends, look whether it took place: %v", err)
	}
	return result.ID, result.Err
}

// proposeFor proposes what was prepared for a job as it was, at brokers perhaps;
// ErrMovedOn if its definition was replaced since.
func (m *Manager) proposeFor(ctx context.Context, job *raftlogv1.Job, cmd *raftlogv1.Command) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	if now := m.job(job.Id); now == nil || now.Load != job.Load || now.Generation != job.Generation {
		return jobs.ErrMovedOn
	}
	_, err := m.propose(ctx, cmd)
	return err
}

// changeState proposes a change of a job's state.
func (m *Manager) changeState(ctx context.Context, change *raftlogv1.ChangeJobState) error {
	_, err := m.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: change}})
	return err
}

// database is the database that a statement names, or the session's.
func (m *Manager) database(s *session.Session, name string) (db *raftlogv1.Database, err error) {
	if name == "" {
		name = s.DB
	}
	if name == "" {
		return nil, errno.New(errno.NoDatabase, "No database selected")
	}
	m.cfg.Store.View(func(st *state.State) { db = st.Database(name) })
	if db == nil {
		return nil, errno.New(errno.UnknownDatabase, "Unknown database '%s'", name)
	}
	return db, nil
}

// operable is the job of that name that has not ended.
func (m *Manager) operable(s *session.Session, name ast.Name) (job *raftlogv1.Job, err error) {
	db, err := m.database(s, name.DB)
	if err != nil {
		return nil, err
	}
	m.cfg.Store.View(func(st *state.State) { job = st.JobByName(db.Id, name.Name) })
	if job == nil {
		return nil, refuse("There is not operable routine load job with name %s in db %s", name.Name, db.Name)
	}
	return job, nil
}

// refuse is an error as Doris wraps those of its statements.
func refuse(format string, args ...any) error {
	return errno.New(errno.Unknown, "errCode = 2, detailMessage = "+format, args...)
}

// brokerError is a failure that the broker, or the way to it, is the cause of.
func brokerError(doing string, err error) error {
	if _, done := errors.AsType[*errno.Error](err); done {
		return err
	}
	return errno.Wrap(errno.Unknown, err, "errCode = 2, detailMessage = %s: %v", doing, err)
}
