package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"

	"github.com/go-sql-driver/mysql"
)

// statements are what the demo runs to set itself up, the job's last. SetUp
// runs none of them when the job is there.
func statements(broker string) []string {
	return []string{
		"CREATE DATABASE IF NOT EXISTS demo",
		`CREATE TABLE IF NOT EXISTS demo.web_events (
  ts DATETIME(3),
  host VARCHAR(64),
  path VARCHAR(1024),
  status SMALLINT,
  bytes BIGINT,
  user_id INT,
  latency_ms DOUBLE
)
DUPLICATE KEY(ts)
DISTRIBUTED BY HASH(user_id) BUCKETS 1
PROPERTIES("replication_num"="1")`,
		fmt.Sprintf(`CREATE ROUTINE LOAD demo.web_events ON web_events
PROPERTIES("load_mode"="share_group","format"="json","desired_concurrent_number"="%d","max_error_number"="1000")
FROM KAFKA("kafka_broker_list"="%s","kafka_topic"="%s","property.kafka_default_offsets"="OFFSET_BEGINNING")`, Tasks, broker, Topic),
	}
}

// SetUp creates the demo's database, table and job, unless they are there. It
// tells what it ran.
func SetUp(ctx context.Context, db *sql.DB, broker string) (ran []string, err error) {
	all := statements(broker)
	there, err := jobExists(ctx, db)
	if err != nil {
		return nil, err
	}
	if there {
		return nil, nil
	}
	for _, statement := range all {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return ran, fmt.Errorf("%s: %w", statement, err)
		}
		ran = append(ran, statement)
	}
	return ran, nil
}

// jobExists tells whether the demo was set up before. A server that refuses to
// show the job does not have it.
func jobExists(ctx context.Context, db *sql.DB) (bool, error) {
	_, err := showJob(ctx, db)
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return false, nil
	}
	return err == nil, err
}

// Hints tells how to look at the demo from a MySQL client.
func Hints(mysqlAddr string) string {
	host, port, err := net.SplitHostPort(mysqlAddr)
	if err != nil {
		host, port = mysqlAddr, "9030"
	}
	return fmt.Sprintf(`
Connect any MySQL client:   mysql -h %s -P %s -u root
and try:
  SELECT count(*) FROM demo.web_events;
  SELECT path, status, count(*) AS n, round(avg(latency_ms), 1) AS ms FROM demo.web_events GROUP BY path, status ORDER BY n DESC LIMIT 10;
  SHOW ROUTINE LOAD FOR demo.web_events\G
  SHOW ROUTINE LOAD LEDGER FOR demo.web_events;
  PAUSE ROUTINE LOAD FOR demo.web_events;   RESUME ROUTINE LOAD FOR demo.web_events;
Ctrl-C ends the demo; started again it goes on where it was.

`, host, port)
}
