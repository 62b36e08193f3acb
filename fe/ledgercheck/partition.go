package ledgercheck

import (
	"cmp"
	"fmt"
	"slices"

	"shoal/internal/offsets"
	"shoal/internal/rowsetmeta"
)

// A run is offsets in the files of one txn.
type run struct {
	offsets.Range
	from int // index of files
}

// partition is what is gathered of one.
type partition struct {
	Partition
	from   []*file // the first file of each txn that names it
	runs   []run
	barren []offsets.Range // void and expired, as files tell
}

func (p *partition) add(f *file, said rowsetmeta.Partition) {
	p.Txns++
	p.from = append(p.from, f)
	for _, r := range said.Loaded {
		p.runs = append(p.runs, run{r, len(p.from) - 1})
	}
	p.barren = append(append(p.barren, said.Void...), said.Expired...)
}

// compare holds what files and trace tell against the ledger.
func (p *partition) compare(files []*file) {
	l := &p.Ledger
	slices.SortFunc(p.runs, func(a, b run) int { return cmp.Compare(a.First, b.First) })
	ranges := make([]offsets.Range, len(p.runs))
	for i, r := range p.runs {
		ranges[i] = r.Range
	}
	found := offsets.Of(ranges...)
	p.Found = found.Count()
	p.Rowless, p.Cut = l.Trace.Rowless.Subtract(found).Count(), l.Trace.Cut.Subtract(found).Count()
	if !l.Trace.Kept {
		return
	}
	p.findTwice()

	settled := l.Ranges.Union(offsets.Of(offsets.Range{First: l.Start, Last: l.Settled - 1}))
	loaded := found.Union(l.Trace.Rowless).Union(l.Trace.Cut)
	missing := settled.Subtract(loaded).Subtract(l.Trace.Barren).Subtract(offsets.Of(p.barren...))
	p.Missing = missing.Count()
	for _, r := range missing {
		p.Differences.add("offsets %v are settled, and in no file: %s", r, p.whose(files, r.First))
	}
	stray := found.Subtract(settled)
	p.Unsettled = stray.Count()
	for _, r := range stray {
		where := ""
		if !p.Differences.full() {
			where = p.fileOf(r.First).String()
		}
		p.Differences.add("offsets %v are in %s, and not settled", r, where)
	}
	// What is missing may be loaded, void or expired.
	least := loaded.Intersect(settled).Count()
	if l.Loaded < least || l.Loaded > least+p.Missing || l.Loaded+l.Void+l.Expired != settled.Count() {
		p.miscounted = true
		p.Differences.add("the ledger counts %d loaded, %d void and %d expired of %d settled offsets; %d are in files, %d more were filtered or empty, %d were cut",
			l.Loaded, l.Void, l.Expired, settled.Count(), p.Found, p.Rowless, p.Cut)
	}
}

// findTwice finds the offsets that two runs have.
func (p *partition) findTwice() {
	var twice []offsets.Range
	var reach run // that goes furthest so far
	for i, r := range p.runs {
		if i > 0 && r.First <= reach.Last {
			both := r.Intersect(reach.Range)
			twice = append(twice, both)
			p.Differences.add("offsets %v are in %s and in %s", both, p.from[reach.from], p.from[r.from])
		}
		if i == 0 || r.Last > reach.Last {
			reach = r
		}
	}
	p.Twice = offsets.Of(twice...).Count()
}

// whose is which file should have an offset that none has, or lies around it.
func (p *partition) whose(files []*file, offset int64) string {
	if p.Differences.full() {
		return ""
	}
	if f := holder(files, p.Ledger.Key, p.Ledger.Trace.Since, offset); f != nil {
		return fmt.Sprintf("%s was committed with them", f)
	}
	i, _ := slices.BinarySearchFunc(p.runs, offset, func(r run, o int64) int { return cmp.Compare(r.First, o) })
	before, after := "the ledger's start", "the end"
	if i > 0 {
		before = p.from[p.runs[i-1].from].String()
	}
	if i < len(p.runs) {
		after = p.from[p.runs[i].from].String()
	}
	return fmt.Sprintf("no rowset was committed with them, they lie between %s and %s", before, after)
}

// fileOf is a file with an offset that is in one.
func (p *partition) fileOf(offset int64) *file {
	i := slices.IndexFunc(p.runs, func(r run) bool { return r.Contains(offset) })
	return p.from[p.runs[i].from]
}
