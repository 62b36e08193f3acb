package main

import (
	"os"
	"runtime/debug"
)

// A backend keeps little and lets go of much: what a fetch brings is garbage a
// few milliseconds later. At Go's default the collector runs for nearly every
// txn, which took a tenth of the process's time. It runs more seldom here, and
// where tasks hold much as often as the memory limit demands (be/memory).
const collectorPercent = 400

// tuneCollector sets it, unless GOGC says otherwise.
func tuneCollector() {
	if _, given := os.LookupEnv("GOGC"); !given {
		debug.SetGCPercent(collectorPercent)
	}
}
