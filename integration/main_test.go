package integration

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// limit is how long anything may take that should take seconds.
const limit = 3 * time.Minute

// atATime is how many tests run side by side: they wait most of the time.
const atATime = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", atATime)
	}
	os.Exit(m.Run())
}

// load is one job with its topic and table, as a user set it up.
type load struct {
	t      *testing.T
	db     *sql.DB
	broker *testkafka.Broker
	topic  string
	table  string // database.table; the job has the same name
}

// options of a job, in the words of CREATE ROUTINE LOAD.
type options struct {
	partitions int
	table      string            // columns, in parentheses
	clauses    string            // such as COLUMNS TERMINATED BY
	properties map[string]string // of the job; share-group mode unless it is among them
}

// inBothModes runs a test of something that both modes promise.
func inBothModes(t *testing.T, test func(t *testing.T, mode string)) {
	for _, mode := range []string{"classic", "share_group"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			test(t, mode)
		})
	}
}

// setUp creates a topic, a database, a table and a job.
func setUp(t *testing.T, db *sql.DB, broker *testkafka.Broker, o options) *load {
	t.Helper()
	l := prepare(t, db, broker, o)
	l.create(o)
	return l
}

// prepare is setUp without the job.
func prepare(t *testing.T, db *sql.DB, broker *testkafka.Broker, o options) *load {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "_", "#", "_").Replace(t.Name()))
	l := &load{t: t, db: db, broker: broker, topic: broker.CreateTopic(t, o.partitions, nil), table: name + ".t"}
	columns := o.table
	if columns == "" {
		columns = "(id BIGINT, part INT, name VARCHAR(64))"
	}
	l.exec("CREATE DATABASE " + name)
	l.exec(fmt.Sprintf(`CREATE TABLE %s %s DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES("replication_num"="1")`, l.table, columns))
	return l
}

// statement is the CREATE ROUTINE LOAD of o.
func (l *load) statement(o options) string {
	var properties []string
	if o.properties["load_mode"] == "" {
		properties = []string{`"load_mode"="share_group"`}
	}
	for k, v := range o.properties {
		properties = append(properties, fmt.Sprintf("%q=%q", k, v))
	}
	slices.Sort(properties)
	_, table, _ := strings.Cut(l.table, ".")
	return fmt.Sprintf(`CREATE ROUTINE LOAD %s ON %s %s PROPERTIES(%s) FROM KAFKA("kafka_broker_list"="%s","kafka_topic"="%s","property.kafka_default_offsets"="OFFSET_BEGINNING")`,
		l.table, table, o.clauses, strings.Join(properties, ","), l.broker.Addr(), l.topic)
}

func (l *load) create(o options) {
	l.t.Helper()
	l.exec(l.statement(o))
}

func (l *load) exec(statement string) {
	l.t.Helper()
	if _, err := l.db.ExecContext(l.t.Context(), statement); err != nil {
		l.t.Fatalf("%s: %v", statement, err)
	}
}

// client is a Kafka client of the load's broker.
func (l *load) client(opts ...kgo.Opt) *kgo.Client {
	l.t.Helper()
	opts = append([]kgo.Opt{kgo.SeedBrokers(strings.Split(l.broker.Addr(), ",")...), kgo.DefaultProduceTopic(l.topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(client.Close)
	return client
}

// produce writes values to a partition and waits until the broker has them.
func (l *load) produce(client *kgo.Client, partition int32, values ...string) {
	l.t.Helper()
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Partition: partition, Value: []byte(v)}
	}
	if err := client.ProduceSync(l.t.Context(), records...).FirstErr(); err != nil {
		l.t.Fatal(err)
	}
}

// row is the JSON of one row of the usual table.
func row(id int, partition int32) string {
	return fmt.Sprintf(`{"id":%d,"part":%d,"name":"row %d"}`, id, partition, id)
}

// status is the job's line of SHOW ROUTINE LOAD, by column.
func (l *load) status() map[string]string {
	l.t.Helper()
	lines := query(l.t, l.db, "SHOW ALL ROUTINE LOAD FOR "+l.table)
	if len(lines) != 1 {
		l.t.Fatalf("SHOW ROUTINE LOAD: %d lines, want 1", len(lines))
	}
	return lines[0]
}

// statistic is a job's counters.
type statistic struct {
	Total      int64 `json:"totalRows"`
	Loaded     int64 `json:"loadedRows"`
	Errors     int64 `json:"errorRows"`
	Unselected int64 `json:"unselectedRows"`
	Empty      int64 `json:"emptyMessages"`
}

func (l *load) statistic() (s statistic) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.status()["Statistic"]), &s); err != nil {
		l.t.Fatal(err)
	}
	return s
}

