package integration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// transactions is how many are written, of one record each; every tenth aborts.
const transactions = 10_000

// TestOneRecordTransactions: a topic of 10,000 one-record transactions, a tenth
// of them aborted, ends fully settled: records as loaded, markers and aborted
// records as void. On the way the ledger stays small, whether the job runs
// while they are written or finds them there.
func TestOneRecordTransactions(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	o := options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "4"}}
	t.Run("live", func(t *testing.T) {
		t.Parallel()
		l := setUp(t, shoal.DB(), broker, o)
		largest := l.watchRanges()
		l.transactions()
		l.checkTransactions(largest)
	})
	t.Run("backlog", func(t *testing.T) {
		t.Parallel()
		l := prepare(t, shoal.DB(), broker, o)
		l.transactions()
		l.create(o)
		largest := l.watchRanges()
		l.checkTransactions(largest)
	})
}

// watchRanges looks at the ledger of a topic of one partition all the time, until
// it is asked for the most ranges that it saw.
func (l *load) watchRanges() (largest func() int) {
	done := make(chan struct{})
	most := 0
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			lines, err := cluster.Rows(l.t.Context(), l.db, "SHOW ROUTINE LOAD LEDGER FOR "+l.table)
			if err != nil {
				l.t.Error(err)
				return
			}
			n, err := strconv.Atoi(lines[0]["Ranges"])
			if err != nil {
				l.t.Error(err)
				return
			}
			most = max(most, n)
		}
	})
	return func() int {
		close(done)
		watching.Wait()
		return most
	}
}

// transactions writes them, by several producers at a time.
func (l *load) transactions() {
	l.t.Helper()
	const producers = 8
	var wait sync.WaitGroup
	for p := range producers {
		client := l.client(kgo.TransactionalID(fmt.Sprintf("%s-%d", l.topic, p)))
		wait.Go(func() {
			for id := p; id < transactions; id += producers {
				if err := transact(l.t, client, id%10 != 9, row(id, 0)); err != nil {
					l.t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// checkTransactions waits until all are settled, and looks at what is in table
// and ledger.
func (l *load) checkTransactions(largest func() int) {
	l.t.Helper()
	cluster.Eventually(l.t, limit, func() error {
		p := l.ledger()[0]
		if p["Settled"] != strconv.Itoa(2*transactions) || p["Ranges"] != "0" {
			return fmt.Errorf("ledger %v: want all %d offsets settled", p, 2*transactions)
		}
		return nil
	})
	most := largest()
	l.waitRows(transactions / 10 * 9)
	l.checkLedger()
	p := l.ledger()[0]
	if p["Loaded"] != strconv.Itoa(transactions/10*9) || p["Void"] != strconv.Itoa(transactions+transactions/10) {
		l.t.Errorf("ledger %v: want %d loaded and %d void", p, transactions/10*9, transactions+transactions/10)
	}
	if most >= 200 {
		l.t.Errorf("the ledger had %d ranges on the way, want fewer than 200", most)
	}
	l.t.Logf("at most %d ranges in the ledger", most)
}

// transact writes records in a transaction of their own.
func transact(t *testing.T, client *kgo.Client, commit bool, values ...string) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Value: []byte(v)}
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		return err
	}
	return client.EndTransaction(t.Context(), kgo.TransactionEndTry(commit))
}

// TestAbortedFillWindow: aborted records fill the group's window, so that there
// is nothing to acknowledge and Kafka never gets past them. Shoal settles them,
// pins the group again by itself, and loads what is behind.
func TestAbortedFillWindow(t *testing.T) {
	t.Parallel()
	const aborted = 300
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "2"}})
	l.waitState("RUNNING")
	l.alterGroup(map[string]string{"share.partition.max.record.locks": "100"})
	client := l.client(kgo.TransactionalID(l.topic))
	if err := transact(t, client, false, slices.Repeat([]string{row(9, 0)}, aborted)...); err != nil {
		t.Fatal(err)
	}
	if err := transact(t, client, true, row(0, 0), row(1, 0)); err != nil {
		t.Fatal(err)
	}
	l.waitRows(2)
	l.checkIDs(2)
	cluster.Eventually(t, limit, func() error {
		if p := l.ledger()[0]; p["Settled"] != strconv.Itoa(aborted+4) || p["Lag"] != "0" {
			return fmt.Errorf("ledger %v: want all %d offsets settled and no lag", p, aborted+4)
		}
		return nil
	})
	l.checkLedger()
	p := l.ledger()[0]
	if p["Loaded"] != "2" || p["Void"] != strconv.Itoa(aborted+2) {
		t.Errorf("ledger %v: want 2 loaded and %d void", p, aborted+2)
	}
	status := l.status()
	if told := status["OtherMsg"]; status["State"] != "RUNNING" || !strings.Contains(told, "Pinned again at") {
		t.Errorf("job is %s: %s; want it to tell that it was pinned again", status["State"], told)
	}
}
