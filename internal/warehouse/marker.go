package warehouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

const markerName = "shoal-warehouse.json"

// marker is the content of the marker file. Fields are only added.
type marker struct {
	ClusterID string `json:"cluster_id"`
}

// Bootstrap makes the folder and its marker for a new cluster. Doing so again
// for the same cluster changes nothing; the marker of another one is an error.
func (w *Warehouse) Bootstrap(ctx context.Context, clusterID string) error {
	if err := w.Verify(ctx, clusterID); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content, err := json.Marshal(marker{ClusterID: clusterID})
	if err != nil {
		return fmt.Errorf("warehouse %s: %w", w.files, err)
	}
	if err := w.files.makeMarker(ctx, append(content, '\n')); err != nil {
		return fmt.Errorf("warehouse %s: writing %s: %w", w.files, markerName, err)
	}
	return w.Verify(ctx, clusterID) // another cluster may have been quicker
}

// Verify tells whether this is the warehouse of the cluster. A process does
// not start, and Create does not write, while it is not. The error wraps
// fs.ErrNotExist where there is no marker: a volume that is not mounted, or a
// path that is not the cluster's. It wraps ErrUnavailable where nobody answers.
func (w *Warehouse) Verify(ctx context.Context, clusterID string) error {
	content, err := w.files.readMarker(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("warehouse %s has no marker file %s: is it the cluster's warehouse, and mounted? %w", w.files, markerName, err)
	}
	if err != nil {
		return fmt.Errorf("warehouse %s: %w", w.files, err)
	}
	var m marker
	if err := json.Unmarshal(content, &m); err != nil || m.ClusterID == "" {
		return fmt.Errorf("warehouse %s: its marker file %s is damaged; it should hold the cluster's id", w.files, markerName)
	}
	if m.ClusterID != clusterID {
		return fmt.Errorf("warehouse %s belongs to cluster %q, not to %q", w.files, m.ClusterID, clusterID)
	}
	w.clusterID.Store(&clusterID)
	return nil
}

// Trouble says why nothing is written here now, "" where nothing is wrong. A
// folder is looked at; of a bucket it is what Watch saw last.
func (w *Warehouse) Trouble() string {
	if err := w.trouble(); err != nil {
		return err.Error()
	}
	return ""
}

func (w *Warehouse) trouble() error {
	if last := w.watched.Load(); last != nil {
		return last.trouble
	}
	id := w.clusterID.Load()
	if id == nil {
		return errors.New("the warehouse has not been verified yet")
	}
	if _, far := w.files.(*remote); far {
		return nil
	}
	return w.Verify(context.Background(), *id)
}

// seen is what Watch saw: nil where all is well.
type seen struct{ trouble error }

// How often Watch looks, while all is well and while it is not, and how long an
// answer may take.
const (
	watchPause   = 5 * time.Second
	troublePause = time.Second
	watchLimit   = 15 * time.Second
)

// Watch keeps looking at a bucket's marker, for Trouble, until ctx ends. A folder
// is near enough to be looked at whenever it is asked about.
func (w *Warehouse) Watch(ctx context.Context, clusterID string) {
	if _, far := w.files.(*remote); !far {
		return
	}
	for {
		err, pause := w.look(ctx, clusterID), watchPause
		if ctx.Err() != nil {
			return
		}
		w.watched.Store(&seen{err})
		if err != nil {
			pause = troublePause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (w *Warehouse) look(ctx context.Context, clusterID string) error {
	ctx, cancel := context.WithTimeout(ctx, watchLimit)
	defer cancel()
	return w.Verify(ctx, clusterID)
}

// trial is how much TryWrite writes, in bytes.
const trial = 1 << 20

// TryWrite finds out whether files can be written here now, by writing one that
// nobody sees. The error says why not.
func (w *Warehouse) TryWrite(ctx context.Context) error {
	if err := w.trouble(); err != nil {
		return err
	}
	if err := w.files.tryWrite(ctx, trial); err != nil {
		return fmt.Errorf("warehouse %s: %w", w.files, err)
	}
	return nil
}
