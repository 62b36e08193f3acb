package cases

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// pair starts a frontend and a backend of this test's own.
func pair(t *testing.T) (fe, be *cluster.Process) {
	t.Helper()
	fe = cluster.Start(t, "fe", "--bootstrap")
	return fe, cluster.Start(t, "be", "--fe", fe.Ready.RPC)
}

// await waits for the end of a process that dies by itself.
func await(t *testing.T, p *cluster.Process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

// Several polls make one batch, and the backend dies before it commits: none of
// them was accepted by the polls after it.
func TestC44(t *testing.T) {
	t.Parallel()
	fe, be := pair(t)
	j := prepare(t, fe.DB(), testkafka.Shared(t), share, load{columns: "(id INT)", properties: map[string]string{
		"share_linger_ms": "10000", "max_batch_interval": "60", "desired_concurrent_number": "1"}})
	j.create()
	j.waitState("RUNNING")
	messages, rows := ids(0, 599)
	for poll := range 3 {
		j.produce(messages[200*poll : 200*(poll+1)]...)
		j.waitHeld(200 * (poll + 1))
	}
	if accepted := j.accepted(j.group()); accepted != 0 {
		t.Errorf("%d records are accepted, and none is committed", accepted)
	}
	be.Kill()
	if n := j.counters().Loaded; n != 0 {
		t.Errorf("%d rows were committed before the backend died: the test came too late", n)
	}
	be.Run()
	j.settle(outcome{rows: rows}, 600, 0)
}

// waitHeld waits until the job's tasks hold so many records.
func (j *job) waitHeld(n int) {
	j.t.Helper()
	j.eventually(func() error {
		held := 0
		for _, line := range j.lines("SHOW ROUTINE LOAD TASK WHERE JobName = 'j'") {
			_, rest, _ := strings.Cut(line["DataSourceProperties"], `"heldRecords":`)
			number, _, _ := strings.Cut(rest, ",")
			count, _ := strconv.Atoi(number)
			held += count
		}
		if held != n {
			return fmt.Errorf("tasks hold %d records, want %d", held, n)
		}
		return nil
	})
}

// group is the job's share group.
func (j *job) group() string {
	j.t.Helper()
	_, rest, _ := strings.Cut(j.status()["CustomProperties"], `"group.id":"`)
	group, _, _ := strings.Cut(rest, `"`)
	return group
}

// accepted is how far a share group is in partition 0.
func (j *job) accepted(group string) int64 {
	j.t.Helper()
	described, err := j.admin().DescribeShareGroupOffsets(j.t.Context(), group)
	j.must(err)
	return described[group].Offsets[j.topic][0].StartOffset
}

// A table that takes no commits for a while: the records are held or waited
// for, not released until the broker gives them up.
func TestC45(t *testing.T) {
	t.Parallel()
	fe, _ := pair(t)
	j := prepare(t, fe.DB(), testkafka.Shared(t), share, load{columns: "(id INT)", properties: map[string]string{
		"share_delivery_count_limit": "5", "share_record_lock_duration_ms": "3000", "desired_concurrent_number": "2"}})
	j.create()
	first, rows := ids(0, 0)
	j.produce(first...)
	j.waitCounters(counters{Loaded: 1})
	warehouse := filepath.Join(fe.Dir, "warehouse")
	if err := os.Rename(warehouse, warehouse+".away"); err != nil {
		t.Fatal(err)
	}
	messages, more := ids(1, 100)
	j.produce(messages...)
	j.eventually(func() error {
		if told := j.status()["OtherMsg"]; !strings.Contains(told, "arehouse") {
			return fmt.Errorf("job says %q, want it to tell of the warehouse", told)
		}
		return nil
	})
	time.Sleep(30 * time.Second) // ten locks: the broker's patience ends at the fifth delivery
	if err := os.Rename(warehouse+".away", warehouse); err != nil {
		t.Fatal(err)
	}
	j.settle(outcome{rows: append(rows, more...)}, 101, 0)
	if p := j.ledger()[0]; p["Expired"] != "0" {
		t.Errorf("ledger %v, want nothing lost", p)
	}
}

// The backend dies when its txn is committed and not acknowledged; the frontend
// when it has committed and not answered. The rows are there once.
func TestC47(t *testing.T) {
	for name, victim := range map[string]string{"before the ack": "be", "before the answer": "fe"} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, mode string) {
				fe := cluster.New(t, "fe", "--bootstrap")
				if victim == "fe" {
					fe.Setenv("SHOAL_DIE_AFTER_COMMITS", "1")
				}
				fe.Run()
				be := cluster.New(t, "be", "--fe", fe.Ready.RPC)
				if victim == "be" {
					be.Setenv("SHOAL_DIE_AFTER_COMMITS", "1")
				}
				be.Run()
				j := prepare(t, fe.DB(), testkafka.Shared(t), mode, load{columns: "(id INT)"})
				messages, rows := ids(0, 999)
				j.produce(messages...)
				j.create()
				dead := map[string]*cluster.Process{"fe": fe, "be": be}[victim]
				await(t, dead)
				dead.ClearEnv()
				dead.Run()
				j.settle(outcome{rows: rows}, 1000, 0)
			})
		})
	}
}

