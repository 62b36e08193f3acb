package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Config is a universe's size and weather. The zero Config is none; see
// randomConfig.
type Config struct {
	Seed       uint64
	Partitions int
	Backends   int
	Slots      int // of each backend
	Tasks      int64
	Classic    bool // begins with partitions of the tasks' own, not with a share group

	Lock         time.Duration
	Deliveries   int16         // the group's delivery limit
	Window       int64         // in-flight offsets of a partition
	FetchRecords int           // most records of one fetch
	BatchRows    int64         // max_batch_rows
	Linger       time.Duration // share_linger_ms
	Records      int           // offsets to produce, at least
	Transactions int           // of one record each, a tenth aborted, to begin with

	Weather   time.Duration // how long faults happen
	Unsettled time.Duration // mean time between two of them
	Network   float64       // probability that a message is lost, late or repeated
	// Faults are the kinds that happen. All of them at once hide each other.
	Faults []Fault

	Mutation Mutation
}

// randomConfig draws a universe.
func randomConfig(seed uint64) Config {
	rng := rand.New(rand.NewPCG(seed, 0xc0f))
	one := func(choices ...float64) float64 { return choices[rng.IntN(len(choices))] }
	cfg := Config{
		Seed:         seed,
		Partitions:   1 + rng.IntN(2),
		Backends:     1 + rng.IntN(3),
		Slots:        2 + rng.IntN(3),
		Tasks:        1 + rng.Int64N(5),
		Lock:         time.Duration(one(2, 6, 15) * float64(time.Second)),
		Deliveries:   int16(one(2, 3, 5, 10)),
		Window:       int64(one(10, 40, 200)),
		FetchRecords: int(one(1, 4, 20)),
		BatchRows:    int64(one(1, 5, 30)),
		Linger:       time.Duration(one(0, 20, 300)) * time.Millisecond,
		Records:      int(one(20, 60, 120)),
		Weather:      time.Duration(one(20, 60, 120)) * time.Second,
		Unsettled:    time.Duration(one(0.5, 2, 8) * float64(time.Second)),
		Network:      one(0, 0.01, 0.05, 0.2),
	}
	for f := range faults {
		if rng.Float64() < 0.4 {
			cfg.Faults = append(cfg.Faults, f)
		}
	}
	cfg.Classic = rng.IntN(3) == 0
	return cfg
}

// calmLimit is how long everything may take to settle once faults have
// stopped: a txn held to its limit, a dead member, back-offs, several pauses.
const calmLimit = 30 * time.Minute

// A Sim is one universe: a broker, a frontend, backends, and those who disturb
// them.
type Sim struct {
	cfg      Config
	w        *World
	broker   *broker
	fe       *frontend
	backends []*backend
	files    warehouse
	check    checker

	calm         bool          // faults have stopped
	produced     bool          // nothing will be appended any more
	refusesUntil time.Time     // the warehouse does
	writes       time.Duration // how long one takes at most
}

// A fate is what becomes of a message and its answer.
type fate int8

const (
	delivered fate = iota
	lostRequest
	lostAnswer
	late     // arrives after the caller has given up
	repeated // arrives again later
)

// fate draws one.
func (s *Sim) fate() fate {
	if s.calm || !s.w.chance(s.cfg.Network) {
		return delivered
	}
	return fate(1 + s.w.rng.IntN(4))
}

// hop is the time that a message takes.
func (s *Sim) hop() time.Duration { return s.w.between(100*time.Microsecond, 3*time.Millisecond) }

// An Outcome is how a universe ended.
type Outcome struct {
	// Violation is empty when every property held.
	Violation string
	Story     string
	Steps     int
	Took      time.Duration // virtual
	// Stats count what happened, so that a run without faults shows.
	Stats stats
}

// stats are counts over a universe.
type stats struct {
	Commits, Conflicts, Released, Refused, Kills, FailOvers, Pauses, Modes, Pins, Voids, Expired, Repaired, Restarts int
	Waits                                                                                                            int // answers WAIT
	Ranges                                                                                                           int // most settled ranges that a ledger had above its settled offset
}

func (s *stats) add(o stats) {
	s.Commits += o.Commits
	s.Conflicts += o.Conflicts
	s.Released += o.Released
	s.Refused += o.Refused
	s.Kills += o.Kills
	s.FailOvers += o.FailOvers
	s.Pauses += o.Pauses
	s.Modes += o.Modes
	s.Pins += o.Pins
	s.Voids += o.Voids
	s.Expired += o.Expired
	s.Repaired += o.Repaired
	s.Restarts += o.Restarts
	s.Waits += o.Waits
	s.Ranges = max(s.Ranges, o.Ranges)
}

// Run plays a universe to its end: until everything is settled, or a property
// is violated. With telling it writes down the story.
func Run(cfg Config, telling bool) Outcome {
	w := newWorld(cfg.Seed, telling)
	s := &Sim{cfg: cfg, w: w, files: warehouse{}, writes: 20 * time.Millisecond}
	s.check.s = s
	s.broker = newBroker(w, cfg.Partitions, settings{lock: cfg.Lock, limit: cfg.Deliveries, window: cfg.Window})
	s.fe = newFrontend(s)
	for i := range cfg.Backends {
		b := &backend{s: s, name: fmt.Sprintf("be%d", i+1), uuid: fmt.Sprintf("uuid-%d", i+1)}
		s.backends = append(s.backends, b)
		b.start()
	}
	s.fe.start()
	world := &process{name: "world"}
	w.spawn(world, s.produce)
	w.spawn(world, s.disturb)
	w.spawn(world, s.operate)
	s.loop()
	w.end()
	return Outcome{Violation: s.check.violation, Story: w.story.String(), Steps: w.steps, Took: w.since(), Stats: s.check.stats}
}

func (s *Sim) loop() {
	end := s.w.start.Add(s.cfg.Weather + calmLimit)
	for s.w.step() {
		if s.check.violation != "" || s.calm && s.produced && s.check.settled() {
			break
		}
		if s.w.now.After(end) {
			s.check.fail("L1: not settled %v after faults stopped: %s", calmLimit, s.check.unsettled())
			break
		}
	}
}
