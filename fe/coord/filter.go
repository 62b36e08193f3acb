package coord

import (
	"context"

	"shoal/fe/errno"
	"shoal/fe/infoschema"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/internal/engine"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/duckdb"
	"shoal/sql/rewrite"
)

// filtered is the name under which Filter's condition sees the table.
var filtered = ast.Name{DB: infoschema.Schema, Name: "show"}

// Filter keeps the rows of a small table for which a condition over its
// columns holds: the WHERE of SHOW statements.
func (c *Coordinator) Filter(ctx context.Context, s *session.Session, t *result.Table, condition string) error {
	zone := timeZone(s)
	where, err := rewrite.Expression(condition, c.rewriteSession(s, zone))
	if err != nil {
		return fromRewriter(condition, err)
	}
	if len(where.Tables) > 0 {
		return errno.New(errno.NotSupportedYet, "the WHERE of SHOW cannot read other tables")
	}
	schema := &typesv1.Schema{}
	for i, col := range t.Columns {
		schema.Columns = append(schema.Columns, &typesv1.Column{FieldId: int32(i + 1), Name: col.Name, Type: col.Type})
	}
	p := &plan{request: &backendv1.QueryRequest{}}
	if err := p.add(filtered, schema, nil, t.Rows); err != nil {
		return err
	}
	kept := &rowKeeper{}
	name := duckdb.TableName(filtered.DB, filtered.Name)
	err = c.cfg.Engine.Query(ctx, engine.Request{SQL: "SELECT * FROM " + name + " WHERE " + where.SQL, Tables: p.local, TimeZone: zone},
		func([]engine.ResultColumn) error { return nil }, kept.row)
	if err != nil {
		return toErrno(err)
	}
	t.Rows = kept.rows
	return nil
}

// rowKeeper keeps rows of a result as cells of a Table.
type rowKeeper struct{ rows [][]result.Cell }

func (k *rowKeeper) row(cells [][]byte) error {
	row := make([]result.Cell, len(cells))
	for i, c := range cells {
		if c != nil {
			row[i] = result.Text(string(c))
		}
	}
	k.rows = append(k.rows, row)
	return nil
}
