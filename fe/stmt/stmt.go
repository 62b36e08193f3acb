// Package stmt carries out statements: one function for each kind, in a file
// named after what it is about.
//
// It reads the replicated state through a Store and changes it by proposing
// commands; queries of tables go to Queries, jobs to RoutineLoads. It knows
// sessions and results and neither packets nor Raft. An Executor keeps nothing
// between statements and is safe for concurrent use, one statement at a time
// for each session. It starts no goroutines.
package stmt

import (
	"context"
	"errors"
	"strings"
	"time"

	"shoal/fe/credentials"
	"shoal/fe/errno"
	"shoal/fe/literal"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
	"shoal/sql/parse"
)

// Store is the replicated state.
type Store interface {
	// View calls f with the state, which must not be kept or changed.
	View(f func(*state.State))
	// Propose has a command applied and returns what applying it gave; its Err
	// is the state machine's refusal.
	Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error)
}

// Queries answers SELECTs.
type Queries interface {
	// Reads tells what a SELECT needs: the replicated state, or also what only
	// the leader knows. One that cannot be read needs neither.
	Reads(s *session.Session, text string) (state, leader bool)
	// Query runs a SELECT as MySQL spells it and writes its result.
	Query(ctx context.Context, s *session.Session, text string, w result.Writer) error
	// Explain writes the plan of a SELECT.
	Explain(ctx context.Context, s *session.Session, text string, w result.Writer) error
	// Describe is the columns of a SELECT's result, with its placeholders set
	// to NULL.
	Describe(ctx context.Context, s *session.Session, text string) ([]result.Column, error)
	// Filter keeps the rows of a table for which a condition over its columns
	// holds.
	Filter(ctx context.Context, s *session.Session, t *result.Table, condition string) error
}

// RoutineLoads is what can be done with routine load jobs.
type RoutineLoads interface {
	Create(ctx context.Context, s *session.Session, stmt *ast.CreateRoutineLoad) error
	Explain(ctx context.Context, s *session.Session, stmt *ast.ExplainRoutineLoad) (*result.Table, error)
	Pause(ctx context.Context, s *session.Session, stmt *ast.PauseRoutineLoad) error
	Resume(ctx context.Context, s *session.Session, stmt *ast.ResumeRoutineLoad) error
	Stop(ctx context.Context, s *session.Session, stmt *ast.StopRoutineLoad) error
	Alter(ctx context.Context, s *session.Session, stmt *ast.AlterRoutineLoad) error
	Show(ctx context.Context, s *session.Session, stmt *ast.ShowRoutineLoad) (*result.Table, error)
	ShowTasks(ctx context.Context, s *session.Session, stmt *ast.ShowRoutineLoadTask) (*result.Table, error)
	ShowLedger(ctx context.Context, s *session.Session, stmt *ast.ShowRoutineLoadLedger) (*result.Table, error)
	ShowCreate(ctx context.Context, s *session.Session, stmt *ast.ShowCreateRoutineLoad) (*result.Table, error)
	// CheckLedger may take long; progress is told how far it has come.
	CheckLedger(ctx context.Context, s *session.Session, stmt *ast.CheckRoutineLoadLedger, progress func(string)) (*result.Table, error)
}

// Nodes lists the cluster's processes.
type Nodes interface {
	// Frontends are what this one finds when it asks them. None is the master
	// unless led, which is that one leads.
	Frontends(ctx context.Context, led bool) *result.Table
	// Backends are as the leader knows them, which this one is; unless led it
	// tells what is in the state.
	Backends(led bool) *result.Table
}

// Frontends changes who the frontends are, at the one that leads (fe/membership).
type Frontends interface {
	Add(ctx context.Context, role raftlogv1.FrontendRole, host string, editLogPort uint32) error
	Drop(ctx context.Context, role raftlogv1.FrontendRole, host string, editLogPort uint32) error
}

