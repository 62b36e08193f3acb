package stmt_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/internal/engine"
	"shoal/internal/textrow"
	backendv1 "shoal/proto/backend/v1"
	"shoal/sql/types"
)

// localBackend is a backend that answers queries in process, over files in a
// folder. With gone set there is none.
type localBackend struct {
	backendv1.BackendServiceClient
	dir    string
	engine *engine.Engine
	gone   bool
}

func newLocalBackend(dir string) *localBackend {
	return &localBackend{dir: dir, engine: engine.New(engine.Config{Threads: 1, MemoryLimit: 256 << 20})}
}

func (b *localBackend) Pick() (backendv1.BackendServiceClient, error) {
	if b.gone {
		return nil, errors.New("no backend is alive")
	}
	return b, nil
}

// answer is the client's side of a running query.
type answer struct {
	grpc.ClientStream
	responses chan *backendv1.QueryResponse // closed at the end
	err       error                         // set before that
}

func (a *answer) Recv() (*backendv1.QueryResponse, error) {
	if r, ok := <-a.responses; ok {
		return r, nil
	}
	if a.err != nil {
		return nil, a.err
	}
	return nil, io.EOF
}

func (b *localBackend) Query(ctx context.Context, req *backendv1.QueryRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[backendv1.QueryResponse], error) {
	a := &answer{responses: make(chan *backendv1.QueryResponse)}
	send := func(r *backendv1.QueryResponse) error {
		select {
		case a.responses <- r:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	go func() {
		defer close(a.responses)
		a.err = b.run(ctx, req, send)
	}()
	return a, nil
}

func (b *localBackend) run(ctx context.Context, req *backendv1.QueryRequest, send func(*backendv1.QueryResponse) error) error {
	columns := func(cols []engine.ResultColumn) error {
		schema := &backendv1.ResultSchema{}
		for _, c := range cols {
			schema.Columns = append(schema.Columns, &backendv1.ResultColumn{Name: c.Name, Type: c.Type})
		}
		return send(&backendv1.QueryResponse{Body: &backendv1.QueryResponse_Schema{Schema: schema}})
	}
	row := func(cells [][]byte) error {
		return send(&backendv1.QueryResponse{Body: &backendv1.QueryResponse_Rows{Rows: &backendv1.RowBatch{Rows: 1, Data: textrow.Append(nil, cells)}}})
	}
	err := b.engine.Query(ctx, b.request(req), columns, row)
	var user *engine.Error
	if !errors.As(err, &user) {
		return err
	}
	kinds := map[engine.ErrorKind]backendv1.QueryError_Kind{
		engine.Failed: backendv1.QueryError_KIND_FAILED, engine.Syntax: backendv1.QueryError_KIND_SYNTAX,
		engine.Refused: backendv1.QueryError_KIND_REFUSED, engine.UnknownTable: backendv1.QueryError_KIND_UNKNOWN_TABLE,
		engine.UnknownColumn: backendv1.QueryError_KIND_UNKNOWN_COLUMN, engine.OutOfMemory: backendv1.QueryError_KIND_OUT_OF_MEMORY,
	}
	st, err := status.New(codes.InvalidArgument, user.Msg).WithDetails(&backendv1.QueryError{Kind: kinds[user.Kind]})
	if err != nil {
		return err
	}
	return st.Err()
}

func (b *localBackend) request(req *backendv1.QueryRequest) engine.Request {
	out := engine.Request{SQL: req.Sql, Explain: req.Explain, Describe: req.Describe, TimeZone: req.TimeZone}
	for _, t := range req.Tables {
		table := engine.Table{DB: t.Db, Name: t.Name}
		for _, c := range t.Schema.Columns {
			typ, err := types.Parse(c.Type)
			if err != nil {
				panic(err)
			}
			table.Columns = append(table.Columns, engine.Column{Name: c.Name, ID: c.FieldId, Type: typ})
		}
		for _, path := range t.Paths {
			table.Files = append(table.Files, filepath.Join(b.dir, path))
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
	return out
}
