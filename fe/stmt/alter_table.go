package stmt

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"shoal/fe/errno"
	"shoal/fe/session"
	"shoal/fe/state/catalog"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

// alterTable carries out ALTER TABLE: a new name, or all other clauses at once
// as the table's next schema. Rows that are stored stay as they are.
func (e *Executor) alterTable(ctx context.Context, s *session.Session, stmt *ast.AlterTable) error {
	if isInformationSchema(cmp.Or(stmt.Table.DB, s.DB)) {
		return notWritable()
	}
	if len(stmt.Unsupported) > 0 {
		return errno.New(errno.NotSupportedYet, "ALTER TABLE: %s is not supported yet", strings.Join(stmt.Unsupported, ", "))
	}
	for _, clause := range stmt.Clauses {
		if rename, ok := clause.(*ast.RenameTable); ok {
			if len(stmt.Clauses) > 1 {
				return errno.New(errno.NotSupportedYet, "ALTER TABLE: RENAME of the table stands alone, without other clauses")
			}
			return e.renameTable(ctx, s, stmt.Table, rename.NewName)
		}
	}
	for {
		err := e.alterColumns(ctx, s, stmt)
		// Another ALTER came between: the clauses are applied to what it made.
		if !errors.Is(err, catalog.ErrSchemaChanged) || ctx.Err() != nil {
			return err
		}
	}
}

// alterColumns makes the table's next schema out of its newest.
func (e *Executor) alterColumns(ctx context.Context, s *session.Session, stmt *ast.AlterTable) error {
	_, t, err := e.table(s, stmt.Table)
	if err != nil {
		return err
	}
	current := catalog.Newest(t)
	a := newAlteration(t, time.Now().In(s.Location()))
	for _, clause := range stmt.Clauses {
		if err := a.apply(clause); err != nil {
			return err
		}
	}
	_, err = e.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_AlterTable{AlterTable: &raftlogv1.AlterTable{
		TableId: t.Id, FromVersion: current.Version, Columns: a.columns, Comment: a.comment}}})
	if errors.Is(err, catalog.ErrNoTable) {
		return errno.New(errno.NoSuchTable, "Table '%s' doesn't exist", t.Name)
	}
	return err
}

func (e *Executor) renameTable(ctx context.Context, s *session.Session, name ast.Name, newName string) error {
	db, t, err := e.table(s, name)
	if err != nil {
		return err
	}
	if err := checkName(errno.WrongTableName, "table", newName); err != nil {
		return err
	}
	_, err = e.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_RenameTable{
		RenameTable: &raftlogv1.RenameTable{TableId: t.Id, Name: newName}}})
	switch {
	case errors.Is(err, catalog.ErrTableExists):
		return errno.New(errno.TableExists, "Table '%s' already exists", newName)
	case errors.Is(err, catalog.ErrNoTable):
		return errno.New(errno.NoSuchTable, "Table '%s.%s' doesn't exist", db.Name, t.Name)
	}
	return err
}

// truncateTable takes all rows out of a table. What its jobs have loaded
// stays loaded to them: the rows do not come again.
func (e *Executor) truncateTable(ctx context.Context, s *session.Session, stmt *ast.TruncateTable) error {
	if isInformationSchema(cmp.Or(stmt.Table.DB, s.DB)) {
		return notWritable()
	}
	db, t, err := e.table(s, stmt.Table)
	if err != nil {
		return err
	}
	_, err = e.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: t.Id}}})
	if errors.Is(err, catalog.ErrNoTable) {
		return errno.New(errno.NoSuchTable, "Table '%s.%s' doesn't exist", db.Name, t.Name)
	}
	return err
}

// renameDatabase carries out ALTER DATABASE … RENAME. A session that is in
// the database stays in it.
func (e *Executor) renameDatabase(ctx context.Context, s *session.Session, stmt *ast.RenameDatabase) error {
	if isInformationSchema(stmt.Name) {
		return notWritable()
	}
	db, err := e.database(stmt.Name)
	if err != nil {
		return err
	}
	if err := checkName(errno.WrongDatabaseName, "database", stmt.NewName); err != nil {
		return err
	}
	taken := errno.New(errno.DatabaseExists, "Can't rename database '%s' to '%s'; database exists", db.Name, stmt.NewName)
	if isInformationSchema(stmt.NewName) {
		return taken
	}
	_, err = e.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_RenameDatabase{
		RenameDatabase: &raftlogv1.RenameDatabase{DatabaseId: db.Id, Name: stmt.NewName}}})
	switch {
	case errors.Is(err, catalog.ErrDatabaseExists):
		return taken
	case errors.Is(err, catalog.ErrNoDatabase):
		return errno.New(errno.UnknownDatabase, "Unknown database '%s'", stmt.Name)
	}
	if err == nil && s.DB == stmt.Name {
		s.DB = stmt.NewName
	}
	return err
}
