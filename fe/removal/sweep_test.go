package removal

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"shoal/internal/rowsetname"
	"shoal/internal/tests3"
	"shoal/internal/warehouse"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A leader finds the time by itself, and stops with its leadership.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "w")
		b := newBench(t, "file://"+root)
		for path := range b.all() {
			if err := os.Chtimes(filepath.Join(root, path), time.Time{}, time.Now().Add(-time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		r := b.remover(time.Now())
		run.Go(func() { r.Run(ctx) })
		time.Sleep(2 * every)
		synctest.Wait()
		if left := b.model.Trash(); len(left) > 0 {
			t.Errorf("%v was let go in 1970 and is there still", left)
		}
		time.Sleep(grace)
		synctest.Wait()
		b.check(b.stays)
		b.goes = map[string]bool{}
		b.dies(b.name(1, 1))
		cancel()
		run.Wait()
		time.Sleep(3 * grace)
		b.check(b.all())
	})
}

// A sweep goes through more files than it judges, or removes, at a time.
func TestManyFiles(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	b := newBench(t, "file://"+root)
	const many = together + 2*batch + 1
	task := b.model.JobByID(b.job).Tasks[0]
	for i := range uint64(many) {
		name := rowsetname.Name{Table: b.kept, Incarnation: 1, Job: b.job, Task: task.Id, Epoch: task.Epoch - 1, Number: i + 100}
		if err := os.WriteFile(filepath.Join(root, name.String()), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.together = true
	b.lead()
}

// What is in the trash and should not be, is forgotten and left where it is.
func TestTrashThatIsNone(t *testing.T) {
	b := newBench(t, "file://"+filepath.Join(t.TempDir(), "w"))
	b.lead()
	job := b.model.JobByID(b.job)
	req := b.model.txn(job, job.Tasks[0], 5, b.model.offset-1)
	path := fmt.Sprintf("%d/mine.parquet", b.kept)
	req.Rowset = &typesv1.Rowset{Path: path, Rows: 1, Bytes: 1}
	b.model.commit(req)
	if trash := b.model.Trash(); !slices.ContainsFunc(trash, func(f *raftlogv1.TrashFile) bool { return f.Path == path }) {
		t.Fatalf("trash is %v", trash)
	}
	delete(b.stays, b.name(job.Tasks[0].Epoch, 5)) // refused now
	b.lead()
}

// Uploads that nobody will end are given up, not those that may be under way.
func TestUploads(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	b := newBench(t, s.Bucket("uploads", s.URL))
	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithDefaultRegion("us-east-1"))
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle, o.BaseEndpoint = true, &s.URL })
	task := b.model.JobByID(b.job).Tasks[0]
	stays := map[string]bool{b.name(task.Epoch, 5): true, b.name(b.model.LastID()+1000, 1): true, "7/other": true}
	for path := range stays {
		begin(t, client, path)
	}
	for _, path := range []string{b.name(task.Epoch-1, 1), b.name(task.Epoch, 1), b.name(task.Epoch, 2)} { // dead, committed, refused
		begin(t, client, path)
	}
	b.lead()
	left := map[string]bool{}
	if err := b.Warehouse.ListUploads(t.Context(), func(page []warehouse.Upload) error {
		for _, u := range page {
			left[u.Path] = true
		}
		return nil
	}); err != nil || !maps.Equal(left, stays) {
		t.Errorf("left are %v, %v", left, err)
	}
}

func begin(t *testing.T, client *s3.Client, path string) {
	t.Helper()
	if _, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String("uploads"), Key: aws.String("shoal/" + path)}); err != nil {
		t.Fatal(err)
	}
}
