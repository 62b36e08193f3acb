package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"shoal/be/pipe"
	"shoal/be/source"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testNow = time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.UTC)

// bench is a pipe with what it needs.
type bench struct {
	*pipe.Pipe
	warehouse *warehouse.Warehouse
	root      string
}

func newPipe(t testing.TB, spec *backendv1.TaskSpec) *bench {
	t.Helper()
	return newPipes(t, spec)[0]
}

// newPipes makes pipes that share an engine and a warehouse.
func newPipes(t testing.TB, specs ...*backendv1.TaskSpec) (pipes []*bench) {
	t.Helper()
	engine, w, root := newEngine(t)
	for _, spec := range specs {
		p, err := pipe.New(t.Context(), pipe.Config{Spec: spec, Engine: engine, Warehouse: w, Logger: slog.New(slog.DiscardHandler),
			Now: func() time.Time { return testNow }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		pipes = append(pipes, &bench{p, w, root})
	}
	return pipes
}

// localPath is where a rowset of a warehouse of files is.
func localPath(t testing.TB, w *warehouse.Warehouse, rel string) string {
	t.Helper()
	files, err := w.Fetch(t.Context(), rel)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Release()
	return files.Path(rel)
}

// newEngine makes an engine and a warehouse, both below root.
func newEngine(t testing.TB) (*pipe.Engine, *warehouse.Warehouse, string) {
	t.Helper()
	root := t.TempDir()
	w, err := warehouse.Open("file://" + root + "/warehouse")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Bootstrap(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	engine, err := pipe.OpenEngine(t.Context(), pipe.EngineConfig{MemoryBytes: 256 << 20, Writers: 2, SpillDir: root + "/spill"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine, w, root
}

func specFor(schema *typesv1.Schema, format typesv1.RoutineLoad_Format) *backendv1.TaskSpec {
	return &backendv1.TaskSpec{JobId: 11, TaskId: 12, Epoch: 13, Incarnation: 1, JobName: "j", DbName: "db1", TableName: "t", TableId: 7,
		Schema: schema, Load: &typesv1.RoutineLoad{Format: format, ColumnSeparator: ","}}
}

func columns(list ...string) *typesv1.Schema {
	s := &typesv1.Schema{Version: 3}
	for i, c := range list {
		c, notNull := strings.CutSuffix(c, " NOT NULL")
		name, typ, _ := strings.Cut(c, " ")
		s.Columns = append(s.Columns, &typesv1.Column{FieldId: int32(10 + i), Name: name, Type: typ, Nullable: !notNull})
	}
	return s
}

// partition makes records at offsets from 100 on.
func partition(n int32, messages ...string) source.Partition {
	p := source.Partition{TopicID: source.TopicID{1: 0xAB}, Topic: "events", Partition: n}
	for i, m := range messages {
		p.Records = append(p.Records, &source.Record{Topic: "events", Partition: n, Offset: int64(100 + i), Value: []byte(m)})
	}
	return p
}

func TestWriteRoundTrip(t *testing.T) {
	p := newPipe(t, specFor(columns("b BOOLEAN", "ti TINYINT", "si SMALLINT", "i INT", "bi BIGINT", "li LARGEINT", "f FLOAT", "d DOUBLE",
		"d4 DECIMAL(4,2)", "d9 DECIMAL(9,2)", "d18 DECIMAL(18,3)", "d38 DECIMAL(38,9)", "dt DATE", "ts DATETIME", "ts6 DATETIME(6)",
		"c CHAR(3)", "v VARCHAR(5)", "s STRING", "j JSON"), typesv1.RoutineLoad_FORMAT_JSON))
	res, err := p.Write(t.Context(), 5, "l", []source.Partition{partition(0,
		`{"b":true,"ti":-128,"si":32767,"i":-2147483648,"bi":9223372036854775807,"li":-99999999999999999999999999999999999999,"f":0.1,"d":0.1,
		  "d4":-99.99,"d9":1234567.89,"d18":-123456789012345.678,"d38":12345678901234567890123456789.123456789,"dt":"0001-01-01","ts":"9999-12-31 23:59:59",
		  "ts6":"1969-12-31 23:59:59.999999","c":"é","v":"a'b","s":"\u0000long text that does not fit inline","j":{"k":[1,"ü"]}}`,
		`{"b":null}`,
		`{"b":0,"bi":-9223372036854775808,"li":5,"d38":-0.000000001,"dt":"9999-12-31","ts":"0001-01-01 00:00:00","s":""}`)})
	if err != nil {
		t.Fatal(err)
	}
	if res.ErrorRowset != nil || res.Rowset.GetRows() != 3 || res.Rowset.SchemaVersion != 3 || res.Rowset.Path != "7/1-11-12-13-5.parquet" {
		t.Fatalf("result %+v", res)
	}
	got := p.query(t, "SELECT * FROM read_parquet('%s')", res.Rowset.Path)
	null := strings.Repeat(" NULL", 19)[1:]
	want := []string{
		`true -128 32767 -2147483648 9223372036854775807 -99999999999999999999999999999999999999 0.1 0.1 -99.99 1234567.89 -123456789012345.678 ` +
			`12345678901234567890123456789.123456789 0001-01-01 9999-12-31 23:59:59 1969-12-31 23:59:59.999999 é a'b ` + "\x00long text that does not fit inline" + ` {"k":[1,"ü"]}`,
		null,
		`false NULL NULL NULL -9223372036854775808 5 NULL NULL NULL NULL NULL -0.000000001 9999-12-31 0001-01-01 00:00:00 NULL NULL NULL  NULL`,
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d is\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
}

func TestWriteCountsAndErrors(t *testing.T) {
	p := newPipe(t, specFor(columns("id INT NOT NULL", "k DECIMAL(3,1)"), typesv1.RoutineLoad_FORMAT_CSV))
	parts := []source.Partition{
		partition(0, "1,1\n2,400\n\n3,x", "", "4"),
		partition(3),
		partition(2, "5,\xFF"+strings.Repeat("é", 1000), "\n", "6,1"),
	}
	parts[0].Records = append(parts[0].Records, &source.Record{Offset: 300}) // a tombstone
	res, err := p.Write(t.Context(), 1, "label'1", parts)
	if err != nil {
		t.Fatal(err)
	}
	want := typesv1.Counters{TotalRows: 6, LoadedRows: 3, ErrorRows: 3, EmptyMessages: 3, ReceivedBytes: 14 + 1 + 2003 + 1 + 3}
	if c := res.Counters; c.TotalRows != want.TotalRows || c.LoadedRows != want.LoadedRows || c.ErrorRows != want.ErrorRows ||
		c.EmptyMessages != want.EmptyMessages || c.ReceivedBytes != want.ReceivedBytes {
		t.Errorf("counters %v, want %v", c, &want)
	}
	if got := p.query(t, "SELECT * FROM read_parquet('%s')", res.Rowset.Path); strings.Join(got, ";") != "1 1.0;3 NULL;6 1.0" {
		t.Errorf("rows %q", got)
	}
	got := p.query(t, "SELECT * EXCLUDE (kafka_topic_id, message_timestamp, message_key, message_value, message_headers) FROM read_parquet('%s')", res.ErrorRowset.Path)
	head := "11 db1 j t label'1 events "
	wantErrors := []string{
		head + `0 100 2 k 400 column k: the value is out of the range of decimal(3,1) 2,400 2026-02-03 04:05:06.789`,
		head + `0 102 1 NULL NULL number of fields: found 1, wanted 2 (separator ",") 4 2026-02-03 04:05:06.789`,
		head + `2 100 1 NULL NULL not UTF-8: byte 0xFF at position 3 5,\xFF` + strings.Repeat("é", 510) + ` 2026-02-03 04:05:06.789`,
	}
	if strings.Join(got, "\n") != strings.Join(wantErrors, "\n") {
		t.Errorf("error rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wantErrors, "\n"))
	}
	if len(res.Samples) != 3 || res.Samples[0].Offset != 100 || res.Samples[0].Raw != "2,400" || res.Samples[2].Partition != 2 || len(res.Samples[2].Raw) > 300 {
		t.Errorf("samples %v", res.Samples)
	}
}

func TestWriteWithoutRows(t *testing.T) {
	p := newPipe(t, specFor(columns("id INT"), typesv1.RoutineLoad_FORMAT_JSON))
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, "", " ")})
	if err != nil || res.Rowset != nil || res.ErrorRowset != nil || res.Counters.EmptyMessages != 2 || res.Counters.TotalRows != 0 {
		t.Fatalf("only empty messages: %+v, %v", res, err)
	}
	res, err = p.Write(t.Context(), 2, "l", []source.Partition{partition(0, "[", "{}")})
	if err != nil || res.Rowset != nil || res.ErrorRowset.GetRows() != 2 {
		t.Fatalf("only bad messages: %+v, %v", res, err)
	}
	if files := p.files(t); len(files) != 1 || files[0] != "1-11-12-13-2-errors.parquet" {
		t.Fatalf("files %q", files)
	}
}

// A number that was used before, by a process that died, is refused and its
// file left alone: a CommitTxn that names it may be on its way.
func TestWriteRefusesAUsedNumber(t *testing.T) {
	p := newPipe(t, specFor(columns("id INT"), typesv1.RoutineLoad_FORMAT_CSV))
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, "1")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, "2")}); !errors.Is(err, warehouse.ErrExists) {
		t.Fatalf("the second write = %v; want ErrExists", err)
	}
	if got := p.query(t, "SELECT * FROM read_parquet('%s')", res.Rowset.Path); strings.Join(got, ";") != "1" {
		t.Fatalf("the first file holds %q", got)
	}
	if _, err := p.Write(t.Context(), 2, "l", []source.Partition{partition(0, "2")}); err != nil {
		t.Fatalf("the next number = %v", err)
	}
}

