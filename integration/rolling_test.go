package integration

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

func init() {
	mysql.RegisterDialContext("frontends", func(ctx context.Context, addrs string) (conn net.Conn, err error) {
		for addr := range strings.SplitSeq(addrs, ",") {
			var dialer net.Dialer
			if conn, err = dialer.DialContext(ctx, "tcp", addr); err == nil {
				return conn, nil
			}
		}
		return nil, err
	})
}

// anyOf connects to the first of the frontends that is there, counted from the
// given one, as drivers do that are told several hosts.
func anyOf(t *testing.T, fes cluster.Frontends, first int) *sql.DB {
	t.Helper()
	var addrs []string
	for i := range fes {
		addrs = append(addrs, fes[(first+i)%len(fes)].Ready.MySQL)
	}
	db, err := sql.Open("mysql", "root@frontends("+strings.Join(addrs, ",")+")/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// asking is clients that run statements all the time.
type asking struct {
	mu       sync.Mutex
	answered int
	longest  time.Duration
	slowest  string
	errs     []error
}

// run runs one statement, if need be by another connection: a frontend that ends
// answers MySQL's 1053 instead of beginning.
func (a *asking) run(ctx context.Context, db *sql.DB, statement string) {
	begin := time.Now()
	ending := true
	var err error
	for ending {
		ending, err = once(ctx, db, statement)
	}
	took := time.Since(begin)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.errs = append(a.errs, fmt.Errorf("%s, after %v: %w", statement, took, err))
		return
	}
	a.answered++
	if took > a.longest {
		a.longest, a.slowest = took, statement
	}
}

// once runs a statement and tells whether the connection has ended for it.
func once(ctx context.Context, db *sql.DB, statement string) (ending bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	_, err = cluster.Rows(ctx, conn, statement)
	refusal := (*mysql.MySQLError)(nil)
	// Go's driver calls its buffer busy, and sends nothing, if the 1053 came
	// right behind the answer before.
	if errors.As(err, &refusal) && refusal.Number == 1053 || errors.Is(err, mysql.ErrBusyBuffer) {
		conn.Raw(func(any) error { return driver.ErrBadConn })
		return true, err
	}
	return false, err
}

// TestRollingRestart: every process is ended with SIGTERM and started again, one
// after the other, as in an upgrade, while records come and clients at all
// frontends run statements. No statement fails; each row is there once.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	fes := cluster.StartFrontends(t, 3)
	var bes []*cluster.Process
	for range 2 {
		bes = append(bes, cluster.Start(t, "be", "--fe", fes.RPC()))
	}
	l := setUp(t, anyOf(t, fes, 0), broker, options{partitions: 3, properties: map[string]string{"format": "json", "desired_concurrent_number": "4"}})
	ctx, stop := context.WithCancel(t.Context())
	produced, wait := l.produceUntil(ctx, 3)
	var clients asking
	var asked sync.WaitGroup
	for i := range fes {
		db := anyOf(t, fes, i)
		asked.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				clients.run(t.Context(), db, "SELECT count(*) FROM "+l.table)
				clients.run(t.Context(), db, fmt.Sprintf("CREATE DATABASE IF NOT EXISTS %s_%d_%d", l.database(), i, n))
				clients.run(t.Context(), db, fmt.Sprintf("DROP DATABASE IF EXISTS %s_%d_%d", l.database(), i, n))
				clients.run(t.Context(), db, "SHOW ALL ROUTINE LOAD FOR "+l.table)
				<-time.After(50 * time.Millisecond)
			}
		})
	}
	end := sync.OnceFunc(func() { stop(); wait(); asked.Wait() })
	defer end()
	for _, p := range append(fes, bes...) {
		p.Stop()
		p.Run()
		l.waitAlive(3, 2)
		l.waitMore(l.mustCount())
	}
	end()
	t.Logf("%d statements, the longest took %v: %s", clients.answered, clients.longest, clients.slowest)
	for _, err := range clients.errs {
		t.Error(err)
	}
	l.waitRows(produced.Load())
	l.checkIDs(produced.Load())
	l.checkLedger()
}

// waitAlive waits until so many frontends and backends are alive, as an operator
// would before the next restart.
func (l *load) waitAlive(frontends, backends int) {
	l.t.Helper()
	cluster.Eventually(l.t, limit, func() error {
		for statement, want := range map[string]int{"SHOW FRONTENDS": frontends, "SHOW BACKENDS": backends} {
			lines, err := cluster.Rows(l.t.Context(), l.db, statement)
			if err != nil {
				return err
			}
			alive := 0
			for _, line := range lines {
				if line["Alive"] == "true" {
					alive++
				}
			}
			if alive != want {
				return fmt.Errorf("%s: %v, want %d alive", statement, lines, want)
			}
		}
		return nil
	})
}
