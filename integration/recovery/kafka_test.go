package recovery

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/fe/kafka"
	"shoal/internal/testkafka"
)

// startBroker starts one with Kafka's own times for share groups, not those that
// make tests quick.
func startBroker(tb testing.TB) *testkafka.Broker {
	return testkafka.Start(tb,
		testkafka.Set("group.share.heartbeat.interval.ms", "5000"), testkafka.Set("group.share.min.heartbeat.interval.ms", "5000"),
		testkafka.Set("group.share.session.timeout.ms", "45000"), testkafka.Set("group.share.min.session.timeout.ms", "45000"),
		testkafka.Set("group.share.min.record.lock.duration.ms", "15000"))
}

// A producer writes one record to each partition twenty times a second, numbered.
type producer struct{ next atomic.Int64 }

func (p *producer) count() int { return int(p.next.Load()) }

func produce(tb testing.TB, broker *testkafka.Broker, topic string) *producer {
	tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		tb.Fatal(err)
	}
	p := &producer{}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.run(ctx, client) }()
	tb.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			tb.Error(err)
		}
		client.Close()
	})
	return p
}

func (p *producer) run(ctx context.Context, client *kgo.Client) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		var records []*kgo.Record
		for partition := range int32(partitions) {
			records = append(records, &kgo.Record{Partition: partition, Value: fmt.Appendf(nil, `{"p":%d,"n":%d}`, partition, n)})
		}
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil && ctx.Err() == nil {
			return err
		}
		p.next.Store(int64(n + 1))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// What a consumer process is told, by environment variables.
const (
	consumerBroker  = "RECOVERY_BROKER"
	consumerTopic   = "RECOVERY_TOPIC"
	consumerGroup   = "RECOVERY_GROUP"
	consumerMembers = "RECOVERY_MEMBERS"
)

// consume is a process of plain share consumers: it prints partition and number of
// what it reads, and accepts it with its next poll, as the library does.
func consume() {
	members, err := strconv.Atoi(os.Getenv(consumerMembers))
	if err != nil {
		panic(err)
	}
	var working sync.WaitGroup
	for range members {
		working.Go(func() {
			client, err := kgo.NewClient(kgo.SeedBrokers(os.Getenv(consumerBroker)), kgo.ShareGroup(os.Getenv(consumerGroup)),
				kgo.ConsumeTopics(os.Getenv(consumerTopic)), kgo.FetchMaxWait(500*time.Millisecond))
			if err != nil {
				panic(err)
			}
			for {
				client.PollFetches(context.Background()).EachRecord(func(r *kgo.Record) { fmt.Println(string(r.Value)) })
			}
		})
	}
	working.Wait()
}

// plain is two processes of plain share consumers.
type plain struct {
	processes [2]*exec.Cmd
	mu        sync.Mutex
	all       seen
}

func startPlain(tb testing.TB, broker *testkafka.Broker, topic string, members int) reader {
	tb.Helper()
	group := pinned(tb, broker, topic)
	p := &plain{}
	for i := range p.all {
		p.all[i] = map[int]bool{}
	}
	for i := range p.processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), consumerBroker+"="+broker.Addr(), consumerTopic+"="+topic, consumerGroup+"="+group, fmt.Sprintf("%s=%d", consumerMembers, members/2))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			tb.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			tb.Fatal(err)
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			for lines := bufio.NewScanner(out); lines.Scan(); {
				p.note(lines.Text())
			}
		}()
		tb.Cleanup(func() {
			cmd.Process.Kill()
			<-read
			cmd.Wait()
		})
		p.processes[i] = cmd
	}
	return p
}

// pinned makes a group that begins at the topic's beginning, as a job's does.
func pinned(tb testing.TB, broker *testkafka.Broker, topic string) string {
	tb.Helper()
	client, err := kafka.Dial([]string{broker.Addr()}, nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	group, starts := topic+"-plain", map[int32]int64{}
	for p := range int32(partitions) {
		starts[p] = 0
	}
	if _, err := client.Configure(ctx, group, kafka.Wanted{Lock: 30 * time.Second}); err != nil {
		tb.Fatal(err)
	}
	if err := client.Pin(ctx, group, topic, starts); err != nil {
		tb.Fatal(err)
	}
	return group
}

func (p *plain) note(line string) {
	var partition, number int
	if _, err := fmt.Sscanf(line, `{"p":%d,"n":%d}`, &partition, &number); err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[partition][number] = true
}

func (p *plain) lose(tb testing.TB, how syscall.Signal) {
	if err := p.processes[0].Process.Signal(how); err != nil {
		tb.Fatal(err)
	}
}

func (p *plain) read(testing.TB) (all seen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.all {
		all[i] = map[int]bool{}
		for n := range p.all[i] {
			all[i][n] = true
		}
	}
	return all
}
