package wire_test

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"shoal/fe/errno"
)

func open(t *testing.T, ts *testServer, login, options string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)/shop%s", login, ts.addr, options))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// all reads a result as text, NULL as <nil>.
func all(t *testing.T, rows *sql.Rows, err error) [][]string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var result [][]string
	for rows.Next() {
		cells := make([]any, len(columns))
		texts := make([]sql.NullString, len(columns))
		for i := range cells {
			cells[i] = &texts[i]
		}
		if err := rows.Scan(cells...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, s := range texts {
			row[i] = s.String
			if !s.Valid {
				row[i] = "<nil>"
			}
		}
		result = append(result, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return result
}

func nils(n int) []string {
	row := make([]string, n)
	for i := range row {
		row[i] = "<nil>"
	}
	return row
}

func wantNumber(t *testing.T, err error, num uint16) {
	t.Helper()
	if e, ok := errors.AsType[*mysql.MySQLError](err); !ok || e.Number != num {
		t.Errorf("error %v, want number %d", err, num)
	}
}

func TestTypesInBothProtocols(t *testing.T) {
	db := open(t, startServer(t, nil, nil), "root", "")
	text := [][]string{append(append([]string{}, typeRow...), "<nil>"), nils(len(typeColumns))}
	rows, err := db.Query("types;")
	if got := all(t, rows, err); !reflect.DeepEqual(got, text) {
		t.Errorf("text protocol:\n%v\nwant\n%v", got, text)
	}

	stmt, err := db.Prepare("types")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	rows, err = stmt.Query()
	if got := all(t, rows, err); !reflect.DeepEqual(got, text) {
		t.Errorf("binary protocol:\n%v\nwant\n%v", got, text)
	}
}

// TestLargeStatement: a statement that is too large is refused by its number,
// after all of it was sent, and the connection goes on.
func TestLargeStatement(t *testing.T) {
	db := open(t, startServer(t, nil, nil), "root", "?maxAllowedPacket=1073741824")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "insert"+strings.Repeat(" ", 65<<20))
	wantNumber(t, err, 1153)
	if err := conn.PingContext(t.Context()); err != nil {
		t.Errorf("the next command: %v", err)
	}
}

func TestColumnTypes(t *testing.T) {
	db := open(t, startServer(t, nil, nil), "root", "")
	rows, err := db.Query("types")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.DatabaseTypeName())
	}
	want := "TINYINT TINYINT SMALLINT INT BIGINT CHAR FLOAT DOUBLE DECIMAL DATE DATETIME DATETIME TIME CHAR VARCHAR TEXT JSON VARBINARY NULL"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("types = %s\nwant    %s", got, want)
	}
	if p, s, ok := columns[8].DecimalSize(); !ok || p != 10 || s != 2 {
		t.Errorf("DecimalSize = %d, %d, %v; want 10, 2", p, s, ok)
	}
}

func TestEncodedRows(t *testing.T) {
	db := open(t, startServer(t, nil, nil), "root", "")
	want := [][]string{{"42", "ok"}, {"<nil>", ""}}
	rows, err := db.Query("encoded")
	if got := all(t, rows, err); !reflect.DeepEqual(got, want) {
		t.Errorf("text: %v", got)
	}
	stmt, err := db.Prepare("encoded")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	rows, err = stmt.Query()
	if got := all(t, rows, err); !reflect.DeepEqual(got, want) {
		t.Errorf("binary: %v", got)
	}
}

func TestParametersTwice(t *testing.T) {
	db := open(t, startServer(t, nil, nil), "root", "")
	stmt, err := db.Prepare("echo ?, ?, ?, ?")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	long := strings.Repeat("ü", 35_000)
	moment := time.Date(2023, 11, 14, 22, 13, 20, 123456000, time.UTC)
	executions := []struct {
		args []any
		want []string
	}{
		{[]any{-1, uint64(1<<64 - 1), 1.5, "it's"}, []string{"1:-1", "2:18446744073709551615", "3:1.5", "5:it's"}},
		{[]any{-2, uint64(7), 2.5, ""}, []string{"1:-2", "2:7", "3:2.5", "5:"}},
		{[]any{"x", nil, true, moment}, []string{"5:x", "<nil>", "1:1", "5:2023-11-14 22:13:20.123456"}},
		{[]any{long, []byte("b"), nil, nil}, []string{"5:" + long, "5:b", "<nil>", "<nil>"}},
	}
	for i, e := range executions {
		rows, err := stmt.Query(e.args...)
		if got := all(t, rows, err); !reflect.DeepEqual(got, [][]string{e.want}) {
			t.Errorf("execution %d: %.200v", i, got)
		}
	}
}

func TestLargePacketsBothWays(t *testing.T) {
	db := open(t, startServer(t, nil, nil), "root", "?maxAllowedPacket=67108864")
	for _, size := range []int{1<<24 - 11, 1<<24 + 5} {
		var n int
		var text string
		if err := db.QueryRow(fmt.Sprintf("rows 1 %d", size)).Scan(&n, &text); err != nil || len(text) != size {
			t.Errorf("result of %d bytes: %d, %v", size, len(text), err)
		}
	}
	long := strings.Repeat("y", 1<<24+100)
	var text string
	if err := db.QueryRow("echo ?", long).Scan(&text); err != nil || text != "5:"+long {
		t.Errorf("parameter of %d bytes came back with %d, %v", len(long), len(text), err)
	}
}

