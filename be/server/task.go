package server

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"shoal/be/executor"
	"shoal/be/memory"
	"shoal/be/pipe"
	"shoal/be/source"
	"shoal/be/task"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
)

// recordMemory bounds the records that one task holds, where the memory of the
// backend does not bound it to less.
const recordMemory = 64 << 20

// starter makes tasks out of their specs.
type starter struct {
	server    *Server
	warehouse *warehouse.Warehouse
	pipes     *pipe.Engine
	memory    *memory.Budget
	gate      *gate
}

func (st *starter) start(spec *backendv1.TaskSpec) (executor.Task, error) {
	s := st.server
	reading, err := openReading(spec, s.cfg.Logger)
	if err != nil {
		return nil, err
	}
	writer, err := pipe.New(context.Background(), pipe.Config{Spec: spec, Engine: st.pipes, Warehouse: st.warehouse, Logger: s.cfg.Logger, Now: time.Now})
	if err != nil {
		reading.client.Close()
		return nil, err
	}
	return &loading{
		Task: task.New(task.Config{
			Spec: spec, Source: reading.source, Writer: writing{writer, st.gate}, Committer: s.fe, Runtime: task.Real{}, Logger: s.cfg.Logger,
			MaxBytes: recordMemory, Memory: st.memory.Account(), AppliedIndex: s.applied.Load, Blame: blame, Hooks: task.Hooks{AfterCommit: s.cfg.AfterCommit},
		}),
		reading: reading, pipe: writer,
	}, nil
}

// loading is a task with what it reads and writes by.
type loading struct {
	*task.Task
	reading
	pipe *pipe.Pipe
}

// Run runs the loop, and beside it what the source needs to go on: that ends
// after the loop, which closes the source.
func (l *loading) Run(ctx context.Context) error {
	defer l.client.Close()
	var g errgroup.Group
	g.Go(func() error { return l.beat(context.WithoutCancel(ctx)) })
	err := l.Task.Run(ctx)
	return errors.Join(err, g.Wait(), l.pipe.Close())
}

// writing is a pipe as the task's Writer.
type writing struct {
	pipe *pipe.Pipe
	*gate
}

func (w writing) Write(ctx context.Context, number uint64, label string, parts []source.Partition) (task.Written, error) {
	res, err := w.pipe.Write(ctx, number, label, parts)
	if err != nil && ctx.Err() == nil && !errors.Is(err, warehouse.ErrExists) {
		w.gate.shut(err)
	}
	return task.Written(res), err
}