// Cluster is the way to the other frontends.
type Cluster interface {
	// Sync returns once the state here shows all that any frontend answered
	// before the call.
	Sync(ctx context.Context) error
	// Led is Sync for what is also answered while no frontend leads: it tells
	// soon whether one does.
	Led(ctx context.Context) bool
	// AtLeader has a statement carried out by the frontend that leads: by here
	// if it is this one. effects tells whether it may change anything.
	AtLeader(ctx context.Context, s *session.Session, text string, effects bool, w result.Writer, here func(context.Context, result.Writer) error) error
}

// Config is what an Executor needs.
type Config struct {
	Store        Store
	Queries      Queries
	RoutineLoads RoutineLoads
	Secrets      *credentials.Keeper // seals files
	// Download is the content at a URL, of at most limit bytes (fe/download).
	Download  func(ctx context.Context, address string, limit int64) ([]byte, error)
	Nodes     Nodes
	Frontends Frontends
	Cluster   Cluster
	Processes *session.Processes
	Started   time.Time // of the frontend
}

// Executor carries out statements.
type Executor struct{ cfg Config }

// New returns an executor.
func New(cfg Config) *Executor { return &Executor{cfg: cfg} }

// Execute carries out one statement with a value for each of its placeholders
// and writes its result to w, in which rows may come before an error. Errors
// are as errno.From takes them.
func (e *Executor) Execute(ctx context.Context, s *session.Session, text string, args []literal.Value, w result.Writer) error {
	stmt, text, err := e.read(text, args)
	// What cannot be read begins a new list of warnings too: it is no diagnostic statement.
	if _, diagnostic := stmt.(*ast.ShowWarnings); !diagnostic {
		s.ClearWarnings()
	}
	if err != nil {
		return err
	}
	s.RowCount = -1
	return e.carryOut(ctx, s, stmt, text, w)
}

// read parses a statement with a value for each of its placeholders, which are
// in the text that it returns.
func (e *Executor) read(text string, args []literal.Value) (stmt ast.Stmt, bound string, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, "", errno.New(errno.EmptyQuery, "Query was empty")
	}
	if len(args) > 0 || literal.CountParams(text) > 0 {
		if text, err = literal.Bind(text, args); err != nil {
			return nil, "", err
		}
	}
	stmt, err = e.parse(text)
	return stmt, text, err
}

// parse reads a statement; its error has MySQL's number.
func (e *Executor) parse(text string) (ast.Stmt, error) {
	stmt, err := parse.Parse(text)
	var syntax *parse.SyntaxError
	var invalid *parse.InvalidError
	switch {
	case errors.As(err, &syntax) && literal.HideSecrets(text) != text:
		// What follows the fault would be quoted, and might be the secret.
		return nil, errno.New(errno.Syntax, "You have an error in your SQL syntax; %s at line %d (not quoted, for the statement has a password)",
			strings.TrimRight(syntax.Msg, ","), syntax.Line)
	case errors.As(err, &syntax):
		return nil, errno.New(errno.Syntax, "%s", syntax.Error())
	case errors.As(err, &invalid):
		return nil, errno.New(errno.Unknown, "%s", invalid.Error())
	}
	return stmt, err
}

func (e *Executor) run(ctx context.Context, s *session.Session, stmt ast.Stmt, w result.Writer) error {
	switch stmt := stmt.(type) {
	case *ast.Select:
		return e.query(ctx, s, stmt, w)
	case *ast.Explain:
		return e.cfg.Queries.Explain(ctx, s, stmt.Text, w)
	case *ast.ShowLoadWarnings:
		return e.showLoadWarnings(ctx, s, stmt, w)
	case *ast.Set:
		return e.set(ctx, s, stmt, w)
	case *ast.Use:
		return e.useStmt(s, stmt, w)
	case *ast.NoOp:
		return noOp(s, stmt, w)
	case *ast.Kill:
		return e.kill(s, stmt, w)
	case *ast.Help:
		return helpTable().Send(w)
	case *ast.Unsupported:
		return unsupported(stmt)
	case *ast.Admin:
		return unsupportedAdmin(stmt)
	}
	if handled, err := e.runDDL(ctx, s, stmt, w); handled {
		return err
	}
	table, err := e.show(ctx, s, stmt)
	if err != nil {
		return err
	}
	return table.Send(w)
}

