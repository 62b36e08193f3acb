package bucket

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// An Object is one that List found.
type Object struct {
	Name    string
	Size    int64
	Changed time.Time
}

// List calls each with all objects, a page of at most 1,000 at a time, in the
// order of their names. What is created or removed meanwhile may be missed.
func (b *Bucket) List(ctx context.Context, each func([]Object) error) error {
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.place.Name, Prefix: b.below()})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return explain(err)
		}
		page := make([]Object, len(out.Contents))
		for i, o := range out.Contents {
			page[i] = Object{b.name(o.Key), aws.ToInt64(o.Size), aws.ToTime(o.LastModified)}
		}
		if err := each(page); err != nil {
			return err
		}
	}
	return nil
}

// An Upload is one in parts that was begun and neither completed nor given up.
type Upload struct {
	Name  string
	Begun time.Time
	id    *string
}

// ListUploads calls each with all uploads that are under way, or were left by
// writers that died, as List does with objects.
func (b *Bucket) ListUploads(ctx context.Context, each func([]Upload) error) error {
	pages := s3.NewListMultipartUploadsPaginator(b.client, &s3.ListMultipartUploadsInput{Bucket: &b.place.Name, Prefix: b.below()})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return explain(err)
		}
		page := make([]Upload, len(out.Uploads))
		for i, u := range out.Uploads {
			page[i] = Upload{b.name(u.Key), aws.ToTime(u.Initiated), u.UploadId}
		}
		if err := each(page); err != nil {
			return err
		}
	}
	return nil
}

// GiveUp removes the parts of an upload, which cannot be completed then.
func (b *Bucket) GiveUp(ctx context.Context, u Upload) error {
	_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.place.Name, Key: b.key(u.Name), UploadId: u.id})
	if hasCode(err, "NoSuchUpload") {
		return nil
	}
	return explain(err)
}

// below is what the keys of the folder begin with.
func (b *Bucket) below() *string {
	if b.place.Prefix == "" {
		return nil
	}
	return aws.String(b.place.Prefix + "/")
}

// name is the name that has a key.
func (b *Bucket) name(key *string) string {
	return strings.TrimPrefix(aws.ToString(key), aws.ToString(b.below()))
}
