package stmt_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"shoal/internal/engine"
	"shoal/internal/textrow"
	backendv1 "shoal/proto/backend/v1"
)

// localBackend is a backend that answers queries over files in a folder, reached
// by gRPC in memory. With gone set there is none.
type localBackend struct {
	backendv1.UnimplementedBackendServiceServer
	dir    string
	engine *engine.Engine
	client backendv1.BackendServiceClient
	server *grpc.Server
	asked  chan struct{} // has room for one call
	gone   bool
}

func startBackend(t testing.TB) *localBackend {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	conn, err := grpc.NewClient("passthrough:backend", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return lis.Dial() }))
	if err != nil {
		t.Fatal(err)
	}
	b := &localBackend{dir: t.TempDir(), engine: engine.New(engine.Config{Threads: 1, MemoryLimit: 256 << 20}), client: backendv1.NewBackendServiceClient(conn),
		server: grpc.NewServer(), asked: make(chan struct{}, 1)}
	backendv1.RegisterBackendServiceServer(b.server, b)
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(lis) }()
	t.Cleanup(func() {
		b.server.Stop()
		// A test may end before Serve has begun.
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *localBackend) Pick(context.Context) (backendv1.BackendServiceClient, error) {
	if b.gone {
		return nil, errors.New("no backend is alive")
	}
	return b.client, nil
}

// errorKinds are the engine's kinds of errors as they cross.
var errorKinds = map[engine.ErrorKind]backendv1.QueryError_Kind{
	engine.Failed: backendv1.QueryError_KIND_FAILED, engine.Syntax: backendv1.QueryError_KIND_SYNTAX,
	engine.Refused: backendv1.QueryError_KIND_REFUSED, engine.UnknownTable: backendv1.QueryError_KIND_UNKNOWN_TABLE,
	engine.UnknownColumn: backendv1.QueryError_KIND_UNKNOWN_COLUMN, engine.OutOfMemory: backendv1.QueryError_KIND_OUT_OF_MEMORY,
	engine.UnknownFunction: backendv1.QueryError_KIND_UNKNOWN_FUNCTION,
}

// Query implements BackendService as a backend does.
func (b *localBackend) Query(req *backendv1.QueryRequest, stream grpc.ServerStreamingServer[backendv1.QueryResponse]) error {
	select {
	case b.asked <- struct{}{}:
	default:
	}
	columns := func(cols []engine.ResultColumn) error {
		schema := &backendv1.ResultSchema{}
		for _, c := range cols {
			schema.Columns = append(schema.Columns, &backendv1.ResultColumn{Name: c.Name, Type: c.Type})
		}
		return stream.Send(&backendv1.QueryResponse{Body: &backendv1.QueryResponse_Schema{Schema: schema}})
	}
	row := func(cells [][]byte) error {
		return stream.Send(&backendv1.QueryResponse{Body: &backendv1.QueryResponse_Rows{Rows: &backendv1.RowBatch{Rows: 1, Data: textrow.Append(nil, cells)}}})
	}
	err := b.engine.Query(stream.Context(), b.request(req), columns, row)
	var user *engine.Error
	if !errors.As(err, &user) {
		return err
	}
	st, err := status.New(codes.InvalidArgument, user.Msg).WithDetails(&backendv1.QueryError{Kind: errorKinds[user.Kind]})
	if err != nil {
		return err
	}
	return st.Err()
}

func (b *localBackend) request(req *backendv1.QueryRequest) engine.Request {
	out := engine.Request{SQL: req.Sql, Explain: req.Explain, Describe: req.Describe, TimeZone: req.TimeZone}
	for _, t := range req.Tables {
		columns, err := engine.Columns(t.Schema)
		if err != nil {
			panic(err)
		}
		table := engine.Table{DB: t.Db, Name: t.Name, Columns: columns}
		for _, path := range t.Paths {
			table.Files = append(table.Files, filepath.Join(b.dir, path))
		}
		for _, o := range t.Older {
			columns, err := engine.Columns(o.Schema)
			if err != nil {
				panic(err)
			}
			older := engine.Older{Columns: columns}
			for _, path := range o.Paths {
				older.Files = append(older.Files, filepath.Join(b.dir, path))
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
	return out
}