// query answers a SELECT within the session's time limit. As in MySQL, the time
// in which a client does not read counts.
func (e *Executor) query(ctx context.Context, s *session.Session, stmt *ast.Select, w result.Writer) error {
	if limit := s.QueryTimeout(); limit > 0 {
		timeout := errno.New(errno.QueryTimeout, "Query execution was interrupted, maximum statement execution time exceeded: %v (query_timeout, max_execution_time)", limit)
		// Not a deadline: gRPC would hand it on, and a backend whose clock is
		// ahead would end the query for a reason that nobody understands.
		running, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer time.AfterFunc(limit, func() { cancel(timeout) }).Stop()
		ctx = running
	}
	err := e.cfg.Queries.Query(ctx, s, stmt.Text, w)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// runDDL carries out the statements that change something and answer OK.
func (e *Executor) runDDL(ctx context.Context, s *session.Session, stmt ast.Stmt, w result.Writer) (handled bool, err error) {
	switch stmt := stmt.(type) {
	case *ast.CreateDatabase:
		err = e.createDatabase(ctx, s, stmt)
	case *ast.DropDatabase:
		err = e.dropDatabase(ctx, s, stmt)
	case *ast.CreateTable:
		err = e.createTable(ctx, s, stmt)
	case *ast.DropTable:
		err = e.dropTable(ctx, s, stmt)
	case *ast.RenameDatabase:
		err = e.renameDatabase(ctx, s, stmt)
	case *ast.AlterTable:
		err = e.alterTable(ctx, s, stmt)
	case *ast.TruncateTable:
		err = e.truncateTable(ctx, s, stmt)
	case *ast.CreateFile:
		err = e.createFile(ctx, s, stmt)
	case *ast.DropFile:
		err = e.dropFile(ctx, s, stmt)
	case *ast.CreateRoutineLoad:
		err = e.cfg.RoutineLoads.Create(ctx, s, stmt)
	case *ast.PauseRoutineLoad:
		err = e.cfg.RoutineLoads.Pause(ctx, s, stmt)
	case *ast.ResumeRoutineLoad:
		err = e.cfg.RoutineLoads.Resume(ctx, s, stmt)
	case *ast.StopRoutineLoad:
		err = e.cfg.RoutineLoads.Stop(ctx, s, stmt)
	case *ast.AlterRoutineLoad:
		err = e.cfg.RoutineLoads.Alter(ctx, s, stmt)
	case *ast.AlterFrontend:
		err = e.alterFrontend(ctx, stmt)
	case *ast.AlterBackends:
		err = e.alterBackends(ctx, stmt)
	default:
		return false, nil
	}
	if err == nil {
		s.RowCount = 0
		w.OK(0, "")
	}
	return true, err
}

// show makes the table of a SHOW statement, filtered as it asks.
func (e *Executor) show(ctx context.Context, s *session.Session, stmt ast.Stmt) (*result.Table, error) {
	switch stmt := stmt.(type) {
	case *ast.ExplainRoutineLoad:
		return e.cfg.RoutineLoads.Explain(ctx, s, stmt)
	case *ast.ShowRoutineLoadTask:
		return e.cfg.RoutineLoads.ShowTasks(ctx, s, stmt)
	case *ast.ShowRoutineLoadLedger:
		return e.cfg.RoutineLoads.ShowLedger(ctx, s, stmt)
	case *ast.ShowCreateRoutineLoad:
		return e.cfg.RoutineLoads.ShowCreate(ctx, s, stmt)
	case *ast.CheckRoutineLoadLedger:
		return e.cfg.RoutineLoads.CheckLedger(ctx, s, stmt, s.Progress)
	case *ast.ShowWarnings:
		return showWarnings(s, stmt), nil
	case *ast.ShowGrants:
		return showGrants(s), nil
	case *ast.ShowFiles:
		return e.showFiles(s, stmt)
	case *ast.ShowCreateDatabase:
		return e.showCreateDatabase(stmt)
	case *ast.ShowCreateTable:
		return e.showCreateTable(s, stmt)
	}
	table, filter, err := e.showFiltered(ctx, s, stmt)
	if err != nil {
		return nil, err
	}
	return table, e.filter(ctx, s, table, filter)
}

// showFiltered makes the tables that LIKE and WHERE apply to.
func (e *Executor) showFiltered(ctx context.Context, s *session.Session, stmt ast.Stmt) (table *result.Table, filter ast.Filter, err error) {
	switch stmt := stmt.(type) {
	case *ast.ShowRoutineLoad: // its LIKE is about names, which are no first column
		table, err = e.cfg.RoutineLoads.Show(ctx, s, stmt)
		filter.Where = stmt.Filter.Where
	case *ast.ShowDatabases:
		table, filter = e.showDatabases(), stmt.Filter
	case *ast.ShowTables:
		table, err = e.showTables(s, stmt)
		filter = stmt.Filter
	case *ast.ShowTableStatus:
		table, err = e.showTableStatus(s, stmt)
		filter = stmt.Filter
	case *ast.ShowColumns:
		table, err = e.showColumns(s, stmt)
		filter = stmt.Filter
	case *ast.ShowIndex:
		table, err = e.showIndex(s, stmt)
		filter = stmt.Filter
	case *ast.ShowVariables:
		table, filter = showVariables(s, stmt.Scope), stmt.Filter
	case *ast.ShowStatus:
		table, filter = e.showStatus(), stmt.Filter
	case *ast.ShowProcesslist:
		table = e.showProcesslist(stmt)
	case *ast.ShowList:
		table, err = e.showList(ctx, stmt)
		filter = stmt.Filter
	default:
		err = errno.New(errno.NotSupportedYet, "this statement is not supported by Shoal")
	}
	return table, filter, err
}

// filter keeps the rows that LIKE or WHERE ask for; LIKE is about the first
// column.
func (e *Executor) filter(ctx context.Context, s *session.Session, t *result.Table, f ast.Filter) error {
	switch {
	case f.Like != nil:
		kept := t.Rows[:0]
		for _, row := range t.Rows {
			if row[0] != nil && literal.Like(*f.Like, *row[0]) {
				kept = append(kept, row)
			}
		}
		t.Rows = kept
	case f.Where != nil:
		return e.cfg.Queries.Filter(ctx, s, t, f.Where.Text)
	}
	return nil
}

// Describe is the columns that a statement's result will have, none for one
// without rows; placeholders count as NULL, in a LIMIT as 0. It runs nothing.
func (e *Executor) Describe(ctx context.Context, s *session.Session, text string) ([]result.Column, error) {
	text = literal.Blank(text)
	stmt, err := e.parse(text)
	if err != nil {
		return nil, err
	}
	switch stmt := stmt.(type) {
	case *ast.Select:
		if state, _ := e.cfg.Queries.Reads(s, stmt.Text); state {
			if err := e.cfg.Cluster.Sync(ctx); err != nil {
				return nil, err
			}
		}
		return e.cfg.Queries.Describe(ctx, s, stmt.Text)
	case *ast.Unsupported:
		return nil, errno.New(errno.UnsupportedPrepared, "%s is not supported by Shoal, prepared or not%s", stmt.What, meant(stmt.What))
	case *ast.CheckRoutineLoadLedger: // its columns are known when it is done
		return nil, errno.New(errno.UnsupportedPrepared, "ADMIN CHECK ROUTINE LOAD LEDGER is not supported as a prepared statement")
	case *ast.Set, *ast.Use, *ast.NoOp, *ast.Kill, *ast.Admin:
		return nil, nil
	}
	if e.placeOf(s, stmt) == changedByLeader {
		return nil, nil
	}
	// What SHOW answers is made at once and small, so its columns are read off
	// the answer itself.
	var d result.Description
	if err := e.carryOut(ctx, s, stmt, text, &d); err != nil {
		return nil, err
	}
	return d.Described, nil
}
