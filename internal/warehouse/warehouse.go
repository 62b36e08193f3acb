// Package warehouse keeps rowset files under the warehouse's URI, durably.
//
// A file is written once under a name that never comes again, made durable by
// Commit, and from then on only read. It is written in place: what makes a file
// part of a table is that the replicated state names it, so a half-written one
// is seen by nobody and only takes up room; nothing removes it yet. A name that is taken is refused, never overwritten: it may
// stand in a CommitTxn that is still on its way.
//
// The marker file at the root says whose warehouse it is; a process of another
// cluster, or one whose warehouse is not mounted, refuses to start by it.
//
// A Warehouse is safe for concurrent use; a File belongs to one goroutine. Each
// File starts one of its own, which syncs folders and ends with that. The only
// scheme so far is file://.
package warehouse

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
)

// ErrExists tells that a name has been used before, by this or an earlier
// process. The file is left as it is; the caller takes another name.
var ErrExists = errors.New("rowset file exists already")

// A Warehouse is a folder that holds the rowset files of one cluster.
type Warehouse struct {
	root      string
	clusterID atomic.Pointer[string] // that Verify last succeeded for
}

// Open makes a Warehouse of a URI such as file:///var/lib/shoal/warehouse. It
// neither creates nor reads anything; Bootstrap or Verify does.
func Open(uri string) (*Warehouse, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, fmt.Errorf("warehouse %q is no URI: %w", uri, err)
	}
	if u.Scheme != "file" {
		return nil, fmt.Errorf("warehouse %q: only file:// is supported yet", uri)
	}
	if u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("warehouse %q: write file:// and an absolute path, as in file:///var/lib/shoal/warehouse", uri)
	}
	return &Warehouse{root: filepath.Clean(u.Path)}, nil
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

// Path is where DuckDB finds the file of a relative path that CheckPath passes.
func (w *Warehouse) Path(rel string) (string, error) {
	if err := CheckPath(rel); err != nil {
		return "", err
	}
	return filepath.Join(w.root, filepath.FromSlash(rel)), nil
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
