package chaos

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// A kind of fault, in the words of the report.
type kind string

const (
	killFrontend   kind = "frontend killed with -9"
	killBackend    kind = "backend killed with -9"
	stopLeader     kind = "leading frontend ended with SIGTERM"
	stopBackend    kind = "backend ended with SIGTERM"
	freezeFrontend kind = "frontend stopped with SIGSTOP"
	freezeBackend  kind = "backend stopped with SIGSTOP"
	cutFrontend    kind = "frontend cut off"
	cutLeader      kind = "leading frontend cut off from all nodes, not from clients"
	cutBackend     kind = "backend cut off"
	cutFromLeaders kind = "backend cut off from the frontends"
	cutFromKafka   kind = "backend cut off from Kafka"
	mute           kind = "node that hears and is not heard"
	fullFrontend   kind = "disk of a frontend full"
	fullBackend    kind = "disk of a backend full"
	fullWarehouse  kind = "disk of the warehouse full"
	killBroker     kind = "broker killed with -9"
	pauseJob       kind = "job paused and resumed"
)

// onProcesses are the kinds that need nothing of the network, onNetworks the
// others.
var (
	onProcesses = []kind{killFrontend, killBackend, stopLeader, stopBackend, freezeFrontend, freezeBackend, killBroker, pauseJob}
	onNetworks  = []kind{cutFrontend, cutLeader, cutBackend, cutFromLeaders, cutFromKafka, mute, fullFrontend, fullBackend, fullWarehouse}
)

// A fault begins at a time after the round's start and lasts. What it hits is
// the target-th of those that it may hit.
type fault struct {
	at, lasts time.Duration
	kind      kind
	target    int
}

// plan draws the faults of a round. Every kind comes before any comes again, and
// one in five comes together with the one before.
func plan(seed uint64, length time.Duration, kinds []kind) []fault {
	rnd := rand.New(rand.NewPCG(seed, 0))
	between := func(from, to time.Duration) time.Duration {
		return from + time.Duration(rnd.Int64N(int64(to-from)))
	}
	var faults []fault
	var deck []kind
	for at := between(0, 5*time.Second); at < length; {
		if len(deck) == 0 {
			for _, i := range rnd.Perm(len(kinds)) {
				deck = append(deck, kinds[i])
			}
		}
		faults = append(faults, fault{at: at, lasts: between(time.Second, 8*time.Second), kind: deck[0], target: rnd.IntN(6)})
		deck = deck[1:]
		if rnd.IntN(5) > 0 {
			at += between(3*time.Second, 9*time.Second)
		}
	}
	return faults
}

// A seed always draws the same faults, and two minutes have nearly every kind.
func TestPlan(t *testing.T) {
	kinds := append(onProcesses[:len(onProcesses):len(onProcesses)], onNetworks...)
	for seed := range uint64(50) {
		faults := plan(seed, 2*time.Minute, kinds)
		if !reflect.DeepEqual(faults, plan(seed, 2*time.Minute, kinds)) {
			t.Errorf("seed %d draws two plans", seed)
		}
		seen := map[kind]bool{}
		for _, f := range faults {
			seen[f.kind] = true
		}
		if len(seen) < len(kinds)-3 {
			t.Errorf("seed %d: %d kinds of %d in %d faults", seed, len(seen), len(kinds), len(faults))
		}
	}
}
