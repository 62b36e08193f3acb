package cases

import (
	"context"
	"database/sql"
	encoding "encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// A job is a load that exists: job j on table t, in a database of the test's
// name.
type job struct {
	t      *testing.T
	db     *sql.DB
	broker *testkafka.Broker
	load
	mode     string
	database string
	topic    string
	client   *kgo.Client // that produces
}

// unusual is what a name may not have without quotes.
var unusual = regexp.MustCompile(`[^a-z0-9_]`)

// prepare makes database, table and topic, and no job yet.
func prepare(t *testing.T, db *sql.DB, broker *testkafka.Broker, mode string, l load) *job {
	t.Helper()
	name := unusual.ReplaceAllString(strings.ToLower(strings.TrimPrefix(t.Name(), "Test")), "_")
	if !strings.Contains(name, mode) {
		name += "_" + mode
	}
	j := &job{t: t, db: db, broker: broker, load: l, mode: mode, database: name[:min(len(name), 60)]}
	j.topic = broker.CreateTopic(t, max(1, l.partitions), l.topic)
	j.client = j.newClient()
	j.exec("CREATE DATABASE " + j.database)
	j.createTable("t", l.columns)
	return j
}

// createTable makes a table whose first column is the key.
func (j *job) createTable(name, columns string) {
	j.t.Helper()
	key, _, _ := strings.Cut(strings.TrimPrefix(columns, "("), " ")
	j.exec(fmt.Sprintf(`CREATE TABLE %s %s DUPLICATE KEY(%s) DISTRIBUTED BY HASH(%s) BUCKETS 1 PROPERTIES("replication_num"="1")`, name, columns, key, key))
}

// literal is a string in SQL.
func literal(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// pairs are properties in SQL; those with an empty value are left out.
func pairs(properties map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if properties[key] != "" {
			out = append(out, literal(key)+"="+literal(properties[key]))
		}
	}
	return strings.Join(out, ",")
}

// statement is the job's CREATE ROUTINE LOAD: the template with what the load
// says.
func (j *job) statement() string {
	properties := map[string]string{
		"load_mode": j.mode, "format": "csv", "max_batch_interval": "1", "max_error_number": "100", "strict_mode": "false",
	}
	maps.Copy(properties, j.properties)
	source := map[string]string{
		"kafka_broker_list": j.broker.Addr(), "kafka_topic": j.topic, "property.kafka_default_offsets": "OFFSET_BEGINNING",
	}
	maps.Copy(source, j.source)
	clauses := j.clauses
	if properties["format"] == "csv" && !strings.Contains(clauses, "TERMINATED") {
		clauses = strings.TrimSuffix(`COLUMNS TERMINATED BY ",", `+clauses, ", ")
	}
	return fmt.Sprintf("CREATE ROUTINE LOAD j ON t %s PROPERTIES(%s) FROM KAFKA(%s)", clauses, pairs(properties), pairs(source))
}

// create makes the job, which is stopped with the test.
func (j *job) create() {
	j.t.Helper()
	j.exec(j.statement())
	j.t.Cleanup(func() { j.try(context.Background(), "STOP ROUTINE LOAD FOR j") })
}

// refused is the error of a job that must not be made.
func (j *job) refused() *mysql.MySQLError {
	j.t.Helper()
	_, err := j.try(j.t.Context(), j.statement())
	var refusal *mysql.MySQLError
	if !errors.As(err, &refusal) {
		j.t.Fatalf("%s: error %v, want the statement refused", j.statement(), err)
	}
	return refusal
}

// exec runs a statement in the job's database.
func (j *job) exec(statement string) {
	j.t.Helper()
	if _, err := j.try(j.t.Context(), statement); err != nil {
		j.t.Fatalf("%s: %v", statement, err)
	}
}

// newClient is a Kafka client of the job's topic, closed with the test.
func (j *job) newClient(opts ...kgo.Opt) *kgo.Client {
	j.t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(j.broker.Addr(), ",")...), kgo.DefaultProduceTopic(j.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(16 << 20), kgo.ProducerLinger(0),
	}, opts...)...)
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(client.Close)
	return client
}

