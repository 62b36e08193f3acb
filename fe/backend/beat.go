package backend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/fe/schedule"
	"shoal/fe/state"
	"shoal/fe/state/cluster"
	"shoal/internal/rpcconn"
	backendv1 "shoal/proto/backend/v1"
)

// record is what is known of one backend; the registry's lock guards it.
type record struct {
	id     uint64
	since  time.Time // the registry knows of it
	client backendv1.BackendServiceClient
	soon   chan<- struct{} // has a heartbeat sent at once

	heard      time.Time // last answer
	aliveSince time.Time
	tasks      map[uint64][]*backendv1.TaskStatus // of answer, by job
	answer     *backendv1.HeartbeatResponse       // of the newest heartbeat that was answered; nil before the first
	sent       uint64                             // number of the last heartbeat
	learned    uint64                             // number of the one that answer is to
	unanswered int                                // heartbeats since heard
	gone       bool                               // nobody listened there, since heard
	err        string
	toldDead   bool

	ran     map[schedule.Ref]uint64 // seen running, or taken on: a heartbeat from that number on would show it; 0 if not
	ended   map[schedule.Ref]bool   // will not run any more
	refused map[schedule.Ref]string // why it was not taken on
	// rejected are those of refused that the backend could not start, with their
	// jobs.
	rejected map[schedule.Ref]uint64
	lacking  []*backendv1.TaskRef // to be submitted
}

func (r *record) alive(now time.Time) bool { return r.answer != nil && !r.dead(now) }

// dead is not the opposite of alive: between them lies a backend that is not
// heard yet.
func (r *record) dead(now time.Time) bool {
	return r.gone || r.unanswered >= deadBeats && now.Sub(r.silentSince()) >= DeadAfter
}

func (r *record) silentSince() time.Time {
	if r.answer == nil {
		return r.since
	}
	return r.heard
}

func (r *record) status(now time.Time) Status {
	st := Status{
		ID: r.id, Alive: r.alive(now), Unheard: !r.alive(now) && !r.dead(now), Heard: r.heard,
		Since: r.aliveSince, Slots: int(r.answer.GetSlots()), Version: r.answer.GetVersion(), WarehouseError: r.answer.GetWarehouseError(), Err: r.err,
	}
	if st.Err == "" && r.dead(now) {
		st.Err = fmt.Sprintf("no answer to heartbeats for %v", now.Sub(r.silentSince()).Round(100*time.Millisecond))
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
	// What is large or slow has a connection of its own.
	beats, calls *grpc.ClientConn
	addr         string
	rpcAddr      string
	soon         chan struct{} // a heartbeat is wanted now
	lacks        chan struct{} // record.lacking has changed
}

// run sends heartbeats until the backend is gone or the leader is.
func (b *beat) run() {
	defer b.beats.Close()
	defer b.calls.Close()
	defer b.cancel()
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(b.submitLoop)
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for b.ctx.Err() == nil {
		req, committed := b.request()
		work.Go(func() { b.once(req, committed) })
		select {
		case <-b.ctx.Done():
		case <-ticker.C:
		case <-b.soon:
		}
	}
}

// dial connects for heartbeats, and notes whether anybody listens there.
func (b *beat) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := b.registry.dialer(ctx, addr)
	if errors.Is(err, syscall.ECONNREFUSED) {
		b.registry.mu.Lock()
		b.record.gone = true
		b.registry.mu.Unlock()
		b.registry.noteDeaths()
	}
	return conn, err
}

// once is one heartbeat.
func (b *beat) once(req *backendv1.HeartbeatRequest, committed map[schedule.Ref]bool) {
	ctx, cancel := context.WithTimeout(b.ctx, beatTimeout)
	defer cancel()
	answer, err := backendv1.NewBackendServiceClient(b.beats).Heartbeat(ctx, req)
	switch {
	case b.ctx.Err() != nil:
	case err != nil:
		b.failed(err)
	default:
		b.learn(req, answer, committed)
	}
}

// asks numbers the heartbeat that is going to be sent. The registry counts: were a
// backend's numbers to begin anew when it has moved, it would take them for late
// ones.
func (b *beat) asks() uint64 {
	b.registry.mu.Lock()
	defer b.registry.mu.Unlock()
	b.registry.beats++
	b.record.sent = b.registry.beats
	b.record.unanswered++
	return b.record.sent
}

