package server

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shoal/be/pipe"
	"shoal/be/source"
	"shoal/internal/offsets"
	"shoal/internal/rowsetmeta"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestReadFooters reads the footers of rowsets that a pipe wrote, and of files
// that are none or none any more.
func TestReadFooters(t *testing.T) {
	dir := t.TempDir()
	wh, err := warehouse.Open("file://" + dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := wh.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	engine, err := pipe.OpenEngine(t.Context(), pipe.EngineConfig{MemoryBytes: 256 << 20, Writers: 1, SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	written := writeRowset(t, engine, wh)
	whole, err := os.ReadFile(filepath.Join(dir, written.Rowset.Path))
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), whole...)
	copy(damaged[len(damaged)-60:], strings.Repeat("\xff", 40))
	for name, content := range map[string][]byte{"short": whole[:len(whole)/2], "empty": nil, "text": []byte("no Parquet"), "damaged": damaged} {
		if err := os.WriteFile(filepath.Join(dir, "7", name+".parquet"), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := footerReader{wh, engine}
	paths := []string{written.Rowset.Path, written.ErrorRowset.Path, "7/none.parquet", "7/short.parquet", "7/empty.parquet", "7/text.parquet", "7/damaged.parquet", "../passwd"}
	var got []*backendv1.ReadFootersResponse
	if err := r.ReadFooters(t.Context(), paths, func(f *backendv1.ReadFootersResponse) error { got = append(got, f); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(paths) {
		t.Fatalf("%d answers for %d paths", len(got), len(paths))
	}
	for i, f := range got {
		if f.Path != paths[i] || (f.Error == "") != (i < 2) {
			t.Errorf("answer %d is of %s, %q, asked was %s", i, f.Path, f.Error, paths[i])
		}
	}
	const holds = `[{"topic":"events","topic_id":"00ab0000000000000000000000000000","partition":4,"offsets":"10-12","void":"13","expired":"5-9"}]`
	if f := got[0]; f.Rows != 2 || f.Bytes != int64(len(whole)) || f.Metadata[rowsetmeta.Label] != "l" || f.Metadata[rowsetmeta.TableID] != "7" || f.Metadata[rowsetmeta.Offsets] != holds {
		t.Errorf("footer %v", f)
	}
	if f := got[1]; f.Rows != 1 || f.Metadata[rowsetmeta.Offsets] != holds {
		t.Errorf("footer of error rows %v", f)
	}
	checkReplaced(t, r, filepath.Join(dir, written.Rowset.Path), written.Rowset.Path, whole)
	if err := os.Remove(filepath.Join(dir, "shoal-warehouse.json")); err != nil {
		t.Fatal(err)
	}
	if err := r.ReadFooters(t.Context(), paths, func(*backendv1.ReadFootersResponse) error { return nil }); err == nil || !strings.Contains(err.Error(), "marker") {
		t.Errorf("without the warehouse: %v", err)
	}
}

// checkReplaced replaces a file that was read by one of the same size: it is the
// new one that is read.
func checkReplaced(t *testing.T, r footerReader, path, rel string, whole []byte) {
	t.Helper()
	if err := os.WriteFile(path, bytes.Replace(whole, []byte(`"partition":4`), []byte(`"partition":5`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	err := r.ReadFooters(t.Context(), []string{rel}, func(f *backendv1.ReadFootersResponse) error {
		if !strings.Contains(f.Metadata[rowsetmeta.Offsets], `"partition":5`) {
			t.Errorf("a file that was replaced is read as %v", f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// writeRowset writes two rows and an error row.
func writeRowset(t *testing.T, engine *pipe.Engine, wh *warehouse.Warehouse) pipe.Result {
	t.Helper()
	spec := &backendv1.TaskSpec{JobId: 1, TaskId: 2, Epoch: 3, Incarnation: 1, JobName: "j", DbName: "d", TableName: "t", TableId: 7,
		Schema: &typesv1.Schema{Version: 1, Columns: []*typesv1.Column{{FieldId: 1, Name: "id", Type: "int", Nullable: true}}},
		Load:   &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON, Timezone: "UTC", Topic: "events", StrictMode: true}}
	p, err := pipe.New(context.Background(), pipe.Config{Spec: spec, Engine: engine, Warehouse: wh, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	part := source.Partition{TopicID: source.TopicID{1: 0xab}, Topic: "events", Partition: 4, Gaps: offsets.Set{{First: 13, Last: 13}}, Expired: offsets.Set{{First: 5, Last: 9}}}
	for i, value := range []string{`{"id":1}`, `{"id":2}`, `{"id":`} {
		part.Records = append(part.Records, &source.Record{Offset: int64(10 + i), Value: []byte(value)})
	}
	written, err := p.Write(t.Context(), 1, "l", []source.Partition{part})
	if err != nil {
		t.Fatal(err)
	}
	return written
}
