package integration

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

var losses = flag.Int("losses", 1, "how often TestFailover loses the leader in each way")

// electionTimeout is raftstore's.
const electionTimeout = time.Second

// TestFailover: the leading frontend is lost in every way, under load. The
// others answer reads and writes again, and rows come, after a few election
// timeouts; -v tells how many.
func TestFailover(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	fes := cluster.StartFrontends(t, 3)
	cluster.Start(t, "be", "--fe", fes.RPC())
	l := setUp(t, anyOf(t, fes, 0), broker, options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "2"}})
	ctx, stop := context.WithCancel(t.Context())
	produced, wait := l.produceUntil(ctx, 1)
	defer func() { stop(); wait() }()
	l.waitMore(0)
	for _, way := range []struct {
		name       string
		lose, mend func(*cluster.Process)
	}{
		{"kill -9", (*cluster.Process).Kill, (*cluster.Process).Run},
		{"SIGSTOP", func(p *cluster.Process) { p.Signal(syscall.SIGSTOP) }, func(p *cluster.Process) { p.Signal(syscall.SIGCONT) }},
		{"SIGTERM", func(p *cluster.Process) { p.Signal(syscall.SIGTERM) }, func(p *cluster.Process) { l.ended(p); p.Run() }},
	} {
		var took outages
		for range *losses {
			leader := fes.Leader(t)
			others := slices.DeleteFunc(slices.Clone(fes), func(p *cluster.Process) bool { return p == leader })
			took.measure(l, others, func() { way.lose(leader) })
			way.mend(leader)
			l.waitAlive(3, 1)
		}
		t.Logf("%s of the leader, in election timeouts of %v: %s", way.name, electionTimeout, took.String())
	}
	stop()
	wait()
	l.waitRows(produced.Load())
	l.checkIDs(produced.Load())
	l.checkLedger()
}

// ended waits until a process that was told to end has done so.
func (l *load) ended(p *cluster.Process) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), limit)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		l.t.Fatal(err)
	}
}

// outages are how long it took until a read and a write were answered, and until
// new rows were seen.
type outages struct{ read, write, rows []time.Duration }

// measure loses the leader and asks two of the others.
func (o *outages) measure(l *load, others cluster.Frontends, lose func()) {
	l.t.Helper()
	reader, writer := anyOf(l.t, others, 0), anyOf(l.t, others, 1)
	before := l.mustCount()
	begin := time.Now()
	lose()
	var asked sync.WaitGroup
	asked.Go(func() {
		retry(l.t, reader, "SELECT count(*) FROM "+l.table)
		o.read = append(o.read, time.Since(begin))
		for {
			var n int64
			err := reader.QueryRowContext(l.t.Context(), "SELECT count(*) FROM "+l.table).Scan(&n)
			if l.t.Context().Err() != nil || time.Since(begin) > limit || err == nil && n > before {
				break
			}
		}
		o.rows = append(o.rows, time.Since(begin))
	})
	asked.Go(func() {
		retry(l.t, writer, fmt.Sprintf("CREATE DATABASE IF NOT EXISTS %s_%d", l.database(), begin.UnixNano()))
		o.write = append(o.write, time.Since(begin))
	})
	asked.Wait()
	if longest := slices.Max(slices.Concat(o.read, o.write, o.rows)); longest > limit {
		l.t.Errorf("not served again after %v", longest)
	}
}

// retry runs a statement, which may be carried out twice, until it is answered.
func retry(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	for begin := time.Now(); ; {
		_, err := cluster.Rows(t.Context(), db, statement)
		if err == nil {
			return
		}
		t.Logf("%s: %v", statement, err)
		if time.Since(begin) > limit {
			t.Errorf("%s: %v", statement, err)
			return
		}
	}
}

func (o *outages) String() string {
	var parts []string
	for _, of := range []struct {
		what string
		took []time.Duration
	}{{"read", o.read}, {"write", o.write}, {"new rows", o.rows}} {
		slices.Sort(of.took)
		in := func(d time.Duration) float64 { return float64(d) / float64(electionTimeout) }
		parts = append(parts, fmt.Sprintf("%s %.1f (median), %.1f (longest)", of.what, in(of.took[len(of.took)/2]), in(of.took[len(of.took)-1])))
	}
	return strings.Join(parts, "; ")
}
