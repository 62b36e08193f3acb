package backend

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/fe/schedule"
	"shoal/fe/state"
	backendv1 "shoal/proto/backend/v1"
)

// record is what is known of one backend; the registry's lock guards it.
type record struct {
	id       uint64
	since    time.Time // the registry knows of it
	client   backendv1.BackendServiceClient
	heard    time.Time                    // last answer
	answer   *backendv1.HeartbeatResponse // nil before the first
	err      string
	toldDead bool
	ran      map[schedule.Ref]bool   // seen running, or taken on
	ended    map[schedule.Ref]bool   // will not run any more
	refused  map[schedule.Ref]string // why it was not taken on
}

func (r *record) alive(now time.Time) bool {
	return r.answer != nil && now.Sub(r.heard) < DeadAfter
}

// dead is not the opposite of alive: between them lies a backend that is not
// heard yet.
func (r *record) dead(now time.Time) bool {
	return !r.alive(now) && now.Sub(r.since) >= DeadAfter
}

func (r *record) status(now time.Time) Status {
	st := Status{
		ID: r.id, Alive: r.alive(now), Unheard: !r.alive(now) && !r.dead(now), Heard: r.heard,
		Slots: int(r.answer.GetSlots()), Version: r.answer.GetVersion(), WarehouseError: r.answer.GetWarehouseError(), Err: r.err,
	}
	if r.answer != nil {
		st.Started = time.UnixMilli(r.answer.StartTimeMs)
	}
	return st
}

// beat keeps one backend going.
type beat struct {
	registry *Registry
	record   *record
	ctx      context.Context
	cancel   context.CancelFunc
	conn     *grpc.ClientConn
	addr     string
	rpcAddr  string
}

// run sends heartbeats until the backend is gone or the leader is.
func (b *beat) run() {
	defer b.conn.Close()
	defer b.cancel()
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for b.ctx.Err() == nil {
		b.once()
		select {
		case <-b.ctx.Done():
		case <-ticker.C:
		}
	}
}

// once is one heartbeat and the submissions that follow from it.
func (b *beat) once() {
	ctx, cancel := context.WithTimeout(b.ctx, callTimeout)
	defer cancel()
	req, committed := b.request()
	answer, err := b.record.client.Heartbeat(ctx, req)
	if b.ctx.Err() != nil {
		return
	}
	if err != nil {
		b.failed(err)
		return
	}
	for _, ref := range b.learn(req, answer, committed) {
		b.submit(ref)
	}
}

// request is the heartbeat, and which of its tasks have committed at their
// epoch: those ran, even if this leader never saw them.
func (b *beat) request() (req *backendv1.HeartbeatRequest, committed map[schedule.Ref]bool) {
	req = &backendv1.HeartbeatRequest{Leadership: b.leadership(), BackendId: b.record.id, FrontendRpcAddr: b.rpcAddr}
	committed = make(map[schedule.Ref]bool)
	b.registry.state.View(func(s *state.State) {
		jobs := s.Jobs()
		req.Tasks = schedule.Heartbeat(jobs, b.record.id)
		req.AppliedIndex = s.Applied()
		req.ClusterId = s.ClusterInfo().GetClusterId()
		for _, f := range s.Frontends() {
			req.Frontends = append(req.Frontends, joinHostPort(f.Host, f.RpcPort))
		}
		for _, job := range jobs {
			for _, task := range job.Tasks {
				if task.LastEpoch == task.Epoch {
					committed[schedule.Ref{TaskID: task.Id, Epoch: task.Epoch}] = true
				}
			}
		}
	})
	return req, committed
}

func (b *beat) leadership() *backendv1.Leadership {
	b.registry.mu.Lock()
	defer b.registry.mu.Unlock()
	return b.registry.lead
}

// failed notes why the backend did not answer. One that never did may be about
// to join: if it does not come, it is told dead soon enough.
func (b *beat) failed(err error) {
	b.registry.mu.Lock()
	defer b.registry.mu.Unlock()
	if b.record.err == "" {
		level := slog.LevelWarn
		if b.record.answer == nil {
			level = slog.LevelDebug
		}
		b.registry.log.Log(b.ctx, level, "heartbeat failed", "backend_id", b.record.id, "addr", b.addr, "err", err)
	}
	b.record.err = err.Error()
}

// learn takes over an answer and returns the tasks to submit.
func (b *beat) learn(req *backendv1.HeartbeatRequest, answer *backendv1.HeartbeatResponse, committed map[schedule.Ref]bool) []*backendv1.TaskRef {
	b.registry.mu.Lock()
	defer b.registry.mu.Unlock()
	rec := b.record
	first := !rec.alive(time.Now())
	rec.heard, rec.answer, rec.err, rec.toldDead = time.Now(), answer, "", false
	ran, ended := make(map[schedule.Ref]bool), make(map[schedule.Ref]bool)
	for _, ref := range req.Tasks {
		ran[key(ref)] = rec.ran[key(ref)]
		if rec.ended[key(ref)] {
			ended[key(ref)] = true
		}
	}
	for _, s := range answer.Tasks {
		ran[key(s.Task)] = true
		if s.Ended {
			ended[key(s.Task)] = true
		}
	}
	var submit []*backendv1.TaskRef
	for _, ref := range answer.Lacking {
		switch {
		case ended[key(ref)]:
		case ran[key(ref)] || committed[key(ref)]:
			ended[key(ref)] = true
		default:
			submit = append(submit, ref)
		}
	}
	news := first || len(ended) != len(rec.ended)
	rec.ran, rec.ended = ran, ended
	maps.DeleteFunc(rec.refused, func(ref schedule.Ref, _ string) bool { _, wanted := ran[ref]; return !wanted || ran[ref] })
	if news {
		b.registry.notify()
	}
	return submit
}

// submit starts a task that the backend lacks.
func (b *beat) submit(ref *backendv1.TaskRef) {
	var spec *backendv1.TaskSpec
	var databaseID uint64
	b.registry.state.View(func(s *state.State) {
		if spec = Spec(s, b.record.id, ref); spec != nil {
			databaseID = s.JobByID(spec.JobId).DatabaseId
		}
	})
	if spec == nil {
		return
	}
	if err := open(spec, databaseID, b.registry.open); err != nil {
		b.refused(ref, err)
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, callTimeout)
	defer cancel()
	_, err := b.record.client.SubmitTask(ctx, &backendv1.SubmitTaskRequest{Leadership: b.leadership(), Task: spec})
	if err != nil && b.ctx.Err() == nil {
		b.registry.log.Warn("task was not taken", "backend_id", b.record.id, "job_id", spec.JobId, "task_id", ref.TaskId, "epoch", ref.Epoch, "err", err)
	}
	if err != nil {
		b.refused(ref, err)
		return
	}
	b.registry.mu.Lock()
	defer b.registry.mu.Unlock()
	b.record.ran[key(ref)] = true
	delete(b.record.refused, key(ref))
}

// refused notes why a task was not started.
func (b *beat) refused(ref *backendv1.TaskRef, err error) {
	b.registry.mu.Lock()
	defer b.registry.mu.Unlock()
	b.record.refused[key(ref)] = status.Convert(err).Message()
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.ResourceExhausted:
		// Not here at this epoch; the plan finds another place or epoch.
		b.record.ended[key(ref)] = true
		b.registry.notify()
	}
}

func key(ref *backendv1.TaskRef) schedule.Ref {
	return schedule.Ref{TaskID: ref.GetTaskId(), Epoch: ref.GetEpoch()}
}