// produce writes records and waits until the broker has them.
func (j *job) produce(records ...*kgo.Record) {
	j.t.Helper()
	if err := j.client.ProduceSync(j.t.Context(), records...).FirstErr(); err != nil {
		j.t.Fatal(err)
	}
}

// try runs a statement in the job's database and returns its rows as text, with
// null for NULL, the first of them the columns' names.
func (j *job) try(ctx context.Context, statement string) ([][]string, error) {
	conn, err := j.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if !strings.HasPrefix(statement, "CREATE DATABASE") {
		if _, err := conn.ExecContext(ctx, "USE "+j.database); err != nil {
			return nil, err
		}
	}
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	out := [][]string{columns}
	for rows.Next() {
		cells, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			targets[i] = &cells[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := make([]string, len(cells))
		for i, cell := range cells {
			row[i] = null
			if cell.Valid {
				row[i] = cell.String
			}
			if !utf8.ValidString(row[i]) {
				return nil, fmt.Errorf("column %s has a text that is no UTF-8: %q", columns[i], cell.String)
			}
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// rows is the answer of a query, without the names.
func (j *job) rows(query string) [][]string {
	j.t.Helper()
	rows, err := j.try(j.t.Context(), query)
	if err != nil {
		j.t.Fatalf("%s: %v", query, err)
	}
	return rows[1:]
}

// lines is the answer of a query, by column.
func (j *job) lines(query string) []map[string]string {
	j.t.Helper()
	rows, err := j.try(j.t.Context(), query)
	if err != nil {
		j.t.Fatalf("%s: %v", query, err)
	}
	out := make([]map[string]string, len(rows)-1)
	for i, row := range rows[1:] {
		out[i] = make(map[string]string)
		for c, name := range rows[0] {
			out[i][name] = row[c]
		}
	}
	return out
}

// cell is the one cell of a query's answer.
func (j *job) cell(query string) string {
	j.t.Helper()
	rows := j.rows(query)
	if len(rows) != 1 || len(rows[0]) != 1 {
		j.t.Fatalf("%s answered %v, not one cell", query, rows)
	}
	return rows[0][0]
}

// status is the job's line of SHOW ROUTINE LOAD.
func (j *job) status() map[string]string {
	j.t.Helper()
	lines := j.lines("SHOW ALL ROUTINE LOAD FOR j")
	if len(lines) == 0 {
		j.t.Fatal("SHOW ALL ROUTINE LOAD FOR j shows nothing")
	}
	return lines[len(lines)-1]
}

// counters is a job's Statistic.
type counters struct {
	Loaded     int64 `json:"loadedRows"`
	Errors     int64 `json:"errorRows"`
	Unselected int64 `json:"unselectedRows"`
	Empty      int64 `json:"emptyMessages"`
}

func (j *job) counters() (c counters) {
	j.t.Helper()
	if err := encoding.Unmarshal([]byte(j.status()["Statistic"]), &c); err != nil {
		j.t.Fatal(err)
	}
	return c
}

// eventually waits until check has no error.
func (j *job) eventually(check func() error) {
	j.t.Helper()
	cluster.Eventually(j.t, limit, check)
}

// waitCounters waits until the job's counters are these. A job that is no more
// running, and was to be, fails the test at once.
func (j *job) waitCounters(want counters) {
	j.t.Helper()
	j.eventually(func() error {
		got, status := j.counters(), j.status()
		if got == want {
			return nil
		}
		err := fmt.Errorf("counters %+v, want %+v; job is %s: %s %s", got, want, status["State"], status["ReasonOfStateChanged"], status["OtherMsg"])
		if status["State"] == "PAUSED" || got.Loaded > want.Loaded {
			j.t.Fatal(errors.Join(err, fmt.Errorf("error rows %v", j.errorRows())))
		}
		return err
	})
}

// waitRows waits until the table has n rows.
func (j *job) waitRows(n int64) {
	j.t.Helper()
	j.eventually(func() error {
		if got := j.cell("SELECT count(*) FROM t"); got != fmt.Sprint(n) {
			return fmt.Errorf("%s rows, want %d; %v", got, n, j.status())
		}
		return nil
	})
}

// waitState waits until the job is in a state, for a reason with these parts.
func (j *job) waitState(state string, reason ...string) map[string]string {
	j.t.Helper()
	var status map[string]string
	j.eventually(func() error {
		status = j.status()
		if status["State"] != state {
			err := fmt.Errorf("state %s, want %s; %s %s", status["State"], state, status["ReasonOfStateChanged"], status["OtherMsg"])
			if status["State"] == "PAUSED" && state == "RUNNING" {
				j.t.Fatal(err)
			}
			return err
		}
		return nil
	})
	for _, part := range reason {
		if !strings.Contains(status["ReasonOfStateChanged"], part) {
			j.t.Errorf("%s, want a reason with %q", status["ReasonOfStateChanged"], part)
		}
	}
	return status
}

// waitNoLag waits until the job is done with all that is in its topic.
func (j *job) waitNoLag() {
	j.t.Helper()
	j.eventually(func() error {
		var lag map[string]any
		status := j.status()
		if err := encoding.Unmarshal([]byte(status["Lag"]), &lag); err != nil {
			return fmt.Errorf("Lag is %q: %w", status["Lag"], err)
		}
		if len(lag) == 0 {
			return fmt.Errorf("no lag is shown; %s", status["OtherMsg"])
		}
		for partition, n := range lag {
			if fmt.Sprint(n) != "0" {
				return fmt.Errorf("partition %s has lag %v; %s", partition, n, status["OtherMsg"])
			}
		}
		return nil
	})
}

// ledger is SHOW ROUTINE LOAD LEDGER.
func (j *job) ledger() []map[string]string {
	j.t.Helper()
	return j.lines("SHOW ROUTINE LOAD LEDGER FOR j")
}

// waitLedger waits until all from start to the settled offset is loaded, void or
// expired, and nothing is left above; the files must say so too.
func (j *job) waitLedger() {
	j.t.Helper()
	j.eventually(func() error {
		for _, p := range j.ledger() {
			var start, settled, loaded, void, expired, ranges int64
			for column, target := range map[string]*int64{"Start": &start, "Settled": &settled, "Loaded": &loaded, "Void": &void, "Expired": &expired, "Ranges": &ranges} {
				if _, err := fmt.Sscan(p[column], target); err != nil {
					return fmt.Errorf("ledger column %s is %q: %w", column, p[column], err)
				}
			}
			if settled-start != loaded+void+expired || ranges != 0 {
				return fmt.Errorf("the ledger does not add up: %v", p)
			}
		}
		return nil
	})
	for _, line := range j.lines("ADMIN CHECK ROUTINE LOAD LEDGER FOR j") {
		if line["Verdict"] != "OK" {
			j.t.Errorf("check of partition %s: %s: %s", line["Partition"], line["Verdict"], line["FirstDifferences"])
		}
	}
}

// errorRows are the job's, by partition and offset.
func (j *job) errorRows() []map[string]string {
	j.t.Helper()
	return j.lines("SELECT kafka_partition, kafka_offset, reason, raw FROM information_schema.routine_load_errors WHERE db_name = '" +
		j.database + "' ORDER BY kafka_partition, kafka_offset")
}

// alter changes properties of the job while it is paused, and goes on.
func (j *job) alterAndResume(properties map[string]string) {
	j.t.Helper()
	j.exec("ALTER ROUTINE LOAD FOR j PROPERTIES(" + pairs(properties) + ")")
	j.resume()
}

func (j *job) pause() {
	j.t.Helper()
	j.exec("PAUSE ROUTINE LOAD FOR j")
	j.waitState("PAUSED")
}

func (j *job) resume() {
	j.t.Helper()
	j.exec("RESUME ROUTINE LOAD FOR j")
	j.eventually(func() error {
		if state := j.status()["State"]; state == "PAUSED" {
			return errors.New("still paused")
		}
		return nil
	})
}
