// Package deadletter is the leader's half of the outbox of dead letters: what
// error rowsets a job's dead letter topic does not have yet, and who brings
// them there.
//
// A txn commits its error rows with the messages that they come from; that is
// all that the load waits for. The Outbox then has a backend produce those
// messages (be/deadletter), in the order of the txns, and moves the job's
// replicated position when the broker has them. Whatever dies in between, the
// position stands at what is not known to be delivered, so that a message may be
// delivered twice and none is forgotten, as long as its job is known: ended
// jobs deliver what is left, until they are removed.
//
// Run owns one goroutine a delivery, and each job has one at a time. A delivery
// that fails is tried again, after growing pauses; nothing of that is
// replicated.
package deadletter

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"shoal/fe/kafka"
	"shoal/fe/lease"
	"shoal/fe/state"
	"shoal/fe/state/cow"
	"shoal/fe/state/jobs"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// every lies between two looks at what is due.
	every = time.Second
	// timeout bounds one delivery.
	timeout = 2 * time.Minute
	// most is how many rowsets one delivery has, unless more belong together. After a
	// failure it is one, so that a delivery that is too long for the timeout is
	// not tried for ever.
	most = 16
	// firstPause and longestPause lie between a failure and the next try.
	firstPause, longestPause = 2 * time.Second, time.Minute
)

// Store is the replicated state.
type Store interface {
	View(read func(*state.State))
	Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error)
}

// Backends has some backend deliver. The request's leadership is filled in.
type Backends interface {
	DeliverDeadLetters(ctx context.Context, req *backendv1.DeliverDeadLettersRequest) (*backendv1.DeliverDeadLettersResponse, error)
}

// Config is what an Outbox needs.
type Config struct {
	Store    Store
	Leases   *lease.Leases // of the versions whose files are delivered
	Backends Backends
	Open     kafka.Open
	Logger   *slog.Logger
}

// Outbox delivers the dead letters of all jobs. Its methods are safe for
// concurrent use.
type Outbox struct {
	cfg  Config
	wake chan struct{} // a delivery ended well: there may be more

	mu   sync.Mutex
	jobs map[uint64]*progress // of those that have or had something due
}

// progress is what is known of a job's deliveries here.
type progress struct {
	busy    bool
	trouble string // why the last one failed; empty if it did not
	pause   time.Duration
	next    time.Time // not before
}

// New makes an outbox that starts nothing.
func New(cfg Config) *Outbox {
	return &Outbox{cfg: cfg, wake: make(chan struct{}, 1), jobs: map[uint64]*progress{}}
}

// Trouble is why a job's last delivery failed; empty if it did not.
func (o *Outbox) Trouble(jobID uint64) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.jobs[jobID]; p != nil {
		return p.trouble
	}
	return ""
}

// Run delivers until ctx ends. Only a leader may call it, after its barrier.
func (o *Outbox) Run(ctx context.Context) {
	var deliveries sync.WaitGroup
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, d := range o.due(time.Now()) {
			deliveries.Go(func() { o.deliver(ctx, d) })
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-o.wake:
		}
	}
	deliveries.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.jobs)
}

// delivery is what one call to a backend brings to a topic.
type delivery struct {
	job     *raftlogv1.Job
	rowsets []*raftlogv1.ErrorRowset
	release func() // of the lease
}

// due is what is to be delivered now; its jobs are busy from then on.
func (o *Outbox) due(now time.Time) (out []delivery) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := map[uint64]bool{}
	o.cfg.Store.View(func(st *state.State) {
		for _, job := range st.Jobs() {
			due := jobs.DueDeadLetters(job, st.ErrorRowsets(job.Id))
			if len(due) == 0 {
				continue
			}
			known[job.Id] = true
			p := o.jobs[job.Id]
			if p == nil {
				p = &progress{}
				o.jobs[job.Id] = p
			}
			if !p.busy && !now.Before(p.next) {
				p.busy = true
				out = append(out, delivery{job, batch(due, p.trouble != ""), o.cfg.Leases.Hold(st)})
			}
		}
	})
	for id, p := range o.jobs {
		if !known[id] && !p.busy {
			delete(o.jobs, id)
		}
	}
	return out
}

// batch is the first of the rowsets, together with those of the same txn id.
func batch(due []*raftlogv1.ErrorRowset, careful bool) []*raftlogv1.ErrorRowset {
	n := min(most, len(due))
	if careful {
		n = 1
	}
	for n < len(due) && due[n].TxnId == due[n-1].TxnId {
		n++
	}
	return due[:n]
}

// deliver makes one delivery and moves the position.
func (o *Outbox) deliver(ctx context.Context, d delivery) {
	defer d.release()
	err := o.try(ctx, d)
	if err != nil && ctx.Err() == nil {
		o.cfg.Logger.Warn("dead letters were not delivered; will try again", "job_id", d.job.Id, "topic", d.job.Load.DeadLetterTopic, "err", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.jobs[d.job.Id]
	p.busy = false
	if err == nil {
		*p = progress{}
		select {
		case o.wake <- struct{}{}:
		default:
		}
		return
	}
	p.trouble = status.Convert(err).Message()
	p.pause = min(longestPause, max(firstPause, 2*p.pause))
	p.next = time.Now().Add(p.pause)
}

func (o *Outbox) try(ctx context.Context, d delivery) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	job, last := d.job, d.rowsets[len(d.rowsets)-1]
	req := &backendv1.DeliverDeadLettersRequest{JobId: job.Id, JobName: job.DatabaseName + "." + job.Name, Load: cow.Copy(job.Load)}
	var err error
	if req.Load.CustomProperties, req.Files, err = o.cfg.Open(job.DatabaseId, job.Load); err != nil {
		return err
	}
	for _, r := range d.rowsets {
		req.Paths = append(req.Paths, r.Rowset.Path)
	}
	resp, err := o.cfg.Backends.DeliverDeadLetters(ctx, req)
	if err != nil {
		return err
	}
	result, err := o.cfg.Store.Propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_DeadLettersDelivered{
		DeadLettersDelivered: &raftlogv1.DeadLettersDelivered{JobId: job.Id, ThroughTxn: last.TxnId, Delivered: resp.Delivered}}})
	if err != nil {
		return err
	}
	return result.Err
}
