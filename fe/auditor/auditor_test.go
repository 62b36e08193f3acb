package auditor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"shoal/fe/kafka"
	"shoal/fe/state"
	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestMain has one processor for all: timers of a bubble that fire on two at
// the same instant crash the race detector (golang/go#78156).
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}

// bench is an auditor over a real state and an embedded broker, in a bubble.
type bench struct {
	t       *testing.T
	broker  *kfake.Cluster
	network *kfake.VirtualNetwork
	client  *kafka.Client
	auditor *Auditor

	mu    sync.Mutex
	state *state.State
	index uint64
	jobID uint64
	group string
	topic kafka.TopicID
	void  offsets.Set // what the backends find void; the rest is held
	asked offsets.Set

	began     time.Time
	pinned    []string       // when and why the group was to be pinned again
	strangers []kafka.Member // that are in it
}

func (b *bench) View(read func(*state.State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	read(b.state)
}

func (b *bench) Propose(_ context.Context, cmd *raftlogv1.Command) (state.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index++
	return b.state.Apply(b.index, cmd), nil
}

func (b *bench) apply(cmd *raftlogv1.Command) uint64 {
	b.t.Helper()
	result, _ := b.Propose(b.t.Context(), cmd)
	if result.Err != nil {
		b.t.Fatal(result.Err)
	}
	return result.ID
}

// Tasks is one that asks for records and gets none.
func (b *bench) Tasks(uint64) []*backendv1.TaskStatus {
	return []*backendv1.TaskStatus{{Task: &backendv1.TaskRef{TaskId: 1, Epoch: 1}, Phase: backendv1.TaskStatus_PHASE_POLLING}}
}

func (b *bench) pinAgain(_ context.Context, _ *raftlogv1.Job, why []Blocked) []kafka.Member {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pinned = append(b.pinned, fmt.Sprint(time.Since(b.began).Round(time.Second), why))
	return b.strangers
}

func (b *bench) Probe(_ context.Context, req *backendv1.ProbeRequest) (*backendv1.ProbeResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if kafka.TopicID(req.TopicId) != b.topic {
		return nil, errors.New("another topic id")
	}
	ask := ranges(req.Ranges)
	b.asked = b.asked.Union(ask)
	return &backendv1.ProbeResponse{Void: wire(ask.Intersect(b.void)), Held: wire(ask.Subtract(b.void))}, nil
}

func (b *bench) options() []kgo.Opt { return []kgo.Opt{kgo.Dialer(b.network.DialContext)} }

// start makes a running job over a topic of one partition with n records, and
// a group that begins at 0.
func start(t *testing.T, n int) *bench {
	b := &bench{t: t, state: state.New(), network: new(kfake.VirtualNetwork), began: time.Now()}
	var err error
	b.broker, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(b.network.Listen), kfake.Ports(9092), kfake.SeedTopics(1, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	load := &typesv1.RoutineLoad{Brokers: b.broker.ListenAddrs(), Topic: "orders"}
	b.client, err = kafka.Dial(load.Brokers, nil, nil, b.options()...)
	if err != nil {
		t.Fatal(err)
	}
	b.produce(n)
	topic, err := b.client.Topic(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	b.topic = topic.ID
	starts := []*raftlogv1.LedgerStart{{TopicId: topic.ID[:]}}
	b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c", Warehouse: "file:///w"}}})
	db := b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "d"}}})
	table := b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
		DatabaseId: db, Name: "t", DuplicateKeys: []string{"k"}, Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "k", Type: "int"}}}},
	}}}})
	b.jobID = b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
		GroupPrefix: "shoal-", Job: &raftlogv1.Job{DatabaseId: db, Name: "j", TableId: table, Load: load},
	}}})
	b.View(func(s *state.State) { b.group = s.JobByID(b.jobID).Load.GroupId })
	b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{JobId: b.jobID, Starts: starts, LockDurationMs: 30_000}}})
	b.pin(0)
	return b
}

func (b *bench) produce(n int) {
	b.t.Helper()
	cl, err := kgo.NewClient(append(b.options(), kgo.SeedBrokers(b.broker.ListenAddrs()...))...)
	if err != nil {
		b.t.Fatal(err)
	}
	defer cl.Close()
	for range n {
		if err := cl.ProduceSync(b.t.Context(), &kgo.Record{Topic: "orders", Value: []byte("x")}).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// pin moves the group's start offset, as Kafka's own tool would.
func (b *bench) pin(offset int64) {
	b.t.Helper()
	if err := b.client.Pin(b.t.Context(), b.group, "orders", map[int32]int64{0: offset}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) job() (job *raftlogv1.Job, ledgers []ledger.View) {
	b.View(func(s *state.State) { job, ledgers = s.JobByID(b.jobID), s.Ledgers(b.jobID) })
	return job, ledgers
}

// audited runs a test beside an auditor.
func audited(t *testing.T, records int, test func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, records)
		pool := kafka.NewPool(slog.New(slog.DiscardHandler), kafka.Plain, b.options()...)
		b.auditor = NewAuditor(b, b, pool, b.pinAgain, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); b.auditor.Run(ctx) }()
		test(t, b)
		cancel()
		<-done
		pool.Close()
		b.client.Close()
		b.broker.Close()
	})
}

