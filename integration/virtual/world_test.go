package virtual

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"shoal/fe/result"
	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// TestMain has one processor for all: timers of a bubble that fire on two at
// the same instant crash the race detector (golang/go#78156).
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}

const (
	topic      = "events"
	partitions = 3
	brokers    = 3
	slots      = 16
	lock       = 30 * time.Second
	brokerHost = "kafka"
)

// A world is a cluster of Shoal with its Kafka, in a bubble.
type world struct {
	t          *testing.T
	log        *slog.Logger
	mode       string // load_mode of the job
	properties string // further ones of the job
	dir        string // of the frontend
	network    *network
	broker     *kfake.Cluster
	producer   *kgo.Client
	warehouse  rowStore
	fe         *frontend
	backends   []*backend // those that are not up are nil
	started    int        // backends so far

	background sync.WaitGroup // what close waits for

	produced int64          // ids 0 to produced-1
	poison   map[int64]bool // those that must not end as rows

	faults faults

	mu        sync.Mutex
	current   *frontend // fe, for the broker's goroutine
	violation string    // the first acceptance before its time
}

// inWorld runs a test in a cluster with one frontend and some backends, and
// checks what it leaves.
func inWorld(t *testing.T, backends int, newStore func(*world) rowStore, test func(w *world)) {
	began := time.Now()
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := newWorld(t)
		t.Cleanup(func() { // the bubble ends only when nothing is left
			w.close()
			took = time.Since(began)
		})
		w.warehouse = newStore(w)
		w.startBroker()
		w.openFrontend()
		w.sql("CREATE DATABASE d")
		w.sql(`CREATE TABLE d.t (id BIGINT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES("replication_num"="1")`)
		w.backends = make([]*backend, backends)
		for n := range backends {
			w.backends[n] = w.startBackend(n)
		}
		w.eventually(5*time.Second, w.allAlive)
		test(w)
		w.check()
	})
	t.Logf("%v of virtual time in %v", took.Round(time.Second), time.Since(began).Round(time.Millisecond))
}

// inBothModes runs a test in a world of share groups and in one of classic jobs.
func inBothModes(t *testing.T, backends int, newStore func(*world) rowStore, test func(w *world)) {
	for _, mode := range []string{"share_group", "classic"} {
		t.Run(mode, func(t *testing.T) {
			inWorld(t, backends, newStore, func(w *world) {
				w.mode = mode
				test(w)
			})
		})
	}
}

// allAlive tells of a backend that the frontend has not heard.
func (w *world) allAlive() error {
	for _, s := range w.fe.registry.Backends() {
		if !s.Alive {
			return fmt.Errorf("backend %d is not alive: %s", s.ID, s.Err)
		}
	}
	return nil
}

// inMemory is a newStore.
func inMemory(*world) rowStore { return &memory{files: map[string][]int64{}} }

// onDisk is a newStore.
func onDisk(w *world) rowStore { return newDisk(w) }

func newWorld(t *testing.T) *world {
	began := time.Now()
	since := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			a.Value = slog.DurationValue(time.Since(began))
		}
		return a
	}
	return &world{
		t: t, mode: "share_group", properties: `, "max_error_number"="1000"`, dir: t.TempDir(), network: newNetwork(),
		log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{ReplaceAttr: since})),
	}
}

func (w *world) startBroker() {
	w.t.Helper()
	ports := make([]int, brokers)
	for i := range ports {
		ports[i] = 9092 + i
	}
	var err error
	w.broker, err = kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(partitions, topic),
		kfake.ListenFn(w.network.host(brokerHost).listen), kfake.Ports(ports...), kfake.BrokerConfigs(map[string]string{
			"group.share.record.lock.duration.ms":    strconv.FormatInt(lock.Milliseconds(), 10),
			"share.record.lock.sweep.interval.ms":    "1000", // how late kfake may notice an expired lock
			"group.share.heartbeat.interval.ms":      "5000",
			"group.share.partition.max.record.locks": "2000",
			"group.share.delivery.count.limit":       "10",
		}))
	if err != nil {
		w.t.Fatal(err)
	}
	w.broker.Fault(w.watch())
	w.producer = w.newProducer()
}