func TestWriteIsCancelled(t *testing.T) {
	p := newPipe(t, specFor(columns("id INT"), typesv1.RoutineLoad_FORMAT_CSV))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Write(ctx, 1, "l", []source.Partition{partition(0, "1")}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled write = %v", err)
	}
	if _, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, "1")}); err != nil {
		t.Fatalf("the write after = %v", err)
	}
}

// lapsing is a context that ends when it has been asked for its state often
// enough: in the middle of a write.
type lapsing struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int32
}

func (c *lapsing) Err() error {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

func TestWriteIsCancelledHalfway(t *testing.T) {
	p := newPipe(t, specFor(columns("id INT"), typesv1.RoutineLoad_FORMAT_CSV))
	lines := strings.Repeat("1\n", 300_000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	half := &lapsing{Context: ctx, cancel: cancel}
	half.left.Store(80) // of one call for each batch of 2048 rows, and some
	if _, err := p.Write(half, 1, "l", []source.Partition{partition(0, lines)}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a write that was cancelled halfway = %v", err)
	}
	if files := p.files(t); len(files) != 0 {
		t.Fatalf("it left %q", files)
	}
	if res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, lines)}); err != nil || res.Rowset.Rows != 300_000 {
		t.Fatalf("the write after = %+v, %v", res, err)
	}
}

