// Package memory measures what a backend takes of the machine when everything is
// large at once: records, many tasks, and queries, against its --mem-limit.
//
// BenchmarkLimit prints a line of docs/reliability.md for each limit; `make memory`
// runs it.
package memory

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

const (
	partitions = 8
	records    = 400 // in all
	recordSize = 512 << 10
	jobs       = 3
	queries    = 4 // at a time
)

// BenchmarkLimit is to be run with -benchtime 1x.
func BenchmarkLimit(b *testing.B) {
	if os.Getenv("SHOAL_BINARY") == "" {
		b.Fatal("SHOAL_BINARY is not set, and a binary with the race detector is not worth measuring: use make memory")
	}
	broker := testkafka.Start(b, testkafka.Heap("1g"))
	topic := produce(b, broker)
	var table strings.Builder
	fmt.Fprintln(&table, "| --mem-limit | peak of RSS | records loaded | queries answered | told that there is no memory | seconds |\n|---|---|---|---|---|---|")
	for _, limit := range []string{"700M", "1G", "2G"} {
		b.Run(limit, func(b *testing.B) {
			r := run(b, broker, topic, limit)
			b.ReportMetric(float64(r.peak>>20), "MiB-peak")
			fmt.Fprintf(&table, "| %s | %d MiB | %d × %d | %d | %d | %.0f |\n", limit, r.peak>>20, jobs, records, r.answered, r.refused, r.took.Seconds())
		})
	}
	fmt.Print("\n", table.String())
}

// produce writes records of half a megabyte, of which a hundredth is random, so that
// compression makes little of them, in batches of up to 8 MiB.
func produce(tb testing.TB, broker *testkafka.Broker) string {
	tb.Helper()
	topic := broker.CreateTopic(tb, partitions, map[string]string{"max.message.bytes": "20000000"})
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.ProducerBatchMaxBytes(8<<20), kgo.ProducerLinger(200*time.Millisecond), kgo.MaxBufferedBytes(200<<20))
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for id := range records {
		text := bytes.Repeat([]byte("x"), recordSize)
		for range recordSize / 100 {
			text[random.IntN(len(text))] = byte('a' + random.IntN(26))
		}
		client.Produce(tb.Context(), &kgo.Record{Value: fmt.Appendf(nil, `{"id":%d,"text":"%s"}`, id, text)}, nil)
	}
	if err := client.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return topic
}

// result is what came of one run.
type result struct {
	peak              int64
	answered, refused int
	took              time.Duration
}

// run loads the topic by several jobs into several tables while queries sort what
// is there already.
func run(tb testing.TB, broker *testkafka.Broker, topic, limit string) (r result) {
	tb.Helper()
	fe := cluster.Start(tb, "fe", "--bootstrap")
	be := cluster.Start(tb, "be", "--fe", fe.Ready.RPC, "--mem-limit", limit, "--slots", "64")
	db := fe.DB()
	exec := func(statement string) {
		if _, err := db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
	exec("CREATE DATABASE d")
	began := time.Now()
	for n := range jobs {
		exec(fmt.Sprintf(`CREATE TABLE d.t%d (id INT, text STRING) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES("replication_num"="1")`, n))
		exec(fmt.Sprintf(`CREATE ROUTINE LOAD d.j%d ON t%d PROPERTIES("load_mode"="share_group", "format"="json", "desired_concurrent_number"="8")
			FROM KAFKA("kafka_broker_list"="%s", "kafka_topic"="%s", "property.kafka_default_offsets"="OFFSET_BEGINNING")`, n, n, broker.Addr(), topic))
	}
	ctx, stop := context.WithCancel(tb.Context())
	var asking sync.WaitGroup
	var mu sync.Mutex
	for n := range queries {
		asking.Go(func() {
			for ctx.Err() == nil {
				err := sorts(ctx, db, n%jobs)
				mu.Lock()
				var told *mysql.MySQLError
				switch {
				case err == nil:
					r.answered++
				case errors.As(err, &told) && strings.Contains(told.Message, "memory"):
					r.refused++
				case ctx.Err() == nil:
					tb.Errorf("a query failed: %v", err)
				}
				mu.Unlock()
			}
		})
	}
	cluster.Eventually(tb, 10*time.Minute, func() error {
		for n := range jobs {
			var loaded int
			if err := db.QueryRowContext(tb.Context(), fmt.Sprintf("SELECT count(*) FROM d.t%d", n)).Scan(&loaded); err != nil || loaded < records {
				return fmt.Errorf("table %d has %d rows, %v\n%s", n, loaded, err, be.Log())
			}
		}
		return nil
	})
	r.took = time.Since(began)
	stop()
	asking.Wait()
	r.peak = be.Usage().PeakRSS
	return r
}

// sorts has a table sorted by its large column.
func sorts(ctx context.Context, db *sql.DB, table int) error {
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT id, length(text) FROM (SELECT id, text FROM d.t%d ORDER BY text DESC LIMIT 300) s", table))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}
