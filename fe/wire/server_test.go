package wire_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"shoal/fe/errno"
	"shoal/fe/literal"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A testHandler answers a few statements of its own. A statement that hangs
// says so on hanging and tells on ended why it was stopped.
type testHandler struct {
	hanging   chan struct{}
	ended     chan error
	processes *session.Processes
}

func (h *testHandler) Execute(ctx context.Context, s *session.Session, sql string, args []literal.Value, w result.Writer) error {
	s.ClearWarnings()
	verb, rest, _ := strings.Cut(sql, " ")
	switch verb {
	case "rows": // n rows of a number and a text of size bytes: rows n size
		return h.rows(rest, w)
	case "echo": // kind and text of each parameter
		return echo(args, w)
	case "types":
		return types(w)
	case "encoded":
		return encoded(w)
	case "session":
		return oneRow(w, []byte(s.DB), []byte(s.User), []byte(strconv.Itoa(int(s.ID))))
	case "hang": // after a first row
		return h.hang(ctx, w)
	case "hangsilent":
		h.hanging <- struct{}{}
		<-ctx.Done()
		h.ended <- context.Cause(ctx)
		return ctx.Err()
	case "kill":
		id, err := strconv.Atoi(rest)
		if err != nil {
			return err
		}
		return h.processes.Kill(uint32(id), true)
	case "set":
		return s.Set(session.SessionScope, rest, literal.Int(0))
	case "warn":
		s.Warn(session.LevelWarning, errno.TruncatedValue, "careful")
		return nil
	case "insert":
		w.OK(3, "Records: 3")
		return nil
	case "panic":
		panic("the handler is broken")
	case "brokenrow":
		if err := w.Columns([]result.Column{{Name: "n", Type: "int"}}); err != nil {
			return err
		}
		return w.Row([][]byte{[]byte("1"), []byte("2")})
	case "failing": // after a row
		if err := oneRow(w, []byte("1")); err != nil {
			return err
		}
		return errno.New(errno.BadField, "Unknown column 'c' in 'field list'")
	}
	return errno.New(errno.Syntax, "You have an error in your SQL syntax near '%s'", sql)
}

func (h *testHandler) rows(rest string, w result.Writer) error {
	var n, size int
	if _, err := fmt.Sscan(rest, &n, &size); err != nil {
		return err
	}
	if err := w.Columns([]result.Column{{Name: "n", Type: "bigint"}, {Name: "s", Type: "text"}}); err != nil {
		return err
	}
	text := []byte(strings.Repeat("x", size))
	for i := range n {
		if err := w.Row([][]byte{strconv.AppendInt(nil, int64(i), 10), text}); err != nil {
			return err
		}
	}
	return nil
}

func (h *testHandler) hang(ctx context.Context, w result.Writer) error {
	if err := oneRow(w, []byte("first")); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	h.hanging <- struct{}{}
	<-ctx.Done()
	h.ended <- context.Cause(ctx)
	return ctx.Err()
}

func oneRow(w result.Writer, cells ...[]byte) error {
	columns := make([]result.Column, len(cells))
	for i := range columns {
		columns[i] = result.Column{Name: fmt.Sprint("c", i), Type: "varchar(20)"}
	}
	if err := w.Columns(columns); err != nil {
		return err
	}
	return w.Row(cells)
}

func echo(args []literal.Value, w result.Writer) error {
	cells := make([][]byte, len(args))
	for i, a := range args {
		cells[i] = fmt.Appendf(nil, "%d:%s", a.Kind(), a.Text())
		if a.IsNull() {
			cells[i] = nil
		}
	}
	return oneRow(w, cells...)
}

var typeColumns = []result.Column{
	{Name: "b", Type: "boolean"}, {Name: "t", Type: "tinyint"}, {Name: "s", Type: "smallint"}, {Name: "i", Type: "int"},
	{Name: "l", Type: "bigint"}, {Name: "ll", Type: "largeint"}, {Name: "f", Type: "float"}, {Name: "d", Type: "double"},
	{Name: "dec", Type: "decimal(10,2)"}, {Name: "da", Type: "date"}, {Name: "dt", Type: "datetime"}, {Name: "dt6", Type: "datetime(6)"},
	{Name: "ti", Type: "time"}, {Name: "c", Type: "char(3)"}, {Name: "vc", Type: "varchar(5)"}, {Name: "st", Type: "text"},
	{Name: "j", Type: "json"}, {Name: "bl", Type: "blob"}, {Name: "n", Type: "null"},
}