// A warehouse that takes no files fails the txn and leaves nothing behind.
func TestWriteToALostWarehouse(t *testing.T) {
	p := newPipe(t, specFor(columns("id INT"), typesv1.RoutineLoad_FORMAT_CSV))
	if err := os.RemoveAll(p.root + "/warehouse"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, "1")}); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("write = %v", err)
	}
}

// Many vectors, many row groups, and texts far larger than a batch.
func TestWriteLarge(t *testing.T) {
	p := newPipe(t, specFor(columns("id INT NOT NULL", "s STRING"), typesv1.RoutineLoad_FORMAT_CSV))
	var messages []string
	sum := 0
	for i := range 250_000 {
		messages = append(messages, fmt.Sprintf("%d,%d", i, i%7))
		sum += i
	}
	huge := strings.Repeat("0123456789abcdef", 1<<20)
	for i := range 8 {
		messages = append(messages, fmt.Sprintf("%d,%s%d", -i, huge, i))
		sum -= i
	}
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, messages...)})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("250008 %d 250000 %d", sum, 8*(len(huge)+1)+250_000)
	got := p.query(t, "SELECT count(*), sum(id), count(DISTINCT id) + sum(CASE WHEN id < 0 THEN -1 ELSE 0 END), sum(length(s)) FROM read_parquet('%s')", res.Rowset.Path)
	if got[0] != want {
		t.Errorf("got %s, want %s", got[0], want)
	}
}

// Eight tasks write messages of 16 MiB at a time within the engine's memory.
func TestPipesShareMemory(t *testing.T) {
	var specs []*backendv1.TaskSpec
	for i := range 8 {
		spec := specFor(columns("id INT NOT NULL", "s STRING"), typesv1.RoutineLoad_FORMAT_CSV)
		spec.TaskId = uint64(i)
		specs = append(specs, spec)
	}
	value := "1," + strings.Repeat("0123456789abcdef", 1<<20-1)
	part := partition(0, value, value, value, value, value)
	var g errgroup.Group
	for _, p := range newPipes(t, specs...) {
		g.Go(func() error {
			res, err := p.Write(t.Context(), 1, "l", []source.Partition{part})
			if err == nil && res.Rowset.GetRows() != 5 {
				return fmt.Errorf("%d rows", res.Rowset.GetRows())
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}
