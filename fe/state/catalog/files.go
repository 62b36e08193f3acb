package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// Limits of files, as Doris has them. Contents are in the log and in every
// snapshot.
const (
	MaxFileSize = 1 << 20 // bytes of one file's content
	MaxFiles    = 100     // of one database
)

// What CREATE FILE and DROP FILE may get wrong.
var (
	ErrFileExists   = errors.New("file exists")
	ErrNoFile       = errors.New("no such file")
	ErrTooManyFiles = errors.New("too many files")
	// ErrBadFile is for files without name or catalog, or that are too large.
	ErrBadFile = errors.New("bad file")
)

type fileName struct {
	databaseID    uint64
	catalog, name string
}

func nameOf(f *raftlogv1.File) fileName { return fileName{f.DatabaseId, f.Catalog, f.Name} }

// CreateFile keeps a file; its id is taken from nextID.
func (c *Catalog) CreateFile(file *raftlogv1.File, nextID func() uint64) (uint64, error) {
	switch {
	case file.GetName() == "" || file.Catalog == "" || file.Size > MaxFileSize:
		return 0, fmt.Errorf("%w: it needs a name, a catalog and at most %d bytes", ErrBadFile, MaxFileSize)
	case c.databases[file.DatabaseId] == nil:
		return 0, fmt.Errorf("%w: id %d", ErrNoDatabase, file.DatabaseId)
	case c.files[nameOf(file)] != nil:
		return 0, fmt.Errorf("%w: %s", ErrFileExists, file.Name)
	case len(c.Files(file.DatabaseId)) >= MaxFiles:
		return 0, fmt.Errorf("%w: the database has %d", ErrTooManyFiles, MaxFiles)
	}
	file = cow.Copy(file)
	file.Id = nextID()
	c.files[nameOf(file)] = file
	return file.Id, nil
}

// DropFile forgets a file.
func (c *Catalog) DropFile(d *raftlogv1.DropFile) error {
	name := fileName{d.GetDatabaseId(), d.GetCatalog(), d.GetName()}
	if c.files[name] == nil {
		return fmt.Errorf("%w: %s", ErrNoFile, d.GetName())
	}
	delete(c.files, name)
	return nil
}

// File is the file of that name, nil if there is none.
func (c *Catalog) File(databaseID uint64, catalog, name string) *raftlogv1.File {
	return c.files[fileName{databaseID, catalog, name}]
}

// Files of a database, ordered by id.
func (c *Catalog) Files(databaseID uint64) []*raftlogv1.File {
	return slices.DeleteFunc(c.allFiles(), func(f *raftlogv1.File) bool { return f.DatabaseId != databaseID })
}

func (c *Catalog) allFiles() []*raftlogv1.File {
	return slices.SortedFunc(maps.Values(c.files), func(a, b *raftlogv1.File) int { return cmp.Compare(a.Id, b.Id) })
}

// RestoreFile adds a file from a snapshot; its database must be there.
func (c *Catalog) RestoreFile(f *raftlogv1.File) error {
	if c.databases[f.DatabaseId] == nil || c.files[nameOf(f)] != nil {
		return fmt.Errorf("file %d %q is there twice or has no database", f.Id, f.Name)
	}
	c.files[nameOf(f)] = f
	return nil
}
