package integration

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// startCluster starts a frontend and n backends, each a process of its own.
func startCluster(t *testing.T, n int) (fe *cluster.Process, bes []*cluster.Process) {
	t.Helper()
	fe = cluster.Start(t, "fe", "--bootstrap")
	for range n {
		bes = append(bes, cluster.Start(t, "be", "--fe", fe.Ready.RPC))
	}
	return fe, bes
}

// produceUntil writes rows to all partitions until ctx ends, and says how many.
func (l *load) produceUntil(ctx context.Context, partitions int) (produced *atomic.Int64, wait func()) {
	client := l.client()
	produced = &atomic.Int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for id := 0; ctx.Err() == nil; {
			var records []*kgo.Record
			for range 50 {
				partition := int32(id % partitions)
				records = append(records, &kgo.Record{Partition: partition, Value: []byte(row(id, partition))})
				id++
			}
			if err := client.ProduceSync(context.WithoutCancel(ctx), records...).FirstErr(); err != nil {
				l.t.Error(err)
				return
			}
			produced.Store(int64(id))
			<-tick.C
		}
	}()
	return produced, func() { <-done }
}

// openTxns is how many tasks hold records at the moment, as SHOW has it.
func (l *load) openTxns() (n int) {
	lines, err := l.tryInDatabase("SHOW ROUTINE LOAD TASK WHERE JobName = 't'")
	if err != nil {
		return 0
	}
	for _, line := range lines {
		if line["TxnStatus"] == "PREPARE" {
			n++
		}
	}
	return n
}

// TestKillNine: records come all the time while processes are killed with -9
// ten times, each in the middle of open txns. No row is lost, none twice, and
// the ledger adds up.
func TestKillNine(t *testing.T) { inBothModes(t, killNine) }

func killNine(t *testing.T, mode string) {
	broker := testkafka.Shared(t)
	fe, bes := startCluster(t, 2)
	l := setUp(t, fe.DB(), broker, options{partitions: 3, properties: map[string]string{"load_mode": mode, "format": "json", "desired_concurrent_number": "8"}})
	ctx, stop := context.WithCancel(t.Context())
	produced, wait := l.produceUntil(ctx, 3)
	defer func() { stop(); wait() }()
	victims := []*cluster.Process{bes[0], fe, bes[1], fe, bes[0], bes[1], fe, bes[0], fe, bes[1]}
	for i, victim := range victims {
		var open int
		before, _ := l.count("count(*)")
		cluster.Eventually(t, limit, func() error {
			rows, err := l.count("count(*)")
			if err != nil {
				return err
			}
			if open = l.openTxns(); open == 0 || rows <= before {
				return fmt.Errorf("kill %d: %d open txns, %d rows after %d: %s", i, open, rows, before, l.status()["OtherMsg"])
			}
			return nil
		})
		victim.Kill()
		t.Logf("kill %d hit %d open txns", i, open)
		victim.Run()
	}
	stop()
	wait()
	l.waitRows(produced.Load())
	l.checkIDs(produced.Load())
	cluster.Eventually(t, limit, func() error {
		if s := l.statistic(); s.Loaded != produced.Load() {
			return fmt.Errorf("statistic %+v, want %d loaded", s, produced.Load())
		}
		return nil
	})
	l.checkLedger()
}

// TestDeathBetweenCommitAndAck: the backend dies when a txn is committed and not
// acknowledged. Its records come again, are refused by the ledger, accepted and
// not loaded.
func TestDeathBetweenCommitAndAck(t *testing.T) {
	t.Parallel()
	const rows = 1000
	broker := testkafka.Shared(t)
	fe := cluster.Start(t, "fe", "--bootstrap")
	be := cluster.New(t, "be", "--fe", fe.Ready.RPC)
	be.Setenv("SHOAL_DIE_AFTER_COMMITS", "1")
	be.Run()
	l := setUp(t, fe.DB(), broker, options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "2"}})
	var values []string
	for id := range rows {
		values = append(values, row(id, 0))
	}
	l.produce(l.client(), 0, values...)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := be.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	be.ClearEnv()
	be.Run()
	cluster.Eventually(t, limit, func() error {
		p := l.ledger()[0]
		if p["Conflicts"] == "0" || p["Settled"] != fmt.Sprint(rows) || p["Lag"] != "0" {
			return fmt.Errorf("ledger %v: want conflicts, everything settled and no lag", p)
		}
		return nil
	})
	l.waitRows(rows)
	l.checkIDs(rows)
	l.checkLedger()
}

