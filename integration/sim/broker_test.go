package sim

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/share"
	"shoal/be/source"
	"shoal/fe/kafka"
	"shoal/internal/testkafka"
)

// TestBrokerConforms plays the same scripts on a real broker.
func TestBrokerConforms(t *testing.T) {
	broker := testkafka.Shared(t)
	paths, err := filepath.Glob("testdata/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				s := parseScript(t, d)
				return perform(t, d, s, newRealGroup(t, broker, s))
			})
		})
	}
}

// realGroup is a share group on a real broker.
type realGroup struct {
	t       *testing.T
	script  script
	topic   string
	group   string
	prod    *kgo.Client
	txns    *kgo.Client
	fe      *kafka.Client
	members map[string]*share.Member
	id      source.PartitionID
}

func newRealGroup(t *testing.T, broker *testkafka.Broker, s script) *realGroup {
	topic := broker.CreateTopic(t, 1, nil)
	g := &realGroup{t: t, script: s, topic: topic, group: topic, members: map[string]*share.Member{}}
	client := func(opts ...kgo.Opt) *kgo.Client {
		cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(broker.Addr()), kgo.DefaultProduceTopic(topic))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		return cl
	}
	g.prod, g.txns = client(), client(kgo.TransactionalID(topic))
	var err error
	if g.fe, err = kafka.Dial([]string{broker.Addr()}, nil, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.fe.Close)
	g.configure()
	if err := g.fe.Pin(t.Context(), g.group, topic, map[int32]int64{0: 0}); err != nil {
		t.Fatal(err)
	}
	for _, name := range s.members {
		g.join(name, client(share.ClientOptions()...))
	}
	for _, m := range g.members {
		for len(m.Assigned()) == 0 {
			m.Fetch(t.Context(), source.Limits{MaxRecords: 1, MaxBytes: 1 << 20, MaxWait: 100 * time.Millisecond})
		}
		g.id = m.Assigned()[0]
	}
	return g
}

// configure sets the group's configs.
func (g *realGroup) configure() {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, g.group
	for name, value := range map[string]string{
		"share.isolation.level":            "read_committed",
		"share.record.lock.duration.ms":    fmt.Sprint(g.script.lock.Milliseconds()),
		"share.delivery.count.limit":       fmt.Sprint(g.script.limit),
		"share.partition.max.record.locks": fmt.Sprint(g.script.window),
	} {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = name, kmsg.IncrementalAlterConfigOpSet, &value
		resource.Configs = append(resource.Configs, c)
	}
	req.Resources = append(req.Resources, resource)
	resp, err := req.RequestWith(g.t.Context(), g.prod)
	if err == nil {
		err = kerr.ErrorForCode(resp.Resources[0].ErrorCode)
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *realGroup) join(name string, client *kgo.Client) {
	m := share.New(share.Config{Client: client, Group: g.group, Topic: g.topic, Logger: slog.New(slog.DiscardHandler)})
	g.members[name] = m
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() { left <- m.Run(ctx) }()
	g.t.Cleanup(func() { cancel(); <-left })
}

func (g *realGroup) produce(n int) {
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = kgo.StringRecord("v")
	}
	if err := g.prod.ProduceSync(g.t.Context(), records...).FirstErr(); err != nil {
		g.t.Fatal(err)
	}
}

func (g *realGroup) transaction(n int, commit bool) {
	if err := g.txns.BeginTransaction(); err != nil {
		g.t.Fatal(err)
	}
	for range n {
		if err := g.txns.ProduceSync(g.t.Context(), kgo.StringRecord("v")).FirstErr(); err != nil {
			g.t.Fatal(err)
		}
	}
	if err := g.txns.EndTransaction(g.t.Context(), kgo.TransactionEndTry(commit)); err != nil {
		g.t.Fatal(err)
	}
	// The marker is written a moment after the answer.
	for stable, end := int64(-1), int64(n); stable < end; {
		logs, err := g.fe.Logs(g.t.Context(), g.topic)
		if err != nil {
			g.t.Fatal(err)
		}
		stable, end = logs[0].StableEnd, logs[0].End
	}
}

// fetch asks for half a second, since a fetch that runs into the deleted head
// of a log brings nothing at once.
func (g *realGroup) fetch(member string, most int) (f source.Fetch) {
	for end := time.Now().Add(500 * time.Millisecond); f.Empty() && time.Now().Before(end); {
		var err error
		limits := source.Limits{MaxRecords: int32(most), MaxBytes: 1 << 20, MaxWait: time.Until(end)}
		if f, err = g.members[member].Fetch(g.t.Context(), limits); err != nil {
			g.t.Fatal(err)
		}
	}
	return f
}

func (g *realGroup) acknowledge(member string, acks []source.Ack) source.Outcome {
	for i := range acks {
		acks[i].PartitionID = g.id
	}
	results, _ := g.members[member].Acknowledge(g.t.Context(), acks)
	return results[0].Outcome
}

// pass waits: the real broker has no other clock.
func (g *realGroup) pass(d time.Duration) { time.Sleep(d) }

func (g *realGroup) deleteBelow(offset int64) {
	var offsets kadm.Offsets
	offsets.AddOffset(g.topic, 0, offset, -1)
	resp, err := kadm.NewClient(g.prod).DeleteRecords(g.t.Context(), offsets)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *realGroup) leave(member string) { g.members[member].Close(g.t.Context()) }

func (g *realGroup) describe() (start, lag int64) {
	positions, err := g.fe.Positions(g.t.Context(), g.group, g.topic)
	if err != nil {
		g.t.Fatal(err)
	}
	return positions[0].Start, positions[0].Lag
}
