// Package backend is the leading frontend's knowledge of the backends: which
// are alive, what their tasks do, and how to call them.
//
// Backends are reconciled by level, not by edge. While Run lasts, each backend
// hears twice a second the complete list of (task, epoch) that it should run;
// it cancels the others and answers with what runs and what it lacks, and the
// lacking tasks are sent by SubmitTask. A lost message heals at the next
// heartbeat.
//
// A backend is dead at once when its port refuses connections: nobody runs
// there. Otherwise it is dead when it was silent for DeadAfter and did not answer
// any of the deadBeats heartbeats since. A beat does not wait for the answer to the one
// before, so a slow backend is a late one and no dead one; and a leader that was
// held up itself has first to ask before it declares anybody dead. One that a
// new leader has not heard yet is neither alive nor dead for that long. Nothing
// rests on the verdict being right: a backend that lives on is fenced by the new
// epochs of its tasks.
//
// A task is started only once at an epoch, as far as this leader knows: one
// that ran and is lacking now, or that ended by itself, is reported by Ended
// and needs a new epoch, since its backend may have restarted with a commit
// still on its way.
//
// Nothing here decides where tasks run (fe/schedule), and nothing is
// replicated. Run owns the goroutines and two connections of each backend, one for
// heartbeats and one for all else, and ends them before it returns. The other methods are safe for concurrent use at any time;
// on a frontend that does not lead no backend is alive, and none is dead.
package backend

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"shoal/fe/kafka"
	"shoal/fe/schedule"
	"shoal/fe/state"
	"shoal/fe/state/cluster"
	"shoal/internal/rpcconn"
	backendv1 "shoal/proto/backend/v1"
)

const (
	// Interval lies between two heartbeats to a backend.
	Interval = 500 * time.Millisecond
	// DeadAfter is the silence after which a backend is dead, so that it is noticed
	// within 3 s of the last sign of life.
	DeadAfter = 2500 * time.Millisecond
	// deadBeats is how many heartbeats it must have been sent meanwhile.
	deadBeats = 4
	// watchEvery is how often it is looked who is dead or has come.
	watchEvery = Interval / 5
	// beatTimeout bounds a heartbeat. Late answers are answers.
	beatTimeout = 2 * DeadAfter
	// callTimeout bounds a submission.
	callTimeout = 5 * time.Second
)

// ErrNoBackend: no backend is alive to do it.
var ErrNoBackend = errors.New("no backend is alive")

// A Viewer reads the replicated state. The state must not be kept; what its
// methods return may be.
type Viewer interface {
	View(read func(*state.State))
}

// A Dialer connects to host:port. An error of it that is ECONNREFUSED means that
// nobody listens there.
type Dialer func(ctx context.Context, addr string) (net.Conn, error)

// TCP is the Dialer of real networks.
func TCP(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// A Status is a backend as this leader sees it.
type Status struct {
	ID uint64
	// Alive: it answered, and is not dead. Unheard: it did not answer this
	// leader yet and is not dead; or there is no leader here. It may be alive, so
	// nobody may take its tasks away.
	Alive, Unheard bool
	Slots          int
	Version        string
	Started, Heard time.Time // zero before the first answer
	Since          time.Time // it became alive
	WarehouseError string    // empty while its warehouse takes writes
	Err            string    // why the last heartbeat failed; empty if it did not
	BlackListed    string    // why it gets no tasks for a while; empty if it may
	// Decommissioning: it gets no tasks any more.
	Decommissioning bool
}

// Takes tells whether tasks may be given to it. One that shuts down has no
// slots.
func (s Status) Takes() bool {
	return s.Alive && !s.Decommissioning && s.BlackListed == "" && s.Slots > 0
}

// Registry knows the backends.
type Registry struct {
	state   Viewer
	open    kafka.Open
	dialer  Dialer
	dial    []grpc.DialOption
	log     *slog.Logger
	changed chan struct{}

	mu      sync.Mutex
	lead    *backendv1.Leadership // nil while Run does not
	records map[uint64]*record
	black   blackList
	judged  time.Time
	turn    int    // of Pick
	beats   uint64 // heartbeats so far
}

// New makes a registry that calls backends by dialer with these options, and gives
// tasks what open says that their properties stand for. It starts nothing.
func New(viewer Viewer, open kafka.Open, log *slog.Logger, dialer Dialer, dial ...grpc.DialOption) *Registry {
	dial = append([]grpc.DialOption{rpcconn.Reconnect(DeadAfter)}, dial...)
	return &Registry{state: viewer, open: open, dialer: dialer, dial: dial, log: log, changed: make(chan struct{}, 1), records: make(map[uint64]*record), black: make(blackList)}
}

// Changed receives when a backend became alive or dead, or a task ended.
func (r *Registry) Changed() <-chan struct{} { return r.changed }

func (r *Registry) notify() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Run keeps backends going on behalf of a leader, until ctx ends. It must not
// be called before the leader's barrier. rpcAddr is where this frontend takes
// CommitTxn.
func (r *Registry) Run(ctx context.Context, lead *backendv1.Leadership, rpcAddr string) {
	r.mu.Lock()
	r.lead = lead
	r.mu.Unlock()
	var beats sync.WaitGroup
	running := make(map[uint64]*beat)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		r.reconcile(ctx, &beats, running, rpcAddr)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	beats.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lead = nil
	clear(r.records)
	clear(r.black)
}

// reconcile starts and ends the goroutines of backends that came, went or
// moved, and tells of those that fell silent.
func (r *Registry) reconcile(ctx context.Context, beats *sync.WaitGroup, running map[uint64]*beat, rpcAddr string) {
	want := r.backends()
	for id, b := range running {
		if want[id] != b.addr {
			b.cancel()
			delete(running, id)
			r.forget(id, b.record)
		}
	}
	for id, addr := range want {
		if running[id] != nil {
			continue
		}
		b, err := r.begin(ctx, id, addr, rpcAddr)
		if err != nil {
			r.log.Error("backend cannot be called", "backend_id", id, "addr", addr, "err", err)
			continue
		}
		running[id] = b
		beats.Go(b.run)
	}
	r.noteDeaths()
	r.blackList()
}

// backends are the addresses of those that were not dropped.
func (r *Registry) backends() map[uint64]string {
	addrs := make(map[uint64]string)
	r.state.View(func(s *state.State) {
		for _, b := range s.Backends() {
			if !b.Dropped {
				addrs[b.Id] = cluster.Address(b.Host, b.RpcPort)
			}
		}
	})
	return addrs
}

// begin makes the record and the goroutine of a backend, not started yet.
func (r *Registry) begin(ctx context.Context, id uint64, addr, rpcAddr string) (*beat, error) {
	b := &beat{registry: r, addr: addr, rpcAddr: rpcAddr, soon: make(chan struct{}, 1), lacks: make(chan struct{}, 1)}
	var err error
	if b.beats, err = grpc.NewClient(addr, slices.Concat(r.dial, []grpc.DialOption{grpc.WithContextDialer(b.dial)})...); err != nil {
		return nil, err
	}
	if b.calls, err = grpc.NewClient(addr, slices.Concat(r.dial, []grpc.DialOption{grpc.WithContextDialer(r.dialer)})...); err != nil {
		return nil, errors.Join(err, b.beats.Close())
	}
	b.record = &record{id: id, since: time.Now(), client: backendv1.NewBackendServiceClient(b.calls), soon: b.soon,
		ran: map[schedule.Ref]uint64{}, ended: map[schedule.Ref]bool{}, refused: map[schedule.Ref]string{}, rejected: map[schedule.Ref]uint64{}}
	b.ctx, b.cancel = context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[id] = b.record
	return b, nil
}

// Hurry has all backends hear at once what they should run now.
func (r *Registry) Hurry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.records {
		select {
		case rec.soon <- struct{}{}:
		default:
		}
	}
}

