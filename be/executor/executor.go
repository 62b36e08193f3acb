// Package executor runs a backend's tasks on a fixed number of slots, and one
// more that repair tasks have to themselves, and keeps them as the leading
// frontend wants them.
//
// It reconciles by level, not by edge (design: "FE and BE are reconciled"):
// each heartbeat carries the complete list of (task, epoch) that should run
// here. What runs and is not listed is cancelled; what is listed and does not
// run is answered as lacking, and comes by Submit. Nothing that a lost message
// carried is missed for longer than one heartbeat.
//
// Leaders are ordered by (incarnation, term): whatever an older one says is
// refused. Without a valid heartbeat for Grace all tasks are cancelled: the
// leader may have given their work to others, so they start again only at a new
// epoch. A process that was frozen for so long finds that out as it wakes up.
//
// Each task has one goroutine, owned by the Executor and ended by Drain.
package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	backendv1 "shoal/proto/backend/v1"
)

// Grace is how long a backend works on without hearing from the leader. A poll
// that is under way then takes half a second at most, and after 5 s there is none
// any more. It is longer than an election, so that tasks outlive a change of the leader.
const Grace = 4500 * time.Millisecond

// finishLimit is how long tasks may take to commit what they hold when the
// backend ends; a cancelled one gives back what it has not sent.
const finishLimit = 10 * time.Second

// Errors of Submit, Cancel and Heartbeat.
var (
	ErrStaleLeader = errors.New("the call is of an older incarnation or term than one already seen")
	ErrNoSlot      = errors.New("no slot is free")
	ErrStarting    = errors.New("the task is being started")
	ErrOldEpoch    = errors.New("the task ran here at this epoch and ended, or at a later one")
	ErrDraining    = errors.New("the backend is shutting down")
)

// A Task is one run of a routine load task at one epoch.
type Task interface {
	// Run works until the task ends by itself or ctx does; then it settles or
	// releases what it holds and leaves its group before it returns.
	Run(ctx context.Context) error
	// Finish has Run return once it has settled what it holds, without anything
	// new. It may be called at any time from any goroutine, and more than once.
	Finish()
	// Status may be called at any time from any goroutine.
	Status() *backendv1.TaskStatus
}

// repairSlots are what repair tasks have to themselves: they must not wait for
// tasks that never end.
const repairSlots = 1

// Config is what an Executor needs.
type Config struct {
	Slots int // without those for repair tasks
	// Start makes a task ready to run. It may take its time.
	Start  func(spec *backendv1.TaskSpec) (Task, error)
	Logger *slog.Logger
}

type taskRef struct{ id, epoch uint64 }

// run is one task at one epoch, being started, running or ended.
type run struct {
	task   Task // nil while it is being started
	cancel context.CancelFunc
	repair bool
	done   bool
	// finishes: it was told to, perhaps before there was a task to tell.
	finishes bool
}

// finish has the task finish, at once or once it is started.
func (r *run) finish() {
	r.finishes = true
	if r.task != nil {
		r.task.Finish()
	}
}

// Executor runs tasks. Its methods are safe for concurrent use.
type Executor struct {
	cfg   Config
	base  context.Context
	tasks sync.WaitGroup

	mu          sync.Mutex
	heard       time.Time            // of the leader, by a valid heartbeat
	leader      backendv1.Leadership // highest (incarnation, term) seen
	newest      uint64               // of its heartbeats
	runs        map[taskRef]*run
	latestEpoch map[uint64]uint64 // by task, of those in runs
	draining    bool
}

// New returns an executor without tasks. Tasks inherit base's values and are
// cancelled when it ends.
func New(base context.Context, cfg Config) *Executor {
	return &Executor{cfg: cfg, base: base, heard: time.Now(), runs: map[taskRef]*run{}, latestEpoch: map[uint64]uint64{}}
}

// Watch cancels all tasks whenever no valid heartbeat came for Grace. It
// returns when ctx ends.
func (e *Executor) Watch(ctx context.Context) {
	alarm := time.NewTimer(Grace)
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-alarm.C:
			alarm.Reset(e.endSilence())
		}
	}
}

