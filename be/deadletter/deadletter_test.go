package deadletter_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"shoal/be/deadletter"
	"shoal/be/pipe"
	"shoal/be/source"
	"shoal/internal/engine"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world has a broker with the topic dead, and a warehouse with error rowsets.
type world struct {
	*deadletter.Deliverer
	load  *typesv1.RoutineLoad
	paths []string
	pipes *pipe.Engine
}

func newWorld(t *testing.T, kafka ...kfake.Opt) *world {
	cluster, err := kfake.NewCluster(append(kafka, kfake.NumBrokers(1), kfake.SeedTopics(1, "dead"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w, err := warehouse.Open("file://" + t.TempDir())
	if err == nil {
		err = w.Bootstrap(t.Context(), "c1")
	}
	if err != nil {
		t.Fatal(err)
	}
	pipes, err := pipe.OpenEngine(t.Context(), pipe.EngineConfig{MemoryBytes: 256 << 20, Writers: 1, SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pipes.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{
		Deliverer: &deadletter.Deliverer{Warehouse: w, Engine: engine.New(engine.Config{Threads: 2, MemoryLimit: 256 << 20})},
		load: &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_CSV, ColumnSeparator: ",", DeadLetterTopic: "dead",
			Brokers: cluster.ListenAddrs()},
		pipes: pipes,
	}
}

// write makes an error rowset of records, by the real pipe.
func (w *world) write(t *testing.T, load *typesv1.RoutineLoad, records ...*source.Record) {
	t.Helper()
	spec := &backendv1.TaskSpec{JobId: 11, TaskId: 12, Epoch: 13, JobName: "j", DbName: "db1", TableName: "t", TableId: 7, Load: load,
		Schema: &typesv1.Schema{Version: 1, Columns: []*typesv1.Column{{FieldId: 1, Name: "id", Type: "int"}, {FieldId: 2, Name: "k", Type: "int"}}}}
	p, err := pipe.New(t.Context(), pipe.Config{Spec: spec, Engine: w.pipes, Warehouse: w.Warehouse, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.UnixMilli(1_700_000_000_123) }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i, r := range records {
		r.Offset = int64(100 + i)
	}
	part := source.Partition{TopicID: source.TopicID{1: 0xAB}, Topic: "events", Partition: 3, Records: records}
	res, err := p.Write(t.Context(), uint64(len(w.paths)+1), "l", []source.Partition{part})
	if err != nil || res.ErrorRowset == nil {
		t.Fatalf("result %+v, %v", res, err)
	}
	w.paths = append(w.paths, res.ErrorRowset.Path)
}

func (w *world) deliver(ctx context.Context) (int64, error) {
	return w.Deliver(ctx, &backendv1.DeliverDeadLettersRequest{JobId: 11, JobName: "db1.j", Load: w.load, Paths: w.paths})
}

// read is the first n messages of the topic.
func (w *world) read(t *testing.T, n int) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.load.Brokers...), kgo.ConsumeTopics("dead"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var all []*kgo.Record
	for len(all) < n {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		all = append(all, fetches.Records()...)
	}
	return all
}

func show(r *kgo.Record) string {
	s := fmt.Sprintf("key %q value %q", r.Key, r.Value)
	if r.Key == nil {
		s = fmt.Sprintf("no key, value %q", r.Value)
	}
	for _, h := range r.Headers {
		s += fmt.Sprintf("\n%s=%s", h.Key, h.Value)
	}
	return s
}

func TestDeliver(t *testing.T) {
	w := newWorld(t)
	at := time.UnixMilli(1_600_000_000_000)
	w.write(t, w.load,
		&source.Record{Key: []byte{}, Value: []byte("1,1\nx\n2,y,z\n"), Timestamp: at, Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("abc")}, {Key: "shoal-topic", Value: []byte("before")}}},
		&source.Record{Value: []byte("good,but,not"), Timestamp: at},
		&source.Record{Value: []byte("7,7"), Timestamp: at})
	w.load.StrictMode = true
	w.write(t, w.load, &source.Record{Key: []byte("\xFF\x00"), Value: []byte("\xFE"), Timestamp: at}, &source.Record{Value: []byte("a,1")})
	if n, err := w.deliver(t.Context()); n != 4 || err != nil {
		t.Fatalf("delivered %d, %v", n, err)
	}
	common := "\nshoal-topic=events\nshoal-topic-id=00ab0000000000000000000000000000\nshoal-partition=3\nshoal-offset=%d\nshoal-timestamp=2020-09-13 12:26:40.000\nshoal-job=db1.j\nshoal-table=t\nshoal-errors=%d\nshoal-reason=%s"
	tail := "\nshoal-error-time=2023-11-14 22:13:20.123"
	fields := `number of fields: found %d, wanted 2 (separator ",")`
	want := []string{
		`key "" value "1,1\nx\n2,y,z\n"` + "\ntrace=abc\nshoal-topic=before" + fmt.Sprintf(common, 100, 2, "line 2: "+fmt.Sprintf(fields, 1)+"\nline 3: "+fmt.Sprintf(fields, 3)) + tail,
		`no key, value "good,but,not"` + fmt.Sprintf(common, 101, 1, fmt.Sprintf(fields, 3)) + tail,
		`key "\xff\x00" value "\xfe"` + fmt.Sprintf(common, 100, 1, "not UTF-8: byte 0xFE at position 1") + tail,
	}
	got := w.read(t, 4)
	for i, message := range want {
		if s := show(got[i]); s != message {
			t.Errorf("message %d is\n%s\nwant\n%s", i, s, message)
		}
	}
	if s := show(got[3]); !strings.Contains(s, "\nshoal-column=id\n") {
		t.Errorf("the last message is\n%s", s)
	}
}

// Asking again produces again: the position is the leader's.
func TestDeliverAgain(t *testing.T) {
	w := newWorld(t)
	w.write(t, w.load, &source.Record{Value: []byte("x")})
	for range 2 {
		if n, err := w.deliver(t.Context()); n != 1 || err != nil {
			t.Fatalf("delivered %d, %v", n, err)
		}
	}
	if got := w.read(t, 2); string(got[1].Value) != "x" {
		t.Errorf("the second message is %q", got[1].Value)
	}
}

// Rows of before the job had a dead letter topic have no message to deliver.
func TestDeliverPassesOverRowsWithoutMessages(t *testing.T) {
	w := newWorld(t)
	w.write(t, &typesv1.RoutineLoad{ColumnSeparator: ","}, &source.Record{Value: []byte("before")})
	w.write(t, w.load, &source.Record{Value: []byte("after")})
	if n, err := w.deliver(t.Context()); n != 1 || err != nil {
		t.Fatalf("delivered %d, %v", n, err)
	}
	if got := w.read(t, 1); string(got[0].Value) != "after" {
		t.Errorf("the message is %q", got[0].Value)
	}
}

// Many messages, and some that are larger than a batch, arrive in order.
func TestDeliverLarge(t *testing.T) {
	w := newWorld(t, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "20000000"}))
	var records []*source.Record
	for i := range 5_000 {
		value := fmt.Sprint("bad", i)
		if i%1_000 == 500 {
			value += strings.Repeat("x", 2_000_000)
		}
		records = append(records, &source.Record{Value: []byte(value)})
	}
	w.write(t, w.load, records...)
	if n, err := w.deliver(t.Context()); n != 5_000 || err != nil {
		t.Fatalf("delivered %d, %v", n, err)
	}
	for i, r := range w.read(t, 5_000) {
		if string(r.Value) != string(records[i].Value) {
			t.Fatalf("message %d is %.20q of %d bytes", i, r.Value, len(r.Value))
		}
	}
}

// What is in the way is said in words, and nothing hangs.
func TestDeliverFails(t *testing.T) {
	w := newWorld(t)
	w.write(t, w.load, &source.Record{Value: []byte("x")})
	for name, spoil := range map[string]func(){
		"no dead letter topic": func() { w.load.DeadLetterTopic = "" },
		"UNKNOWN_TOPIC":        func() { w.load.DeadLetterTopic = "missing" },
		"property.nonsense":    func() { w.load.CustomProperties = map[string]string{"nonsense": "1"} },
		"form folder/name":     func() { w.paths = []string{"../x.parquet"} },
	} {
		load, paths := w.load, w.paths
		w.load = &typesv1.RoutineLoad{Brokers: load.Brokers, DeadLetterTopic: "dead"}
		spoil()
		if n, err := w.deliver(t.Context()); err == nil || n != 0 || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: delivered %d, %v", name, n, err)
		}
		w.load, w.paths = load, paths
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.deliver(ctx); err == nil {
		t.Error("a delivery that was cancelled succeeded")
	}
}
