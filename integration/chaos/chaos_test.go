package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"shoal/integration/cluster"
)

const (
	// roundLength is how long faults go on between two looks at everything.
	roundLength = 2 * time.Minute
	// calm is how long it may take until all is loaded once faults have ended:
	// generous, for a busy machine.
	calm = 3 * time.Minute
)

// TestChaos: whatever happens to processes, networks, disks and brokers, each
// record is in each table once.
func TestChaos(t *testing.T) {
	w := newWorld(t)
	kinds := onProcesses
	if _, ours := field.(*bridge); ours {
		kinds = slices.Concat(onProcesses, onNetworks)
	}
	var loaded int64
	var recovery, standstill time.Duration
	rounds := max(1, time.Duration(*minutes)*time.Minute/roundLength)
	for n := range rounds {
		r := w.newRound(int(n) + 1)
		r.run(plan(*seed+uint64(n), roundLength, kinds))
		took, rows := r.check()
		recovery, loaded = max(recovery, took), loaded+rows
		for _, j := range r.jobs {
			standstill = max(standstill, j.standstill)
		}
		if t.Failed() {
			break
		}
		r.end()
	}
	t.Logf("seed %d, %d minutes of faults, %s\n%s", *seed, int(rounds)*int(roundLength.Minutes()), field.describe(), w.report())
	t.Logf("%d rows loaded, none lost, none twice; all was loaded %.1f s after the faults at most; the longest time without new rows in a table was %.1f s",
		loaded, recovery.Seconds(), standstill.Seconds())
}

// A round is two topics, four jobs, and what happens to them.
type round struct {
	*world
	database string
	topics   []*topic
	jobs     []*job
}

// newRound makes topics and jobs: both modes, with transactions and without.
func (w *world) newRound(n int) *round {
	r := &round{world: w, database: fmt.Sprintf("round%d", n), topics: []*topic{w.newTopic(3), w.newTopic(2)}}
	c := w.client(n)
	c.patience = calm
	if _, err := c.insist(w.t.Context(), "CREATE DATABASE "+r.database); err != nil {
		w.t.Fatal(err)
	}
	for _, topic := range r.topics {
		for _, mode := range []string{"classic", "share_group"} {
			j, err := topic.load(c, r.database, mode)
			if err != nil {
				w.t.Fatal(err)
			}
			r.jobs = append(r.jobs, j)
		}
	}
	return r
}

// run produces and asks while the faults go on.
func (r *round) run(faults []fault) {
	ctx, stop := context.WithCancel(r.t.Context())
	defer stop()
	var busy sync.WaitGroup
	defer busy.Wait()
	for i, produce := range []func(context.Context) error{r.topics[0].produce, r.topics[1].transact} {
		busy.Go(func() {
			if err := produce(ctx); err != nil {
				r.t.Errorf("producing to %s: %v", r.topics[i].name, err)
			}
		})
	}
	r.measure(true)
	defer r.measure(false)
	for i := range r.fes {
		busy.Go(func() { r.client(i).count(ctx, r.jobs) })
	}
	busy.Go(func() { r.client(0).define(ctx, r.database) })
	r.rage(ctx, faults, r.jobs)
	stop()
}

// check waits until all is loaded, and looks at everything. It returns how long
// that took and how many rows there are.
func (r *round) check() (took time.Duration, loaded int64) {
	begin := time.Now()
	for _, n := range r.nodes() {
		if err := n.alive(); err != nil {
			r.t.Error(err)
		}
	}
	c := r.client(0)
	for _, j := range r.jobs {
		truth, err := j.topic.truth(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		cluster.Eventually(r.t, calm, func() error { return j.complete(r.t.Context(), c, int64(len(truth))) })
		took = max(took, time.Since(begin))
		loaded += int64(len(truth))
		if err := j.exact(r.t.Context(), c, truth); err != nil {
			r.t.Error(err)
		}
	}
	r.note("%s: %d rows", r.database, loaded)
	return took, loaded
}

// complete tells what the job still lacks of n rows and of having told the
// broker.
func (j *job) complete(ctx context.Context, c *client, n int64) error {
	lines, err := c.insist(ctx, "SELECT count(*) FROM "+j.name)
	if err != nil {
		return err
	}
	status, err := c.insist(ctx, "SHOW ROUTINE LOAD FOR "+j.name)
	if err != nil {
		return err
	}
	if got := number(lines); got != n || len(status) != 1 || status[0]["State"] != "RUNNING" {
		return fmt.Errorf("%s: %d rows of %d; job: %v", j.name, got, n, status)
	}
	ledger, err := c.insist(ctx, "SHOW ROUTINE LOAD LEDGER FOR "+j.name)
	if err != nil {
		return err
	}
	for _, partition := range ledger {
		if partition["Lag"] != "0" {
			return fmt.Errorf("%s: lag in ledger %v", j.name, partition)
		}
	}
	return nil
}

// exact tells what is wrong with a table that should have these ids, each once,
// and with the job's ledger.
func (j *job) exact(ctx context.Context, c *client, truth map[int64]bool) error {
	ids := slices.Sorted(maps.Keys(truth))
	sum := int64(0)
	for _, id := range ids {
		sum += id
	}
	lines, err := c.insist(ctx, "SELECT count(*) AS n, count(DISTINCT id) AS ids, min(id) AS low, max(id) AS high, sum(id) AS total FROM "+j.name)
	if err != nil {
		return err
	}
	want := map[string]string{"n": fmt.Sprint(len(ids)), "ids": fmt.Sprint(len(ids)), "low": fmt.Sprint(ids[0]), "high": fmt.Sprint(ids[len(ids)-1]), "total": fmt.Sprint(sum)}
	if !maps.Equal(lines[0], want) {
		return fmt.Errorf("%s has %v, want %v", j.name, lines[0], want)
	}
	checked, err := c.insist(ctx, "ADMIN CHECK ROUTINE LOAD LEDGER FOR "+j.name)
	if err != nil {
		return err
	}
	for _, line := range checked {
		if line["Verdict"] != "OK" {
			return fmt.Errorf("%s: ledger: %v", j.name, line)
		}
	}
	return nil
}

// end removes what the round made.
func (r *round) end() {
	c := r.client(0)
	for _, j := range r.jobs {
		if _, err := c.insist(r.t.Context(), "STOP ROUTINE LOAD FOR "+j.name); err != nil {
			r.t.Fatal(err)
		}
	}
	if _, err := c.insist(r.t.Context(), "DROP DATABASE "+r.database); err != nil {
		r.t.Fatal(err)
	}
}

// report is what happened so far.
func (w *watch) report() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := "survived:\n"
	total := 0
	for _, k := range slices.Sorted(maps.Keys(w.faults)) {
		text += fmt.Sprintf("%6d %s\n", w.faults[k], k)
		total += w.faults[k]
	}
	text += fmt.Sprintf("%6d in all\n", total)
	text += fmt.Sprintf("clients: %d statements answered, %d tries failed at one frontend; no client had an answer for %.1f s in all, %.1f s at most\n",
		w.answers, w.refusals, w.silence.Seconds(), w.longest.Seconds())
	for _, err := range slices.Sorted(maps.Keys(w.errors)) {
		text += fmt.Sprintf("%6d × %s\n", w.errors[err], err)
	}
	return text
}
