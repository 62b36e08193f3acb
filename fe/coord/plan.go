package coord

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"shoal/fe/errno"
	"shoal/fe/infoschema"
	"shoal/fe/literal"
	"shoal/fe/preview"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	"shoal/internal/engine"
	"shoal/internal/errorrows"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/parse"
	"shoal/sql/rewrite"
)

// plan is a query with its tables resolved, ready for a backend or for the
// engine here.
type plan struct {
	request      *backendv1.QueryRequest
	local        []engine.Table // the same tables, when no backend is needed
	needsBackend bool
	release      func()          // gives back the lease of the version
	jobs         [][]result.Cell // of information_schema, if the query asks
	topic        *rewrite.Topic  // kafka(…), if the query has it
	// What to say if the engine cannot parse the query, nil if it should.
	syntax error
}

// plan rewrites a query and resolves its tables at one version of the state. The
// caller releases it.
func (c *Coordinator) plan(s *session.Session, text string) (*plan, error) {
	text, rewritten, topic, err := c.rewrite(s, text)
	if err != nil {
		return nil, fromRewriter(text, err)
	}
	p := &plan{request: &backendv1.QueryRequest{Sql: rewritten.SQL, TimeZone: timeZone(s)}, topic: topic}
	if rewritten.Foreign != nil {
		p.syntax = fromRewriter(text, rewritten.Foreign)
	}
	if slices.ContainsFunc(rewritten.Tables, isJobs) {
		p.jobs = c.cfg.RoutineLoads(s) // before the state is held, which it reads by itself
	}
	c.cfg.Store.View(func(st *state.State) {
		p.release = c.cfg.Leases.Hold(st)
		for _, name := range rewritten.Tables {
			if err = c.resolve(st, s, p, name); err != nil {
				return
			}
		}
	})
	if err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// rewrite is a query for DuckDB, with what it names. It returns the text without
// the topic, which an error is about.
func (c *Coordinator) rewrite(s *session.Session, text string) (string, rewrite.Result, *rewrite.Topic, error) {
	text, topic, err := rewrite.TakeTopic(text)
	if err != nil {
		return text, rewrite.Result{}, nil, err
	}
	rewritten, err := rewrite.Select(text, c.rewriteSession(s, timeZone(s)))
	return text, rewritten, topic, err
}

// Reads tells what a SELECT needs to be answered: the replicated state, if it
// names a table; what only the leader knows, if it is about jobs or reads a
// topic by way of a backend. One that cannot be read needs neither.
func (c *Coordinator) Reads(s *session.Session, text string) (state, leader bool) {
	_, rewritten, topic, err := c.rewrite(s, text)
	if err != nil {
		return false, false
	}
	return len(rewritten.Tables) > 0, topic != nil || slices.ContainsFunc(rewritten.Tables, isJobs)
}

func isJobs(name ast.Name) bool {
	return strings.EqualFold(name.DB, infoschema.Schema) && strings.EqualFold(name.Name, infoschema.RoutineLoadJobs)
}

// resolve adds the table that a query names to its plan.
func (c *Coordinator) resolve(st *state.State, s *session.Session, p *plan, name ast.Name) error {
	switch {
	case strings.EqualFold(name.DB, infoschema.Schema):
		return c.resolveInformationSchema(st, s, p, name)
	case name == rewrite.TopicTable:
		return p.add(name, preview.Schema(), nil, nil)
	}
	db := st.Database(name.DB)
	switch {
	case db == nil && slices.Contains(mysqlSchemas, strings.ToLower(name.DB)):
		return noSuchTable(name)
	case db == nil:
		return errno.New(errno.UnknownDatabase, "Unknown database '%s'", name.DB)
	}
	t := st.Table(db.Id, name.Name)
	if t == nil {
		return noSuchTable(name)
	}
	paths, older, err := divide(t, st.Rowsets(t.Id))
	if err != nil {
		return err
	}
	if err := p.add(name, catalog.Newest(t), paths, nil); err != nil {
		return err
	}
	p.request.Tables[len(p.request.Tables)-1].Older = older
	p.needsBackend = p.needsBackend || len(older) > 0
	return nil
}

// mysqlSchemas are MySQL's own, of which Shoal has none. Clients look into
// them for what a server may not have yet, so only the table is missing.
var mysqlSchemas = []string{"mysql", "performance_schema", "sys"}

func noSuchTable(name ast.Name) error {
	return errno.New(errno.NoSuchTable, "Table '%s.%s' doesn't exist", name.DB, name.Name)
}

func (c *Coordinator) resolveInformationSchema(st *state.State, s *session.Session, p *plan, name ast.Name) error {
	if strings.EqualFold(name.Name, infoschema.RoutineLoadErrors) {
		var paths []string
		for _, job := range st.Jobs() {
			for _, r := range st.ErrorRowsets(job.Id) {
				paths = append(paths, r.Rowset.Path)
			}
		}
		return p.add(name, errorrows.Visible(), paths, nil)
	}
	table := infoschema.Lookup(name.Name)
	if table == nil {
		return noSuchTable(name)
	}
	return p.add(name, table.Schema(), nil, table.Rows(c.picture(st, s, p.jobs)))
}

// readTopic reads the rows of kafka(…), if the query has it.
func (c *Coordinator) readTopic(ctx context.Context, s *session.Session, p *plan) error {
	if p.topic == nil {
		return nil
	}
	var database uint64
	c.cfg.Store.View(func(st *state.State) { database = st.Database(s.DB).GetId() })
	rows, err := c.cfg.Topics.Read(ctx, database, p.topic, s.Location())
	if err != nil {
		return err
	}
	for i, t := range p.request.Tables {
		if t.Db == rewrite.TopicTable.DB {
			t.Rows, p.local[i].Rows = inline(rows)
		}
	}
	return nil
}

// picture is what information_schema shows.
func (c *Coordinator) picture(st *state.State, s *session.Session, jobs [][]result.Cell) *infoschema.Catalog {
	out := &infoschema.Catalog{Databases: infoschema.Databases(st), RoutineLoads: jobs}
	for _, p := range c.cfg.Processes.List() {
		out.Processes = append(out.Processes, infoschema.Process{ID: int64(p.ID), User: p.User, Host: p.Host, DB: p.DB, Command: p.Command,
			Seconds: int64(time.Since(p.Since).Seconds()), Info: p.Info})
	}
	for _, v := range s.Variables(session.SessionScope) {
		out.Variables = append(out.Variables, infoschema.Variable(v))
	}
	for _, v := range s.Variables(session.GlobalScope) {
		out.Globals = append(out.Globals, infoschema.Variable(v))
	}
	return out
}

// add adds a table in both forms: for a backend, and for the engine here.
func (p *plan) add(name ast.Name, schema *typesv1.Schema, paths []string, rows [][]infoschema.Cell) error {
	columns, err := engine.Columns(schema)
	if err != nil {
		return err
	}
	remote := &backendv1.QueryTable{Db: name.DB, Name: name.Name, Schema: schema, Paths: paths}
	local := engine.Table{DB: name.DB, Name: name.Name, Columns: columns}
	remote.Rows, local.Rows = inline(rows)
	p.request.Tables = append(p.request.Tables, remote)
	p.local = append(p.local, local)
	p.needsBackend = p.needsBackend || len(paths) > 0
	return nil
}

// inline is rows in both forms.
func inline(rows [][]infoschema.Cell) (remote []*backendv1.InlineRow, local [][][]byte) {
	for _, row := range rows {
		cells := make([]*backendv1.Cell, len(row))
		texts := make([][]byte, len(row))
		for i, cell := range row {
			cells[i] = &backendv1.Cell{}
			if cell != nil {
				texts[i] = []byte(*cell)
				cells[i].Value = texts[i]
			}
		}
		remote = append(remote, &backendv1.InlineRow{Cells: cells})
		local = append(local, texts)
	}
	return remote, local
}

// timeZone is the session's, "" for the server's own, which is UTC.
func timeZone(s *session.Session) string {
	zone, err := s.Get(session.SessionScope, "time_zone")
	if err != nil || strings.EqualFold(zone.Text(), "SYSTEM") {
		return ""
	}
	return zone.Text()
}

// rewriteSession is what the rewriter may ask of a session.
func (c *Coordinator) rewriteSession(s *session.Session, zone string) *rewrite.Session {
	return &rewrite.Session{
		Database:     s.DB,
		User:         s.User + "@" + s.Host,
		Version:      c.cfg.Version,
		ConnectionID: uint64(s.ID),
		Now:          time.Now().In(engine.Location(zone)),
		Zone:         zone,
		RowCount:     s.RowCount,
		FoundRows:    s.FoundRows,
		SelectLimit:  selectLimit(s),
		SystemVariable: func(scope ast.Scope, name string) (any, error) {
			from := session.SessionScope
			if scope == ast.Global {
				from = session.GlobalScope
			}
			v, err := s.Get(from, name)
			return plain(v), err
		},
		UserVariable: func(name string) any { return plain(s.UserVar(name)) },
	}
}

// selectLimit is nil for sessions that did not set one.
func selectLimit(s *session.Session) *uint64 {
	limit := s.SelectLimit()
	if limit > math.MaxInt64 {
		return nil
	}
	return &limit
}

// plain is a value as the rewriter takes it.
func plain(v literal.Value) any {
	switch v.Kind() {
	case literal.KindNull:
		return nil
	case literal.KindInt:
		if n, err := strconv.ParseInt(v.Text(), 10, 64); err == nil {
			return n
		}
	case literal.KindUint:
		if n, ok := v.Whole(); ok {
			return n
		}
	case literal.KindDecimal:
		return rewrite.Decimal(v.Text())
	case literal.KindFloat:
		if f, err := strconv.ParseFloat(v.Text(), 64); err == nil {
			return f
		}
	}
	return v.Text()
}

// fromRewriter gives an error of the rewriter its MySQL number. What follows a
// fault of the syntax is quoted, unless it might be a secret.
func fromRewriter(text string, err error) error {
	var syntax *parse.SyntaxError
	var unsupported *rewrite.Unsupported
	var noDatabase *rewrite.NoDatabase
	switch {
	case errors.As(err, &syntax) && literal.HideSecrets(text) != text:
		return errno.New(errno.Syntax, "You have an error in your SQL syntax; %s at line %d (not quoted, for the query has a password)", strings.TrimRight(syntax.Msg, ","), syntax.Line)
	case errors.As(err, &syntax):
		return errno.New(errno.Syntax, "%s", syntax.Error())
	case errors.As(err, &unsupported):
		return errno.New(errno.NotSupportedYet, "%s", unsupported.Error())
	case errors.As(err, &noDatabase):
		return errno.New(errno.NoDatabase, "%s", noDatabase.Error())
	}
	return err
}
