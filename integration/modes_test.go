package integration

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// produceMany writes n records that value makes, round robin over partitions; a
// nil value is a tombstone.
func (l *load) produceMany(n, partitions int, value func(i int) []byte) {
	l.t.Helper()
	const chunk = 5000
	client := l.client()
	for first := 0; first < n; first += chunk {
		var records []*kgo.Record
		for i := first; i < min(n, first+chunk); i++ {
			records = append(records, &kgo.Record{Partition: int32(i % partitions), Value: value(i)})
		}
		if err := client.ProduceSync(l.t.Context(), records...).FirstErr(); err != nil {
			l.t.Fatal(err)
		}
	}
}

// waitSettled waits until the job has no lag and has settled all of its topic.
func (l *load) waitSettled(total int64) {
	l.t.Helper()
	cluster.Eventually(l.t, limit, func() error {
		settled := int64(0)
		for _, p := range l.ledger() {
			var n int64
			if _, err := fmt.Sscan(p["Settled"], &n); err != nil || p["Lag"] != "0" {
				return fmt.Errorf("ledger %v; job: %s", p, l.status()["OtherMsg"])
			}
			settled += n
		}
		if settled != total {
			return fmt.Errorf("%d offsets are settled, want %d; job: %s", settled, total, l.status()["OtherMsg"])
		}
		return nil
	})
}

// TestClassicPartitions: 100,000 records of eight partitions, three tasks: each
// partition has one reader, and every row arrives once and in order.
func TestClassicPartitions(t *testing.T) {
	t.Parallel()
	const rows, partitions = 100_000, 8
	broker := testkafka.Shared(t)
	fe, _ := startCluster(t, 2)
	l := setUp(t, fe.DB(), broker, options{partitions: partitions, properties: map[string]string{
		"load_mode": "classic", "format": "json", "desired_concurrent_number": "3", "max_batch_interval": "1"}})
	l.produceMany(rows, partitions, func(i int) []byte { return []byte(row(i, int32(i%partitions))) })
	l.waitRows(rows)
	l.checkIDs(rows)
	l.waitSettled(rows)
	l.checkLedger()
	if status := l.status(); status["CurrentTaskNum"] != "3" || !strings.Contains(status["Progress"], `"7":"12499"`) || status["Lag"] != `{"0":0,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0}` {
		t.Errorf("job %v", status)
	}
}

// TestClassicDivision: partitions are divided anew, under load, when a backend
// comes, dies and is back, and when the topic grows. No record is lost or
// loaded twice.
func TestClassicDivision(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	fe := cluster.Start(t, "fe", "--bootstrap")
	first := cluster.Start(t, "be", "--fe", fe.Ready.RPC, "--slots", "2")
	l := setUp(t, fe.DB(), broker, options{partitions: 5, properties: map[string]string{"load_mode": "classic", "format": "json", "max_batch_interval": "1"}})
	ctx, stop := context.WithCancel(t.Context())
	produced, wait := l.produceUntil(ctx, 5)
	defer func() { stop(); wait() }()
	divided := func(want string) {
		t.Helper()
		cluster.Eventually(t, limit, func() error {
			tasks, err := l.tryInDatabase("SHOW ROUTINE LOAD TASK WHERE JobName = 't'")
			var parts []string
			for _, task := range tasks {
				if task["BeId"] != "-1" {
					parts = append(parts, fmt.Sprint(strings.Count(task["DataSourceProperties"], `":`)))
				}
			}
			if got := strings.Join(parts, " "); err != nil || got != want {
				return fmt.Errorf("the tasks have %q partitions, want %q: %v, %v", got, want, tasks, err)
			}
			return nil
		})
		before := int64(-1)
		cluster.Eventually(t, limit, func() error { // a query may run on a backend that dies
			now, err := l.count("count(*)")
			if err != nil || before < 0 || now == before {
				before = max(before, now)
				return fmt.Errorf("%d rows after %d, %v; %s", now, before, err, l.status()["OtherMsg"])
			}
			return nil
		})
	}
	divided("3 2")
	cluster.Start(t, "be", "--fe", fe.Ready.RPC, "--slots", "2")
	divided("2 1 1 1")
	if _, err := kadm.NewClient(l.client()).UpdatePartitions(t.Context(), 7, l.topic); err != nil {
		t.Fatal(err)
	}
	divided("2 2 2 1")
	first.Kill()
	divided("4 3")
	first.Run()
	divided("2 2 2 1")
	stop()
	wait()
	rows := produced.Load()
	client := l.client()
	for p := int32(5); p < 7; p++ {
		l.produce(client, p, row(int(rows), p))
		rows++
	}
	l.waitRows(rows)
	l.checkIDs(rows)
	l.waitSettled(rows)
	l.checkLedger()
}