// inDatabase is query in the load's database.
func (l *load) inDatabase(statement string) []map[string]string {
	l.t.Helper()
	lines, err := l.tryInDatabase(statement)
	if err != nil {
		l.t.Fatalf("%s: %v", statement, err)
	}
	return lines
}

func (l *load) tryInDatabase(statement string) ([]map[string]string, error) {
	conn, err := l.db.Conn(l.t.Context())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(l.t.Context(), "USE "+l.database()); err != nil {
		return nil, err
	}
	return cluster.Rows(l.t.Context(), conn, statement)
}

func (l *load) database() string {
	db, _, _ := strings.Cut(l.table, ".")
	return db
}

// query is the rows of a statement, by column; NULL is the text NULL.
func query(t *testing.T, db cluster.Querier, statement string) []map[string]string {
	t.Helper()
	lines, err := cluster.Rows(t.Context(), db, statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return lines
}

// count is the answer of a SELECT of one number.
func (l *load) count(expression string) (n int64, err error) {
	err = l.db.QueryRowContext(l.t.Context(), "SELECT "+expression+" FROM "+l.table).Scan(&n)
	return n, err
}

// mustCount is how many rows the table has.
func (l *load) mustCount() int64 {
	l.t.Helper()
	n, err := l.count("count(*)")
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// waitMore waits until the table has more than n rows.
func (l *load) waitMore(n int64) {
	l.t.Helper()
	cluster.Eventually(l.t, limit, func() error {
		if got := l.mustCount(); got <= n {
			return fmt.Errorf("%d rows, want more than %d; %s", got, n, l.status()["OtherMsg"])
		}
		return nil
	})
}

// waitRows waits until the table has n rows.
func (l *load) waitRows(n int64) {
	l.t.Helper()
	cluster.Eventually(l.t, limit, func() error {
		got, err := l.count("count(*)")
		if err != nil {
			return err
		}
		if got != n {
			return fmt.Errorf("%d rows, want %d; job: %v", got, n, l.status())
		}
		return nil
	})
}

// waitState waits until the job is in a state.
func (l *load) waitState(state string) map[string]string {
	l.t.Helper()
	var status map[string]string
	cluster.Eventually(l.t, limit, func() error {
		if status = l.status(); status["State"] != state {
			return fmt.Errorf("state %s, want %s; %s %s", status["State"], state, status["ReasonOfStateChanged"], status["OtherMsg"])
		}
		return nil
	})
	return status
}

// checkIDs fails the test unless the table has exactly the ids 0 to n-1, each
// once.
func (l *load) checkIDs(n int64) {
	l.t.Helper()
	lines := query(l.t, l.db, "SELECT count(*) AS n, count(DISTINCT id) AS ids, min(id) AS low, max(id) AS high FROM "+l.table)
	got, want := lines[0], map[string]string{"n": fmt.Sprint(n), "ids": fmt.Sprint(n), "low": "0", "high": fmt.Sprint(n - 1)}
	for k := range want {
		if got[k] != want[k] {
			l.t.Errorf("table has %v, want %v", got, want)
			return
		}
	}
}

// ledger is SHOW ROUTINE LOAD LEDGER.
func (l *load) ledger() []map[string]string {
	l.t.Helper()
	return query(l.t, l.db, "SHOW ROUTINE LOAD LEDGER FOR "+l.table)
}

// checkLedger fails the test unless the ledger is whole: everything from start
// to the settled offset is loaded, void or expired, nothing is left above, and
// the files say so too.
func (l *load) checkLedger() {
	l.t.Helper()
	for _, p := range l.ledger() {
		var start, settled, loaded, void, expired, ranges int64
		for column, target := range map[string]*int64{"Start": &start, "Settled": &settled, "Loaded": &loaded, "Void": &void, "Expired": &expired, "Ranges": &ranges} {
			if _, err := fmt.Sscan(p[column], target); err != nil {
				l.t.Errorf("ledger column %s is %q: %v", column, p[column], err)
			}
		}
		if settled-start != loaded+void+expired || ranges != 0 {
			l.t.Errorf("the ledger does not add up: %v", p)
		}
	}
	l.mustCheck()
}

// mustFail runs a statement that must be refused, and returns the error.
func mustFail(t *testing.T, db *sql.DB, statement string) error {
	t.Helper()
	_, err := cluster.Rows(t.Context(), db, statement)
	if err == nil {
		t.Fatalf("%s: no error", statement)
	}
	if errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return err
}
