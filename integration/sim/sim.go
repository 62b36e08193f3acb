package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"shoal/integration/sim/raftmodel"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// voters are the frontends that vote, the first ones. Others observe.
const voters = 3

// Config is a universe's size and weather. The zero Config is none; see
// randomConfig.
type Config struct {
	Seed       uint64
	Observers  int // frontends that do not vote
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
	Poison       int64         // an offset of partition 0 that ends whoever decodes it; below 0 for none

	Weather   time.Duration // how long faults happen
	Unsettled time.Duration // mean time between two of them
	Network   float64       // probability that a message is lost, late or repeated
	// Faults are the kinds that happen. All of them at once hide each other.
	Faults []Fault
	// Only these of all that would happen do, by number; nil for all.
	Only []int

	KeepFiles bool // nothing is removed
	Mutation  Mutation
}

// randomConfig draws a universe. Many tasks that fetch little from one
// partition are drawn often: their holdings are interleaved.
func randomConfig(seed uint64) Config {
	rng := rand.New(rand.NewPCG(seed, 0xc0f))
	one := func(choices ...float64) float64 { return choices[rng.IntN(len(choices))] }
	cfg := Config{
		Seed:         seed,
		Observers:    int(one(0, 0, 0, 1)),
		Partitions:   int(one(1, 1, 2)),
		Backends:     int(one(1, 2, 3, 5)),
		Slots:        1 + rng.IntN(3),
		Tasks:        1 + rng.Int64N(7),
		Lock:         time.Duration(one(2, 6, 15) * float64(time.Second)),
		Deliveries:   int16(one(2, 3, 5, 10)),
		Window:       int64(one(smallWindow, 40, 200)),
		FetchRecords: int(one(1, 2, 4, 20)),
		BatchRows:    int64(one(1, 5, 30)),
		Linger:       time.Duration(one(0, 20, 300)) * time.Millisecond,
		Records:      int(one(20, 60, 120)),
		Weather:      time.Duration(one(20, 40, 80)) * time.Second,
		Unsettled:    time.Duration(one(0.5, 2, 8) * float64(time.Second)),
		Network:      one(0, 0.01, 0.05, 0.2),
		Poison:       -1,
	}
	for f := range faults {
		if rng.Float64() < 0.3 {
			cfg.Faults = append(cfg.Faults, f)
		}
	}
	cfg.Classic = rng.IntN(4) == 0
	if rng.IntN(8) == 0 {
		cfg.Poison = rng.Int64N(20)
	}
	return cfg
}

// poisonous tells whether a record ends whoever decodes it.
func (c *Config) poisonous(partition int32, offset int64) bool {
	return partition == 0 && offset == c.Poison
}

// calmLimit is how long everything may take to settle once faults have
// stopped: a txn held to its limit, a dead member, back-offs, several pauses.
const calmLimit = 30 * time.Minute

// A Sim is one universe: a broker, frontends, backends, and those who disturb
// them.
type Sim struct {
	cfg       Config
	w         *World
	world     *process // what is nobody's
	net       network
	broker    *broker
	frontends []*frontend
	backends  []*backend
	files     warehouse
	jobID     uint64
	armed     map[step]leaderChange
	deadly    map[deadly]bool
	// By mutations only: rowsets that are visible, and entries of which only
	// these are.
	extra  []*raftlogv1.TableRowset
	halves map[uint64]bool
	check  checker

	calm         bool          // faults have stopped
	produced     bool          // nothing will be appended any more
	refusesUntil time.Time     // the warehouse does
	writes       time.Duration // how long one takes at most
	syncs        time.Duration // and a sync of a frontend's log
}

// hop is the time that a message takes.
func (s *Sim) hop() time.Duration { return s.w.between(100*time.Microsecond, 3*time.Millisecond) }

// leader is the frontend that leads, or believes so at the latest term; nil if
// none does.
func (s *Sim) leader() *leadership {
	var l *leadership
	for _, f := range s.frontends {
		if f.lead != nil && (l == nil || f.lead.term > l.term) {
			l = f.lead
		}
	}
	return l
}

// An Outcome is how a universe ended.
type Outcome struct {
	// Violation is empty when every property held.
	Violation string
	Story     string
	Steps     int
	Took      time.Duration // virtual
	// Stats count what happened, so that a run without faults shows.
	Stats stats
	// Happened are the numbers of the faults that did.
	Happened []int
}

// Run plays a universe to its end: until everything is settled, or a property
// is violated. With telling it writes down the story.
func Run(cfg Config, telling bool) Outcome {
	w := newWorld(cfg.Seed, telling)
	s := &Sim{cfg: cfg, w: w, world: &process{name: "world"}, files: warehouse{}, armed: map[step]leaderChange{}, deadly: map[deadly]bool{}, halves: map[uint64]bool{}}
	s.quieten()
	s.net = network{rng: rand.New(rand.NewPCG(cfg.Seed, 0x2e7)), now: w.Now, loss: cfg.Network, stats: &s.check.stats}
	s.check.init(s)
	s.broker = newBroker(w, cfg.Partitions, settings{lock: cfg.Lock, limit: cfg.Deliveries, window: cfg.Window}, &s.check.stats)
	log := s.setUp()
	for i := range voters + cfg.Observers {
		s.frontends = append(s.frontends, &frontend{s: s, id: i, name: fmt.Sprintf("fe%d", i+1), disk: raftmodel.NewDisk(log)})
	}
	for i := range cfg.Backends {
		s.backends = append(s.backends, &backend{s: s, nr: i, name: fmt.Sprintf("be%d", i+1), uuid: fmt.Sprintf("uuid-%d", i+1)})
	}
	for _, f := range s.frontends {
		f.start()
	}
	for _, b := range s.backends {
		b.start()
	}
	w.spawn(s.world, s.produce)
	w.spawn(s.world, s.operate)
	happened := s.disturb()
	s.loop()
	w.end()
	return Outcome{
		Violation: s.check.violation, Story: w.story.String(), Steps: w.steps, Took: w.since(), Stats: s.check.stats, Happened: happened,
	}
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
