package virtual

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	raftlogv1 "shoal/proto/raftlog/v1"
)

var (
	seed = flag.Uint64("seed", 1, "first seed of TestWeather")
	runs = flag.Uint64("runs", seeds(), "number of seeds of TestWeather")
)

// seeds is how many a test run tries: more in `make test-all`.
func seeds() uint64 {
	if os.Getenv("SHOAL_TEST_ALL") != "" {
		return 60
	}
	return 5
}

// TestWeather: for two minutes anything may go wrong, several things at a time.
// Then all is calm, and everything settles; a job that is paused is resumed. A
// seed fixes what goes wrong and when, though not how it comes out.
func TestWeather(t *testing.T) {
	for s := *seed; s < *seed+*runs; s++ {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			inBothModes(t, 3, inMemory, func(w *world) {
				w.createJob(6)
				stop := w.producing(5)
				weather := &weather{w: w, rng: rand.New(rand.NewPCG(s, 1)), tasks: rand.New(rand.NewPCG(s, 2))}
				weather.rage(2 * time.Minute)
				weather.calm()
				stop()
				w.eventually(5*time.Minute, weather.over)
			})
		})
	}
}

// A weather is what goes wrong.
type weather struct {
	w     *world
	rng   *rand.Rand // for what happens when
	tasks *rand.Rand // for what happens to tasks; under faults.mu
	ends  []end
}

// An end is when a fault is over, and how.
type end struct {
	at time.Time
	do func()
}

// rage lets something happen each few seconds.
func (w *weather) rage(duration time.Duration) {
	events := []func(){
		w.cutFromFrontend, w.cutFromFrontend, w.cutFromBrokers, w.cutFromBrokers, w.reset, w.killBackend, w.restartFrontend, w.blindFrontend,
		w.moveLeader, w.moveCoordinators, w.refuse, w.refuse, w.slowWrites, w.slowCommits, w.loseAnswers, w.pause,
	}
	for over := time.Now().Add(duration); time.Now().Before(over); {
		events[w.rng.IntN(len(events))]()
		time.Sleep(w.upTo(4 * time.Second))
		w.ends = slices.DeleteFunc(w.ends, func(e end) bool {
			due := time.Now().After(e.at)
			if due {
				e.do()
			}
			return due
		})
	}
}

// calm ends all that goes wrong.
func (w *weather) calm() {
	for _, e := range w.ends {
		e.do()
	}
	w.ends = nil
}

// over tells what is not settled. A paused job is resumed.
func (w *weather) over() error {
	if w.w.job().State == raftlogv1.JobState_JOB_STATE_PAUSED {
		if err := w.w.trySQL("RESUME ROUTINE LOAD FOR d.j"); err != nil {
			return err
		}
	}
	if open := w.w.logEnd() - w.w.settledOffsets(); open > 0 {
		return fmt.Errorf("%d of %d offsets are not settled; %s", open, w.w.logEnd(), w.w.tasks())
	}
	return nil
}

func (w *weather) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) }

// later does something within a time, or when all is calm.
func (w *weather) later(within time.Duration, do func()) {
	w.ends = append(w.ends, end{time.Now().Add(w.upTo(within)), do})
}

// backend is one that is up, nil if it drew one that is not.
func (w *weather) backend() *backend { return w.w.backends[w.rng.IntN(len(w.w.backends))] }

func (w *weather) cutFromFrontend() { w.cut(frontendHost) }
func (w *weather) cutFromBrokers()  { w.cut(brokerHost) }

func (w *weather) cut(peer string) {
	if b := w.backend(); b != nil {
		w.w.network.cut(b.host.name, peer)
		w.later(20*time.Second, func() {
			if slices.Contains(w.w.backends, b) { // not one that was killed
				w.w.network.heal(b.host.name, peer)
			}
		})
	}
}

// blindFrontend cuts the frontend off from the brokers.
func (w *weather) blindFrontend() {
	w.w.network.cut(frontendHost, brokerHost)
	w.later(20*time.Second, func() { w.w.network.heal(frontendHost, brokerHost) })
}

func (w *weather) reset() {
	if b := w.backend(); b != nil {
		w.w.network.reset(b.host.name, []string{frontendHost, brokerHost}[w.rng.IntN(2)])
	}
}

