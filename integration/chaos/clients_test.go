package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"shoal/integration/cluster"
)

const (
	// patience is how long a client waits at one frontend while there are
	// faults.
	patience = 10 * time.Second
	// stubborn is how long it goes from one to the next.
	stubborn = 2 * time.Minute
)

// A client asks one frontend until that fails, then the next one.
type client struct {
	w        *world
	at       int
	patience time.Duration
}

func (w *world) client(at int) *client { return &client{w, at, patience} }

// ask asks once.
func (c *client) ask(ctx context.Context, statement string) ([]map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	n := c.w.fes[c.at%len(c.w.fes)]
	lines, err := cluster.Rows(ctx, n.db, statement)
	if err == nil {
		c.w.answered()
		return lines, nil
	}
	return nil, fmt.Errorf("%s: %s: %w", n.name, statement, err)
}

// insist asks until there is an answer.
func (c *client) insist(ctx context.Context, statement string) ([]map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, stubborn)
	defer cancel()
	for {
		lines, err := c.ask(ctx, statement)
		if err == nil || ctx.Err() != nil {
			return lines, err
		}
		c.at++
		last(ctx, 100*time.Millisecond)
	}
}

// number is the only cell of a statement's answer.
func number(lines []map[string]string) (n int64) {
	for _, cell := range lines[0] {
		fmt.Sscan(cell, &n)
	}
	return n
}

// count looks at the tables all the time, until ctx ends. What one client has
// seen, all see.
func (c *client) count(ctx context.Context, jobs []*job) {
	for i := c.at; last(ctx, 300*time.Millisecond); i++ {
		j := jobs[i%len(jobs)]
		for ctx.Err() == nil {
			before := j.seen()
			lines, err := c.ask(ctx, "SELECT count(*) FROM "+j.name)
			if err == nil {
				if n := number(lines); n < before {
					c.w.t.Errorf("%s: %d rows in %s, where %d were seen before", c.w.fes[c.at%len(c.w.fes)].name, n, j.name, before)
				} else {
					j.see(n)
				}
				break
			}
			c.refused(ctx, err)
		}
	}
}

// define creates and drops tables, until ctx ends. A table whose creation was
// answered is there, at any frontend.
func (c *client) define(ctx context.Context, database string) {
	for i := 0; last(ctx, time.Second); i++ {
		table := fmt.Sprintf("%s.w%d", database, i)
		if _, err := c.ask(ctx, "CREATE TABLE "+table+` (id INT) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES("replication_num"="1")`); err != nil {
			c.refused(ctx, err)
			continue
		}
		for ctx.Err() == nil {
			c.at++
			_, err := c.ask(ctx, "SELECT count(*) FROM "+table)
			if err == nil {
				break
			}
			c.refused(ctx, err)
		}
	}
}

// refused goes on to the next frontend after an error, which must not be that
// what was created is not there.
func (c *client) refused(ctx context.Context, err error) {
	refusal := (*mysql.MySQLError)(nil)
	if errors.As(err, &refusal) && slices.Contains([]uint16{1049, 1051, 1146}, refusal.Number) {
		c.w.t.Errorf("what was created is not there: %v", err)
	}
	c.w.refused(err)
	c.at++
	last(ctx, 100*time.Millisecond)
}

// watch is what the clients meet, and what happens, for the report.
type watch struct {
	t     *testing.T
	begin time.Time

	mu       sync.Mutex
	faults   map[kind]int
	answers  int
	refusals int
	last     time.Time     // of an answer; zero while nothing is measured
	silence  time.Duration // in which no client had an answer, where it was over a second
	longest  time.Duration
	errors   map[string]int
}

func newWatch(t *testing.T) *watch {
	return &watch{t: t, begin: time.Now(), faults: map[kind]int{}, errors: map[string]int{}}
}

// note tells what happens, in the test's log.
func (w *watch) note(format string, args ...any) {
	w.t.Logf("%7.1fs %s", time.Since(w.begin).Seconds(), fmt.Sprintf(format, args...))
}

func (w *watch) survived(k kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[k]++
}

// measure begins or ends the measuring of silence.
func (w *watch) measure(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Time{}
	if on {
		w.last = time.Now()
	}
}

func (w *watch) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if gap := now.Sub(w.last); gap > time.Second && !w.last.IsZero() {
		w.silence += gap
		w.longest = max(w.longest, gap)
	}
	if !w.last.IsZero() {
		w.last = now
	}
	w.answers++
}

func (w *watch) refused(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusals++
	w.errors[errors.Unwrap(err).Error()]++
}

// seen is how many rows any client has seen of the job's table.
func (j *job) seen() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rows
}

// see takes a number of rows that a client has seen.
func (j *job) see(n int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n <= j.rows {
		return
	}
	now := time.Now()
	j.standstill = max(j.standstill, now.Sub(j.moved))
	j.rows, j.moved = n, now
}
