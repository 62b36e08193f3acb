package sim

import (
	"flag"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	seed    = flag.Uint64("seed", 1, "first seed of the simulation")
	runs    = flag.Uint64("runs", 2000, "number of seeds")
	trimmed = flag.String("trim", "", "with -runs=1: what of the universe is left, as a failure says")
	double  = flag.Uint64("double", 200, "number of seeds that each double defence is switched off in")
)

// TestMain lets garbage be: nearly all memory is a step's.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	goleak.VerifyTestMain(m)
}

// TestSeeds plays universes, each to its end. One that fails is made smaller and
// told, with the command that plays it again. With -runs=1 the story of one that
// holds is told as well.
func TestSeeds(t *testing.T) {
	if *runs == 1 {
		cfg, err := apply(randomConfig(*seed), *trimmed)
		if err != nil {
			t.Fatalf("-trim: %v", err)
		}
		o := Run(cfg, true)
		t.Logf("seed %d: %d steps, %v\n%v%s", *seed, o.Steps, o.Took, &o.Stats, o.Story)
		if o.Violation != "" {
			t.Errorf("seed %d: %s", *seed, o.Violation)
		}
		return
	}
	var total stats
	var longest time.Duration
	steps := 0
	each(*seed, *runs, randomConfig, func(cfg Config, o Outcome) bool {
		total.sum(o.Stats)
		steps += o.Steps
		longest = max(longest, o.Took-cfg.Weather)
		if o.Violation != "" {
			report(t, cfg, o.Violation)
		}
		return o.Violation == ""
	})
	t.Logf("seeds %d to %d, %d steps, longest calm %v\n%v", *seed, *seed+*runs-1, steps, longest.Round(time.Second), &total)
	if missing := total.missing(); *runs >= 2000 && len(missing) > 0 {
		t.Errorf("never happened: %s", strings.Join(missing, "; "))
	}
}

// report tells of a universe that failed.
func report(t *testing.T, cfg Config, violation string) {
	small := minimise(cfg, violation)
	o := Run(small, true)
	t.Errorf("seed %d: %s\nmade smaller: %s\n%s\nplay it again: go test ./integration/sim -run TestSeeds -v -runs=1 -seed=%d -trim='%s'",
		cfg.Seed, violation, o.Violation, tail(o.Story), cfg.Seed, trim(cfg, small))
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

func lines(story string) int { return strings.Count(story, "\n") }

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

// Where a group gives nothing up, since it has no delivery limit and nobody
// interferes, nothing is repaired.
func TestNothingToRepair(t *testing.T) {
	each(*seed, min(*runs, 300), func(seed uint64) Config {
		cfg := randomConfig(seed)
		cfg.Deliveries, cfg.Poison = math.MaxInt16, -1
		cfg.Classic = false // its readers are relieved by repair tasks when they die in a row
		cfg.Faults = slices.DeleteFunc(cfg.Faults, func(f Fault) bool { return f == Reject || f == SkipAhead || f == ChangeMode })
		return cfg
	}, func(cfg Config, o Outcome) bool {
		if o.Violation != "" || o.Stats.counts[Repaired] > 0 {
			t.Errorf("seed %d: %d records were repaired; %s", cfg.Seed, o.Stats.counts[Repaired], o.Violation)
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
			Seed: s, Partitions: 1, Backends: 1, Slots: 8, Tasks: 8, Lock: 6 * time.Second, Deliveries: 10, Window: 2000,
			FetchRecords: rows, BatchRows: rows, Transactions: 3000, Poison: -1, Weather: time.Second, Unsettled: time.Second,
		}, false)
		if o.Violation != "" {
			t.Errorf("seed %d: %s", s, o.Violation)
		}
		total.sum(o.Stats)
	}
	if total.ranges >= 200 || total.counts[Waits] == 0 {
		t.Errorf("up to %d ranges and %d waits; want fewer than 200 ranges, and some waits", total.ranges, total.counts[Waits])
	}
	t.Logf("up to %d ranges, %d waits", total.ranges, total.counts[Waits])
}
