package bench

import (
	"fmt"
	"slices"
	"testing"
)

// target is what the whole path must make of its bound at its best number of
// tasks.
const target = 0.5

// What a cell measures.
const (
	wholePath   = "whole path"
	sourceAlone = "source alone"
	duckDBAlone = "DuckDB alone"
)

// A cell is one thing that is measured.
type cell struct {
	data       dataset
	what       string
	partitions int // 0 for DuckDB alone, which has none
	parallel   int // tasks, members of the share group, workers
}

// name is the cell's as a benchmark.
func (c cell) name() string {
	name := fmt.Sprintf("data=%s/%s", c.data.name, c.what)
	if c.partitions > 0 {
		name += fmt.Sprintf("/partitions=%d", c.partitions)
	}
	return fmt.Sprintf("%s/parallel=%d", name, c.parallel)
}

// A sample is the outcome of one run.
type sample struct {
	rate    float64 // rows per second
	peakRSS int64   // bytes, 0 if not measured
	cpu     float64 // seconds per row, 0 if not measured
}

// A row of results is a cell with its samples.
type row struct {
	cell
	samples []sample
}

// results are in the order of their first samples.
type results []*row

func (r *results) add(c cell, s sample) {
	i := slices.IndexFunc(*r, func(have *row) bool { return have.name() == c.name() })
	if i < 0 {
		i = len(*r)
		*r = append(*r, &row{cell: c})
	}
	(*r)[i].samples = append((*r)[i].samples, s)
}

// measure runs a cell as a benchmark and collects its samples.
func (r *results) measure(b *testing.B, c cell, run func(*testing.B) sample) {
	b.Run(c.name(), func(b *testing.B) {
		var s sample
		for b.Loop() {
			s = run(b)
			r.add(c, s)
		}
		b.ReportMetric(s.rate, "rows/s")
		if s.peakRSS > 0 {
			b.ReportMetric(float64(s.peakRSS>>20), "MiB-peak")
			b.ReportMetric(s.cpu*1e6, "cpu-s/Mrow")
		}
	})
}

// of collects one figure of all samples, in order of size.
func (r *row) of(figure func(sample) float64) []float64 {
	var all []float64
	for _, s := range r.samples {
		all = append(all, figure(s))
	}
	slices.Sort(all)
	return all
}

func (r *row) rates() []float64 { return r.of(func(s sample) float64 { return s.rate }) }

func (r *row) rate() float64 { return median(r.rates()) }

// median is that of values in order of size.
func median(values []float64) float64 {
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// A bound is the best of the whole path over one topic, beside its two limits
// at their best.
type bound struct {
	data       dataset
	partitions int
	path       *row
	source     *row
	duckDB     *row
}

// rate is the bound itself: one after the other, on all cores.
func (b bound) rate() float64 { return 1 / (1/b.source.rate() + 1/b.duckDB.rate()) }

func (b bound) ratio() float64 { return b.path.rate() / b.rate() }

// bounds leaves out topics of which not everything was measured.
func (r results) bounds() []bound {
	var all []bound
	for _, path := range r.best(wholePath) {
		b := bound{data: path.data, partitions: path.partitions, path: path}
		for _, limit := range slices.Concat(r.best(sourceAlone), r.best(duckDBAlone)) {
			switch {
			case limit.data.name != b.data.name:
			case limit.what == duckDBAlone:
				b.duckDB = limit
			case limit.partitions == b.partitions:
				b.source = limit
			}
		}
		if b.source != nil && b.duckDB != nil {
			all = append(all, b)
		}
	}
	return all
}

// best is the fastest row for each dataset and number of partitions.
func (r results) best(what string) []*row {
	var best []*row
	for _, row := range r {
		if row.what != what {
			continue
		}
		n := len(best)
		switch {
		case n == 0 || best[n-1].data.name != row.data.name || best[n-1].partitions != row.partitions:
			best = append(best, row)
		case best[n-1].rate() < row.rate():
			best[n-1] = row
		}
	}
	return best
}
