package integration

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestForeignMember: somebody else is in the job's group and rejects 500 records,
// which the group then never delivers again. Repair loads them: every record is in
// the table once, and the job was not paused.
func TestForeignMember(t *testing.T) {
	const rejects = 500
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "2"}})
	l.waitState("RUNNING")
	var refused atomic.Bool
	stranger := l.client(kgo.ShareGroup(l.group()), kgo.ConsumeTopics(l.topic), kgo.ShareMaxRecords(50),
		kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) { refused.Store(!results.Ok()) }))
	client, rows, rejected := l.client(), 0, 0
	cluster.Eventually(t, limit, func() error {
		var values []string
		for range 100 {
			values = append(values, row(rows, 0))
			rows++
		}
		l.produce(client, 0, values...)
		if n := reject(t.Context(), stranger); !refused.Swap(false) {
			rejected += n
		}
		if rejected < rejects {
			return fmt.Errorf("%d records rejected, want %d", rejected, rejects)
		}
		return nil
	})
	stranger.Close()
	l.waitRows(int64(rows))
	l.checkIDs(int64(rows))
	l.checkRepaired(int64(rejected))
}

// reject has a member reject what one poll brings, waits until the broker has
// answered, and says how many that were.
func reject(ctx context.Context, member *kgo.Client) int {
	bounded, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	records := member.PollFetches(bounded).Records()
	member.MarkAcks(kgo.AckReject, records...)
	if err := member.FlushAcks(ctx); err != nil {
		return 0
	}
	return len(records)
}

// checkRepaired waits until nothing is left to do, and fails the test unless n
// records were repaired, or more if a slow machine let go of others, and the job
// runs.
func (l *load) checkRepaired(n int64) {
	l.t.Helper()
	cluster.Eventually(l.t, limit, func() error {
		for _, p := range l.ledger() {
			if p["Lag"] != "0" || p["Ranges"] != "0" {
				return fmt.Errorf("ledger %v: want no lag and no holes", p)
			}
		}
		for _, task := range l.inDatabase("SHOW ROUTINE LOAD TASK WHERE JobName = 't'") {
			if !strings.Contains(task["DataSourceProperties"], `"group.id"`) {
				return fmt.Errorf("a task repairs still: %v", task)
			}
		}
		return nil
	})
	l.checkLedger()
	var repaired int64
	for _, p := range l.ledger() {
		count, err := strconv.ParseInt(p["Repaired"], 10, 64)
		if err != nil {
			l.t.Fatal(err)
		}
		repaired += count
	}
	status := l.status()
	if told := fmt.Sprintf("Repair loaded %d record", repaired); repaired < n || status["State"] != "RUNNING" || !strings.Contains(status["OtherMsg"], told) {
		l.t.Errorf("%d records were repaired, want %d; job is %s: %s", repaired, n, status["State"], status["OtherMsg"])
	}
}

// TestMeddledOffsets: somebody moves the group's offsets forward with Kafka's own
// tool, past 3,000 records. Repair loads them.
func TestMeddledOffsets(t *testing.T) {
	const rows, before = 3002, 2
	broker := testkafka.Shared(t)
	fe, bes := startCluster(t, 1)
	l := setUp(t, fe.DB(), broker, options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "2"}})
	client := l.client()
	l.produce(client, 0, row(0, 0), row(1, 0))
	l.waitRows(before)
	bes[0].Kill()
	var values []string
	for id := before; id < rows; id++ {
		values = append(values, row(id, 0))
	}
	l.produce(client, 0, values...)
	group := l.group()
	cluster.Eventually(t, limit, func() error {
		out, err := broker.TryTool("org.apache.kafka.tools.consumer.group.ShareGroupCommand", "--reset-offsets", "--to-latest", "--execute", "--group", group, "--topic", l.topic)
		if err != nil || !strings.Contains(out, l.topic) {
			return fmt.Errorf("resetting the group: %w\n%s", err, out)
		}
		return nil
	})
	bes[0].Run()
	l.waitRows(rows)
	l.checkIDs(rows)
	l.checkRepaired(rows - before)
}

// TestBeyondDeliveryLimit: the frontend is gone for longer than two locks, which
// is all that the group delivers a record for, so that it archives what tasks
// took and could not commit. Repair loads that.
func TestBeyondDeliveryLimit(t *testing.T) {
	const batch = 500
	broker := testkafka.Start(t, testkafka.Set("group.share.min.record.lock.duration.ms", "1000"))
	fe, bes := startCluster(t, 1)
	l := setUp(t, fe.DB(), broker, options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "2"}})
	l.waitState("RUNNING")
	l.alterGroup(map[string]string{"share.record.lock.duration.ms": "1000", "share.renew.acknowledge.enable": "false", "share.delivery.count.limit": "2"})
	client, group := l.client(), l.group()
	rows, archived := 1, false
	l.produce(client, 0, row(0, 0))
	l.waitRows(1)
	// Tasks end when they hear of no frontend for a while; on a slow machine
	// they may have taken nothing, or not often enough, until then.
	cluster.Eventually(t, limit, func() error {
		fe.Kill()
		var values []string
		for range batch {
			values = append(values, row(rows, 0))
			rows++
		}
		l.produce(client, 0, values...)
		archived = l.waitArchived(group, int64(rows-batch))
		bes[0].Kill() // what it still asks for must not be committed late
		fe.Run()
		bes[0].Run()
		l.waitRows(int64(rows))
		if !archived {
			return errors.New("the group archived nothing while there was no frontend")
		}
		return nil
	})
	l.checkIDs(int64(rows))
	l.checkRepaired(1)
}

// waitArchived tells whether the group gives up records at or above an offset
// within some lock times, while nobody can settle any: its start moves beyond
// that, or it has no lag.
func (l *load) waitArchived(group string, settled int64) bool {
	l.t.Helper()
	admin := kadm.NewClient(l.client())
	for range 100 {
		described, err := admin.DescribeShareGroupOffsets(l.t.Context(), group)
		if err != nil {
			l.t.Fatal(err)
		}
		if p, ok := described[group].Offsets[l.topic][0]; ok && p.Err == nil && (p.StartOffset > settled || p.Lag == 0) {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}
