package auditor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"shoal/fe/kafka"
	"shoal/fe/state"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// lookEvery is how old a view may be.
	lookEvery = time.Second
	// maxRounds follow each other without a pause while voids are found, so
	// that a crowded ledger empties faster than commits fill it.
	maxRounds = 50
	// probeTimeout bounds one probe; a backend answers earlier with what it
	// has read.
	probeTimeout = 20 * time.Second
)

// A Store is the replicated state: View reads it, Propose changes it. A
// refused command is an error in the result.
type Store interface {
	View(read func(*state.State))
	Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error)
}

// Backends have tasks and read for the auditor.
type Backends interface {
	Tasks(jobID uint64) []*backendv1.TaskStatus
	Probe(ctx context.Context, req *backendv1.ProbeRequest) (*backendv1.ProbeResponse, error)
}

// PinAgain pins a job's share group at the settled offsets, while its tasks are
// off their backends. It returns the members that keep it from that and are
// none of the job's. Failures show in time: the group still stands still.
type PinAgain func(ctx context.Context, job *raftlogv1.Job, why []Blocked) (strangers []kafka.Member)

// An Auditor looks after the jobs of a cluster.
type Auditor struct {
	store    Store
	backends Backends
	brokers  *kafka.Pool
	pinAgain PinAgain
	log      *slog.Logger
	changed  chan struct{}

	mu    sync.Mutex
	views map[uint64]*kafka.View // by job
	seen  map[uint64]*kafka.View // the last ones that saw something
}

// NewAuditor makes an auditor that starts nothing.
func NewAuditor(store Store, backends Backends, brokers *kafka.Pool, pinAgain PinAgain, log *slog.Logger) *Auditor {
	return &Auditor{
		store: store, backends: backends, brokers: brokers, pinAgain: pinAgain, log: log,
		changed: make(chan struct{}, 1), views: make(map[uint64]*kafka.View), seen: make(map[uint64]*kafka.View),
	}
}

// View is the last look at a job's topic and group; nil before the first, and
// on a frontend that does not lead.
func (a *Auditor) View(jobID uint64) *kafka.View {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.views[jobID]
}

// Seen is the last look at a job's topic and group that failed not; nil if none
// did. It may be of a topic that the job had before an ALTER.
func (a *Auditor) Seen(jobID uint64) *kafka.View {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[jobID]
}

// Changed receives when a job was looked at for the first time, so that it can
// be divided at once.
func (a *Auditor) Changed() <-chan struct{} { return a.changed }

// Run looks at all jobs that have not ended, once a second each, until ctx
// ends. It must not be called before the leader's barrier.
func (a *Auditor) Run(ctx context.Context) {
	var followers sync.WaitGroup
	defer followers.Wait()
	followed := make(map[uint64]bool)
	ended := make(chan uint64)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		for _, id := range a.liveJobs() {
			if !followed[id] {
				followed[id] = true
				followers.Go(func() {
					a.follow(ctx, id)
					select {
					case ended <- id:
					case <-ctx.Done():
					}
				})
			}
		}
		select {
		case <-ctx.Done():
			return
		case id := <-ended:
			delete(followed, id)
			a.brokers.Retain(func(other uint64) bool { return other != id })
		case <-ticker.C:
		}
	}
}

// liveJobs are the ids of those that have not ended.
func (a *Auditor) liveJobs() []uint64 {
	var ids []uint64
	a.store.View(func(s *state.State) {
		for _, job := range s.Jobs() {
			if !jobs.Ended(job.State) {
				ids = append(ids, job.Id)
			}
		}
	})
	return ids
}