// endSilence cancels all tasks if it is silent for too long, and says when to look
// again.
func (e *Executor) endSilence() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.endSilenceLocked() {
		return Grace
	}
	return Grace - time.Since(e.heard)
}

func (e *Executor) endSilenceLocked() bool {
	silence := time.Since(e.heard)
	if silence < Grace {
		return false
	}
	if n := e.cancelAllLocked(); n > 0 {
		e.cfg.Logger.Warn("no frontend was heard of: tasks are cancelled", "tasks", n, "silence", silence.String())
	}
	return true
}

// Silence is how long no leader has spoken to this backend.
func (e *Executor) Silence() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.heard)
}

// drainAll has all tasks finish, and takes none any more.
func (e *Executor) drainAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.draining = true
	for _, r := range e.runs {
		r.finish()
	}
}

// cancelAll cancels what runs.
func (e *Executor) cancelAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancelAllLocked()
}

// cancelAllLocked says how many it cancelled.
func (e *Executor) cancelAllLocked() int {
	n := 0
	for _, r := range e.runs {
		if !r.done {
			r.cancel()
			n++
		}
	}
	return n
}

// Submit starts a task at an epoch. Doing it again while it runs is harmless.
// An earlier epoch of the same task that still runs is cancelled.
func (e *Executor) Submit(leader *backendv1.Leadership, spec *backendv1.TaskSpec) error {
	ctx, r, err := e.reserve(leader, spec)
	if r == nil {
		return err
	}
	// Without the lock: heartbeats are answered meanwhile.
	task, err := e.cfg.Start(spec)
	e.mu.Lock()
	defer e.mu.Unlock()
	ref := taskRef{spec.TaskId, spec.Epoch}
	if err != nil {
		r.cancel()
		e.forgetLocked(ref)
		e.tasks.Done()
		return fmt.Errorf("task %d of job %d: %w", spec.TaskId, spec.JobId, err)
	}
	r.task = task
	if r.finishes {
		task.Finish()
	}
	e.cancelOlderLocked(ref)
	go e.run(ctx, ref, r)
	return nil
}

// reserve takes a slot for a task that is to be started; nil if it runs already
// or must not.
func (e *Executor) reserve(leader *backendv1.Leadership, spec *backendv1.TaskSpec) (context.Context, *run, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.followLocked(leader); err != nil {
		return nil, nil, err
	}
	ref := taskRef{spec.TaskId, spec.Epoch}
	switch r := e.runs[ref]; {
	case r != nil && r.task == nil:
		return nil, nil, ErrStarting
	case r != nil && !r.done:
		return nil, nil, nil
	case e.draining:
		return nil, nil, ErrDraining
	case r != nil || e.latestEpoch[ref.id] > ref.epoch:
		return nil, nil, ErrOldEpoch
	}
	repair := len(spec.Repair) > 0
	if slots := e.slots(repair); e.runningLocked(repair) >= slots {
		return nil, nil, fmt.Errorf("%w: all %d are taken", ErrNoSlot, slots)
	}
	ctx, cancel := context.WithCancel(e.base)
	r := &run{cancel: cancel, repair: repair}
	e.runs[ref] = r
	e.latestEpoch[ref.id] = ref.epoch
	e.tasks.Add(1)
	return ctx, r, nil
}

