package removal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"shoal/fe/lease"
	"shoal/fe/state"
	"shoal/fe/state/cluster"
	"shoal/internal/warehouse"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// every lies between two looks at what is to be removed.
	every = 5 * time.Second
	// batch is how many files are removed between two looks at the leadership.
	batch = 1000
	// askLimit is how long a frontend may take to tell what it reads.
	askLimit = 5 * time.Second
	// tellEvery lies between two lines in the log about the same trouble.
	tellEvery = 5 * time.Minute
)

// Store is the replicated state.
type Store interface {
	View(read func(*state.State))
	Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error)
	// ReadIndex is an error unless this frontend leads.
	ReadIndex(ctx context.Context) error
}

// Warehouse is where the files are.
type Warehouse interface {
	Verify(ctx context.Context, clusterID string) error
	List(ctx context.Context, each func([]warehouse.Found) error) error
	ListUploads(ctx context.Context, each func([]warehouse.Upload) error) error
	Remove(ctx context.Context, rels ...string) error
}

// Config is what a Remover needs.
type Config struct {
	Store     Store
	Warehouse Warehouse
	Frontend  string        // id of this one
	Leases    *lease.Leases // of this one
	// Ask has the frontend at an rpc address say what it reads.
	Ask func(ctx context.Context, addr string) (*frontendv1.FrontendStatusResponse, error)
	// Grace is how long a file that nobody needs is left.
	Grace  time.Duration
	Logger *slog.Logger
}

// A Remover removes files for one leadership.
type Remover struct {
	cfg   Config
	began time.Time    // the leadership
	next  time.Time    // of a sweep
	sweep *state.State // by which one is to be made, nil if none is
	told  time.Time    // that nothing is removed; zero while it is
}

// New makes a Remover for a leadership that begins now. Its first sweep comes
// after the grace time: a cluster that was restored from a saved snapshot needs
// none of what came later, and who wants to go back must be able to.
func New(cfg Config, now time.Time) *Remover {
	return &Remover{cfg: cfg, began: now, next: now.Add(cfg.Grace)}
}

// Run removes files until ctx ends. Only a leader may call it, after its barrier.
func (r *Remover) Run(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		if err := r.Step(ctx, now); ctx.Err() == nil {
			r.tell(err, now)
		}
	}
}

// tell logs, now and then, why nothing is removed, and that it is again.
func (r *Remover) tell(err error, now time.Time) {
	switch {
	case err == nil && !r.told.IsZero():
		r.told = time.Time{}
		r.cfg.Logger.Info("files that nobody needs are removed again")
	case err != nil && now.Sub(r.told) >= tellEvery:
		r.told = now
		r.cfg.Logger.Warn("files that nobody needs are not removed now", "err", err)
	}
}

// Step removes what may go at the given time. It does nothing unless there is
// something to do. After an error the same is tried again, by this or another
// leader; a sweep when its time comes.
func (r *Remover) Step(ctx context.Context, now time.Time) error {
	if r.sweep == nil && !now.Before(r.next) {
		r.sweep = r.version()
	}
	due := r.due(now)
	if len(due) == 0 && r.sweep == nil {
		return nil
	}
	oldest, err := r.oldest(ctx)
	if err != nil {
		return err
	}
	if err := r.empty(ctx, upTo(due, oldest)); err != nil {
		return err
	}
	if r.sweep == nil || oldest < r.sweep.Applied() {
		return nil // what reads an older version, ends some time
	}
	version := r.sweep
	r.sweep, r.next = nil, now.Add(max(r.cfg.Grace, every))
	return r.clean(ctx, version, now)
}

// version is the state as it is now, to be kept.
func (r *Remover) version() (v *state.State) {
	r.cfg.Store.View(func(st *state.State) { v = st.Clone() })
	return v
}

// due is the trash whose grace time is over. What was let go in a time to come was
// so by an earlier leader's clock: its grace time began with this leadership.
func (r *Remover) due(now time.Time) (due []*raftlogv1.TrashFile) {
	var trash []*raftlogv1.TrashFile
	r.cfg.Store.View(func(st *state.State) { trash = st.Trash() })
	latest := now.Add(-r.cfg.Grace).UnixMilli()
	for _, f := range trash {
		at := f.AtMs
		if at > now.UnixMilli() {
			at = r.began.UnixMilli()
		}
		if at <= latest {
			due = append(due, f)
		}
	}
	return due
}

// upTo is what was let go up to a version.
func upTo(files []*raftlogv1.TrashFile, version uint64) []*raftlogv1.TrashFile {
	for i, f := range files {
		if f.Index > version {
			return files[:i]
		}
	}
	return files
}

// oldest is a version such that no frontend reads an older one. One that does not
// answer may read any; dropping it ends that.
func (r *Remover) oldest(ctx context.Context) (uint64, error) {
	var frontends []*raftlogv1.Frontend
	var oldest uint64
	r.cfg.Store.View(func(st *state.State) { frontends, oldest = st.Frontends(), r.cfg.Leases.Oldest(st) })
	answers := make([]uint64, len(frontends))
	g, ctx := errgroup.WithContext(ctx)
	for i, f := range frontends {
		answers[i] = oldest
		if f.Id == r.cfg.Frontend {
			continue
		}
		g.Go(func() (err error) {
			answers[i], err = r.ask(ctx, f)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	for _, a := range answers {
		oldest = min(oldest, a)
	}
	return oldest, nil
}

func (r *Remover) ask(ctx context.Context, f *raftlogv1.Frontend) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	addr := cluster.Address(f.Host, f.RpcPort)
	answer, err := r.cfg.Ask(ctx, addr)
	if err == nil && answer.FrontendId != f.Id {
		err = errors.New("another frontend answers there")
	}
	if err != nil {
		return 0, fmt.Errorf("frontend %s at %s does not say what it reads, and must, or be dropped: %w", f.Id, addr, err)
	}
	return answer.OldestIndex, nil
}
