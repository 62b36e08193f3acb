package sim

import (
	"math/rand/v2"

	"shoal/internal/offsets"
)

// A kind is what lies at an offset of a partition's log.
type kind int8

const (
	plain   kind = iota // a record
	control             // a commit or abort marker
	aborted             // a record of an aborted transaction
	removed             // compacted away out of a batch that is still there
	open                // a record of a transaction that is not decided yet
)

// An entry is one offset of a log.
type entry struct {
	kind  kind
	epoch int32 // leader epoch of its batch
	batch int64 // first offset of its batch
}

// A plog is a partition's log.
type plog struct {
	entries []entry // by offset
	start   int64   // log start: what lies below is gone
	epoch   int32   // the leader's
}

func (l *plog) end() int64 { return int64(len(l.entries)) }

// stable is the last stable offset: what lies at or above is not decided.
func (l *plog) stable() int64 {
	for o, e := range l.entries {
		if e.kind == open {
			return int64(o)
		}
	}
	return l.end()
}

// append adds a batch of n entries.
func (l *plog) append(n int, k kind) {
	first := l.end()
	for range n {
		l.entries = append(l.entries, entry{kind: k, epoch: l.epoch, batch: first})
	}
}

// decide ends the open transaction and adds its marker.
func (l *plog) decide(commit bool) {
	as := aborted
	if commit {
		as = plain
	}
	for i := range l.entries {
		if l.entries[i].kind == open {
			l.entries[i].kind = as
		}
	}
	l.append(1, control)
}

// holds tells whether a reader at read_committed can still get a record there.
func (l *plog) holds(o int64) bool {
	return o >= l.start && o < l.stable() && l.entries[o].kind == plain
}

// A probe is what plain fetches at read_committed say of some offsets.
type probe struct{ void, expired, held offsets.Set }

// probe reads. Nothing at or above the last stable offset is decided.
func (l *plog) probe(set offsets.Set) probe {
	var p probe
	for _, r := range set {
		for o := r.First; o <= r.Last && o < l.stable(); o++ {
			one := offsets.Range{First: o, Last: o}
			switch {
			case o < l.start:
				p.expired = append(p.expired, one)
			case l.holds(o):
				p.held = append(p.held, one)
			default:
				p.void = append(p.void, one)
			}
		}
	}
	p.void, p.expired, p.held = offsets.Of(p.void...), offsets.Of(p.expired...), offsets.Of(p.held...)
	return p
}

// compact removes a tenth of the records.
func (l *plog) compact(rng *rand.Rand) {
	for o := l.start; o < l.stable(); o++ {
		if l.entries[o].kind == plain && rng.IntN(10) == 0 {
			l.entries[o].kind = removed
		}
	}
}