var typeRow = []string{
	"1", "-128", "-32768", "2147483647", "-9223372036854775808", "-170141183460469231731687303715884105728", "1.5", "-2.25e-10",
	"12.50", "2024-02-29", "2024-02-29 12:34:56", "2024-02-29 00:00:00.000001",
	"-30:00:01.500000", "abc", "", "text", `{"a":1}`, "\x00\xff",
}

func types(w result.Writer) error {
	if err := w.Columns(typeColumns); err != nil {
		return err
	}
	cells := make([][]byte, len(typeColumns))
	for i, s := range typeRow {
		cells[i] = []byte(s)
	}
	if err := w.Row(cells); err != nil {
		return err
	}
	return w.Row(make([][]byte, len(typeColumns)))
}

func encoded(w result.Writer) error {
	if err := w.Columns([]result.Column{{Name: "n", Type: "int"}, {Name: "s", Type: "text"}}); err != nil {
		return err
	}
	return errors.Join(w.EncodedRow([]byte("\x0242\x02ok")), w.EncodedRow([]byte("\xfb\x00")))
}

func (h *testHandler) Describe(_ context.Context, _ *session.Session, sql string) ([]result.Column, error) {
	verb, _, _ := strings.Cut(sql, " ")
	switch verb {
	case "rows":
		return []result.Column{{Name: "n", Type: "bigint"}, {Name: "s", Type: "text"}}, nil
	case "types":
		return typeColumns, nil
	case "encoded":
		return []result.Column{{Name: "n", Type: "int"}, {Name: "s", Type: "text"}}, nil
	case "echo", "hang", "failing":
		return []result.Column{{Name: "c0", Type: "varchar(20)"}}, nil
	case "kill":
		return nil, errno.New(errno.UnsupportedPrepared, "This command is not supported in the prepared statement protocol yet")
	}
	return nil, nil
}

func (h *testHandler) Fields(_ context.Context, _ *session.Session, table string) ([]result.Column, error) {
	if table != "t" {
		return nil, errno.New(errno.NoSuchTable, "Table 'd.%s' doesn't exist", table)
	}
	return []result.Column{{Name: "id", Type: "int"}, {Name: "name", Type: "text"}}, nil
}

func (h *testHandler) Use(_ context.Context, s *session.Session, db string) error {
	if db == "nowhere" {
		return errno.New(errno.UnknownDatabase, "Unknown database '%s'", db)
	}
	s.DB = db
	return nil
}

// accounts are root without a password, and others by name.
type accounts map[string]wire.Account

func (a accounts) Account(user, _ string) (wire.Account, bool) {
	account, ok := a[user]
	return account, ok || user == "root"
}

// A testServer is a running server and what a test may turn.
type testServer struct {
	*testHandler
	addr string
	stop func() // ends Run and waits for it
}

func startServer(t *testing.T, known accounts, change func(*session.Server)) *testServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ts := &testServer{addr: ln.Addr().String()}
	ts.testHandler, ts.stop = serveOn(t, ln, known, change)
	return ts
}

// serveOn runs a server until stop or the test's end.
func serveOn(t *testing.T, ln net.Listener, known accounts, change func(*session.Server)) (*testHandler, func()) {
	facts := session.DefaultServer()
	if change != nil {
		change(&facts)
	}
	processes := session.NewProcesses()
	h := &testHandler{hanging: make(chan struct{}, 1), ended: make(chan error, 1), processes: processes}
	server := wire.New(wire.Config{
		Handler: h, Accounts: known, Globals: session.NewGlobals(facts), Processes: processes,
		Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Run(ctx, ln); err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := processes.Len(); n != 0 {
			t.Errorf("%d connections outlive Run", n)
		}
	}()
	stop := func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return h, stop
}
