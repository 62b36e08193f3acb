package stmt_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"shoal/fe/session"
	"shoal/fe/wire"
)

// accounts has root, without a password.
type accounts struct{}

func (accounts) Account(user, _ string) (wire.Account, bool) { return wire.Account{}, user == "root" }

// served is a frontend with a MySQL port, and one connection to it.
type served struct {
	*script
	t    *testing.T
	addr string
	conn *sql.Conn
	log  *logText
}

// logText is what was logged.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func serve(t *testing.T) *served {
	t.Helper()
	f := newFrontend(t)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := &logText{}
	server := wire.New(wire.Config{Handler: f, Accounts: accounts{}, Globals: f.globals, Processes: f.processes, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, lis) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	s := &served{script: &script{frontend: f, sessions: map[string]*session.Session{}}, t: t, addr: lis.Addr().String(), log: log}
	s.conn = s.dial()
	for _, text := range []string{"CREATE DATABASE shop", "USE shop", "CREATE TABLE t (id INT, name VARCHAR(10))"} {
		s.exec(text)
	}
	loader := f.connect()
	loader.DB = "shop"
	s.load(t, loader, "t", "SELECT 1, 'one' UNION ALL SELECT 2, 'two' UNION ALL SELECT 3, NULL")
	return s
}

func (s *served) dial() *sql.Conn {
	s.t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+s.addr+")/")
	if err != nil {
		s.t.Fatal(err)
	}
	conn, err := db.Conn(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		conn.Close()
		db.Close()
	})
	return conn
}

func (s *served) exec(text string) {
	s.t.Helper()
	if _, err := s.conn.ExecContext(s.t.Context(), text); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
}