// TestAnswerLost: the frontend dies when it has committed a txn and not answered.
// The same txn is asked again, and is in the table once.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	fe := cluster.New(t, "fe", "--bootstrap")
	fe.Setenv("SHOAL_DIE_AFTER_COMMITS", "1")
	fe.Run()
	be := cluster.Start(t, "be", "--fe", fe.Ready.RPC)
	l := setUp(t, fe.DB(), broker, options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "2"}})
	l.produce(l.client(), 0, row(0, 0), row(1, 0), row(2, 0))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := fe.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	fe.ClearEnv()
	fe.Run()
	l.waitRows(3)
	cluster.Eventually(t, limit, func() error {
		if p := l.ledger()[0]; p["Lag"] != "0" || p["Settled"] != "3" {
			return fmt.Errorf("ledger %v: want everything settled and accepted", p)
		}
		return nil
	})
	l.checkIDs(3)
	if !strings.Contains(be.Log(), "will try again") {
		t.Errorf("the backend did not ask again:\n%s", be.Log())
	}
}

// group is the share group of the load's job.
func (l *load) group() string {
	l.t.Helper()
	var group string
	custom := l.status()["CustomProperties"]
	if _, rest, ok := strings.Cut(custom, `"group.id":"`); ok {
		group, _, _ = strings.Cut(rest, `"`)
	}
	if group == "" {
		l.t.Fatalf("no group.id in %s", custom)
	}
	return group
}

// alterGroup changes settings of the job's group, as an operator might.
func (l *load) alterGroup(settings map[string]string) {
	l.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	group := kmsg.NewIncrementalAlterConfigsRequestResource()
	group.ResourceType, group.ResourceName = kmsg.ConfigResourceTypeGroupConfig, l.group()
	for name, value := range settings {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Value = name, kmsg.StringPtr(value)
		group.Configs = append(group.Configs, config)
	}
	req.Resources = append(req.Resources, group)
	resp, err := req.RequestWith(l.t.Context(), l.client())
	if err != nil {
		l.t.Fatal(err)
	}
	if err := kerr.ErrorForCode(resp.Resources[0].ErrorCode); err != nil {
		l.t.Fatal(err)
	}
}

// TestCommitSlowerThanLock: locks expire while the frontend stands still, and
// renewal is refused. Two tasks hold the same records; the first commit wins.
func TestCommitSlowerThanLock(t *testing.T) {
	t.Parallel()
	const rows = 500
	broker := testkafka.Start(t, testkafka.Set("group.share.min.record.lock.duration.ms", "1000"))
	fe, _ := startCluster(t, 1)
	l := setUp(t, fe.DB(), broker, options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "4"}})
	l.waitState("RUNNING")
	l.alterGroup(map[string]string{"share.record.lock.duration.ms": "2000", "share.renew.acknowledge.enable": "false"})
	client := l.client()
	l.produce(client, 0, row(0, 0))
	l.waitRows(1)
	time.Sleep(time.Second) // the broker takes a moment until it acquires by new settings
	fe.Signal(syscall.SIGSTOP)
	var values []string
	for id := range rows - 1 {
		values = append(values, row(id+1, 0))
	}
	l.produce(client, 0, values...)
	time.Sleep(3500 * time.Millisecond) // longer than a lock, and less than a backend waits for its leader
	fe.Signal(syscall.SIGCONT)
	l.waitRows(rows)
	l.checkIDs(rows)
	cluster.Eventually(t, limit, func() error {
		if p := l.ledger()[0]; p["Conflicts"] == "0" || p["Lag"] != "0" {
			return fmt.Errorf("ledger %v: want conflicts and no lag", p)
		}
		return nil
	})
	l.checkLedger()
}