// newProducer makes a Kafka client whose requests take no time: an idempotent
// producer holds a mutex during some, and time stands still while another
// goroutine waits for one.
func (w *world) newProducer(options ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	producer, err := kgo.NewClient(append(options, kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.Dialer(host{w.network, "producer", 0}.dial),
		kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		w.t.Fatal(err)
	}
	return producer
}

// openFrontend opens the frontend, which must not run.
func (w *world) openFrontend() {
	w.t.Helper()
	w.fe = w.startFrontend()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = w.fe
}

// close ends what runs.
func (w *world) close() {
	for _, b := range w.backends {
		if b != nil {
			w.background.Go(b.stop)
		}
	}
	w.background.Wait()
	if w.fe != nil {
		w.fe.stop()
	}
	if w.producer != nil {
		w.producer.Close()
	}
	if w.broker != nil {
		w.broker.Close()
	}
	if err := w.warehouse.close(); err != nil {
		w.t.Error(err)
	}
}

// sql carries out a statement that gives no rows.
func (w *world) sql(text string) {
	w.t.Helper()
	if err := w.trySQL(text); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
}

func (w *world) trySQL(text string) error {
	return w.fe.stmts.Execute(w.t.Context(), w.fe.session, text, nil, noRows{})
}

// noRows is a result.Writer for statements without rows.
type noRows struct{ result.Writer }

func (noRows) OK(uint64, string) {}

// createJob begins the load with some tasks.
func (w *world) createJob(tasks int) {
	w.t.Helper()
	w.sql(fmt.Sprintf(`CREATE ROUTINE LOAD d.j ON t PROPERTIES("load_mode"="%s", "format"="json", "desired_concurrent_number"="%d"%s)
		FROM KAFKA("kafka_broker_list"="%s", "kafka_topic"="%s", "property.kafka_default_offsets"="OFFSET_BEGINNING")`,
		w.mode, tasks, w.properties, w.broker.ListenAddrs()[0], topic))
}

// job is the job that createJob made.
func (w *world) job() (job *raftlogv1.Job) {
	w.fe.store.View(func(st *state.State) { job = st.Jobs()[0] })
	return job
}

// produce writes a batch of records to each partition.
func (w *world) produce(each int) {
	var records []*kgo.Record
	for p := range int32(partitions) {
		for range each {
			records = append(records, &kgo.Record{Partition: p, Value: fmt.Appendf(nil, `{"id":%d}`, w.produced)})
			w.produced++
		}
	}
	if err := w.producer.ProduceSync(w.t.Context(), records...).FirstErr(); err != nil && w.t.Context().Err() == nil {
		w.t.Error(err)
	}
}

// producing produces all the time, until it is stopped.
func (w *world) producing(each int) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	w.background.Go(func() {
		defer close(done)
		for ctx.Err() == nil {
			w.produce(each)
			time.Sleep(200 * time.Millisecond)
		}
	})
	return func() {
		cancel()
		<-done
	}
}

// eventually waits until what it is given holds, and fails after limit.
func (w *world) eventually(limit time.Duration, holds func() error) {
	w.t.Helper()
	err := errors.New("not looked at yet")
	for end := time.Now().Add(limit); err != nil; time.Sleep(100 * time.Millisecond) {
		if err = holds(); err != nil && time.Now().After(end) {
			w.t.Fatalf("after %v: %v", limit, err)
		}
	}
}

// logEnd is how many offsets there are.
func (w *world) logEnd() (n int64) {
	for _, p := range w.broker.PartitionInfos(topic) {
		n += p.HighWatermark
	}
	return n
}

// settled waits until everything in the topic is settled.
func (w *world) settled(limit time.Duration) {
	w.t.Helper()
	w.eventually(limit, func() error {
		if open := w.logEnd() - w.settledOffsets(); open > 0 {
			return fmt.Errorf("%d of %d offsets are not settled; %s", open, w.logEnd(), w.tasks())
		}
		return nil
	})
}

// tasksOn are the job's tasks on a backend.
func (w *world) tasksOn(b *backend) (tasks []*raftlogv1.Task) {
	for _, task := range w.job().Tasks {
		if task.BackendId == b.id {
			tasks = append(tasks, task)
		}
	}
	return tasks
}