// query reads a result as text, NULL as <nil>.
func (s *served) query(text string, args ...any) [][]string {
	s.t.Helper()
	rows, err := s.conn.QueryContext(s.t.Context(), text, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return s.read(rows)
}

func (s *served) read(rows *sql.Rows) (all [][]string) {
	s.t.Helper()
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		s.t.Fatal(err)
	}
	for rows.Next() {
		texts, cells := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range texts {
			cells[i] = &texts[i]
		}
		if err := rows.Scan(cells...); err != nil {
			s.t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, text := range texts {
			if row[i] = text.String; !text.Valid {
				row[i] = "<nil>"
			}
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return all
}

func (s *served) want(got [][]string, want ...[]string) {
	s.t.Helper()
	if !reflect.DeepEqual(got, want) {
		s.t.Errorf("got %v, want %v", got, want)
	}
}

// wantError is the number of a statement's error, before or among its rows.
func wantError(t *testing.T, number uint16, err error) {
	t.Helper()
	var e *mysql.MySQLError
	if !errors.As(err, &e) || e.Number != number {
		t.Errorf("error %v, want number %d", err, number)
	}
}

// drain runs a query to its end.
func drain(ctx context.Context, conn *sql.Conn, text string) error {
	rows, err := conn.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// endless is a query that takes longer than any test.
const endless = "SELECT COUNT(*) FROM range(1000000) a, range(1000000) b, range(1000000) c"

func TestPreparedStatements(t *testing.T) {
	s := serve(t)
	id := s.query("SELECT CONNECTION_ID()")
	count, err := s.conn.PrepareContext(t.Context(), "SELECT COUNT(*), MAX(name) FROM t WHERE id >= ? AND id < ?")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []any
		want []string
	}{{[]any{1, 3}, []string{"2", "two"}}, {[]any{"2", 10}, []string{"2", "two"}}, {[]any{nil, 1}, []string{"0", "<nil>"}}} {
		rows, err := count.Query(tt.args...)
		if err != nil {
			t.Fatal(err)
		}
		s.want(s.read(rows), tt.want)
	}
	if err := count.Close(); err != nil {
		t.Error(err)
	}
	s.want(s.query("SELECT id, name FROM t WHERE id = ?", 1), []string{"1", "one"})
	s.want(s.query("SELECT id FROM t ORDER BY id LIMIT ?, ?", 1, 1), []string{"2"})
	s.want(s.query("SELECT ?, ?, ?", "it's", 1.5, nil), []string{"it's", "1.5", "<nil>"})

	show, err := s.conn.PrepareContext(t.Context(), "SHOW ROUTINE LOAD FOR j")
	if err != nil {
		t.Fatal(err)
	}
	defer show.Close()
	for range 2 {
		rows, err := show.Query()
		if err != nil {
			t.Fatal(err)
		}
		if got := s.read(rows); len(got) != 1 || got[0][0] != "j" {
			t.Errorf("SHOW ROUTINE LOAD answered %v", got)
		}
	}
	for text, number := range map[string]uint16{
		"INSERT INTO t VALUES (?, ?)": 1295, "SELECT * FROM nothing WHERE a = ?": 1146, "SELECT nothing FROM t WHERE id = ?": 1054, "SELEKT ?": 1064,
	} {
		_, err := s.conn.PrepareContext(t.Context(), text)
		wantError(t, number, err)
	}
	s.want(s.query("SELECT CONNECTION_ID()"), id[0])
}

func TestEveryTypeInBothProtocols(t *testing.T) {
	s := serve(t)
	s.exec(`CREATE TABLE every (b BOOLEAN, ti TINYINT, si SMALLINT, i INT, bi BIGINT, li LARGEINT, f FLOAT, d DOUBLE, de DECIMAL(10,2), day DATE,
		at DATETIME, ms DATETIME(3), us DATETIME(6), c CHAR(10), vc VARCHAR(20), st STRING, js JSON)`)
	loader := s.connect()
	loader.DB = "shop"
	s.load(t, loader, "every", `SELECT true, -128, 32767, -2147483648, 9223372036854775807, -99999999999999999999999999999999999999, 1.5, -2.25e-10, -12345678.90,
		DATE '2024-02-29', TIMESTAMP '2024-02-29 12:34:56', TIMESTAMP '2024-02-29 12:34:56.7', TIMESTAMP '2024-02-29 00:00:00', '', 'größe', repeat('x', 70000), '{"k": 1}'
		UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL`)
	want := []string{"1", "-128", "32767", "-2147483648", "9223372036854775807", "-99999999999999999999999999999999999999", "1.5", "-2.25e-10", "-12345678.90",
		"2024-02-29", "2024-02-29 12:34:56", "2024-02-29 12:34:56.700", "2024-02-29 00:00:00.000000", "", "größe", strings.Repeat("x", 70000), `{"k": 1}`}
	nulls := slices.Repeat([]string{"<nil>"}, len(want))
	s.want(s.query("SELECT * FROM every"), want, nulls)
	s.want(s.query("SELECT * FROM every WHERE ? = 1", 1), want, nulls)
	s.want(s.query("SELECT COUNT(*) FROM every WHERE at = ? AND de = ? AND b = ? AND st = ? AND ms > ?",
		time.Date(2024, 2, 29, 12, 34, 56, 0, time.UTC), "-12345678.90", true, strings.Repeat("x", 70000), "2024-02-29 12:34:56.699"), []string{"1"})
}

func TestSelectLimit(t *testing.T) {
	s := serve(t)
	s.exec("SET sql_select_limit = 2")
	for text, rows := range map[string]int{
		"SELECT id FROM t": 2, "SELECT id FROM t ORDER BY id DESC": 2, "SELECT id FROM t LIMIT 3": 3, "SELECT id FROM t UNION ALL SELECT id FROM t": 2,
		"SELECT COUNT(*) FROM (SELECT id FROM t) x": 1, "SELECT 1 FROM t x, t y": 2, "VALUES ROW(1), ROW(2), ROW(3)": 2, "SELECT range FROM range(10)": 2,
	} {
		if got := s.query(text); len(got) != rows {
			t.Errorf("%s: %d rows, want %d", text, len(got), rows)
		}
	}
	s.want(s.query("SELECT COUNT(*) FROM (SELECT id FROM t) x"), []string{"3"})
	s.exec("SET sql_select_limit = DEFAULT")
	if got := s.query("SELECT id FROM t"); len(got) != 3 {
		t.Errorf("%d rows without a limit", len(got))
	}
}

func TestTimeLimit(t *testing.T) {
	s := serve(t)
	for _, variable := range []string{"max_execution_time = 100", "query_timeout = 1"} {
		s.exec("SET " + variable)
		wantError(t, 3024, drain(t.Context(), s.conn, endless))
		wantError(t, 3024, drain(t.Context(), s.conn, endless+", t"))
		s.exec("SET max_execution_time = DEFAULT")
	}
	s.want(s.query("SELECT 1"), []string{"1"})
}

func TestKillQuery(t *testing.T) {
	s := serve(t)
	victim := s.dial()
	var id int
	if err := victim.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{endless, endless + ", shop.t", "SELECT SLEEP(1000)"} {
		ended := make(chan error, 1)
		go func() { ended <- drain(t.Context(), victim, text) }()
		s.awaitRunning(id, text)
		s.exec(fmt.Sprintf("KILL QUERY %d", id))
		wantError(t, 1317, <-ended)
	}
	if err := victim.PingContext(t.Context()); err != nil {
		t.Errorf("the connection of a killed query: %v", err)
	}
}

// awaitRunning waits until a connection is seen to run a statement.
func (s *served) awaitRunning(id int, text string) {
	s.t.Helper()
	for range 1000 {
		running := s.query("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ? AND INFO = ?", id, text)
		if running[0][0] == "1" {
			return
		}
	}
	s.t.Fatalf("%s does not run", text)
}

// A client that goes away takes its query with it.
func TestClientGone(t *testing.T) {
	s := serve(t)
	victim := s.dial()
	var id int
	if err := victim.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- drain(ctx, victim, endless+", shop.t") }()
	s.awaitRunning(id, endless+", shop.t")
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		if got := s.query("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", id); got[0][0] == "0" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the query runs on without its client")
		}
	}
}

