package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A folder is the root of a warehouse of files.
type folder string

// String implements store.
func (root folder) String() string { return string(root) }

func (root folder) path(rel string) string {
	return filepath.Join(string(root), filepath.FromSlash(rel))
}

func (folder) close() {}

func (root folder) fetch(context.Context, []string) (Files, error) {
	return Files{path: root.path, release: func() {}}, nil
}

func (root folder) readMarker(context.Context) ([]byte, error) {
	return os.ReadFile(root.path(markerName))
}

// makeMarker puts the marker in place as a whole or not at all.
func (root folder) makeMarker(_ context.Context, content []byte) error {
	if err := os.MkdirAll(string(root), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(string(root), markerName+".*")
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
	if err := os.Link(f.Name(), root.path(markerName)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncPaths(string(root), filepath.Dir(string(root)))
}

func (root folder) tryWrite(_ context.Context, size int) error {
	f, err := os.CreateTemp(string(root), ".trial-*")
	if err != nil {
		return err
	}
	// It has no name any more while it is written, so that nothing is left of a
	// process that dies meanwhile.
	gone := os.Remove(f.Name())
	_, err = f.Write(make([]byte, size))
	return errors.Join(gone, err, f.Sync(), f.Close())
}

// create reserves the name and makes its folder.
//
// The name is made durable while the caller writes the content: each fsync takes
// a millisecond and more on a busy disk, of some ten that a txn takes.
func (root folder) create(rel string) (File, error) {
	path := root.path(rel)
	f, err := createIn(path)
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < folderTries; tries++ {
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("folder of rowset %s: %w", rel, err)
		}
		f, err = createIn(path)
	}
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
		named <- syncPaths(filepath.Dir(path), string(root))
	}()
	return &inPlace{rel: rel, path: path, named: named}, nil
}

// folderTries is how often a folder is made for a file: it may go at any time,
// with the last one that was in it.
const folderTries = 10

func createIn(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
}

// inPlace is a file that is written where it stays.
type inPlace struct {
	rel, path string
	named     <-chan error // answers once when the name is durable
}

// Rel implements File.
func (f *inPlace) Rel() string { return f.rel }

// LocalPath implements File.
func (f *inPlace) LocalPath() string { return f.path }

// Commit implements File.
func (f *inPlace) Commit(context.Context) (int64, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return 0, fmt.Errorf("rowset %s: %w", f.rel, err)
	}
	if err := errors.Join(syncPaths(f.path), <-f.named); err != nil {
		return 0, fmt.Errorf("making rowset %s durable: %w", f.rel, err)
	}
	return info.Size(), nil
}

// Discard implements File.
func (f *inPlace) Discard(context.Context) error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("discarding rowset %s: %w", f.rel, err)
	}
	return nil
}

// syncPaths flushes the contents of files and folders to the device.
func syncPaths(paths ...string) error {
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
