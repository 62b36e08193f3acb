package warehouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"shoal/internal/warehouse/bucket"
	"shoal/internal/warehouse/cache"
)

// markerLimit is how large a marker may be, in bytes: it holds one id.
const markerLimit = 64 << 10

// removeLimit is how long a file may take to be removed from a bucket.
const removeLimit = 10 * time.Second

// errNoFolder means that this process was not to write or read rowsets.
var errNoFolder = errors.New("this process has no folder for a remote warehouse's files")

// remote is a warehouse in a bucket.
type remote struct {
	bucket *bucket.Bucket
	drafts string // folder of files that are being written; "" before useFolder
	copies *cache.Cache
}

// String implements store.
func (r *remote) String() string { return r.bucket.String() }

func (r *remote) close() { r.bucket.Close() }

func (r *remote) useFolder(dir string, limit int64) (err error) {
	r.drafts = filepath.Join(dir, "drafts")
	if err := errors.Join(os.RemoveAll(r.drafts), os.MkdirAll(r.drafts, 0o755)); err != nil {
		return err
	}
	r.copies, err = cache.New(filepath.Join(dir, "cache"), limit, r.bucket)
	return err
}

func (r *remote) readMarker(ctx context.Context) ([]byte, error) {
	return r.bucket.Read(ctx, markerName, markerLimit)
}

func (r *remote) makeMarker(ctx context.Context, content []byte) error {
	err := r.bucket.Create(ctx, markerName, bytes.NewReader(content), int64(len(content)))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (r *remote) tryWrite(ctx context.Context, size int) error {
	return r.bucket.Try(ctx, int64(size))
}

func (r *remote) fetch(ctx context.Context, rels []string) (Files, error) {
	if r.copies == nil {
		return Files{}, errNoFolder
	}
	release, err := r.copies.Pin(ctx, rels)
	if tooLarge := (*cache.TooLargeError)(nil); errors.As(err, &tooLarge) {
		err = fmt.Errorf("%w: raise --warehouse-cache-mib of the backends, or read less at a time", err)
	}
	if err != nil {
		return Files{}, fmt.Errorf("warehouse %s: reading rowsets: %w", r, err)
	}
	return Files{path: r.copies.Path, release: release}, nil
}

func (r *remote) create(rel string) (File, error) {
	if r.copies == nil {
		return nil, errNoFolder
	}
	f, err := os.CreateTemp(r.drafts, "*.parquet")
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("writing rowset %s: %w", rel, err)
	}
	return &draft{to: r, rel: rel, path: f.Name()}, nil
}

// A draft is a file that is written here and uploaded by Commit.
type draft struct {
	to        *remote
	rel, path string
	uploaded  bool
}

// Rel implements File.
func (d *draft) Rel() string { return d.rel }

// LocalPath implements File.
func (d *draft) LocalPath() string { return d.path }

// Commit implements File. The file then becomes a copy in the cache, since what
// is new is often asked for.
func (d *draft) Commit(ctx context.Context) (int64, error) {
	size, err := d.upload(ctx)
	if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("%w: %s", ErrExists, d.rel)
	}
	if err != nil {
		return 0, fmt.Errorf("warehouse %s: making rowset %s durable: %w", d.to, d.rel, err)
	}
	d.uploaded = true
	if err := d.to.copies.Add(d.rel, d.path, size); err != nil {
		return 0, fmt.Errorf("rowset %s: %w", d.rel, err)
	}
	return size, nil
}

func (d *draft) upload(ctx context.Context) (int64, error) {
	f, err := os.Open(d.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), d.to.bucket.Create(ctx, d.rel, f, info.Size())
}

// Discard implements File. An object is removed only if it is known to be this
// file's: of a Commit that failed it is not known whether the name is another
// one's, which a CommitTxn may hold.
func (d *draft) Discard(ctx context.Context) error {
	if err := os.Remove(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("discarding rowset %s: %w", d.rel, err)
	}
	if !d.uploaded {
		return nil
	}
	d.to.copies.Remove(d.rel)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	if err := d.to.bucket.Remove(ctx, d.rel); err != nil {
		return fmt.Errorf("warehouse %s: discarding rowset %s: %w", d.to, d.rel, err)
	}
	return nil
}
