package recovery

import (
	"context"
	"database/sql"
	"fmt"
	"syscall"
	"testing"
	"time"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// queryTimeout is how long a look at the table may take: one that a lost backend
// was asked for is asked again.
const queryTimeout = time.Second

// shoal is a frontend and two backends.
type shoal struct {
	db       *sql.DB
	backends [2]*cluster.Process
	last     seen
}

func startShare(tb testing.TB, broker *testkafka.Broker, topic string, tasks int) reader {
	return startShoal(tb, broker, topic, tasks, "share_group")
}

func startClassic(tb testing.TB, broker *testkafka.Broker, topic string, tasks int) reader {
	return startShoal(tb, broker, topic, tasks, "classic")
}

func startShoal(tb testing.TB, broker *testkafka.Broker, topic string, tasks int, mode string) reader {
	tb.Helper()
	fe := cluster.Start(tb, "fe", "--bootstrap")
	s := &shoal{db: fe.DB()}
	for i := range s.backends {
		s.backends[i] = cluster.Start(tb, "be", "--fe", fe.Ready.RPC)
	}
	lock := ""
	if mode == "share_group" {
		lock = `"share_record_lock_duration_ms"="30000", `
	}
	for _, statement := range []string{
		"CREATE DATABASE d",
		`CREATE TABLE d.t (p INT, n INT) DUPLICATE KEY(p) DISTRIBUTED BY HASH(p) BUCKETS 1 PROPERTIES("replication_num"="1")`,
		fmt.Sprintf(`CREATE ROUTINE LOAD d.j ON t PROPERTIES("load_mode"="%s", "format"="json", %s"max_batch_interval"="1", "desired_concurrent_number"="%d")
			FROM KAFKA("kafka_broker_list"="%s", "kafka_topic"="%s", "property.kafka_default_offsets"="OFFSET_BEGINNING")`, mode, lock, tasks, broker.Addr(), topic),
	} {
		if _, err := s.db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
	return s
}

func (s *shoal) lose(tb testing.TB, how syscall.Signal) {
	if how == syscall.SIGKILL {
		s.backends[0].Kill()
		return
	}
	s.backends[0].Signal(how)
	tb.Cleanup(func() { s.backends[0].Signal(syscall.SIGCONT) })
}

// read is what is in the table, or was when it could be read last.
func (s *shoal) read(tb testing.TB) seen {
	ctx, cancel := context.WithTimeout(tb.Context(), queryTimeout)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, "SELECT p, n FROM d.t")
	if err != nil {
		return s.last
	}
	defer rows.Close()
	var all seen
	for i := range all {
		all[i] = map[int]bool{}
	}
	for rows.Next() {
		var partition, number int
		if err := rows.Scan(&partition, &number); err != nil {
			return s.last
		}
		all[partition][number] = true
	}
	if rows.Err() == nil {
		s.last = all
	}
	return s.last
}