// TestModesSideBySide: a classic job and a share-group job read the same topic,
// and neither takes anything from the other.
func TestModesSideBySide(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	shared := setUp(t, shoal.DB(), broker, options{partitions: 2, properties: map[string]string{"format": "json"}})
	classic := *shared
	classic.table = shared.table + "2"
	classic.exec("CREATE TABLE " + classic.table + " (id BIGINT, part INT, name VARCHAR(64)) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
	classic.create(options{properties: map[string]string{"load_mode": "classic", "format": "json"}})
	ctx, stop := context.WithCancel(t.Context())
	produced, wait := shared.produceUntil(ctx, 2)
	defer func() { stop(); wait() }()
	shared.waitMore(1000)
	classic.waitMore(1000)
	stop()
	wait()
	for _, l := range []*load{shared, &classic} {
		l.waitRows(produced.Load())
		l.checkIDs(produced.Load())
		l.checkLedger()
	}
}

// The mix of TestBothModesAgree, in hundredths.
const (
	mixBad, mixFiltered, mixEmpty = 3, 10, 2
)

// mixed is the i-th record of the mix: a bad one, one that WHERE drops, one
// without a value, or a good one. Values of good ones repeat, so that the table
// is a multiset.
func mixed(i int) []byte {
	switch kind := i % 100; {
	case kind < mixBad:
		return []byte([]string{`{"id":` + fmt.Sprint(i) + `,`, `{"id":null,"part":1}`, `{"id":"x` + fmt.Sprint(i) + `"}`}[kind])
	case kind < mixBad+mixFiltered:
		return []byte(fmt.Sprintf(`{"id":%d,"part":-1,"name":"filtered %d"}`, i, i))
	case kind < mixBad+mixFiltered+mixEmpty:
		if kind%2 == 0 {
			return nil
		}
		return []byte{}
	}
	return []byte(fmt.Sprintf(`{"id":%d,"part":%d,"name":"row %d"}`, i/7, i%5, i%1000))
}

// TestBothModesAgree: both modes over the same 500,000 records, some bad, some
// filtered, some empty, make the same multiset of rows and count the same.
func TestBothModesAgree(t *testing.T) {
	t.Parallel()
	const records, partitions = 500_000, 8
	broker := testkafka.Shared(t)
	fe, _ := startCluster(t, 2)
	o := options{partitions: partitions, table: "(id BIGINT NOT NULL, part INT, name VARCHAR(64))", clauses: "WHERE part >= 0",
		properties: map[string]string{"format": "json", "max_error_number": fmt.Sprint(records), "max_batch_interval": "2", "desired_concurrent_number": "6"}}
	shared := prepare(t, fe.DB(), broker, o)
	classic := *shared
	classic.table = shared.table + "2"
	classic.exec("CREATE TABLE " + classic.table + " " + o.table + " DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
	shared.produceMany(records, partitions, mixed)
	shared.create(o)
	o.properties["load_mode"] = "classic"
	classic.create(o)

	for mode, l := range map[string]*load{"share_group": shared, "classic": &classic} {
		l.waitSettled(records)
		l.checkLedger()
		s := l.statistic()
		want := statistic{Total: records / 100 * (100 - mixEmpty), Loaded: records / 100 * (100 - mixBad - mixFiltered - mixEmpty),
			Errors: records / 100 * mixBad, Unselected: records / 100 * mixFiltered, Empty: records / 100 * mixEmpty}
		if s != want {
			t.Errorf("%s: %+v, want %+v", mode, s, want)
		}
		t.Logf("%s: %+v", mode, s)
	}
	rows := sameAnswers(t, fe.DB(), func(l *load) string { return "SELECT id, part, name FROM " + l.table + " ORDER BY id, part, name" }, shared, &classic)
	bad := sameAnswers(t, fe.DB(), func(l *load) string {
		_, job, _ := strings.Cut(l.table, ".")
		return "SELECT kafka_partition, kafka_offset, reason FROM information_schema.routine_load_errors WHERE job_name = '" + job + "' ORDER BY kafka_partition, kafka_offset"
	}, shared, &classic)
	t.Logf("%d rows and %d error rows of both modes are the same", rows, bad)
	if rows != records/100*(100-mixBad-mixFiltered-mixEmpty) || bad == 0 {
		t.Errorf("%d rows and %d error rows were compared", rows, bad)
	}
}

// sameAnswers compares the answers to a question about each of two loads, line
// by line, and says how many lines there are.
func sameAnswers(t *testing.T, db *sql.DB, question func(*load) string, a, b *load) (n int) {
	t.Helper()
	ask := func(l *load) *sql.Rows {
		rows, err := db.QueryContext(t.Context(), question(l))
		if err != nil {
			t.Fatalf("%s: %v", question(l), err)
		}
		t.Cleanup(func() { rows.Close() })
		return rows
	}
	left, right := ask(a), ask(b)
	line := func(rows *sql.Rows) (cells [3]sql.NullString) {
		if err := rows.Scan(&cells[0], &cells[1], &cells[2]); err != nil {
			t.Fatal(err)
		}
		return cells
	}
	for left.Next() {
		if !right.Next() {
			t.Fatalf("after %d equal lines there are no more of %s", n, b.table)
		}
		if x, y := line(left), line(right); x != y {
			t.Fatalf("after %d equal lines: %v of %s and %v of %s", n, x, a.table, y, b.table)
		}
		n++
	}
	if right.Next() || left.Err() != nil || right.Err() != nil {
		t.Fatalf("after %d equal lines: more of %s, or %v, %v", n, b.table, left.Err(), right.Err())
	}
	return n
}
