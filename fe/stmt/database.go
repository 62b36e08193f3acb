package stmt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"shoal/fe/errno"
	"shoal/fe/infoschema"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

// maxNameLength is the most characters that a name of a database, table or
// column may have, as in MySQL.
const maxNameLength = 64

// checkName refuses names that no file, header or log could carry.
func checkName(code errno.Code, what, name string) error {
	switch {
	case name == "" || strings.HasSuffix(name, " ") || strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name):
		return errno.New(code, "Incorrect %s name '%s'", what, name)
	case utf8.RuneCountInString(name) > maxNameLength:
		return errno.New(errno.TooLongIdentifier, "Identifier name '%s' is too long: %d characters at most", name, maxNameLength)
	}
	return nil
}

// unless is err, or nothing but a note of it where the statement said that it
// may be so: IF EXISTS, IF NOT EXISTS.
func unless(foreseen bool, s *session.Session, err error) error {
	if !foreseen {
		return err
	}
	e := errno.From(err)
	s.Warn(session.LevelNote, e.Code, e.Msg)
	return nil
}

func (e *Executor) createDatabase(ctx context.Context, s *session.Session, stmt *ast.CreateDatabase) error {
	if err := checkName(errno.WrongDatabaseName, "database", stmt.Name); err != nil {
		return err
	}
	exists := errno.New(errno.DatabaseExists, "Can't create database '%s'; database exists", stmt.Name)
	if isInformationSchema(stmt.Name) {
		return unless(stmt.IfNotExists, s, exists)
	}
	if len(stmt.Properties) > 0 {
		return errno.New(errno.NotSupportedYet, "CREATE DATABASE has no property '%s' yet", stmt.Properties[0].Key)
	}
	_, err := e.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{
		CreateDatabase: &raftlogv1.CreateDatabase{Name: stmt.Name}}})
	if errors.Is(err, catalog.ErrDatabaseExists) {
		return unless(stmt.IfNotExists, s, exists)
	}
	return err
}

// dropDatabase drops a database with its tables; a session that is in it has
// none then, as in MySQL.
func (e *Executor) dropDatabase(ctx context.Context, s *session.Session, stmt *ast.DropDatabase) error {
	if isInformationSchema(stmt.Name) {
		return notWritable()
	}
	_, err := e.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_DropDatabase{
		DropDatabase: &raftlogv1.DropDatabase{Name: stmt.Name}}})
	if errors.Is(err, catalog.ErrNoDatabase) {
		return unless(stmt.IfExists, s, errno.New(errno.DatabaseNotExists, "Can't drop database '%s'; database doesn't exist", stmt.Name))
	}
	if err == nil && s.DB == stmt.Name {
		s.DB = ""
	}
	return err
}

// propose proposes a command stamped with the time.
func (e *Executor) propose(ctx context.Context, cmd *raftlogv1.Command) (uint64, error) {
	cmd.AtMs = time.Now().UnixMilli()
	applied, err := e.cfg.Store.Propose(ctx, cmd)
	if err != nil {
		return 0, unconfirmed(err)
	}
	return applied.ID, applied.Err
}

// unconfirmed is an error of Propose as the user sees it, if it is not tried
// again.
func unconfirmed(err error) error {
	return errno.Wrap(errno.OutcomeUnknown, err, "the change was not confirmed by the frontends, look whether it took place: %v", err)
}

func (e *Executor) useStmt(s *session.Session, stmt *ast.Use, w result.Writer) error {
	if stmt.Catalog != "" && !strings.EqualFold(stmt.Catalog, "internal") {
		return errno.New(errno.UnknownDatabase, "Unknown catalog '%s', internal is the only one", stmt.Catalog)
	}
	if err := e.use(s, stmt.Name); err != nil {
		return err
	}
	w.OK(0, "")
	return nil
}

// Use makes db the session's database, for clients that do not say it by a
// statement.
func (e *Executor) Use(ctx context.Context, s *session.Session, db string) error {
	if err := e.cfg.Cluster.Sync(ctx); err != nil {
		return err
	}
	return e.use(s, db)
}

func (e *Executor) use(s *session.Session, db string) error {
	if isInformationSchema(db) {
		s.DB = infoschema.Schema
		return nil
	}
	if _, err := e.database(db); err != nil {
		return err
	}
	s.DB = db
	return nil
}

func isInformationSchema(db string) bool { return strings.EqualFold(db, infoschema.Schema) }

// notWritable is what DDL in information_schema is told, as by MySQL.
func notWritable() error {
	return errno.New(errno.DatabaseAccessDenied, "Access denied to database '%s'", infoschema.Schema)
}

// database finds a database by name.
func (e *Executor) database(name string) (db *raftlogv1.Database, err error) {
	e.cfg.Store.View(func(st *state.State) { db = st.Database(name) })
	if db == nil {
		return nil, errno.New(errno.UnknownDatabase, "Unknown database '%s'", name)
	}
	return db, nil
}

// table finds a table; an empty DB in its name is the session's.
func (e *Executor) table(s *session.Session, name ast.Name) (db *raftlogv1.Database, t *raftlogv1.Table, err error) {
	dbName, err := databaseOf(s, name.DB)
	if err != nil {
		return nil, nil, err
	}
	e.cfg.Store.View(func(st *state.State) {
		if db = st.Database(dbName); db != nil {
			t = st.Table(db.Id, name.Name)
		}
	})
	switch {
	case db == nil:
		return nil, nil, errno.New(errno.UnknownDatabase, "Unknown database '%s'", dbName)
	case t == nil:
		return nil, nil, errno.New(errno.NoSuchTable, "Table '%s.%s' doesn't exist", dbName, name.Name)
	}
	return db, t, nil
}

// databaseOf is the database that a statement names, or the session's.
func databaseOf(s *session.Session, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if s.DB == "" {
		return "", errno.New(errno.NoDatabase, "No database selected")
	}
	return s.DB, nil
}

func (e *Executor) showDatabases() *result.Table {
	t := &result.Table{Columns: result.Texts("Database")}
	t.Rows = append(t.Rows, texts(infoschema.Schema)...)
	e.cfg.Store.View(func(st *state.State) {
		for _, db := range st.Databases() {
			t.Rows = append(t.Rows, texts(db.Name)...)
		}
	})
	return t
}

func (e *Executor) showCreateDatabase(stmt *ast.ShowCreateDatabase) (*result.Table, error) {
	if !isInformationSchema(stmt.Name) {
		if _, err := e.database(stmt.Name); err != nil {
			return nil, err
		}
	}
	return &result.Table{Columns: result.Texts("Database", "Create Database"),
		Rows: texts(stmt.Name, fmt.Sprintf("CREATE DATABASE %s", ast.QuoteName(stmt.Name)))}, nil
}