func TestManyRows(t *testing.T) {
	db := open(t, startServer(t, nil, nil), "root", "")
	const n = 50_000
	rows, err := db.Query(fmt.Sprintf("rows %d 100", n))
	got := all(t, rows, err)
	if len(got) != n || got[n-1][0] != fmt.Sprint(n-1) {
		t.Errorf("%d rows, want %d", len(got), n)
	}
}

func TestResultsWithoutRows(t *testing.T) {
	db := open(t, startServer(t, nil, nil), "root", "")
	for range 2 {
		result, err := db.Exec("insert")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := result.RowsAffected(); err != nil || n != 3 {
			t.Errorf("affected = %d, %v", n, err)
		}
	}
	if _, err := db.Exec("insert ?", 1); err != nil {
		t.Errorf("prepared without rows: %v", err)
	}
}

func TestErrorsLeaveTheConnectionUsable(t *testing.T) {
	db := open(t, startServer(t, nil, nil), "root", "")
	db.SetMaxOpenConns(1)
	var id, db0, user string
	if err := db.QueryRow("session").Scan(&db0, &user, &id); err != nil || db0 != "shop" || user != "root" {
		t.Fatalf("session: %q %q, %v", db0, user, err)
	}
	for query, number := range map[string]uint16{
		"selekt": 1064, "": 1065, " ; ": 1065, "panic": 1105, "brokenrow": 1105, "failing": 1054, "set nothing": 1193, "\xff": 1300,
	} {
		t.Run(query, func(t *testing.T) {
			rows, err := db.Query(query)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
			}
			wantNumber(t, err, number)
		})
	}
	_, err := db.Prepare("kill ?")
	wantNumber(t, err, 1295)
	var again string
	if err := db.QueryRow("session").Scan(&db0, &user, &again); err != nil || again != id {
		t.Errorf("connection %s became %s, %v", id, again, err)
	}
}

func TestClosedContextStopsTheStatement(t *testing.T) {
	ts := startServer(t, nil, nil)
	db := open(t, ts, "root", "")
	for _, query := range []string{"hang", "hangsilent"} {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			rows, err := db.QueryContext(ctx, query)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
			}
			failed <- err
		}()
		<-ts.hanging
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the client got %v", query, err)
		}
		if cause := <-ts.ended; cause == nil {
			t.Errorf("%s: the handler's context ended without a cause", query)
		}
	}
}

func TestKillQuery(t *testing.T) {
	ts := startServer(t, nil, nil)
	db := open(t, ts, "root", "")
	victim, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer victim.Close()
	var d, u string
	var id int
	if err := victim.QueryRowContext(t.Context(), "session").Scan(&d, &u, &id); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"hang", "hangsilent"} {
		failed := make(chan error, 1)
		go func() {
			rows, err := victim.QueryContext(t.Context(), query)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
				rows.Close()
			}
			failed <- err
		}()
		<-ts.hanging
		if _, err := db.Exec(fmt.Sprintf("kill %d", id)); err != nil {
			t.Fatal(err)
		}
		wantNumber(t, <-failed, 1317)
		if cause := <-ts.ended; !errors.Is(cause, errno.QueryInterrupted) {
			t.Errorf("%s: the handler saw %v", query, cause)
		}
	}
	if err := victim.PingContext(t.Context()); err != nil {
		t.Errorf("the victim's connection: %v", err)
	}
	_, err = db.Exec("kill 4000000000")
	wantNumber(t, err, 1094)
}

func TestPasswords(t *testing.T) {
	const password = "sesame"
	one, two := sha1.Sum([]byte(password)), sha256.Sum256([]byte(password))
	native, sha2 := sha1.Sum(one[:]), sha256.Sum256(two[:])
	ts := startServer(t, accounts{
		"both":   {Native: native[:], SHA2: sha2[:]},
		"native": {Native: native[:]},
	}, nil)
	tests := []struct {
		login string
		num   uint16
	}{
		{"root", 0}, {"both:sesame", 0}, {"native:sesame", 0},
		{"root:x", 1045}, {"both", 1045}, {"both:Sesame", 1045}, {"native:x", 1045}, {"nobody", 1045}, {"nobody:sesame", 1045},
	}
	for _, tt := range tests {
		err := open(t, ts, tt.login, "").Ping()
		if tt.num == 0 {
			if err != nil {
				t.Errorf("%s: %v", tt.login, err)
			}
			continue
		}
		wantNumber(t, err, tt.num)
		using := "NO"
		if strings.Contains(tt.login, ":") {
			using = "YES"
		}
		if e, ok := errors.AsType[*mysql.MySQLError](err); ok && !strings.HasSuffix(e.Message, "(using password: "+using+")") {
			t.Errorf("%s: message %q", tt.login, e.Message)
		}
	}
	db, err := sql.Open("mysql", "root@tcp("+ts.addr+")/nowhere")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	wantNumber(t, db.Ping(), 1049)
}
