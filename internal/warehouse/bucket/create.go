package bucket

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

const (
	// partSize is how much goes to the server at a time, in bytes: what is larger
	// is uploaded in parts, of which S3 allows 10,000.
	partSize = 16 << 20
	parts    = 4 // uploaded at the same time
	// tidyLimit is how long a failed upload's parts may take to be given up.
	tidyLimit = 5 * time.Second
)

// tokenKey names the metadata by which a Create knows its own object.
const tokenKey = "shoal-upload"

// Create makes an object of size bytes of content, and returns once the server
// has it durably. The error wraps fs.ErrExist if the name is taken, by whatever
// content. After any other error the object may exist, or come to.
func (b *Bucket) Create(ctx context.Context, name string, content io.ReaderAt, size int64) error {
	u := upload{bucket: b, key: b.key(name), content: content, size: size, token: rand.Text(), unless: aws.String("*")}
	err := u.send(ctx)
	if hasCode(err, "NotImplemented") {
		// A server without conditional requests: look first, and rely on a name
		// having one writer at a time, as rowsets do.
		if taken, err := u.stored(ctx); err != nil || taken != nil {
			return outcome(name, taken, u.token, err)
		}
		u.unless = nil
		err = u.send(ctx)
	}
	if !hasCode(err, "PreconditionFailed", "NoSuchUpload") {
		return explain(err)
	}
	// Taken, maybe by an attempt of this very Create whose answer was lost.
	taken, statErr := u.stored(ctx)
	if statErr == nil && taken == nil {
		return explain(err)
	}
	return outcome(name, taken, u.token, statErr)
}

// outcome is what a Create says of the object that has the name.
func outcome(name string, taken *s3.HeadObjectOutput, token string, err error) error {
	switch {
	case err != nil:
		return explain(err)
	case taken.Metadata[tokenKey] == token:
		return nil
	}
	return fmt.Errorf("%s: %w", name, fs.ErrExist)
}

// upload is an object on its way.
type upload struct {
	bucket  *Bucket
	key     *string
	content io.ReaderAt
	size    int64
	token   string
	unless  *string // an object with this ETag exists; "*" is any
}

// stored is the object that has the name now, nil without one.
func (u *upload) stored(ctx context.Context) (*s3.HeadObjectOutput, error) {
	out, err := u.bucket.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &u.bucket.place.Name, Key: u.key})
	if hasCode(err, "NotFound", "NoSuchKey") {
		return nil, nil
	}
	return out, err
}

func (u *upload) metadata() map[string]string { return map[string]string{tokenKey: u.token} }

// section is a part of the content, to be read as often as it takes.
func (u *upload) section(from, size int64) *io.SectionReader {
	return io.NewSectionReader(u.content, from, size)
}

func (u *upload) send(ctx context.Context) error {
	sum, err := checksum(u.section(0, u.size))
	if err != nil {
		return err
	}
	if u.size > partSize {
		return u.sendParts(ctx, sum)
	}
	_, err = u.bucket.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &u.bucket.place.Name, Key: u.key, Body: u.section(0, u.size), ContentLength: &u.size,
		ChecksumCRC64NVME: sum, IfNoneMatch: u.unless, Metadata: u.metadata(),
	})
	return err
}

// sendParts uploads in parts. The object exists once all are there.
func (u *upload) sendParts(ctx context.Context, sum *string) error {
	client, bucket := u.bucket.client, &u.bucket.place.Name
	created, err := client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: bucket, Key: u.key, Metadata: u.metadata(),
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme, ChecksumType: types.ChecksumTypeFullObject,
	})
	if err != nil {
		return err
	}
	done, err := u.sendEach(ctx, created.UploadId)
	if err == nil {
		_, err = client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: bucket, Key: u.key, UploadId: created.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: done},
			ChecksumCRC64NVME: sum, ChecksumType: types.ChecksumTypeFullObject, IfNoneMatch: u.unless,
		})
	}
	if err != nil {
		// Parts that stay are paid for and seen by nobody. If this fails too, the
		// bucket's own rule for incomplete uploads removes them.
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyLimit)
		defer cancel()
		client.AbortMultipartUpload(tidy, &s3.AbortMultipartUploadInput{Bucket: bucket, Key: u.key, UploadId: created.UploadId})
	}
	return err
}

func (u *upload) sendEach(ctx context.Context, id *string) ([]types.CompletedPart, error) {
	done := make([]types.CompletedPart, (u.size+partSize-1)/partSize)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parts)
	for i := range done {
		g.Go(func() error {
			from := int64(i) * partSize
			size := min(partSize, u.size-from)
			sum, err := checksum(u.section(from, size))
			if err != nil {
				return err
			}
			number := aws.Int32(int32(i) + 1)
			out, err := u.bucket.client.UploadPart(ctx, &s3.UploadPartInput{
				Bucket: &u.bucket.place.Name, Key: u.key, UploadId: id, PartNumber: number,
				Body: u.section(from, size), ContentLength: &size, ChecksumCRC64NVME: sum,
			})
			if err != nil {
				return err
			}
			done[i] = types.CompletedPart{PartNumber: number, ETag: out.ETag, ChecksumCRC64NVME: sum}
			return nil
		})
	}
	return done, g.Wait()
}

// nvme is the polynomial of CRC64NVME as crc64 wants it.
var nvme = crc64.MakeTable(0x9a6c_9329_ac4b_c9b5)

// checksum is the CRC64NVME of what r has, as S3 spells it.
func checksum(r io.Reader) (*string, error) {
	h := crc64.New(nvme)
	if _, err := io.Copy(h, r); err != nil {
		return nil, err
	}
	return aws.String(base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, h.Sum64()))), nil
}
