package integration

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestOneRecordTransactions: a topic of 10,000 one-record transactions, a tenth
// of them aborted, ends fully settled: records as loaded, markers and aborted
// records as void. On the way the ledger stays small.
func TestOneRecordTransactions(t *testing.T) {
	const transactions, producers = 10_000, 8
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "4"}})
	done := make(chan struct{})
	var largest int
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
			lines, err := tryQuery(t.Context(), l.db, "SHOW ROUTINE LOAD LEDGER FOR "+l.table)
			if err != nil {
				t.Error(err)
				return
			}
			n, _ := strconv.Atoi(lines[0]["Ranges"])
			largest = max(largest, n)
		}
	})
	var wait sync.WaitGroup
	for p := range producers {
		client := l.client(kgo.TransactionalID(fmt.Sprintf("%s-%d", l.topic, p)))
		wait.Go(func() {
			for id := p; id < transactions; id += producers {
				if err := transact(t, client, id, id%10 != 9); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	cluster.Eventually(t, limit, func() error {
		p := l.ledger()[0]
		if p["Settled"] != strconv.Itoa(2*transactions) || p["Ranges"] != "0" {
			return fmt.Errorf("ledger %v: want all %d offsets settled", p, 2*transactions)
		}
		return nil
	})
	close(done)
	watching.Wait()
	l.waitRows(transactions / 10 * 9)
	l.checkLedger()
	p := l.ledger()[0]
	if p["Loaded"] != strconv.Itoa(transactions/10*9) || p["Void"] != strconv.Itoa(transactions+transactions/10) {
		t.Errorf("ledger %v: want %d loaded and %d void", p, transactions/10*9, transactions+transactions/10)
	}
	if largest >= 200 {
		t.Errorf("the ledger had %d ranges on the way, want fewer than 200", largest)
	}
	t.Logf("at most %d ranges in the ledger", largest)
}

// transact writes one record in a transaction of its own.
func transact(t *testing.T, client *kgo.Client, id int, commit bool) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if err := client.ProduceSync(t.Context(), &kgo.Record{Value: []byte(row(id, 0))}).FirstErr(); err != nil {
		return err
	}
	return client.EndTransaction(t.Context(), kgo.TransactionEndTry(commit))
}