// run is the goroutine of one task. One that was cancelled while it was being
// started still runs, to close what it has.
func (e *Executor) run(ctx context.Context, ref taskRef, r *run) {
	defer e.tasks.Done()
	defer r.cancel()
	err := r.task.Run(ctx)
	if err != nil && ctx.Err() == nil {
		e.cfg.Logger.Warn("task ended", "task_id", ref.id, "epoch", ref.epoch, "err", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r.done = true
}

// cancelOlderLocked cancels earlier epochs of ref's task.
func (e *Executor) cancelOlderLocked(ref taskRef) {
	for other, r := range e.runs {
		if other.id == ref.id && other.epoch < ref.epoch {
			r.cancel()
		}
	}
}

// slots is how many repair tasks, or others, may run.
func (e *Executor) slots(repair bool) int {
	if repair {
		return repairSlots
	}
	return e.cfg.Slots
}

// runningLocked is how many repair tasks, or others, run.
func (e *Executor) runningLocked(repair bool) int {
	n := 0
	for _, r := range e.runs {
		if !r.done && r.repair == repair {
			n++
		}
	}
	return n
}

// Cancel ends a task at an epoch, if it runs.
func (e *Executor) Cancel(leader *backendv1.Leadership, ref *backendv1.TaskRef) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.followLocked(leader); err != nil {
		return err
	}
	if r := e.runs[taskRef{ref.GetTaskId(), ref.GetEpoch()}]; r != nil {
		r.cancel()
	}
	return nil
}

// Heartbeat cancels what is not in want, has what is to drain finish, and returns the status of everything
// that runs or ended, and those of want that are neither. A task that ended by
// itself is told of until it is no longer wanted: it will not run again at that
// epoch. A leader numbers its heartbeats, 0 if it is of an older release: one that
// was overtaken by a later one changes nothing, for a task that it does not list
// may have been placed since.
func (e *Executor) Heartbeat(leader *backendv1.Leadership, number uint64, want []*backendv1.TaskRef) (statuses []*backendv1.TaskStatus, lacking []*backendv1.TaskRef, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.followLocked(leader); err != nil {
		return nil, nil, err
	}
	// A process that wakes up may find this before its own alarm, and it may be of
	// the time before.
	e.endSilenceLocked()
	e.heard = time.Now()
	if number == 0 || number > e.newest {
		e.newest = number
		lacking = e.reconcileLocked(want)
	}
	for _, r := range e.runs {
		if r.task == nil {
			continue
		}
		st := proto.CloneOf(r.task.Status())
		st.Ended = r.done
		statuses = append(statuses, st)
	}
	return statuses, lacking, nil
}

// reconcileLocked has only run what is wanted, and returns what of it does not.
func (e *Executor) reconcileLocked(want []*backendv1.TaskRef) (lacking []*backendv1.TaskRef) {
	wanted := make(map[taskRef]bool, len(want))
	for _, w := range want {
		ref := taskRef{w.TaskId, w.Epoch}
		wanted[ref] = true
		switch r := e.runs[ref]; {
		case r == nil:
			lacking = append(lacking, w)
		case w.Drain:
			r.finish()
		}
	}
	for ref, r := range e.runs {
		if wanted[ref] {
			continue
		}
		if r.cancel(); r.done {
			e.forgetLocked(ref)
		}
	}
	return lacking
}

func (e *Executor) forgetLocked(ref taskRef) {
	delete(e.runs, ref)
	if e.latestEpoch[ref.id] == ref.epoch {
		delete(e.latestEpoch, ref.id)
	}
}

// followLocked takes over a leader that is not older than the one known.
func (e *Executor) followLocked(l *backendv1.Leadership) error {
	known := &e.leader
	if l.GetIncarnation() < known.Incarnation || l.GetIncarnation() == known.Incarnation && l.GetTerm() < known.Term {
		return fmt.Errorf("%w: incarnation %d term %d, after %d and %d", ErrStaleLeader,
			l.GetIncarnation(), l.GetTerm(), known.Incarnation, known.Term)
	}
	if l.GetIncarnation() != known.Incarnation || l.GetTerm() != known.Term {
		known.Incarnation, known.Term, e.newest = l.GetIncarnation(), l.GetTerm(), 0
	}
	return nil
}

// Slots is how many tasks may run, repair tasks left aside: none while the
// executor drains.
func (e *Executor) Slots() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return 0
	}
	return e.cfg.Slots
}

// Drain takes no new tasks, has those that run finish, cancels those that have
// not after finishLimit, and waits for their end, or for ctx's. It returns ctx's
// error when tasks were left running.
func (e *Executor) Drain(ctx context.Context) error {
	e.drainAll()
	ended := make(chan struct{})
	go func() {
		e.tasks.Wait()
		close(ended)
	}()
	patience := time.NewTimer(finishLimit)
	defer patience.Stop()
	select {
	case <-ended:
		return nil
	case <-patience.C:
		e.cancelAll()
	case <-ctx.Done():
		e.cancelAll()
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("tasks still run: %w", ctx.Err())
	}
}
