// Package warehouse keeps rowset files under the warehouse's URI, durably: in a
// folder (file://) or in a bucket of S3 (s3://).
//
// A file is written once under a name that never comes again, made durable by
// Commit, and from then on only read. What makes a file part of a table is that
// the replicated state names it, so one that was written for nothing is seen by
// nobody and only takes up room, until the leading frontend removes it
// (fe/removal). A name that is taken is
// refused, never overwritten: it may stand in a CommitTxn that is still on its
// way.
//
// Files are written and read by local path. In a folder that is the file itself.
// In a bucket it is a file below the process's data folder: written there and
// uploaded by Commit, and read from a cache of bounded size (package cache).
//
// The marker at the root says whose warehouse it is; a process of another
// cluster, or one whose warehouse is not mounted, refuses to start by it.
//
// A Warehouse is safe for concurrent use; a File belongs to one goroutine. In a
// folder each File starts a goroutine of its own, which syncs folders and ends
// with that. Watch keeps looking at a bucket's marker, and is the caller's to run.
package warehouse

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"

	"shoal/internal/warehouse/bucket"
)

// ErrExists tells that a name has been used before, by this or an earlier
// process. The file is left as it is; the caller takes another name.
var ErrExists = errors.New("rowset file exists already")

// ErrUnavailable tells that a bucket's server does not answer, or cannot now:
// whose warehouse it is, is unknown.
var ErrUnavailable = bucket.ErrUnavailable

// A Warehouse holds the rowset files of one cluster.
type Warehouse struct {
	files     store
	clusterID atomic.Pointer[string] // that Verify last succeeded for
	watched   atomic.Pointer[seen]   // by Watch, nil without it
}

// A store is where the files of a warehouse are.
type store interface {
	// String is the place, for messages.
	String() string
	// readMarker's error wraps fs.ErrNotExist if there is none.
	readMarker(ctx context.Context) ([]byte, error)
	// makeMarker leaves one that is there.
	makeMarker(ctx context.Context, content []byte) error
	// tryWrite writes and removes a file of so many bytes.
	tryWrite(ctx context.Context, size int) error
	create(rel string) (File, error)
	fetch(ctx context.Context, rels []string) (Files, error)
	list(ctx context.Context, each func([]Found) error) error
	listUploads(ctx context.Context, each func([]Upload) error) error
	// remove has nothing to say of a file that is not there.
	remove(ctx context.Context, rel string) error
	close()
}

// A File is a rowset file being written. It ends by Commit or Discard, or by
// both in this order.
type File interface {
	// Rel is the path relative to the warehouse, which the state keeps.
	Rel() string
	// LocalPath is the empty file that the content is to be written into.
	LocalPath() string
	// Commit makes content and name durable, and returns the size in bytes. The
	// error wraps ErrExists if the name is taken. After an error the caller
	// discards the file: it may not survive a crash, or it may exist.
	Commit(ctx context.Context) (int64, error)
	// Discard removes the file, also when ctx has ended. It must not be called
	// once a CommitTxn named it.
	Discard(ctx context.Context) error
}

// Files are rowset files that can be read until Release.
type Files struct {
	path    func(rel string) string
	release func()
}

// Path is where DuckDB finds a file that was fetched.
func (f Files) Path(rel string) string { return f.path(rel) }

// Release lets the files go. It may be called more than once.
func (f Files) Release() { f.release() }

// Open makes a Warehouse of a URI such as file:///var/lib/shoal/warehouse or
// s3://bucket/prefix?endpoint=https://s3.example.com. It neither creates nor
// reads anything there; Bootstrap or Verify does. Close it.
func Open(uri string) (*Warehouse, error) {
	root, place, err := parseURI(uri)
	if err != nil {
		return nil, err
	}
	if root != "" {
		return &Warehouse{files: root}, nil
	}
	b, err := bucket.Open(context.Background(), place)
	if err != nil {
		return nil, fmt.Errorf("warehouse %s: %w", place, err)
	}
	return &Warehouse{files: &remote{bucket: b}}, nil
}

// CheckURI tells whether a URI is one that Open knows. Its errors never have the
// URI of a bucket, in which a secret may stand by mistake.
func CheckURI(uri string) error {
	_, _, err := parseURI(uri)
	return err
}

// parseURI returns the folder, or "" and the bucket, that a URI names.
func parseURI(uri string) (folder, bucket.Place, error) {
	u, err := url.Parse(uri)
	switch {
	case strings.HasPrefix(uri, "s3:"):
		place, err := bucket.ParseURI(uri)
		if err != nil {
			err = fmt.Errorf("warehouse on S3: %w", err)
		}
		return "", place, err
	case err != nil:
		return "", bucket.Place{}, errors.New("the warehouse is no URI: write file:///path or s3://bucket/prefix")
	case u.Scheme != "file":
		return "", bucket.Place{}, fmt.Errorf("warehouse %q: only file:// and s3:// are supported", u.Redacted())
	case u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" || u.Fragment != "":
		return "", bucket.Place{}, fmt.Errorf("warehouse %q: write file:// and an absolute path, as in file:///var/lib/shoal/warehouse", u.Redacted())
	}
	return folder(filepath.Clean(u.Path)), bucket.Place{}, nil
}

// Close gives up idle connections.
func (w *Warehouse) Close() { w.files.close() }

// UseFolder says where files of a bucket are while they are written, and their
// copies while they are read: of the latter at most limit bytes. What is in the
// folder goes. A warehouse of files has no use for it. It is called before
// Create and Fetch, if at all.
func (w *Warehouse) UseFolder(dir string, limit int64) error {
	if r, ok := w.files.(*remote); ok {
		return r.useFolder(dir, limit)
	}
	return nil
}

// relative is what every path in a warehouse looks like: one folder, and a
// name of letters, digits, '-' and '_' (parquet-rules.md, rule 8).
var relative = regexp.MustCompile(`^[0-9A-Za-z_-]+/[0-9A-Za-z_-]+\.parquet$`)

// CheckPath tells whether rel is of the form folder/name.parquet, so that
// nothing outside a warehouse can ever be named.
func CheckPath(rel string) error {
	if !relative.MatchString(rel) {
		return fmt.Errorf("rowset path %q is not of the form folder/name.parquet with letters, digits, '-' and '_'", rel)
	}
	return nil
}

// Create begins a file of the name rel (folder/name.parquet). The error is
// ErrExists if the name is known to be used. The marker is looked at first: a
// volume may have gone since the process started, and what is written below its
// mount point nobody finds again.
func (w *Warehouse) Create(rel string) (File, error) {
	if err := CheckPath(rel); err != nil {
		return nil, err
	}
	if err := w.trouble(); err != nil {
		return nil, err
	}
	return w.files.create(rel)
}

// Fetch makes rowset files readable by local path until the caller releases
// them. From a bucket, all of them come to the cache first, which must have room
// for them.
func (w *Warehouse) Fetch(ctx context.Context, rels ...string) (Files, error) {
	for _, rel := range rels {
		if err := CheckPath(rel); err != nil {
			return Files{}, err
		}
	}
	return w.files.fetch(ctx, rels)
}

// FetchAnew is Fetch of one file for those who check whether it is there, and
// whole: a copy that is in the cache already is not trusted, unless it is being
// read.
func (w *Warehouse) FetchAnew(ctx context.Context, rel string) (Files, error) {
	if r, ok := w.files.(*remote); ok && r.copies != nil {
		r.copies.Remove(rel)
	}
	return w.Fetch(ctx, rel)
}
