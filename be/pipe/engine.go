package pipe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/duckdb/duckdb-go/v2"

	"shoal/be/decode"
	spell "shoal/sql/duckdb"
)

// rowsFunction is the table function that DuckDB pulls rows through. Its
// argument is the id of a registered source.
const rowsFunction = "shoal_rows"

// writeMemory is what one file being written takes at most, with messages of
// 16 MiB: a vector, a row group, and a page of it before and after compression.
const writeMemory = 128 << 20

// EngineConfig bounds an Engine. As many files are written at a time as Writers
// says and as memory allows, 128 MiB each, but always one. The others wait.
type EngineConfig struct {
	MemoryBytes int64  // of DuckDB's buffers, all pipes together
	Writers     int    // one a processor: more would not be quicker
	SpillDir    string // where buffers go above the limit; made if missing
}

// An Engine is the DuckDB instance that a process's pipes share. It is safe
// for concurrent use.
type Engine struct {
	db    *sql.DB
	slots chan struct{} // holds one for each file that is being written

	mu      sync.Mutex
	last    uint64
	sources map[uint64]duckdb.ChunkTableSource
}

// OpenEngine starts an instance that has no database of its own.
func OpenEngine(ctx context.Context, cfg EngineConfig) (*Engine, error) {
	if n := duckdb.GetDataChunkCapacity(); n != decode.BatchRows {
		return nil, fmt.Errorf("engine: DuckDB's vectors have %d rows, this build is made for %d", n, decode.BatchRows)
	}
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	slots := max(1, min(int64(cfg.Writers), cfg.MemoryBytes/writeMemory))
	e := &Engine{db: sql.OpenDB(connector), slots: make(chan struct{}, slots), sources: map[uint64]duckdb.ChunkTableSource{}}
	if err := e.configure(ctx, cfg); err != nil {
		return nil, fmt.Errorf("engine: %w", errors.Join(err, e.db.Close()))
	}
	return e, nil
}

func (e *Engine) configure(ctx context.Context, cfg EngineConfig) error {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, statement := range []string{
		"SET autoinstall_known_extensions = false",
		"SET autoload_known_extensions = false",
		// Who reads a footer again wants to know what the file has now: a file that
		// was replaced within a second by one of its size would pass for the old.
		"SET enable_external_file_cache = false",
		// One source is read by one thread anyway; and a row group may then be
		// bounded by its bytes.
		"SET preserve_insertion_order = false",
		// It takes what occurs twice in an expression out of the TRY around it,
		// and one row's error is then the batch's.
		"SET disabled_optimizers = 'common_subexpressions'",
		"SET temp_directory = " + spell.QuoteString(cfg.SpillDir),
		fmt.Sprintf("SET memory_limit = '%dB'", cfg.MemoryBytes),
		// The thread that runs a statement does all of its work. With others to
		// hand it to it would spin until they are done: a third of the time.
		"SET threads = 1",
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	id, err := duckdb.NewTypeInfo(duckdb.TYPE_UBIGINT)
	if err != nil {
		return err
	}
	return duckdb.RegisterTableUDF(conn, rowsFunction, duckdb.ChunkTableFunction{
		Config:        duckdb.TableFunctionConfig{Arguments: []duckdb.TypeInfo{id}},
		BindArguments: e.bind,
	})
}

// Close ends the instance. No pipe may be in use.
func (e *Engine) Close() error { return e.db.Close() }

// take waits for a turn to write a file, which give ends.
func (e *Engine) take(ctx context.Context) error {
	select {
	case e.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) give() { <-e.slots }

// register makes a source known to statements until release is called.
func (e *Engine) register(s duckdb.ChunkTableSource) (id uint64, release func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	id = e.last
	e.sources[id] = s
	return id, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.sources, id)
	}
}

func (e *Engine) bind(_ map[string]any, args ...any) (duckdb.ChunkTableSource, error) {
	id, ok := args[0].(uint64)
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sources[id]
	if !ok || s == nil {
		return nil, fmt.Errorf("no rows are registered under %v", args[0])
	}
	return s, nil
}
