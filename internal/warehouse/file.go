package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A File is a rowset file being written. It ends by Commit or Discard.
type File struct {
	rel, path string
	named     <-chan error // answers once when the name is durable
}

// Create reserves the name rel (folder/name.parquet) and makes its folder. The
// error is ErrExists if the name is used. The marker is looked at first: a
// volume may have gone since the process started, and what is written below its
// mount point nobody finds again.
//
// The name is made durable while the caller writes the content: each fsync takes
// a millisecond and more on a busy disk, of some ten that a txn takes.
func (w *Warehouse) Create(rel string) (*File, error) {
	path, err := w.Path(rel)
	if err != nil {
		return nil, err
	}
	if err := w.verifyAgain(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("folder of rowset %s: %w", rel, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %s", ErrExists, rel)
	}
	if err != nil {
		return nil, fmt.Errorf("creating rowset %s: %w", rel, err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("creating rowset %s: %w", rel, err)
	}
	named := make(chan error, 1)
	go func() {
		// The root too: the folder may be new, made by us or by someone who has
		// not got as far as syncing it.
		named <- syncPaths(filepath.Dir(path), w.root)
	}()
	return &File{rel: rel, path: path, named: named}, nil
}

// Rel is the path relative to the warehouse, which the state keeps.
func (f *File) Rel() string { return f.rel }

// LocalPath is the empty file that the content is to be written into.
func (f *File) LocalPath() string { return f.path }

// Commit makes content and name durable, and returns the size in bytes. After
// an error the caller discards the file: it may not survive a crash.
func (f *File) Commit() (int64, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return 0, fmt.Errorf("rowset %s: %w", f.rel, err)
	}
	if err := errors.Join(syncPaths(f.path), <-f.named); err != nil {
		return 0, fmt.Errorf("making rowset %s durable: %w", f.rel, err)
	}
	return info.Size(), nil
}

// Discard removes the file. It must not be called once a CommitTxn named it.
func (f *File) Discard() error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("discarding rowset %s: %w", f.rel, err)
	}
	return nil
}