func TestAuditorSettlesVoids(t *testing.T) {
	audited(t, 10, func(t *testing.T, b *bench) {
		b.mu.Lock()
		b.void = offsets.Of(offsets.Range{First: 0, Last: 3})
		b.mu.Unlock()
		time.Sleep(3 * time.Second)
		if _, ledgers := b.job(); ledgers[0].Settled != 0 {
			t.Fatalf("settled to %d while the group still delivers", ledgers[0].Settled)
		}
		b.pin(4)
		time.Sleep(3 * time.Second)
		if job, ledgers := b.job(); ledgers[0].Settled != 4 || ledgers[0].Void != 4 || job.State != raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE {
			t.Errorf("ledger %+v, job %v; want offsets below 4 void", ledgers[0], job.State)
		}
		if view := b.auditor.View(b.jobID); view == nil || view.Partitions[0].Position.Start != 4 || view.Partitions[0].End != 10 {
			t.Errorf("view = %+v", view)
		}
	})
}

// A group that stays behind the settled offset is pinned again, less and less
// often while that does not help, and not past somebody else's member.
func TestAuditorHasBlockedGroupsPinned(t *testing.T) {
	audited(t, 10, func(t *testing.T, b *bench) {
		b.mu.Lock()
		b.void = offsets.Of(offsets.Range{First: 0, Last: 7})
		b.mu.Unlock()
		time.Sleep(5 * time.Minute)
		b.mu.Lock()
		got := strings.Join(b.pinned, "; ")
		b.mu.Unlock()
		const where = " [offset 0 of partition 0, though everything below 8 is settled]"
		if want := "1m0s" + where + "; 3m0s" + where; got != want {
			t.Errorf("pinned again at %s\nwant %s", got, want)
		}
		b.mu.Lock()
		b.strangers = []kafka.Member{{ID: "m9", ClientID: "kafkacat", Host: "/10.0.0.1"}}
		b.mu.Unlock()
		time.Sleep(5 * time.Minute)
		if job, _ := b.job(); job.State == raftlogv1.JobState_JOB_STATE_PAUSED {
			t.Fatal("paused by one look: it may be a dead member of the job's own")
		}
		time.Sleep(10 * time.Minute)
		job, _ := b.job()
		if job.State != raftlogv1.JobState_JOB_STATE_PAUSED || !strings.Contains(job.Reason, "member 'm9' (client 'kafkacat', host '/10.0.0.1')") {
			t.Errorf("job is %v: %s", job.State, job.Reason)
		}
	})
}

// A look at a topic that ALTER has taken the job away from meanwhile says
// nothing of the job.
func TestAuditorForgetsWhatWasAltered(t *testing.T) {
	audited(t, 5, func(t *testing.T, b *bench) {
		var once sync.Once
		b.broker.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
			once.Do(func() {
				job, _ := b.job()
				load := proto.CloneOf(job.Load)
				load.Topic = "payments"
				change := func(to raftlogv1.JobState) {
					b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{JobId: b.jobID, To: to}}})
				}
				change(raftlogv1.JobState_JOB_STATE_PAUSED)
				b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_AlterRoutineLoad{AlterRoutineLoad: &raftlogv1.AlterRoutineLoad{
					JobId: b.jobID, Load: load, ReplaceLedgers: true, Starts: []*raftlogv1.LedgerStart{{TopicId: []byte("fedcba9876543210")}}}}})
				change(raftlogv1.JobState_JOB_STATE_NEED_SCHEDULE)
			})
			return nil, nil, false
		})
		time.Sleep(5 * time.Second)
		job, ledgers := b.job()
		if job.Load.Topic != "payments" || len(ledgers) != 1 || string(ledgers[0].TopicID[:]) != "fedcba9876543210" {
			t.Errorf("the job reads %s, its ledgers are %+v", job.Load.Topic, ledgers)
		}
	})
}

func TestAuditorFollowsTheTopic(t *testing.T) {
	audited(t, 5, func(t *testing.T, b *bench) {
		cl, err := kgo.NewClient(append(b.options(), kgo.SeedBrokers(b.broker.ListenAddrs()...))...)
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		adm := kadm.NewClient(cl)
		if _, err := adm.CreatePartitions(t.Context(), 2, "orders"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, ledgers := b.job(); len(ledgers) != 3 || ledgers[2].Start != 0 {
			t.Fatalf("ledgers after two partitions more: %+v", ledgers)
		}
		if _, err := adm.DeleteTopic(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if view := b.auditor.View(b.jobID); !errors.Is(view.Err, kafka.ErrNoTopic) {
			t.Errorf("view of a deleted topic: %v", view.Err)
		}
		if _, err := adm.CreateTopic(t.Context(), 1, 1, nil, "orders"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, ledgers := b.job(); len(ledgers) != 4 {
			t.Errorf("ledgers after the topic was created again: %+v", ledgers)
		}
	})
}
