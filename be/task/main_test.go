package task_test

import (
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// TestMain has one processor for all: timers of a bubble that fire on two at
// the same instant crash the race detector (golang/go#78156).
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}
