// Package coord is the query coordinator: it plans a SELECT and has it
// answered.
//
// A SELECT in MySQL's spelling is rewritten for DuckDB, its tables are resolved
// to the rowsets of one version of the state, which it leases (fe/lease) until it
// ends, and a live backend runs it; what
// names no table with files (constants, information_schema) is answered here,
// so that it works without any backend. Rows pass through as they come, and a
// client that does not read holds the backend back.
//
// A Coordinator keeps nothing between queries, starts no goroutines and is safe
// for concurrent use.
package coord

import (
	"context"
	"errors"
	"time"

	"shoal/fe/errno"
	"shoal/fe/lease"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/internal/engine"
	backendv1 "shoal/proto/backend/v1"
	"shoal/sql/rewrite"
)

// Store is the replicated state.
type Store interface{ View(f func(*state.State)) }

// Backends knows who can run a query.
type Backends interface {
	// Pick is some live backend, an error if there is none.
	Pick(context.Context) (backendv1.BackendServiceClient, error)
}

// Topics reads records of topics, as rows of preview.Schema. Files are those of
// a database, 0 for none.
type Topics interface {
	Read(ctx context.Context, database uint64, topic *rewrite.Topic, zone *time.Location) ([][]*string, error)
}

// Config is what a Coordinator needs.
type Config struct {
	Store     Store
	Leases    *lease.Leases // of the versions that queries read
	Backends  Backends
	Engine    *engine.Engine // for queries that need no backend
	Processes *session.Processes
	// RoutineLoads makes the rows of information_schema.routine_load_jobs.
	RoutineLoads func(*session.Session) [][]result.Cell
	Topics       Topics // for kafka(…)
	Version      string // what VERSION() says
}

// Coordinator answers queries.
type Coordinator struct{ cfg Config }

// New returns a coordinator.
func New(cfg Config) *Coordinator { return &Coordinator{cfg} }

// Query answers a SELECT in MySQL's spelling.
func (c *Coordinator) Query(ctx context.Context, s *session.Session, text string, w result.Writer) error {
	p, err := c.plan(s, text)
	if err != nil {
		return err
	}
	defer p.release()
	if err := c.readTopic(ctx, s, p); err != nil {
		return err
	}
	return c.run(ctx, p, w)
}

// Explain answers a SELECT's plan.
func (c *Coordinator) Explain(ctx context.Context, s *session.Session, text string, w result.Writer) error {
	p, err := c.plan(s, text)
	if err != nil {
		return err
	}
	defer p.release()
	p.request.Explain = true
	return c.run(ctx, p, w)
}

// Describe is the columns of a SELECT's result. It reads no rows.
func (c *Coordinator) Describe(ctx context.Context, s *session.Session, text string) ([]result.Column, error) {
	p, err := c.plan(s, text)
	if err != nil {
		return nil, err
	}
	defer p.release()
	p.request.Describe = true
	var d result.Description
	err = c.run(ctx, p, &d)
	return d.Described, err
}

func (c *Coordinator) run(ctx context.Context, p *plan, w result.Writer) error {
	run := c.runHere
	if p.needsBackend {
		run = c.runOnBackend
	}
	err := run(ctx, p, w)
	if p.syntax != nil && errors.Is(err, errno.Syntax) {
		return p.syntax
	}
	return err
}

// runHere has the frontend's own engine answer.
func (c *Coordinator) runHere(ctx context.Context, p *plan, w result.Writer) error {
	req := engine.Request{SQL: p.request.Sql, Explain: p.request.Explain, Describe: p.request.Describe, TimeZone: p.request.TimeZone, Tables: p.local}
	columns := func(cols []engine.ResultColumn) error { return w.Columns(resultColumns(cols)) }
	return toErrno(c.cfg.Engine.Query(ctx, req, columns, w.Row))
}

func resultColumns(cols []engine.ResultColumn) []result.Column {
	out := make([]result.Column, len(cols))
	for i, col := range cols {
		out[i] = result.Column(col)
	}
	return out
}

// toErrno gives an error of the engine its MySQL number.
func toErrno(err error) error {
	var user *engine.Error
	if !errors.As(err, &user) {
		return err
	}
	return errno.New(kindCodes[user.Kind], "%s", user.Msg)
}

var kindCodes = map[engine.ErrorKind]errno.Code{
	engine.Failed:          errno.Unknown,
	engine.Syntax:          errno.Syntax,
	engine.Refused:         errno.NotSupportedYet,
	engine.UnknownTable:    errno.NoSuchTable,
	engine.UnknownColumn:   errno.BadField,
	engine.OutOfMemory:     errno.Unknown,
	engine.UnknownFunction: errno.NoSuchProcedure,
}