// forget drops a record unless another has taken its place.
func (r *Registry) forget(id uint64, rec *record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.records[id] == rec {
		delete(r.records, id)
	}
	r.notify()
}

// noteDeaths tells, once each, of backends that are dead now.
func (r *Registry) noteDeaths() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for id, rec := range r.records {
		if dead := rec.dead(now); dead != rec.toldDead {
			rec.toldDead = dead
			if dead {
				r.log.Warn("backend is dead", "backend_id", id, "err", rec.err)
			}
			r.notify()
		}
	}
}

// Backends are all that were not dropped, ascending by id.
func (r *Registry) Backends() []Status {
	var out []Status
	for id := range r.backends() {
		out = append(out, r.status(id))
	}
	r.state.View(func(s *state.State) {
		for _, b := range s.Backends() {
			if i := slices.IndexFunc(out, func(st Status) bool { return st.ID == b.Id }); i >= 0 {
				out[i].Decommissioning = b.Decommissioning
			}
		}
	})
	slices.SortFunc(out, func(a, b Status) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (r *Registry) status(id uint64) Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.records[id]
	if rec == nil {
		return Status{ID: id, Unheard: true}
	}
	st := rec.status(time.Now())
	st.BlackListed = r.black.why(time.Now(), id)
	return st
}

// blackList looks once a second for backends that keep failing.
func (r *Registry) blackList() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.judged) < time.Second {
		return
	}
	r.judged = now
	var all []condition
	before := make(map[uint64]string)
	for _, id := range slices.Sorted(maps.Keys(r.records)) {
		if rec := r.records[id]; rec.alive(now) {
			before[id] = r.black.why(now, id)
			all = append(all, rec.condition())
		}
	}
	r.black.judge(now, all)
	for id, was := range before {
		switch why := r.black.why(now, id); {
		case was == "" && why != "":
			r.log.Warn("backend is on the black list", "backend_id", id, "why", why)
			r.notify()
		case was != "" && why == "":
			r.log.Info("backend is off the black list", "backend_id", id)
			r.notify()
		}
	}
}

// Tasks are the last statuses of a job's tasks, also of earlier epochs, from
// backends that are alive.
func (r *Registry) Tasks(jobID uint64) []*backendv1.TaskStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*backendv1.TaskStatus
	now := time.Now()
	for _, id := range slices.Sorted(maps.Keys(r.records)) {
		if rec := r.records[id]; rec.alive(now) {
			out = append(out, rec.tasks[jobID]...)
		}
	}
	return out
}

// Ended are tasks that will not run any more at their epoch, on backends that
// are alive.
func (r *Registry) Ended() map[schedule.Ref]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[schedule.Ref]bool)
	for _, rec := range r.records {
		maps.Copy(all, rec.ended)
	}
	return all
}

// Ran are tasks that their backends have shown, or taken on.
func (r *Registry) Ran() map[schedule.Ref]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[schedule.Ref]bool)
	for _, rec := range r.records {
		for ref, since := range rec.ran {
			if since > 0 {
				all[ref] = true
			}
		}
	}
	return all
}

// Refused are tasks that their backend would not take on, and why.
func (r *Registry) Refused() map[schedule.Ref]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[schedule.Ref]string)
	for _, rec := range r.records {
		maps.Copy(all, rec.refused)
	}
	return all
}