// A backend that goes away takes only the query.
func TestBackendGone(t *testing.T) {
	s := serve(t)
	other := s.dial()
	var id int
	if err := other.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- drain(t.Context(), other, endless+", shop.t") }()
	<-s.backend.asked
	s.backend.server.Stop()
	err := <-ended
	wantError(t, 1105, err)
	if err != nil && !strings.Contains(err.Error(), "run it again") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	if err := other.PingContext(t.Context()); err != nil {
		t.Errorf("the connection: %v", err)
	}
}

func TestDiagnostics(t *testing.T) {
	s := serve(t)
	wantError(t, 1054, drain(t.Context(), s.conn, "SELECT nothing FROM t"))
	s.want(s.query("SHOW WARNINGS"), []string{"Error", "1054", "Unknown column 'nothing' in 'field list'"})
	s.want(s.query("SHOW COUNT(*) ERRORS"), []string{"1"})
	s.query("SELECT 1")
	s.want(s.query("SHOW WARNINGS"))
	// One that cannot be read begins anew as well.
	wantError(t, 1064, drain(t.Context(), s.conn, "selec 1"))
	wantError(t, 1064, drain(t.Context(), s.conn, "selec 2"))
	s.want(s.query("SHOW COUNT(*) ERRORS"), []string{"1"})
	s.query("SELECT id FROM t")
	s.want(s.query("SELECT FOUND_ROWS()"), []string{"3"})
}

// What others see of a statement, its errors and the log never have passwords.
func TestPasswordsAreHidden(t *testing.T) {
	s := serve(t)
	const text = "SELECT INFO FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT INFO%' AND 'property.sasl.password' <> 'hunter2'"
	const shown = "SELECT INFO FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT INFO%' AND 'property.sasl.password' <> '***'"
	s.want(s.query(text), []string{shown})

	s.jobs.failure = errors.New("the broker is not there")
	for _, tail := range []string{`= "hunter2")`, `= "hunter2"`, `"hunter2")`, `= hunter2)`, `= "hunter2", "property.sasl.password" = "hunter2")`} {
		create := `CREATE ROUTINE LOAD j ON t FROM KAFKA ("kafka_topic" = "t", "property.sasl.password" ` + tail
		_, err := s.conn.ExecContext(t.Context(), create)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", create, err)
		}
		if warnings := fmt.Sprint(s.query("SHOW WARNINGS")); strings.Contains(warnings, "hunter2") {
			t.Errorf("SHOW WARNINGS: %s", warnings)
		}
	}
	if log := s.log.String(); strings.Contains(log, "hunter2") || !strings.Contains(log, "the broker is not there") {
		t.Errorf("the log has a password, or not the cause of the failure:\n%s", log)
	}
}
