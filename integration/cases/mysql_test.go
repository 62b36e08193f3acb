package cases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// Prepared statements of the Go driver, without interpolation: an answer or
// error 1295, and the connection goes on.
func TestC55(t *testing.T) {
	t.Parallel()
	j := prepare(t, connect(t), testkafka.Shared(t), share, load{columns: "(id INT)"})
	messages, _ := ids(1, 3)
	j.produce(messages...)
	j.create()
	j.waitRows(3)
	conn, err := j.db.Conn(t.Context())
	j.must(err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "USE "+j.database)
	j.must(err)
	for range 2 { // twice on one connection, so that what is left over shows
		var n int
		j.must(conn.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t WHERE id=?", 1).Scan(&n))
		if n != 1 {
			t.Errorf("%d rows have id 1", n)
		}
		answered(t, conn, "SHOW ROUTINE LOAD FOR j")
		answered(t, conn, "INSERT INTO t VALUES (?)", 4)
		answered(t, conn, "SELECT ? + 1", 1)
	}
}

// answered prepares and runs a statement, which is answered, or refused as not
// to be prepared or not supported.
func answered(t *testing.T, conn *sql.Conn, statement string, args ...any) {
	t.Helper()
	prepared, err := conn.PrepareContext(t.Context(), statement)
	if err == nil {
		defer prepared.Close()
		var rows *sql.Rows
		if rows, err = prepared.QueryContext(t.Context(), args...); err == nil {
			for rows.Next() {
			}
			err = errors.Join(rows.Err(), rows.Close())
		}
	}
	var refused *mysql.MySQLError
	if err != nil && (!errors.As(err, &refused) || refused.Number != 1295 && refused.Number != 1235) {
		t.Errorf("%s: %v, want an answer, or an error 1295 or 1235", statement, err)
	}
	if err := conn.PingContext(t.Context()); err != nil {
		t.Fatalf("after %s the connection is dead: %v", statement, err)
	}
}

// What clients send before the user types. The tools themselves are in
// integration/clients.
func TestC56(t *testing.T) {
	t.Parallel()
	db := connect(t)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const connector = "SELECT @@session.auto_increment_increment, @@session.character_set_client, @@session.character_set_connection, " +
		"@@session.character_set_results, @@session.character_set_server, @@session.collation_server, @@session.collation_connection, " +
		"@@session.init_connect, @@session.interactive_timeout, @@session.license, @@session.lower_case_table_names, " +
		"@@session.max_allowed_packet, @@session.net_write_timeout, @@session.performance_schema, @@session.sql_mode, " +
		"@@session.system_time_zone, @@session.time_zone, @@session.transaction_isolation, @@session.wait_timeout"
	for _, tt := range []struct {
		statement string
		columns   int // 0 for a statement without an answer
	}{
		{connector, 19},
		{"SHOW VARIABLES LIKE 'event_scheduler'", 2},
		{"SHOW VARIABLES LIKE 'lower_case_%'", 2},
		{"SET NAMES utf8mb4", 0},
		{"SET sql_mode=(SELECT CONCAT(@@sql_mode,',PIPES_AS_CONCAT')), time_zone='+00:00'", 0},
		{"SET autocommit=1", 0},
		{"SHOW CHARSET", 4},
		{"SHOW COLLATION", 6},
		{"SHOW ENGINES", 6},
		{"SHOW WARNINGS", 3},
		{"SELECT version(), @@version_comment, DATABASE(), TIMEDIFF(NOW(), UTC_TIMESTAMP())", 4},
		{"SELECT CATALOG_NAME, SCHEMA_NAME FROM information_schema.SCHEMATA", 2},
		{"SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES", 3},
		{"SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE FROM information_schema.COLUMNS", 4},
		{"SELECT WORD FROM information_schema.KEYWORDS", 1},
		{"ROLLBACK", 0},
	} {
		rows, err := conn.QueryContext(t.Context(), tt.statement)
		if err != nil {
			t.Errorf("%s: %v", tt.statement, err)
			continue
		}
		columns, _ := rows.Columns()
		for rows.Next() {
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(columns) != tt.columns {
			t.Errorf("%s: %d columns, %v; want %d", tt.statement, len(columns), err, tt.columns)
		}
	}
	if err := conn.PingContext(context.Background()); err != nil {
		t.Errorf("COM_PING: %v", err)
	}
}

// Names that need quoting, and statements that are as they were after a
// restart.
func TestC58(t *testing.T) {
	t.Parallel()
	p := cluster.Start(t, "standalone")
	db := p.DB()
	db.SetMaxOpenConns(1) // each statement names its database
	broker := testkafka.Shared(t)
	j := &job{t: t, db: db, broker: broker, mode: classic, database: "`my-db`"}
	j.topic = broker.CreateTopic(t, 1, nil)
	j.client = j.newClient()
	j.exec("CREATE DATABASE `my-db`")
	j.createTable("`order`", "(`interval` INT, `größe` STRING)")
	j.exec("CREATE ROUTINE LOAD `select.1` ON `order` COLUMNS TERMINATED BY ',', COLUMNS(`interval`, `größe`) " +
		fmt.Sprintf("PROPERTIES('max_batch_interval'='1','max_error_number'='10') FROM KAFKA('kafka_broker_list'='%s','kafka_topic'='%s','property.kafka_default_offsets'='OFFSET_BEGINNING')", broker.Addr(), j.topic))
	j.exec("PAUSE ROUTINE LOAD FOR `select.1`")
	j.exec("RESUME ROUTINE LOAD FOR `select.1`")
	j.exec("PAUSE ROUTINE LOAD FOR `select.1`")
	j.exec("ALTER ROUTINE LOAD FOR `select.1` COLUMNS(`interval`, tmp, `größe`=upper(tmp)), WHERE `interval` < 10")
	before := j.rows("SHOW CREATE ROUTINE LOAD FOR `select.1`")[0]
	p.Stop()
	p.Run()
	after := j.rows("SHOW CREATE ROUTINE LOAD FOR `select.1`")[0]
	if text := after[len(after)-1]; text != before[len(before)-1] || !strings.Contains(text, "upper") || !strings.Contains(text, "WHERE") {
		t.Errorf("after a restart SHOW CREATE is\n%s\nit was\n%s", text, before[len(before)-1])
	}
	j.exec("RESUME ROUTINE LOAD FOR `select.1`")
	j.produce(texts("1,a", "2,b", "30,c")...)
	want := [][]string{{"1", "A"}, {"2", "B"}}
	j.eventually(func() error {
		if got := j.rows("SELECT `interval`, `größe` FROM `order` ORDER BY 1"); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("rows %v, want %v", got, want)
		}
		return nil
	})
	j.exec("STOP ROUTINE LOAD FOR `select.1`")
	j.exec(after[len(after)-1])
	again := j.rows("SHOW CREATE ROUTINE LOAD FOR `select.1`")[0]
	if made := definition(again[len(again)-1]); made != definition(after[len(after)-1]) {
		t.Errorf("the statement made another job:\n%s\nfrom\n%s", made, definition(after[len(after)-1]))
	}
}

// definition is what a SHOW CREATE ROUTINE LOAD says up to the source, whose
// offsets move.
func definition(statement string) string {
	text, _, _ := strings.Cut(statement, "FROM KAFKA")
	return text
}
