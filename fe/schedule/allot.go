package schedule

import (
	"cmp"
	"slices"
	"time"

	"shoal/fe/state/jobs"
)

// Turn is how long a job with work keeps the last slot that it has, while
// others wait for one; graceMs is the same for one that is idle, so that it
// has looked whether there is anything to do.
const (
	Turn    = 30 * time.Second
	turnMs  = int64(Turn / time.Millisecond)
	graceMs = 5_000
)

// allot divides the slots over the jobs. If there are enough, each gets what it
// wants. If not, idle classic jobs are content with one task, and the others get
// the same number, as far as they want as many. If there are more jobs than slots,
// those get one whose turn it is.
func (p *planner) allot(drafts []*draft) {
	slots := 0
	for _, b := range p.in.Backends {
		if b.usable() {
			slots += b.Slots
		}
	}
	demands := p.demands(drafts, func(d *draft) int { return d.want })
	if sum(demands) > slots {
		demands = p.demands(drafts, func(d *draft) int {
			if d.job.Idle && jobs.Classic(d.job.Job) {
				return min(d.want, 1)
			}
			return d.want
		})
	}
	switch asking := len(drafts) - count(demands, 0); {
	case slots == 0: // nothing to divide; whoever has a slot goes on
		for _, d := range drafts {
			d.allotted = min(d.want, d.has())
		}
		return
	case asking > slots:
		p.takeTurns(drafts, demands, slots)
	case sum(demands) > slots:
		shareOut(drafts, demands, slots)
	}
	for i, d := range drafts {
		d.allotted = demands[i] + p.unheard(d)
	}
}

// demands is what each job asks of the slots that can be given: tasks on backends
// not heard of yet are left where they are.
func (p *planner) demands(drafts []*draft, of func(*draft) int) []int {
	demands := make([]int, len(drafts))
	for i, d := range drafts {
		demands[i] = max(0, of(d)-p.unheard(d))
	}
	return demands
}

// unheard is how many of a job's tasks are on backends not heard of yet.
func (p *planner) unheard(d *draft) (n int) {
	for _, task := range d.kept {
		if p.backends[task.BackendId].Unheard {
			n++
		}
	}
	return n
}

func sum(ns []int) (total int) {
	for _, n := range ns {
		total += n
	}
	return total
}

func count(ns []int, what int) (times int) {
	for _, n := range ns {
		if n == what {
			times++
		}
	}
	return times
}

// shareOut cuts demands down to slots, which are enough for one each, so that
// nobody has more than one more than another who wants as many. Who has more
// already keeps what cannot be divided.
func shareOut(drafts []*draft, demands []int, slots int) {
	order := make([]int, len(drafts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(demands[a], demands[b]) })
	level, extra := 0, 0
	for i, left := range order {
		if level = slots / (len(order) - i); demands[left] > level {
			extra = slots % (len(order) - i)
			order = order[i:]
			break
		}
		slots -= demands[left]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(drafts[b].has(), drafts[a].has()), cmp.Compare(drafts[a].job.Id, drafts[b].job.Id))
	})
	for i, left := range order {
		if demands[left] = level; i < extra {
			demands[left]++
		}
	}
}

// takeTurns leaves one slot each to as many jobs as there are slots.
func (p *planner) takeTurns(drafts []*draft, demands []int, slots int) {
	order := make([]int, 0, len(drafts))
	turns := make([]turn, len(drafts))
	for i, d := range drafts {
		if turns[i] = p.turn(d); demands[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(turns[a].class, turns[b].class), cmp.Compare(p.avoided(drafts[a].kept), p.avoided(drafts[b].kept)),
			cmp.Compare(turns[a].since, turns[b].since))
	})
	for i, which := range order {
		if demands[which] = 0; i < slots {
			demands[which] = 1
		}
	}
}

// A turn says who comes first, when not all can.
type turn struct {
	class int
	since int64 // the earlier, the sooner
}

// The classes of turns.
const (
	holds     = iota // has a slot, and not for long
	waits            // has none, and work
	held             // has had a slot for turnMs: the last to come is the last to go
	heldIdle         // has a slot, and nothing to do
	leaves           // has a slot that it is about to leave
	waitsIdle        // has none, and nothing to do
)

func (p *planner) turn(d *draft) turn {
	since := d.job.CreatedMs
	for _, task := range slices.Concat(d.place, d.draining, d.kept) {
		since = max(since, task.AssignedMs, task.DrainingMs)
	}
	since = min(since, p.in.NowMs)
	switch {
	case d.has() == 0 && d.job.Idle:
		return turn{waitsIdle, since}
	case d.has() == 0:
		return turn{waits, since}
	case len(d.kept) == 0:
		return turn{leaves, since}
	case d.job.Idle && !p.within(since, graceMs):
		return turn{heldIdle, -since}
	case !p.within(since, turnMs):
		return turn{held, -since}
	}
	return turn{holds, since}
}
