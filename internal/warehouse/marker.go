package warehouse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const markerName = "shoal-warehouse.json"

// marker is the content of the marker file. Fields are only added.
type marker struct {
	ClusterID string `json:"cluster_id"`
}

// Bootstrap makes the folder and its marker for a new cluster. Doing so again
// for the same cluster changes nothing; the marker of another one is an error.
func (w *Warehouse) Bootstrap(clusterID string) error {
	if err := w.Verify(clusterID); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(w.root, 0o755); err != nil {
		return fmt.Errorf("warehouse %s: %w", w.root, err)
	}
	content, err := json.Marshal(marker{ClusterID: clusterID})
	if err != nil {
		return fmt.Errorf("warehouse %s: %w", w.root, err)
	}
	if err := w.writeMarker(append(content, '\n')); err != nil {
		return fmt.Errorf("warehouse %s: writing %s: %w", w.root, markerName, err)
	}
	return w.Verify(clusterID) // another cluster may have been quicker
}

// writeMarker puts the marker in place as a whole or not at all, and leaves
// one that is there already.
func (w *Warehouse) writeMarker(content []byte) error {
	f, err := os.CreateTemp(w.root, markerName+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(content); err != nil {
		f.Close()
		return err
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), filepath.Join(w.root, markerName)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncPaths(w.root, filepath.Dir(w.root))
}

// Trouble says why nothing is written here now, "" where nothing is wrong.
func (w *Warehouse) Trouble() string {
	if err := w.verifyAgain(); err != nil {
		return err.Error()
	}
	return ""
}

// trial is how much TryWrite writes.
const trial = 1 << 20

// TryWrite finds out whether files can be written here now, by writing one that
// nobody sees. The error says why not.
func (w *Warehouse) TryWrite() error {
	if err := w.verifyAgain(); err != nil {
		return err
	}
	f, err := os.CreateTemp(w.root, ".trial-*")
	if err != nil {
		return fmt.Errorf("warehouse %s: %w", w.root, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, trial))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("warehouse %s: %w", w.root, err)
	}
	return nil
}

// verifyAgain is Verify for the cluster that it last succeeded for.
func (w *Warehouse) verifyAgain() error {
	id := w.clusterID.Load()
	if id == nil {
		return errors.New("the warehouse has not been verified yet")
	}
	return w.Verify(*id)
}

// Verify tells whether this is the warehouse of the cluster. A process does
// not start, and Create does not write, while it is not. The error wraps
// fs.ErrNotExist where there is no marker: a volume that is not mounted, or a
// path that is not the cluster's.
func (w *Warehouse) Verify(clusterID string) error {
	path := filepath.Join(w.root, markerName)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("warehouse %s has no marker file %s: is it the cluster's warehouse, and mounted? %w", w.root, markerName, err)
	}
	if err != nil {
		return fmt.Errorf("warehouse %s: %w", w.root, err)
	}
	var m marker
	if err := json.Unmarshal(content, &m); err != nil || m.ClusterID == "" {
		return fmt.Errorf("warehouse %s: its marker file %s is damaged; it should hold the cluster's id", w.root, markerName)
	}
	if m.ClusterID != clusterID {
		return fmt.Errorf("warehouse %s belongs to cluster %q, not to %q", w.root, m.ClusterID, clusterID)
	}
	w.clusterID.Store(&clusterID)
	return nil
}
