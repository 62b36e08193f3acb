package virtual

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"shoal/be/pipe"
	"shoal/be/source"
	"shoal/be/task"
	"shoal/internal/engine"
	"shoal/internal/rowsetname"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/duckdb"
	"shoal/sql/types"
)

// A rowStore is where rowsets are written to and read from.
type rowStore interface {
	// open makes the writer of a task, and what ends it.
	open(spec *backendv1.TaskSpec) (task.Writer, func() error, error)
	// ids of the rows in a rowset.
	ids(path string) ([]int64, error)
	close() error
}

// A memory is a rowStore that takes no time.
type memory struct {
	mu    sync.Mutex
	files map[string][]int64
}

func (m *memory) open(spec *backendv1.TaskSpec) (task.Writer, func() error, error) {
	return memoryWriter{m, spec}, func() error { return nil }, nil
}

func (m *memory) ids(path string) ([]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids, ok := m.files[path]
	if !ok {
		return nil, fmt.Errorf("%s does not exist", path)
	}
	return ids, nil
}

func (*memory) close() error { return nil }

type memoryWriter struct {
	*memory
	spec *backendv1.TaskSpec
}

// Ready implements task.Writer.
func (memoryWriter) Ready() error { return nil }

// Write implements task.Writer.
func (m memoryWriter) Write(_ context.Context, number uint64, _ string, parts []source.Partition) (task.Written, error) {
	var ids []int64
	var bytes, bad, skipped int64
	for _, p := range parts {
		for _, r := range p.Records {
			if p.Poison[r.Offset] != "" {
				bad++
				continue
			}
			var row struct {
				ID        int64
				Bad, Skip bool // an error row; one that WHERE does not select
			}
			if err := json.Unmarshal(r.Value, &row); err != nil {
				return task.Written{}, err
			}
			if row.Bad {
				bad++
				continue
			}
			if row.Skip {
				skipped++
				continue
			}
			ids, bytes = append(ids, row.ID), bytes+int64(len(r.Value))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	path := rowsetname.Name{Table: m.spec.TableId, Incarnation: m.spec.Incarnation, Job: m.spec.JobId, Task: m.spec.TaskId, Epoch: m.spec.Epoch, Number: number}.String()
	if m.files[path] != nil {
		return task.Written{}, warehouse.ErrExists
	}
	m.files[path] = ids
	n := int64(len(ids))
	written := task.Written{Counters: &typesv1.Counters{TotalRows: n + bad + skipped, LoadedRows: n, ErrorRows: bad, UnselectedRows: skipped, ReceivedBytes: bytes}}
	if n > 0 {
		written.Rowset = &typesv1.Rowset{Path: path, Rows: n, Bytes: bytes, SchemaVersion: m.spec.Schema.Version}
	}
	if bad > 0 {
		written.ErrorRowset = &typesv1.Rowset{Path: strings.TrimSuffix(path, ".parquet") + "-errors.parquet", Rows: bad, Bytes: bad, SchemaVersion: m.spec.Schema.Version}
	}
	return written, nil
}

// A disk is a rowStore of Parquet files, written by the real pipe. Its
// statements run on their caller's thread; on one of DuckDB's own, the callback
// that pulls rows would be outside of the bubble.
type disk struct {
	w         *world
	warehouse *warehouse.Warehouse
	pipes     *pipe.Engine
}

func newDisk(w *world) *disk {
	w.t.Helper()
	root := w.t.TempDir()
	wh, err := warehouse.Open("file://" + root)
	if err == nil {
		err = wh.Bootstrap(w.t.Context(), "c1")
	}
	if err != nil {
		w.t.Fatal(err)
	}
	pipes, err := pipe.OpenEngine(w.t.Context(), pipe.EngineConfig{MemoryBytes: 128 << 20, Writers: 2, SpillDir: filepath.Join(w.dir, "spill")})
	if err != nil {
		w.t.Fatal(err)
	}
	return &disk{w, wh, pipes}
}

func (d *disk) open(spec *backendv1.TaskSpec) (task.Writer, func() error, error) {
	p, err := pipe.New(context.Background(), pipe.Config{Spec: spec, Engine: d.pipes, Warehouse: d.warehouse, Logger: d.w.log, Now: time.Now})
	if err != nil {
		return nil, nil, err
	}
	return pipeWriter{p}, p.Close, nil
}

type pipeWriter struct{ *pipe.Pipe }

// Ready implements task.Writer.
func (pipeWriter) Ready() error { return nil }

// Write implements task.Writer.
func (w pipeWriter) Write(ctx context.Context, number uint64, label string, parts []source.Partition) (task.Written, error) {
	res, err := w.Pipe.Write(ctx, number, label, parts)
	return task.Written(res), err
}

func (d *disk) ids(path string) (ids []int64, err error) {
	files, err := d.warehouse.Fetch(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer files.Release()
	id, err := types.Parse("bigint")
	if err != nil {
		return nil, err
	}
	table := engine.Table{DB: "d", Name: "t", Columns: []engine.Column{{Name: "id", ID: 1, Type: id}}, Files: []string{files.Path(path)}}
	queries := engine.New(engine.Config{Threads: 1, MemoryLimit: 128 << 20})
	err = queries.Query(context.Background(), engine.Request{SQL: "SELECT id FROM " + duckdb.TableName("d", "t"), Tables: []engine.Table{table}},
		func([]engine.ResultColumn) error { return nil },
		func(cells [][]byte) error {
			n, err := strconv.ParseInt(string(cells[0]), 10, 64)
			ids = append(ids, n)
			return err
		})
	return ids, err
}

func (d *disk) close() error { return d.pipes.Close() }