// request is the next heartbeat, and which of its tasks have committed at their
// epoch: those ran, even if this leader never saw them. Of two, the later one has
// the higher number and no older state.
func (b *beat) request() (req *backendv1.HeartbeatRequest, committed map[schedule.Ref]bool) {
	req = &backendv1.HeartbeatRequest{Leadership: b.leadership(), BackendId: b.record.id, FrontendRpcAddr: b.rpcAddr}
	committed = make(map[schedule.Ref]bool)
	b.registry.state.View(func(s *state.State) {
		jobs := s.Jobs()
		req.Tasks = schedule.Heartbeat(jobs, b.record.id)
		req.AppliedIndex = s.Applied()
		req.ClusterId = s.ClusterInfo().GetClusterId()
		for _, f := range s.Frontends() {
			req.Frontends = append(req.Frontends, cluster.Address(f.Host, f.RpcPort))
		}
		for _, job := range jobs {
			for _, task := range job.Tasks {
				if task.BackendId == b.record.id && task.LastEpoch == task.Epoch {
					committed[schedule.Ref{TaskID: task.Id, Epoch: task.Epoch}] = true
				}
			}
		}
	})
	req.Number = b.asks()
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
	b.record.err = rpcconn.Plain(err, beatTimeout)
}

// learn takes over the answer to a heartbeat. One that a later one has overtaken
// says that the backend is there, and nothing else that is not known better.
func (b *beat) learn(req *backendv1.HeartbeatRequest, answer *backendv1.HeartbeatResponse, committed map[schedule.Ref]bool) {
	b.registry.mu.Lock()
	defer b.registry.mu.Unlock()
	rec, number := b.record, req.Number
	first := !rec.alive(time.Now())
	rec.heard, rec.unanswered, rec.gone, rec.err, rec.toldDead = time.Now(), 0, false, "", false
	if first {
		b.registry.notify()
	}
	if number < rec.learned {
		return
	}
	rec.learned, rec.answer, rec.tasks = number, answer, make(map[uint64][]*backendv1.TaskStatus)
	for _, s := range answer.Tasks {
		rec.tasks[s.JobId] = append(rec.tasks[s.JobId], s)
	}
	if first {
		rec.aliveSince = rec.heard
	}
	ran, ended := make(map[schedule.Ref]uint64), make(map[schedule.Ref]bool)
	for _, ref := range req.Tasks {
		ran[key(ref)] = rec.ran[key(ref)]
		if rec.ended[key(ref)] {
			ended[key(ref)] = true
		}
	}
	for _, s := range answer.Tasks {
		ran[key(s.Task)] = number
		if s.Ended {
			ended[key(s.Task)] = true
		}
	}
	rec.lacking = nil
	for _, ref := range answer.Lacking {
		switch since := ran[key(ref)]; {
		case ended[key(ref)] || since > number: // it was taken on after this heartbeat
		case since > 0 || committed[key(ref)] || ref.Drain:
			ended[key(ref)] = true
		default:
			rec.lacking = append(rec.lacking, ref)
		}
	}
	if len(ended) != len(rec.ended) {
		b.registry.notify()
	}
	rec.ran, rec.ended = ran, ended
	over := func(ref schedule.Ref) bool { since, wanted := ran[ref]; return !wanted || since > 0 }
	maps.DeleteFunc(rec.refused, func(ref schedule.Ref, _ string) bool { return over(ref) })
	maps.DeleteFunc(rec.rejected, func(ref schedule.Ref, _ uint64) bool { return over(ref) })
	if len(rec.lacking) > 0 {
		select {
		case b.lacks <- struct{}{}:
		default:
		}
	}
}

// submitLoop sends what is lacking, one task after the other.
func (b *beat) submitLoop() {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.lacks:
		}
		for ref := b.nextLacking(); ref != nil && b.ctx.Err() == nil; ref = b.nextLacking() {
			b.submit(ref)
		}
	}
}

// nextLacking takes the next task to submit, nil if there is none.
func (b *beat) nextLacking() *backendv1.TaskRef {
	b.registry.mu.Lock()
	defer b.registry.mu.Unlock()
	for rec := b.record; len(rec.lacking) > 0; {
		ref := rec.lacking[0]
		rec.lacking = rec.lacking[1:]
		if rec.ran[key(ref)] == 0 && !rec.ended[key(ref)] {
			return ref
		}
	}
	return nil
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
		b.rejected(ref, spec.JobId, err)
		b.refused(ref, err)
		return
	}
	b.registry.mu.Lock()
	defer b.registry.mu.Unlock()
	b.record.ran[key(ref)] = b.record.sent + 1
	delete(b.record.refused, key(ref))
	delete(b.record.rejected, key(ref))
}

// rejected notes a task that the backend could not start, for another reason
// than that it may not or has no room.
func (b *beat) rejected(ref *backendv1.TaskRef, jobID uint64, err error) {
	if code := status.Code(err); code == codes.Internal || code == codes.Unknown {
		b.registry.mu.Lock()
		defer b.registry.mu.Unlock()
		b.record.rejected[key(ref)] = jobID
	}
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
