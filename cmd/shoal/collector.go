package main

import (
	"os"
	"runtime/debug"
)

// A backend keeps little and lets go of much: what a fetch brings is garbage a
// few milliseconds later. At Go's default the collector runs for nearly every
// txn, which took a tenth of the process's time. It runs more seldom here, and
// where tasks hold much, 16 of them a gigabyte at the most, as often as the
// limit demands.
const (
	collectorPercent = 400
	collectorLimit   = 1536 << 20 // bytes; DuckDB's memory is not among them
)

// tuneCollector sets both, unless GOGC or GOMEMLIMIT say otherwise.
func tuneCollector() {
	if _, given := os.LookupEnv("GOGC"); !given {
		debug.SetGCPercent(collectorPercent)
	}
	if _, given := os.LookupEnv("GOMEMLIMIT"); !given {
		debug.SetMemoryLimit(collectorLimit)
	}
}
