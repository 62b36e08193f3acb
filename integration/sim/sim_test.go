package sim

import (
	"flag"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	seed = flag.Uint64("seed", 1, "first seed of the simulation")
	runs = flag.Uint64("runs", 1000, "number of seeds")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSeeds plays universes, each to its end. A seed that fails is told in
// full; it replays with -seed=N -runs=1, which tells the story of one that
// holds as well.
func TestSeeds(t *testing.T) {
	if *runs == 1 {
		o := Run(randomConfig(*seed), true)
		t.Logf("seed %d: %d steps, %v, %+v\n%s", *seed, o.Steps, o.Took, o.Stats, o.Story)
		if o.Violation != "" {
			t.Errorf("seed %d: %s", *seed, o.Violation)
		}
		return
	}
	var total stats
	var longest time.Duration
	steps := 0
	each(*seed, *runs, randomConfig, func(cfg Config, o Outcome) bool {
		total.add(o.Stats)
		steps += o.Steps
		longest = max(longest, o.Took-cfg.Weather)
		if o.Violation == "" {
			return true
		}
		again := Run(cfg, true)
		t.Errorf("seed %d: %s\nreplay with: go test ./integration/sim -run TestSeeds -seed=%d -runs=1 -v\n%s", cfg.Seed, o.Violation, cfg.Seed, tail(again.Story))
		return false
	})
	t.Logf("%d seeds, %d steps, longest calm %v: %+v", *runs, steps, longest, total)
	if *runs >= 100 && (total.Conflicts == 0 || total.Kills == 0 || total.Voids == 0 || total.Expired == 0 || total.Released == 0 || total.Pins == 0 || total.Modes == 0 || total.Repaired == 0) {
		t.Errorf("hardly anything happened: %+v", total)
	}
}

// each plays seeds on all processors, and hands the outcomes over one at a
// time, until one asks to stop.
func each(first, count uint64, draw func(seed uint64) Config, take func(Config, Outcome) bool) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var next atomic.Uint64
	var stop atomic.Bool
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !stop.Load() {
				n := next.Add(1) - 1
				if n >= count {
					return
				}
				cfg := draw(first + n)
				o := Run(cfg, false)
				mu.Lock()
				if !stop.Load() && !take(cfg, o) {
					stop.Store(true)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// tail is the end of a story, which explains most.
func tail(story string) string {
	const most = 20_000
	if len(story) > most {
		return "…" + story[len(story)-most:]
	}
	return story
}

// A seed always tells the same story.
func TestReplay(t *testing.T) {
	for s := *seed; s < *seed+20; s++ {
		first, again := Run(randomConfig(s), true), Run(randomConfig(s), true)
		if first.Story != again.Story {
			t.Fatalf("seed %d tells two stories", s)
		}
		if first.Steps < 100 {
			t.Errorf("seed %d: only %d steps", s, first.Steps)
		}
	}
}

// Where the group gives nothing up, since it has no delivery limit and nobody
// interferes, nothing is repaired.
func TestNothingToRepair(t *testing.T) {
	each(*seed, min(*runs, 300), func(seed uint64) Config {
		cfg := randomConfig(seed)
		cfg.Deliveries = math.MaxInt16
		cfg.Faults = slices.DeleteFunc(cfg.Faults, func(f Fault) bool { return f == Reject || f == SkipAhead })
		return cfg
	}, func(cfg Config, o Outcome) bool {
		if o.Violation != "" || o.Stats.Repaired > 0 {
			t.Errorf("seed %d: %d records were repaired; %s", cfg.Seed, o.Stats.Repaired, o.Violation)
			return false
		}
		return true
	})
}

// A backlog of small transactions, a tenth of them aborted, has a hole every
// twenty offsets that only the auditor can close. Commits wait for it, and in
// the end everything is settled.
func TestTransactions(t *testing.T) {
	const rows = 500
	var total stats
	for s := range uint64(5) {
		o := Run(Config{
			Seed: s, Partitions: 1, Backends: 1, Slots: 4, Tasks: 4, Lock: 6 * time.Second, Deliveries: 10, Window: 2000,
			FetchRecords: rows, BatchRows: rows, Transactions: 3000, Weather: time.Second, Unsettled: time.Second,
		}, false)
		if o.Violation != "" {
			t.Errorf("seed %d: %s", s, o.Violation)
		}
		total.add(o.Stats)
	}
	if total.Ranges >= 200 || total.Waits == 0 {
		t.Errorf("up to %d ranges and %d waits; want fewer than 200 ranges, and some waits", total.Ranges, total.Waits)
	}
	t.Logf("%+v", total)
}