// follow looks at one job until it ends or ctx does.
func (a *Auditor) follow(ctx context.Context, jobID uint64) {
	defer a.keep(jobID, nil)
	audit := New()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		for again, round := true, 0; again && round < maxRounds; round++ {
			var live bool
			if live, again = a.round(ctx, audit, jobID); !live {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// keep remembers a view, or forgets the job's.
func (a *Auditor) keep(jobID uint64, view *kafka.View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.views[jobID]
	if view == nil {
		delete(a.views, jobID)
		delete(a.seen, jobID)
		return
	}
	a.views[jobID] = view
	if view.Err == nil {
		a.seen[jobID] = view
	}
	if before == nil || before.Err != nil && view.Err == nil {
		select {
		case a.changed <- struct{}{}:
		default:
		}
	}
}

// round is one look at a job and what follows from it. live is false once the
// job has ended; again asks for another round at once.
func (a *Auditor) round(ctx context.Context, audit *Audit, jobID uint64) (live, again bool) {
	looked, before := a.state(jobID)
	if looked == nil || jobs.Ended(looked.State) || ctx.Err() != nil {
		return false, false
	}
	view := a.look(ctx, looked)
	if ctx.Err() != nil {
		return false, false
	}
	a.keep(jobID, view)
	job, after := a.state(jobID)
	if job == nil {
		return false, false
	}
	if !loads(job) || job.Load != looked.Load || job.Generation != looked.Generation {
		*audit = *New() // what was seen before a pause or an ALTER says nothing after it
		return true, false
	}
	if view.Err != nil {
		return true, false
	}
	tasks := a.backends.Tasks(jobID)
	in := Input{Now: time.Now(), Job: job, Before: before, After: after, View: view, Tasks: tasks}
	plan := audit.Plan(in)
	for _, command := range plan.Commands {
		a.propose(ctx, command)
	}
	for _, probe := range plan.Probes {
		again = a.probe(ctx, audit, job, view, probe) || again
	}
	if command := audit.Repair(in); command != nil {
		a.propose(ctx, command)
	}
	if command := audit.Forget(job, after, tasks, time.Now()); command != nil {
		a.propose(ctx, command)
	}
	if len(plan.Blocked) > 0 {
		if command := audit.Refuse(job, a.pinAgain(ctx, job, plan.Blocked), time.Now()); command != nil {
			a.propose(ctx, command)
		}
	}
	return true, again
}

// loads tells whether the job's records become rows now.
func loads(job *raftlogv1.Job) bool {
	return job.Started && (job.State == raftlogv1.JobState_JOB_STATE_RUNNING || job.State == raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
}

func (a *Auditor) state(jobID uint64) (job *raftlogv1.Job, ledgers []ledger.View) {
	a.store.View(func(s *state.State) { job, ledgers = s.JobByID(jobID), s.Ledgers(jobID) })
	return job, ledgers
}

func (a *Auditor) look(ctx context.Context, job *raftlogv1.Job) *kafka.View {
	client, err := a.brokers.Client(job.Id, job.DatabaseId, job.Load)
	if err != nil {
		return &kafka.View{At: time.Now(), Err: err}
	}
	group := job.Load.GroupId
	if jobs.Classic(job) {
		group = ""
	}
	return client.Look(ctx, group, job.Load.Topic)
}

// probe has offsets read and acts on the answer; true if some were settled.
func (a *Auditor) probe(ctx context.Context, audit *Audit, job *raftlogv1.Job, view *kafka.View, probe Probe) bool {
	bounded, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	answer, err := a.read(bounded, job, view, probe)
	if err != nil {
		if ctx.Err() == nil {
			a.log.Warn("unsettled offsets could not be read", "job_id", job.Id, "partition", probe.Partition, "offsets", shorten(probe.Ask), "err", err)
		}
		return false
	}
	settled := false
	for _, command := range audit.Judge(job, probe, answer, time.Now()) {
		a.propose(ctx, command)
		settled = settled || command.GetSettleOffsets() != nil
	}
	return settled
}

// read asks some backend what offsets hold.
func (a *Auditor) read(ctx context.Context, job *raftlogv1.Job, view *kafka.View, probe Probe) (*backendv1.ProbeResponse, error) {
	properties, files, err := a.brokers.Open(job.DatabaseId, job.Load)
	if err != nil {
		return nil, err
	}
	return a.backends.Probe(ctx, &backendv1.ProbeRequest{
		Brokers: job.Load.Brokers, Topic: job.Load.Topic, TopicId: view.Topic.ID[:], CustomProperties: properties, Files: files,
		Partition: probe.Partition, Ranges: wire(probe.Ask), ReadUncommitted: job.Load.ReadUncommitted,
	})
}

// propose changes the state. A refusal means that the state moved on, and the
// next look plans anew.
func (a *Auditor) propose(ctx context.Context, command *raftlogv1.Command) {
	result, err := a.store.Propose(ctx, command)
	if err == nil {
		err = result.Err
	}
	if pause := command.GetChangeJobState(); pause != nil {
		a.log.Error("job is paused", "job_id", pause.JobId, "reason", pause.Reason, "err", err)
		return
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn("audit was not applied", "err", err)
	}
}
