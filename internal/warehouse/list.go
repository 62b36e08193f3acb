package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"shoal/internal/warehouse/bucket"
)

// removing is how many files are removed at the same time.
const removing = 8

// A Found is a file that List found, of whatever kind.
type Found struct {
	Path    string // relative to the warehouse
	Bytes   int64
	Changed time.Time // by the clock of where it is
}

// An Upload to a bucket is one in parts, which is under way or was left by a
// process that died.
type Upload struct {
	Path   string
	Begun  time.Time
	giveUp func(context.Context) error
}

// GiveUp removes its parts; it can not be completed then. One that has ended is
// no error.
func (u *Upload) GiveUp(ctx context.Context) error { return u.giveUp(ctx) }

// List calls each with all files in the folders of the warehouse, some 1,000 at a
// time, however many there are. What is made or removed meanwhile may be missed.
func (w *Warehouse) List(ctx context.Context, each func([]Found) error) error {
	if err := w.trouble(); err != nil {
		return err
	}
	if err := w.files.list(ctx, each); err != nil {
		return fmt.Errorf("warehouse %s: listing files: %w", w.files, err)
	}
	return nil
}

// ListUploads calls each with uploads to a bucket that have not ended. A folder
// has none.
func (w *Warehouse) ListUploads(ctx context.Context, each func([]Upload) error) error {
	if err := w.files.listUploads(ctx, each); err != nil {
		return fmt.Errorf("warehouse %s: listing uploads: %w", w.files, err)
	}
	return nil
}

// Remove removes rowset files. What is not there counts as removed; an error
// leaves some that are.
func (w *Warehouse) Remove(ctx context.Context, rels ...string) error {
	if err := w.trouble(); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(removing)
	for _, rel := range rels {
		g.Go(func() error {
			err := CheckPath(rel)
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				err = w.files.remove(ctx, rel)
			}
			if err != nil {
				return fmt.Errorf("warehouse %s: removing rowset %s: %w", w.files, rel, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// page is how many files of a folder are looked at at a time.
const page = 1000

// list reads the folders one after the other. What lies beside them is no rowset.
func (root folder) list(ctx context.Context, each func([]Found) error) error {
	return readFolder(ctx, string(root), func(entries []fs.DirEntry) error {
		for _, dir := range entries {
			if !dir.IsDir() {
				continue
			}
			err := readFolder(ctx, root.path(dir.Name()), func(entries []fs.DirEntry) error { return each(found(dir.Name(), entries)) })
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// readFolder calls each with a folder's entries, a page at a time.
func readFolder(ctx context.Context, path string, each func([]fs.DirEntry) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(page)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := errors.Join(ctx.Err(), each(entries)); err != nil {
			return err
		}
	}
}

// found is the plain files among the entries of a folder.
func found(dir string, entries []fs.DirEntry) []Found {
	var files []Found
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // gone meanwhile, or none of ours
		}
		files = append(files, Found{dir + "/" + e.Name(), info.Size(), info.ModTime()})
	}
	return files
}

func (folder) listUploads(context.Context, func([]Upload) error) error { return nil }

// remove also removes the folder with its last file.
func (root folder) remove(_ context.Context, rel string) error {
	path := root.path(rel)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	os.Remove(filepath.Dir(path)) // fails unless it is empty
	return nil
}

func (r *remote) list(ctx context.Context, each func([]Found) error) error {
	return r.bucket.List(ctx, func(objects []bucket.Object) error {
		files := make([]Found, len(objects))
		for i, o := range objects {
			files[i] = Found{o.Name, o.Size, o.Changed}
		}
		return each(files)
	})
}

func (r *remote) listUploads(ctx context.Context, each func([]Upload) error) error {
	return r.bucket.ListUploads(ctx, func(found []bucket.Upload) error {
		uploads := make([]Upload, len(found))
		for i, u := range found {
			uploads[i] = Upload{u.Name, u.Begun, func(ctx context.Context) error { return r.bucket.GiveUp(ctx, u) }}
		}
		return each(uploads)
	})
}

func (r *remote) remove(ctx context.Context, rel string) error { return r.bucket.Remove(ctx, rel) }
