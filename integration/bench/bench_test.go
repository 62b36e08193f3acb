// Package bench measures how fast Shoal loads, beside the limits that nothing
// on the same machine can beat.
//
// BenchmarkLoad runs the real thing: Kafka's broker, `shoal standalone` as a
// process of its own, a job made through the MySQL protocol. In the same run it
// measures C, Shoal's share source that only consumes and accepts, and D,
// DuckDB alone that turns the same records from a file into Parquet. One row
// cannot take less than both, so 1/(1/C + 1/D) is the bound that the whole path
// is held against. docs/benchmarks.md says how to run it and keeps the results.
package bench

import (
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"shoal/internal/testkafka"
)

var (
	rowsFlag   = flag.Int("rows", 1_000_000, "records in each topic")
	roundsFlag = flag.Int("rounds", 1, "how often everything is measured")
	docsFlag   = flag.String("docs", "", "Markdown file that the results are written into")
)

// An input is the first rows records of a dataset, in files and in topics.
type input struct {
	dataset
	files  []string
	topics []*topic
}

// BenchmarkLoad is to be run with -benchtime 1x: one run of a cell is one
// sample. The rounds are one after the other, so that what else happens on the
// machine meanwhile meets all cells alike.
func BenchmarkLoad(b *testing.B) {
	if os.Getenv("SHOAL_BINARY") == "" {
		b.Fatal("SHOAL_BINARY is not set, and a binary with the race detector is not worth measuring: use make bench")
	}
	inputs := prepare(b)
	var r results
	for round := range *roundsFlag {
		b.Run(fmt.Sprintf("round=%d", round+1), func(b *testing.B) {
			for _, in := range inputs {
				r.measureAll(b, in)
			}
		})
	}
	if len(r) == 0 {
		return // -bench names none
	}
	text := r.report(*rowsFlag)
	fmt.Print("\n", text)
	if *docsFlag != "" {
		if err := writeReport(*docsFlag, text); err != nil {
			b.Fatal(err)
		}
	}
	for _, bound := range r.bounds() {
		if bound.ratio() < target {
			b.Errorf("%s, %d partitions: the whole path makes %.2f of its bound, want %.2f", bound.data.name, bound.partitions, bound.ratio(), target)
		}
	}
}

// prepare makes the inputs, on a broker that ends with the benchmark.
func prepare(b *testing.B) []input {
	b.Helper()
	broker := testkafka.Start(b, testkafka.Version(kafkaVersion), testkafka.Heap(kafkaHeap))
	var inputs []input
	for _, d := range datasets {
		in := input{dataset: d, files: d.writeFiles(b, *rowsFlag)}
		for _, partitions := range []int{1, 8} {
			t := produce(b, broker, d, partitions, *rowsFlag)
			consume(b, t, 2) // else the broker's compiler takes a third of the processors of whatever comes first
			in.topics = append(in.topics, t)
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// measureAll takes one sample of each cell of an input.
func (r *results) measureAll(b *testing.B, in input) {
	for _, workers := range []int{1, 2} {
		r.measure(b, cell{in.dataset, duckDBAlone, 0, workers}, func(b *testing.B) sample {
			return sample{rate: convert(b, in.dataset, in.files, *rowsFlag, workers)}
		})
	}
	for _, t := range in.topics {
		for _, members := range []int{1, 2} {
			r.measure(b, cell{in.dataset, sourceAlone, t.partitions, members}, func(b *testing.B) sample {
				return sample{rate: consume(b, t, members)}
			})
		}
		for _, tasks := range []int{1, 2, 4, 8} {
			r.measure(b, cell{in.dataset, wholePath, t.partitions, tasks}, func(b *testing.B) sample {
				return load(b, in.dataset, t, tasks)
			})
		}
	}
}

// TestOnce takes every way of measuring once, so that none of them rots.
func TestOnce(t *testing.T) {
	const rows = 20_000
	broker := testkafka.Shared(t)
	var r results
	for _, d := range datasets {
		topic := produce(t, broker, d, 2, rows)
		r.add(cell{d, duckDBAlone, 0, 2}, sample{rate: convert(t, d, d.writeFiles(t, rows), rows, 2)})
		r.add(cell{d, sourceAlone, 2, 2}, sample{rate: consume(t, topic, 2)})
		path := load(t, d, topic, 4)
		if path.peakRSS < 10<<20 || path.cpu <= 0 {
			t.Errorf("%s: %d bytes and %v s per row, want what a process takes", d.name, path.peakRSS, path.cpu)
		}
		r.add(cell{d, wholePath, 2, 4}, path)
	}
	bounds := r.bounds()
	if len(bounds) != len(datasets) {
		t.Fatalf("%d bounds, want one a dataset", len(bounds))
	}
	for _, b := range bounds {
		if !(b.ratio() > 0) || math.IsInf(b.ratio(), 0) {
			t.Errorf("%s: ratio %v", b.data.name, b.ratio())
		}
	}
}
