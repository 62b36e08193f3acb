package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"shoal/be/executor"
	"shoal/be/pipe"
	"shoal/be/share"
	"shoal/be/source"
	"shoal/be/task"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
)

// recordMemory bounds the records that one task holds: 16 tasks of a backend
// stay within what a small machine has.
const recordMemory = 64 << 20

// starter makes tasks out of their specs.
type starter struct {
	server    *Server
	warehouse *warehouse.Warehouse
	pipes     *pipe.Engine
}

func (st *starter) start(spec *backendv1.TaskSpec) (executor.Task, error) {
	s := st.server
	client, err := share.NewClient(spec.Load.Brokers, spec.Load.CustomProperties, fmt.Sprintf("shoal-%d-%d-%d", spec.JobId, spec.TaskId, spec.Epoch))
	if err != nil {
		return nil, err
	}
	writer, err := pipe.New(context.Background(), pipe.Config{Spec: spec, Engine: st.pipes, Warehouse: st.warehouse, Logger: s.cfg.Logger, Now: time.Now})
	if err != nil {
		client.Close()
		return nil, err
	}
	member := share.New(share.Config{Client: client, Group: spec.Load.GroupId, Topic: spec.Load.Topic, MemberID: spec.MemberId, Logger: s.cfg.Logger})
	return &shareTask{
		Task: task.New(task.Config{
			Spec: spec, Source: member, Writer: writing{writer}, Committer: s.fe, Runtime: task.Real{}, Logger: s.cfg.Logger,
			MaxBytes: recordMemory, AppliedIndex: s.applied.Load, Blame: blame, Hooks: task.Hooks{AfterCommit: s.cfg.AfterCommit},
		}),
		client: client, member: member, pipe: writer,
	}, nil
}

// shareTask is a task with the member that it reads by.
type shareTask struct {
	*task.Task
	client interface{ Close() }
	member *share.Member
	pipe   *pipe.Pipe
}

// Run runs the loop, and beside it the member's heartbeats: they end after the
// loop, which closes the member.
func (t *shareTask) Run(ctx context.Context) error {
	defer t.client.Close()
	var g errgroup.Group
	g.Go(func() error { return t.member.Run(context.WithoutCancel(ctx)) })
	err := t.Task.Run(ctx)
	return errors.Join(err, g.Wait(), t.pipe.Close())
}

// writing is a pipe as the task's Writer.
type writing struct{ pipe *pipe.Pipe }

func (w writing) Write(ctx context.Context, number uint64, label string, parts []source.Partition) (task.Written, error) {
	res, err := w.pipe.Write(ctx, number, label, parts)
	return task.Written(res), err
}

// blame says what an error of the source is to the job.
func blame(err error) backendv1.TroubleKind {
	switch {
	case errors.Is(err, share.ErrNotAssigned):
		return backendv1.TroubleKind_TROUBLE_KIND_UNSPECIFIED
	case errors.Is(err, share.ErrUnauthorized):
		return backendv1.TroubleKind_TROUBLE_KIND_AUTHORIZATION
	}
	return backendv1.TroubleKind_TROUBLE_KIND_BROKER
}
