package sim

import (
	"math/rand/v2"
	"time"
)

// A place is a machine, or what is reached as one.
type place int8

const (
	frontendPlace place = 0 // and the next ones
	backendPlace  place = 4 // and the next ones
	brokerPlace   place = 9
	places        place = 10
)

// A fate is what becomes of a message and its answer.
type fate int8

const (
	delivered fate = iota
	lostRequest
	lostAnswer
	late     // arrives after the caller has given up
	repeated // arrives again later
	fates
)

// A network loses, delays and repeats messages, and may be cut between two
// places, in one direction or both.
type network struct {
	rng   *rand.Rand
	now   func() time.Time
	loss  float64 // probability that a message is lost, late or repeated
	cut   [places][places]time.Time
	stats *stats
}

// reaches tells whether anything gets from one place to another now.
func (n *network) reaches(from, to place) bool { return !n.cut[from][to].After(n.now()) }

// isolate cuts a place off from some others until a time: what it sends is
// lost, or what they send, or both.
func (n *network) isolate(at place, others []place, sends, hears bool, until time.Time) {
	for _, other := range others {
		if sends {
			n.cut[at][other] = until
		}
		if hears {
			n.cut[other][at] = until
		}
	}
}

// fate draws what becomes of a call.
func (n *network) fate(from, to place) fate {
	f := delivered
	switch {
	case !n.reaches(from, to):
		n.stats.add(CutRequests)
		return lostRequest
	case !n.reaches(to, from):
		n.stats.add(CutAnswers)
		return lostAnswer
	case n.loss > 0 && n.rng.Float64() < n.loss:
		f = fate(1 + n.rng.IntN(int(fates)-1))
		n.stats.add(LostRequests + Count(f-lostRequest))
	}
	return f
}

// calm ends all that.
func (n *network) calm() { n.loss, n.cut = 0, [places][places]time.Time{} }
