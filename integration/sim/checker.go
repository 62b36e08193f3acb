package sim

import (
	"fmt"
	"strings"

	"shoal/be/source"
	"shoal/internal/offsets"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// A checker holds a universe to its properties, and counts what happens.
type checker struct {
	s         *Sim
	violation string // the first
	stats     stats
}

func (c *checker) fail(format string, args ...any) {
	if c.violation == "" {
		c.violation = fmt.Sprintf(format, args...)
		c.s.w.tell("VIOLATION %s", c.violation)
	}
}

// answered notes the frontend's answer to a txn.
func (c *checker) answered(req *frontendv1.CommitTxnRequest, answer *frontendv1.CommitTxnResponse) {
	switch answer.Outcome {
	case frontendv1.Outcome_OUTCOME_COMMITTED:
		c.stats.Commits++
	case frontendv1.Outcome_OUTCOME_CONFLICT:
		c.stats.Conflicts++
	case frontendv1.Outcome_OUTCOME_WAIT:
		c.stats.Waits++
	default:
		c.stats.Refused++
	}
	c.s.w.tell("answers %s: %v %v %s", req.Label, answer.Outcome, answer.Conflicts, answer.Reason)
}

// acknowledged notes acknowledgements that reached the broker. A1: none says
// that an offset is done with unless the ledger has settled it. What the log
// does not have may be a gap before it is proven.
func (c *checker) acknowledged(member string, p int, acks []ack, outcome source.Outcome) {
	for _, a := range acks {
		if a.verb == ackRelease {
			c.stats.Released += int(a.Count())
		}
		if outcome != source.Applied || a.verb != ackAccept && a.verb != ackGap {
			continue
		}
		open := offsets.Of(a.Range).Subtract(c.s.fe.settledOf(p))
		if a.verb == ackGap {
			open = c.s.broker.parts[p].log.probe(open).held
		}
		if len(open) > 0 {
			c.fail("A1: %s acknowledged %d:%v, of which %v is not settled", member, p, a.Range, open)
		}
	}
	c.s.w.tell("%s acknowledges %d:%v -> %v", member, p, acks, outcome)
}

func (s *Sim) acknowledged(member string, p int, acks []ack, outcome source.Outcome) {
	s.check.acknowledged(member, p, acks, outcome)
}

// applied checks what a command may have changed: S1 and S2.
func (c *checker) applied() {
	f := c.s.fe
	if f == nil || f.jobID == 0 {
		return
	}
	rows := c.visible("S1: offset %d:%d is in two visible rowsets", f.rowsets())
	bad := c.visible("S1: offset %d:%d is in two visible error rowsets", c.errorRowsets())
	var loaded, void, expired, repaired int64
	for _, v := range f.state.Ledgers(f.jobID) {
		p := int(v.Partition)
		c.settledTruly(p, offsets.Of(offsets.Range{First: v.Start, Last: v.Settled - 1}).Union(v.Ranges), rows[p].Union(bad[p]))
		c.stats.Ranges = max(c.stats.Ranges, len(v.Ranges))
		loaded, void, expired, repaired = loaded+v.Loaded, void+v.Void, expired+v.Expired, repaired+v.Repaired
	}
	c.stats.Voids, c.stats.Expired, c.stats.Repaired = int(void), int(expired), int(repaired)
	if got := f.job().Repaired; got != repaired {
		c.fail("S2: the job counts %d repaired records, its ledgers %d", got, repaired)
	}
	counters := f.job().Counters
	if got := counters.GetLoadedRows() + counters.GetErrorRows() + counters.GetUnselectedRows(); got != loaded {
		c.fail("S2: %d rows are counted, %d offsets loaded", got, loaded)
	}
}

// errorRowsets is the job's error rowsets in the form of the others.
func (c *checker) errorRowsets() []*raftlogv1.TableRowset {
	var out []*raftlogv1.TableRowset
	for _, r := range c.s.fe.state.ErrorRowsets(c.s.fe.jobID) {
		out = append(out, &raftlogv1.TableRowset{Rowset: r.Rowset})
	}
	return out
}

// visible is the offsets in rowsets, each of which must be in one only.
func (c *checker) visible(complaint string, rowsets []*raftlogv1.TableRowset) file {
	var all file
	for _, r := range rowsets {
		f := c.s.files[r.Rowset.Path]
		if f == nil {
			c.fail("S2: file %s of a visible rowset does not exist", r.Rowset.Path)
			continue
		}
		for p := range f {
			if twice := all[p].Intersect(f[p]); len(twice) > 0 {
				c.fail(complaint, p, twice[0].First)
			}
			all[p] = all[p].Union(f[p])
		}
	}
	return all
}

// settledTruly is S2 for a partition.
func (c *checker) settledTruly(p int, settled, visible offsets.Set) {
	log := c.s.broker.parts[p].log
	if stray := visible.Subtract(settled); len(stray) > 0 {
		c.fail("S2: %d:%v is visible and not settled", p, stray)
	}
	for _, r := range settled.Subtract(visible) {
		for o := r.First; o <= r.Last; o++ {
			if o >= log.end() || log.holds(o) && !isFiltered(o) || log.entries[o].kind == open {
				c.fail("S2: offset %d:%d is settled, has a record and is in no visible rowset", p, o)
			}
		}
	}
}

// settled tells whether every offset is settled.
func (c *checker) settled() bool {
	for _, v := range c.s.fe.state.Ledgers(c.s.fe.jobID) {
		if v.Settled < c.s.broker.parts[v.Partition].log.end() {
			return false
		}
	}
	return true
}

// unsettled says what is not.
func (c *checker) unsettled() string {
	var out []string
	for _, v := range c.s.fe.state.Ledgers(c.s.fe.jobID) {
		part := c.s.broker.parts[v.Partition]
		out = append(out, fmt.Sprintf("partition %d: settled %d and %v of %d, group at %d, lag %d",
			v.Partition, v.Settled, v.Ranges, part.log.end(), part.share.start, part.share.lag()))
	}
	return strings.Join(out, "; ") + fmt.Sprintf("; job %v %s", c.s.fe.job().State, c.s.fe.job().Reason)
}
