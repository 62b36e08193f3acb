package sim

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"shoal/be/source"
	"shoal/fe/state"
	"shoal/integration/sim/raftmodel"
	"shoal/internal/offsets"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// A checker holds a universe to its properties, and counts what happens.
type checker struct {
	s         *Sim
	violation string // the first
	stats     stats

	log     []raftmodel.Entry // as whoever applied first saw it
	hashes  map[uint64][sha256.Size]byte
	leaders map[uint64]*frontend // by term
	term    uint64               // the latest
	// head has applied the most. It may be a dead process's, which changes
	// nothing about what is committed.
	head   *replica
	looked uint64 // index at which not all was settled
}

func (c *checker) init(s *Sim) {
	*c = checker{s: s, hashes: map[uint64][sha256.Size]byte{}, leaders: map[uint64]*frontend{}, head: &replica{state: state.New()}}
}

func (c *checker) fail(format string, args ...any) {
	if c.violation == "" {
		c.violation = fmt.Sprintf(format, args...)
		c.s.w.tell("VIOLATION %s", c.violation)
	}
}

// elected checks F2: a term has one leader at most.
func (c *checker) elected(f *frontend, term uint64) {
	if other := c.leaders[term]; other != nil {
		c.fail("F2: %s and %s lead in term %d", other.name, f.name, term)
	}
	c.leaders[term] = f
	c.term = max(c.term, term)
	c.stats.add(Leaders)
}

// seen tells whether a frontend has applied an entry.
func (c *checker) seen(index uint64) bool { return index <= uint64(len(c.log)) }

// hashEvery is how many entries lie between two states that are compared:
// states that differ go on to do so.
const hashEvery = 8

// applied checks what an entry that f has applied may have changed. F1: all
// frontends apply the same entries, and have the same state then.
func (c *checker) applied(f *frontend, index uint64, e raftmodel.Entry) {
	first := !c.seen(index)
	if first {
		c.log = append(c.log, e)
	} else if was := c.log[index-1]; was.Term != e.Term || !bytes.Equal(was.Data, e.Data) {
		c.fail("F1: %s applies another entry at index %d than others did", f.name, index)
	}
	if index%hashEvery == 0 && c.s.cfg.Mutation == None {
		hash := sha256.Sum256(dump(f.replica.state))
		if was, known := c.hashes[index]; known && was != hash {
			c.fail("F1: %s has another state at index %d than others had", f.name, index)
		}
		c.hashes[index] = hash
	}
	if first {
		c.head = f.replica
		c.settles()
	}
}

// answered notes the frontend's answer to a txn.
func (c *checker) answered(req *frontendv1.CommitTxnRequest, answer *frontendv1.CommitTxnResponse) {
	switch answer.Outcome {
	case frontendv1.Outcome_OUTCOME_COMMITTED:
		c.stats.add(Commits)
	case frontendv1.Outcome_OUTCOME_CONFLICT:
		c.stats.add(Conflicts)
	case frontendv1.Outcome_OUTCOME_WAIT:
		c.stats.add(Waits)
	default:
		c.stats.add(Refused)
	}
	c.s.w.tell("answers %s: %v %v %s", req.Label, answer.Outcome, answer.Conflicts, answer.Reason)
}

// acknowledged notes acknowledgements that reached the broker. A1: none says
// that an offset is done with unless the ledger has settled it. What the log
// does not have may be a gap before it is proven.
func (c *checker) acknowledged(member string, p int, acks []ack, outcome source.Outcome) {
	for _, a := range acks {
		if a.verb == ackRelease {
			c.stats.counts[Released] += int(a.Count())
		}
		if outcome != source.Applied || a.verb != ackAccept && a.verb != ackGap {
			continue
		}
		open := offsets.Of(a.Range).Subtract(c.head.settled(c.s.jobID, p))
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

// settles checks S1 and S2 where the most is applied.
func (c *checker) settles() {
	st := c.head.state
	job := st.JobByID(c.s.jobID)
	if job == nil || !job.Started {
		return
	}
	rows := c.visible("S1: offset %d:%d is in two visible rowsets", c.rowsets(job))
	bad := c.visible("S1: offset %d:%d is in two visible error rowsets", c.errorRowsets())
	var loaded, void, expired, repaired int64
	for _, v := range st.Ledgers(job.Id) {
		p := int(v.Partition)
		c.settledTruly(p, offsets.Of(offsets.Range{First: v.Start, Last: v.Settled - 1}).Union(v.Ranges), rows[p].Union(bad[p]))
		c.stats.ranges = max(c.stats.ranges, len(v.Ranges))
		loaded, void, expired, repaired = loaded+v.Loaded, void+v.Void, expired+v.Expired, repaired+v.Repaired
	}
	c.stats.counts[Voids], c.stats.counts[Expired], c.stats.counts[Repaired] = int(void), int(expired), int(repaired)
	if got := job.Repaired; got != repaired {
		c.fail("S2: the job counts %d repaired records, its ledgers %d", got, repaired)
	}
	counters := job.Counters
	if got := counters.GetLoadedRows() + counters.GetErrorRows() + counters.GetUnselectedRows(); got != loaded {
		c.fail("S2: %d rows are counted, %d offsets loaded", got, loaded)
	}
}

// rowsets is what a query sees.
func (c *checker) rowsets(job *raftlogv1.Job) []*raftlogv1.TableRowset {
	return slices.Concat(c.head.state.Rowsets(job.TableId), c.s.extra)
}

// errorRowsets is the job's error rowsets in the form of the others.
func (c *checker) errorRowsets() []*raftlogv1.TableRowset {
	var out []*raftlogv1.TableRowset
	for _, r := range c.head.state.ErrorRowsets(c.s.jobID) {
		out = append(out, &raftlogv1.TableRowset{Rowset: r.Rowset})
	}
	return out
}

// visible is the offsets in rowsets, each of which must be in one only.
func (c *checker) visible(complaint string, rowsets []*raftlogv1.TableRowset) [partitions]offsets.Set {
	var all [partitions]offsets.Set
	for _, r := range rowsets {
		f := c.s.files[r.Rowset.Path]
		if f == nil {
			c.fail("S2: file %s of a visible rowset does not exist", r.Rowset.Path)
			continue
		}
		for p := range all {
			if twice := all[p].Intersect(f.from[p]); len(twice) > 0 {
				c.fail(complaint, p, twice[0].First)
			}
			all[p] = all[p].Union(f.from[p])
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

// settled tells whether every offset is settled. It looks again only when there
// is something new; nothing is produced any more.
func (c *checker) settled() bool {
	if c.looked == c.head.index {
		return false
	}
	c.looked = c.head.index
	ledgers := c.head.state.Ledgers(c.s.jobID)
	for _, v := range ledgers {
		if v.Settled < c.s.broker.parts[v.Partition].log.end() {
			return false
		}
	}
	return len(ledgers) > 0
}

// unsettled says what is not.
func (c *checker) unsettled() string {
	var out []string
	for _, v := range c.head.state.Ledgers(c.s.jobID) {
		part := c.s.broker.parts[v.Partition]
		out = append(out, fmt.Sprintf("partition %d: settled %d and %v of %d, group at %d, lag %d",
			v.Partition, v.Settled, v.Ranges, part.log.end(), part.share.start, part.share.lag()))
	}
	job := c.head.state.JobByID(c.s.jobID)
	return strings.Join(out, "; ") + fmt.Sprintf("; job %v %s", job.GetState(), job.GetReason())
}
