// Package bucket keeps objects below a prefix of an S3 bucket: on AWS, or on any
// server that speaks S3's protocol.
//
// An object is created once and never overwritten: Create asks the server to
// refuse a name that is taken (If-None-Match: *). It carries a token of its own,
// so that a Create whose answer was lost is told from a name that somebody else
// took. Contents travel with their CRC64NVME, which the server checks and keeps;
// a download is held against it, and against the size and ETag that were asked
// for before.
//
// Each request is tried a few times with growing pauses, never longer than its
// context lasts, and a connection on which nothing moves is given up. Errors are
// for people: what is wrong, and what to do about it; which bucket it is says String. They
// never have a secret; credentials come from the AWS SDK's environment
// variables and files, and are not kept anywhere else. The instance metadata
// service is not asked.
//
// A Bucket is safe for concurrent use. It starts goroutines only within a call,
// beside those of idle connections, which Close ends.
package bucket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// A Bucket is a folder of objects. Names are relative to it.
type Bucket struct {
	place  Place
	client *s3.Client
	http   *http.Client
	trial  string // name of what Try writes, this Bucket's own
}

// Open makes a Bucket of what the URI says and, where it is silent, what the
// SDK's environment variables and files do (AWS_*, ~/.aws). It asks no server.
func Open(ctx context.Context, place Place) (*Bucket, error) {
	client, web, err := newClient(ctx, place)
	if err != nil {
		return nil, err
	}
	return &Bucket{place: place, client: client, http: web, trial: ".trial-" + rand.Text()}, nil
}

// Close closes idle connections.
func (b *Bucket) Close() { b.http.CloseIdleConnections() }

// String is the bucket's URI, and the server where it is not AWS.
func (b *Bucket) String() string {
	if b.place.Endpoint == "" {
		return b.place.String()
	}
	return b.place.String() + " at " + b.place.Endpoint
}

func (b *Bucket) key(name string) *string { return aws.String(path.Join(b.place.Prefix, name)) }

// Read returns a small object, of at most limit bytes. The error wraps
// fs.ErrNotExist if there is none of that name.
func (b *Bucket) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.place.Name, Key: b.key(name)})
	if err != nil {
		return nil, explain(err)
	}
	defer out.Body.Close()
	content, err := io.ReadAll(io.LimitReader(out.Body, limit))
	return content, explain(err)
}

// Version is what an object was at one time.
type Version struct {
	Size int64
	etag string
}

// Stat tells which object has the name now. The error wraps fs.ErrNotExist if
// there is none.
func (b *Bucket) Stat(ctx context.Context, name string) (Version, error) {
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.place.Name, Key: b.key(name)})
	if err != nil {
		return Version{}, explain(err)
	}
	return Version{Size: aws.ToInt64(out.ContentLength), etag: aws.ToString(out.ETag)}, nil
}

// Download writes that version of an object to a new local file. After an error
// there is no file.
func (b *Bucket) Download(ctx context.Context, name string, version Version, to string) (err error) {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()
	for pause := firstPause; ; pause *= 2 {
		broken, err := b.copyTo(ctx, name, version, f)
		if err == nil || !broken || pause > lastPause {
			return explain(err)
		}
		select {
		case <-ctx.Done():
			return explain(err)
		case <-time.After(pause):
		}
	}
}

// Pauses between attempts to download, where the SDK no longer sees to it: in
// the middle of a body.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 1600 * time.Millisecond
)

// copyTo fills a file anew. broken tells that the server had begun to send.
func (b *Bucket) copyTo(ctx context.Context, name string, version Version, f *os.File) (broken bool, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	if err := f.Truncate(0); err != nil {
		return false, err
	}
	input := &s3.GetObjectInput{Bucket: &b.place.Name, Key: b.key(name), ChecksumMode: types.ChecksumModeEnabled}
	if version.etag != "" {
		input.IfMatch = &version.etag
	}
	out, err := b.client.GetObject(ctx, input)
	if err != nil {
		return false, err
	}
	defer out.Body.Close()
	n, err := io.Copy(f, out.Body)
	if err == nil && n != version.Size {
		err = fmt.Errorf("%s: %d bytes came of %d: %w", name, n, version.Size, io.ErrUnexpectedEOF)
	}
	return !errors.As(err, new(*fs.PathError)), err
}

// Remove removes an object, if there is one.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.place.Name, Key: b.key(name)})
	return explain(err)
}

// Try finds out whether objects of that size can be created and removed now.
func (b *Bucket) Try(ctx context.Context, size int64) error {
	u := upload{bucket: b, key: b.key(b.trial), content: zeros{}, size: size}
	if err := u.send(ctx); err != nil {
		return explain(err)
	}
	return b.Remove(ctx, b.trial)
}

// zeros is as many of them as one likes.
type zeros struct{}

// ReadAt implements io.ReaderAt.
func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}
