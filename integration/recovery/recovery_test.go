// Package recovery measures how soon what a lost process read is read by others:
// a backend of Shoal beside a plain consumer of a share group (franz-go), killed
// and frozen the same way, on the same real broker with Kafka's own time-outs.
//
// BenchmarkRecovery prints the table of docs/reliability.md; `make recovery` runs
// it.
package recovery

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"shoal/internal/testkafka"
)

const (
	partitions = 4
	// giveUp is when a measurement ends without a result.
	giveUp = 2 * time.Minute
)

// TestMain is a consumer when the benchmark started this binary as one.
func TestMain(m *testing.M) {
	if os.Getenv(consumerBroker) != "" {
		consume()
		return
	}
	os.Exit(m.Run())
}

// A reader is two processes that share the reading of a topic.
type reader interface {
	// lose sends the first process a signal.
	lose(tb testing.TB, how syscall.Signal)
	// read is the records that have been read so far, by partition and number.
	read(tb testing.TB) seen
}

// seen is records by partition and number.
type seen [partitions]map[int]bool

// BenchmarkRecovery is to be run with -benchtime 1x.
func BenchmarkRecovery(b *testing.B) {
	if os.Getenv("SHOAL_BINARY") == "" {
		b.Fatal("SHOAL_BINARY is not set, and a binary with the race detector is not worth measuring: use make recovery")
	}
	var table strings.Builder
	fmt.Fprintln(&table, "| lost by | who reads | readers | partitions served again after | nothing missing after |\n|---|---|---|---|---|")
	for _, how := range []struct {
		name   string
		signal syscall.Signal
	}{{"kill -9", syscall.SIGKILL}, {"SIGSTOP", syscall.SIGSTOP}} {
		for _, readers := range []int{partitions, 2 * partitions} {
			for _, who := range []struct {
				name  string
				start func(testing.TB, *testkafka.Broker, string, int) reader
			}{{"Shoal, share group", startShare}, {"Shoal, classic", startClassic}, {"plain share consumer", startPlain}} {
				if who.name == "Shoal, classic" && readers > partitions {
					continue // has no more tasks than partitions
				}
				b.Run(fmt.Sprintf("%s/%s/%d", how.name, who.name, readers), func(b *testing.B) {
					served, complete := measure(b, who.start, readers, how.signal)
					b.ReportMetric(served.Seconds(), "s-served")
					b.ReportMetric(complete.Seconds(), "s-complete")
					fmt.Fprintf(&table, "| %s | %s | %d | %.1f s | %.1f s |\n", how.name, who.name, readers, served.Seconds(), complete.Seconds())
				})
			}
		}
	}
	fmt.Print("\n", table.String())
}

// measure loses one of two processes while records come all the time. served is
// how long it took until of each partition some record was read that was produced
// after the loss, complete until all were that were produced within a second of it.
func measure(tb testing.TB, start func(testing.TB, *testkafka.Broker, string, int) reader, readers int, how syscall.Signal) (served, complete time.Duration) {
	tb.Helper()
	broker := startBroker(tb)
	topic := broker.CreateTopic(tb, partitions, nil)
	r := start(tb, broker, topic, readers)
	p := produce(tb, broker, topic)
	wait(tb, "every partition is read", func() bool {
		all := r.read(tb)
		for i := range all {
			if len(all[i]) < 20 {
				return false
			}
		}
		return true
	})
	time.Sleep(10 * time.Second) // until the group has divided the partitions for good
	r.lose(tb, how)
	died, atDeath := time.Now(), p.count()
	time.Sleep(time.Second)
	soonAfter := p.count()
	wait(tb, "everything is read again", func() bool {
		all, now := r.read(tb), time.Since(died)
		if served == 0 && all.anyFrom(atDeath) {
			served = now
		}
		complete = now
		return served > 0 && all.allBelow(soonAfter)
	})
	return served, complete
}

// anyFrom tells whether each partition has a record from this number on.
func (s seen) anyFrom(number int) bool {
	for _, numbers := range s {
		found := false
		for n := range numbers {
			found = found || n >= number
		}
		if !found {
			return false
		}
	}
	return true
}

// allBelow tells whether each partition has all records below this number.
func (s seen) allBelow(number int) bool {
	for _, numbers := range s {
		for n := range number {
			if !numbers[n] {
				return false
			}
		}
	}
	return true
}

func wait(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for began := time.Now(); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > giveUp {
			tb.Fatalf("after %v it is not so that %s", giveUp, what)
		}
	}
}
