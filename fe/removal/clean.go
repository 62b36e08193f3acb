package removal

import (
	"context"
	"slices"
	"time"

	"shoal/fe/state"
	"shoal/internal/warehouse"
)

// together is how many files a sweep judges at a time: each time takes a look at
// all rowsets that there are.
const together = 16_000

// A sweeping is one sweep of the warehouse.
type sweeping struct {
	*Remover
	version *state.State
	before  time.Time       // what was changed later is left
	trash   map[string]bool // is removed in its own time
	found   []warehouse.Found

	seen, foreign, files int
	bytes                int64
}

// clean lists the warehouse and removes what nobody needs by a version that no
// frontend reads an older one of. What is written or committed after that version
// is Ahead or Open for it.
func (r *Remover) clean(ctx context.Context, version *state.State, now time.Time) error {
	s := &sweeping{Remover: r, version: version, before: now.Add(-r.cfg.Grace), trash: map[string]bool{}}
	for _, f := range version.Trash() {
		s.trash[f.Path] = true
	}
	if err := r.cfg.Warehouse.Verify(ctx, version.ClusterInfo().GetClusterId()); err != nil {
		return err
	}
	err := r.cfg.Warehouse.List(ctx, func(page []warehouse.Found) error { return s.page(ctx, page) })
	if err == nil {
		err = s.removeFound(ctx)
	}
	if err == nil {
		err = s.uploads(ctx)
	}
	if s.files > 0 {
		r.cfg.Logger.Info("files of txns that never committed were removed", "files", s.files, "bytes", s.bytes, "seen", s.seen, "foreign", s.foreign)
	}
	return err
}

// page takes down what may have to go.
func (s *sweeping) page(ctx context.Context, page []warehouse.Found) error {
	s.seen += len(page)
	for _, f := range page {
		switch verdict := judgeTxn(s.version, f.Path); {
		case verdict == Foreign:
			s.foreign++
		case verdict == Unneeded && f.Changed.Before(s.before) && !s.trash[f.Path]:
			s.found = append(s.found, f)
		}
	}
	if len(s.found) >= together {
		return s.removeFound(ctx)
	}
	return nil
}

// removeFound removes those that no table or job has.
func (s *sweeping) removeFound(ctx context.Context) error {
	paths := make([]string, len(s.found))
	for i, f := range s.found {
		paths[i] = f.Path
	}
	var unneeded []string
	var bytes int64
	for i, verdict := range Judge(s.version, paths) {
		if verdict == Unneeded {
			unneeded, bytes = append(unneeded, paths[i]), bytes+s.found[i].Bytes
		}
	}
	for files := range slices.Chunk(unneeded, batch) {
		if err := s.remove(ctx, files); err != nil {
			return err
		}
		s.files += len(files)
	}
	s.bytes += bytes
	s.found = s.found[:0]
	return nil
}

// uploads gives up those of txns that are over: whose writer died, or whose
// object is there already.
func (s *sweeping) uploads(ctx context.Context) error {
	return s.cfg.Warehouse.ListUploads(ctx, func(page []warehouse.Upload) error {
		for _, u := range page {
			if judgeTxn(s.version, u.Path) != Unneeded || !u.Begun.Before(s.before) {
				continue
			}
			if err := u.GiveUp(ctx); err != nil {
				return err
			}
			s.cfg.Logger.Info("an upload that nobody ends was given up", "path", u.Path)
		}
		return nil
	})
}