// The sink stands still when the records are fetched and written, and the
// backend dies: nothing was accepted, or stored as done, before its commit.
func TestC52(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		fe, be := pair(t)
		j := prepare(t, fe.DB(), testkafka.Shared(t), mode, load{columns: "(id INT)", properties: map[string]string{"desired_concurrent_number": "1"}})
		first, rows := ids(0, 0)
		j.produce(first...)
		j.create()
		j.waitCounters(counters{Loaded: 1})
		j.waitNoLag()
		group := ""
		if mode == share {
			group = j.group()
		}
		before := rowsets(t, fe)
		fe.Signal(syscall.SIGSTOP)
		messages, more := ids(1, 500)
		j.produce(messages...)
		j.eventually(func() error {
			if now := rowsets(t, fe); now <= before {
				return fmt.Errorf("%d files in the warehouse, as before", now)
			}
			return nil
		})
		if group != "" {
			if accepted := j.accepted(group); accepted > 1 {
				t.Errorf("%d records are accepted, and one is committed", accepted)
			}
		}
		be.Kill()
		fe.Signal(syscall.SIGCONT)
		be.Run()
		j.settle(outcome{rows: append(rows, more...)}, 501, 0)
	})
}

// rowsets is how many files the warehouse has.
func rowsets(t *testing.T, fe *cluster.Process) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(fe.Dir, "warehouse"), func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".parquet") {
			n++
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return n
}

// The group is deleted while the job is paused: the job makes it anew, goes on
// where it was, and says so.
func TestC53Deleted(t *testing.T) {
	t.Parallel()
	j := prepare(t, connect(t), testkafka.Shared(t), share, load{columns: "(id INT)"})
	messages, rows := ids(0, 19)
	j.produce(messages[:10]...)
	j.create()
	j.settle(outcome{rows: rows[:10]}, 10, 0)
	j.pause()
	group := j.group()
	j.waitEmpty(group)
	deleted, err := j.admin().DeleteGroups(t.Context(), group)
	j.must(err)
	j.must(deleted[group].Err)
	j.produce(messages[10:]...)
	j.resume()
	j.settle(outcome{rows: rows}, 20, 0)
}

// Tasks come and go on four partitions while 10,000 records are written: a
// resumed job has two for each, if it may.
func TestC53Scaled(t *testing.T) {
	t.Parallel()
	const n, chunk = 10_000, 100
	j := prepare(t, connect(t), testkafka.Shared(t), share, load{columns: "(id INT)", partitions: 4, properties: map[string]string{"desired_concurrent_number": "1"}})
	j.create()
	messages, rows := ids(0, n-1)
	for i, m := range messages {
		m.Partition = int32(i % 4)
	}
	for i := 0; i < n; i += chunk {
		switch i {
		case n / 3 / chunk * chunk:
			j.scale(8)
		case 2 * n / 3 / chunk * chunk:
			j.scale(4)
		}
		j.produce(messages[i : i+chunk]...)
	}
	j.settle(outcome{rows: rows}, n, 0)
}

// scale changes how many tasks the job may have, and waits until they work.
func (j *job) scale(tasks int) {
	j.t.Helper()
	j.pause()
	j.alterAndResume(map[string]string{"desired_concurrent_number": fmt.Sprint(tasks)})
	j.eventually(func() error {
		working := 0
		for _, line := range j.lines("SHOW ROUTINE LOAD TASK WHERE JobName = 'j'") {
			if !strings.Contains(line["DataSourceProperties"], `"phase":""`) {
				working++
			}
		}
		if working != tasks {
			return fmt.Errorf("%d tasks work, want %d; %s", working, tasks, j.status()["OtherMsg"])
		}
		return nil
	})
}

// One of two backends is stopped and started twenty times while records come
// and acknowledgements are on their way: no partition starves, and no record is
// delivered to a task that drops it until the broker gives it up.
func TestC50(t *testing.T) {
	t.Parallel()
	fe, _ := pair(t)
	other := cluster.Start(t, "be", "--fe", fe.Ready.RPC)
	j := prepare(t, fe.DB(), testkafka.Shared(t), share, load{columns: "(id INT)", partitions: 4, properties: map[string]string{
		"desired_concurrent_number": "2", "share_delivery_count_limit": "5"}})
	j.create()
	id := 0
	write := func() {
		var records []*kgo.Record
		for range 200 {
			records = append(records, &kgo.Record{Partition: int32(id % 4), Value: []byte(fmt.Sprint(id))})
			id++
		}
		j.produce(records...)
	}
	for range 20 {
		write()
		other.Stop()
		write()
		other.Run()
	}
	j.settleIDs(id)
	for _, p := range j.ledger() {
		if p["Repaired"] != "0" || p["Expired"] != "0" {
			t.Errorf("ledger %v, want nothing that the group gave up", p)
		}
	}
}