func (w *weather) killBackend() {
	n := w.rng.IntN(len(w.w.backends))
	if w.w.backends[n] != nil {
		w.w.kill(n)
		w.later(10*time.Second, func() { w.w.backends[n] = w.w.startBackend(n) })
	}
}

func (w *weather) restartFrontend() {
	w.w.fe.stop()
	time.Sleep(w.upTo(8 * time.Second))
	w.w.openFrontend()
}

func (w *weather) moveLeader() {
	if err := w.w.broker.MoveTopicPartition(topic, w.rng.Int32N(partitions), w.rng.Int32N(brokers)); err != nil {
		w.w.t.Error(err)
	}
}

func (w *weather) moveCoordinators() { w.w.broker.RehashCoordinators() }

// refuse has brokers answer one to three requests with an error.
func (w *weather) refuse() {
	faults := []kfake.Fault{
		{Keys: []kmsg.Key{kmsg.ShareFetch}, TopLevel: true, Err: kerr.ShareSessionNotFound},
		{Keys: []kmsg.Key{kmsg.ShareFetch}, TopLevel: true, Err: kerr.InvalidShareSessionEpoch},
		{Keys: []kmsg.Key{kmsg.ShareFetch}, Topic: topic, Err: kerr.NotLeaderForPartition},
		{Keys: []kmsg.Key{kmsg.ShareFetch}, Topic: topic, Err: kerr.UnknownServerError},
		{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Err: kerr.NotLeaderForPartition},
		{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Err: kerr.OffsetOutOfRange},
		{Keys: []kmsg.Key{kmsg.Fetch}, TopLevel: true, Err: kerr.UnknownServerError},
		{Keys: []kmsg.Key{kmsg.ShareAcknowledge}, TopLevel: true, Err: kerr.ShareSessionNotFound},
		{Keys: []kmsg.Key{kmsg.ShareAcknowledge}, Topic: topic, Err: kerr.InvalidRecordState},
		{Keys: []kmsg.Key{kmsg.ShareGroupHeartbeat}, TopLevel: true, Err: kerr.UnknownMemberID},
		{Keys: []kmsg.Key{kmsg.ShareGroupHeartbeat}, TopLevel: true, Err: kerr.FencedMemberEpoch},
		{Keys: []kmsg.Key{kmsg.ShareGroupHeartbeat}, TopLevel: true, Err: kerr.CoordinatorNotAvailable},
		{Keys: []kmsg.Key{kmsg.Metadata, kmsg.FindCoordinator}, TopLevel: true, Err: kerr.UnknownServerError},
		{Keys: []kmsg.Key{kmsg.AlterShareGroupOffsets}, TopLevel: true, Err: kerr.NotCoordinator},
	}
	fault := faults[w.rng.IntN(len(faults))]
	fault.Count = 1 + w.rng.IntN(3)
	handle := w.w.broker.Fault(fault)
	w.later(10*time.Second, handle.Remove)
}

func (w *weather) slowWrites() {
	w.w.faults.set(func(f *faults) {
		f.write = func(*backend) (time.Duration, error) {
			var err error
			if w.tasks.IntN(10) == 0 {
				err = errors.New("no space left")
			}
			return time.Duration(w.tasks.Int64N(int64(lock * 2 / 3))), err
		}
	})
	w.later(10*time.Second, func() { w.w.faults.set(func(f *faults) { f.write = nil }) })
}

func (w *weather) slowCommits() {
	w.w.faults.set(func(f *faults) {
		f.request = func(*backend) time.Duration { return time.Duration(w.tasks.Int64N(int64(lock * 4 / 3))) }
	})
	w.later(10*time.Second, func() { w.w.faults.set(func(f *faults) { f.request = nil }) })
}

func (w *weather) loseAnswers() {
	w.w.faults.set(func(f *faults) {
		f.answer = func(*backend) bool { return w.tasks.IntN(2) == 0 }
	})
	w.later(10*time.Second, func() { w.w.faults.set(func(f *faults) { f.answer = nil }) })
}

// pause pauses the job, unless something else did; RESUME may fail as long as
// the weather is bad.
func (w *weather) pause() {
	resume := func() {
		if err := w.w.trySQL("RESUME ROUTINE LOAD FOR d.j"); err != nil {
			w.w.log.Info("not resumed", "err", err)
		}
	}
	if err := w.w.trySQL("PAUSE ROUTINE LOAD FOR d.j"); err != nil {
		resume()
		return
	}
	w.later(10*time.Second, resume)
}
