package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/internal/engine"
	"shoal/internal/textrow"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
)

// batchBytes is about how much of a result goes into one message.
const batchBytes = 64 << 10

// querier answers queries over the warehouse's files.
type querier struct {
	warehouse *warehouse.Warehouse
	engine    *engine.Engine
}

// Query implements rpc.Querier.
func (q *querier) Query(ctx context.Context, req *backendv1.QueryRequest, columns func(*backendv1.ResultSchema) error, send func(*backendv1.RowBatch) error) error {
	files, err := q.warehouse.Fetch(ctx, rowsets(req)...)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return kindStatus(backendv1.QueryError_KIND_FAILED, err.Error())
	}
	defer files.Release()
	request, err := requestOf(req, files)
	if err != nil {
		return err
	}
	batch := &backendv1.RowBatch{}
	flush := func() error {
		if batch.Rows == 0 {
			return nil
		}
		err := send(batch)
		batch = &backendv1.RowBatch{Data: batch.Data[:0]}
		return err
	}
	err = q.engine.Query(ctx, request,
		func(cols []engine.ResultColumn) error { return columns(resultSchema(cols)) },
		func(cells [][]byte) error {
			batch.Data = textrow.Append(batch.Data, cells)
			batch.Rows++
			if len(batch.Data) < batchBytes {
				return nil
			}
			return flush()
		})
	if err != nil {
		return queryStatus(err)
	}
	return flush()
}

func resultSchema(cols []engine.ResultColumn) *backendv1.ResultSchema {
	schema := &backendv1.ResultSchema{}
	for _, c := range cols {
		schema.Columns = append(schema.Columns, &backendv1.ResultColumn{Name: c.Name, Type: c.Type})
	}
	return schema
}

// rowsets are the files that a query reads.
func rowsets(req *backendv1.QueryRequest) (rels []string) {
	for _, t := range req.Tables {
		rels = append(rels, t.Paths...)
		for _, o := range t.Older {
			rels = append(rels, o.Paths...)
		}
	}
	return rels
}

// requestOf is a query as the engine takes it, with files by absolute path.
func requestOf(req *backendv1.QueryRequest, files warehouse.Files) (engine.Request, error) {
	out := engine.Request{SQL: req.Sql, Explain: req.Explain, Describe: req.Describe, TimeZone: req.TimeZone}
	for _, t := range req.Tables {
		columns, err := engine.Columns(t.Schema)
		if err != nil {
			return out, err
		}
		table := engine.Table{DB: t.Db, Name: t.Name, Columns: columns, Files: paths(files, t.Paths)}
		for _, o := range t.Older {
			older := engine.Older{Files: paths(files, o.Paths)}
			if older.Columns, err = engine.Columns(o.Schema); err != nil {
				return out, err
			}
			table.Older = append(table.Older, older)
		}
		for _, row := range t.Rows {
			cells := make([][]byte, len(row.Cells))
			for i, c := range row.Cells {
				cells[i] = c.Value
			}
			table.Rows = append(table.Rows, cells)
		}
		out.Tables = append(out.Tables, table)
	}
	return out, nil
}

// paths are absolute paths of rowsets.
func paths(files warehouse.Files, rels []string) (paths []string) {
	for _, rel := range rels {
		paths = append(paths, files.Path(rel))
	}
	return paths
}

// errorKinds are the engine's kinds of errors as frontends know them.
var errorKinds = map[engine.ErrorKind]backendv1.QueryError_Kind{
	engine.Failed:          backendv1.QueryError_KIND_FAILED,
	engine.Syntax:          backendv1.QueryError_KIND_SYNTAX,
	engine.Refused:         backendv1.QueryError_KIND_REFUSED,
	engine.UnknownTable:    backendv1.QueryError_KIND_UNKNOWN_TABLE,
	engine.UnknownColumn:   backendv1.QueryError_KIND_UNKNOWN_COLUMN,
	engine.OutOfMemory:     backendv1.QueryError_KIND_OUT_OF_MEMORY,
	engine.UnknownFunction: backendv1.QueryError_KIND_UNKNOWN_FUNCTION,
}

// queryStatus is an error of the engine as a status that tells its kind.
func queryStatus(err error) error {
	var user *engine.Error
	if !errors.As(err, &user) {
		return err
	}
	return kindStatus(errorKinds[user.Kind], user.Msg)
}

// kindStatus is an error that is shown to the one who asks.
func kindStatus(kind backendv1.QueryError_Kind, msg string) error {
	st, err := status.New(codes.InvalidArgument, msg).WithDetails(&backendv1.QueryError{Kind: kind})
	if err != nil {
		return errors.Join(errors.New(msg), err)
	}
	return st.Err()
}
