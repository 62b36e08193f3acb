package warehouse_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"shoal/internal/tests3"
	"shoal/internal/warehouse"
)

// listed is all files of a warehouse, and their sizes.
func listed(t *testing.T, w *warehouse.Warehouse) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	err := w.List(t.Context(), func(page []warehouse.Found) error {
		if len(page) > 1000 {
			t.Errorf("%d files came at a time", len(page))
		}
		for _, f := range page {
			if _, twice := all[f.Path]; twice || time.Since(f.Changed).Abs() > time.Hour {
				t.Errorf("%+v: there twice is %v", f, twice)
			}
			all[f.Path] = f.Bytes
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// both runs a test on a folder and on a bucket.
func both(t *testing.T, test func(t *testing.T, w *warehouse.Warehouse, root string)) {
	t.Run("folder", func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "w")
		w, err := warehouse.Open("file://" + root)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Bootstrap(t.Context(), "c1"); err != nil {
			t.Fatal(err)
		}
		test(t, w, root)
	})
	t.Run("bucket", func(t *testing.T) {
		s := tests3.Start(t)
		tests3.Setenv(t)
		uri := s.Bucket("list", s.URL)
		w, _ := openRemote(t, uri)
		if err := w.Bootstrap(t.Context(), "c1"); err != nil {
			t.Fatal(err)
		}
		test(t, w, filepath.Join(s.Dir, "list", "shoal"))
	})
}

func TestListAndRemove(t *testing.T) {
	both(t, func(t *testing.T, w *warehouse.Warehouse, root string) {
		want := map[string]int64{}
		for _, rel := range []string{"7/1-2-3-4-5.parquet", "7/1-2-3-4-6.parquet", "8/1-2-3-4-5.parquet"} {
			if _, err := write(t, w, rel, rel); err != nil {
				t.Fatal(err)
			}
			want[rel] = int64(len(rel))
		}
		const foreign = 1500 // more than a page
		if err := os.Mkdir(filepath.Join(root, "other"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range foreign {
			rel := fmt.Sprintf("other/%d", i)
			if err := os.WriteFile(filepath.Join(root, rel), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
			want[rel] = 1
		}
		got := listed(t, w)
		delete(got, "shoal-warehouse.json") // beside the folders, which a bucket does not tell apart
		if !maps.Equal(got, want) {
			t.Errorf("%d files were found, want %d", len(got), len(want))
		}

		gone := []string{"8/1-2-3-4-5.parquet", "7/1-2-3-4-5.parquet", "7/1-2-3-4-9.parquet", "9/1-2-3-4-5.parquet"}
		for range 2 { // what is not there counts as removed
			if err := w.Remove(t.Context(), gone...); err != nil {
				t.Fatal(err)
			}
		}
		for _, rel := range gone {
			delete(want, rel)
		}
		got = listed(t, w)
		delete(got, "shoal-warehouse.json")
		if !maps.Equal(got, want) {
			t.Errorf("%d files are left, want %d", len(got), len(want))
		}
		for _, rel := range []string{"shoal-warehouse.json", "../w/7/1-2-3-4-6.parquet", "other/1"} {
			if err := w.Remove(t.Context(), rel); err == nil {
				t.Errorf("%s was removed", rel)
			}
		}
		if _, err := write(t, w, "8/1-2-3-4-7.parquet", "anew"); err != nil {
			t.Errorf("the folder went with its last file: %v", err)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.List(canceled, func([]warehouse.Found) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("List of a context that ended = %v", err)
		}
		if err := w.Remove(canceled, "7/1-2-3-4-6.parquet"); !errors.Is(err, context.Canceled) {
			t.Errorf("Remove of a context that ended = %v", err)
		}
	})
}

// A folder may go with its last file while a file is made in it.
func TestCreateWhileTheFolderGoes(t *testing.T) {
	w, err := warehouse.Open("file://" + t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	for task := range 2 {
		g.Go(func() {
			for number := range 200 {
				rel := fmt.Sprintf("7/1-2-%d-4-%d.parquet", task+1, number+1)
				f, err := w.Create(rel)
				if err == nil {
					_, err = f.Commit(t.Context())
				}
				if err == nil {
					err = w.Remove(t.Context(), rel)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Wait()
}

func TestUploadsOfTheDead(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	w, _ := openRemote(t, s.Bucket("uploads", s.URL))
	if err := w.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithDefaultRegion("us-east-1"))
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle, o.BaseEndpoint = true, &s.URL })
	for _, key := range []string{"shoal/7/1-2-3-4-5.parquet", "shoal/7/1-2-3-4-6.parquet", "elsewhere"} {
		if _, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String("uploads"), Key: &key}); err != nil {
			t.Fatal(err)
		}
	}
	uploads := func() (all []warehouse.Upload) {
		t.Helper()
		if err := w.ListUploads(t.Context(), func(page []warehouse.Upload) error { all = append(all, page...); return nil }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := uploads()
	if len(all) != 2 || all[0].Path != "7/1-2-3-4-5.parquet" || time.Since(all[0].Begun).Abs() > time.Hour {
		t.Fatalf("uploads are %+v", all)
	}
	for range 2 {
		if err := all[0].GiveUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left := uploads(); len(left) != 1 || left[0].Path != "7/1-2-3-4-6.parquet" {
		t.Errorf("left are %+v", left)
	}
}
