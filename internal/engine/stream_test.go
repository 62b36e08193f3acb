package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"shoal/internal/engine"
)

// endless has more rows than anybody can read.
const endless = "SELECT i, 'row ' || i FROM range(1000000000000) r(i)"

func noColumns([]engine.ResultColumn) error { return nil }

// process reads a number off the kernel's account of this process.
func process(t *testing.T, key string) (n int64) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, key+": %d", &n); err == nil {
			return n
		}
	}
	t.Fatalf("no %s in /proc/self/status", key)
	return 0
}

// TestResultLargerThanMemory holds that a result needs no memory and no folder
// to spill to, whatever its size.
func TestResultLargerThanMemory(t *testing.T) {
	const rows, width, limit = 800_000, 1000, 64 << 20
	e := engine.New(engine.Config{Threads: 2, MemoryLimit: limit})
	n := 0
	err := e.Query(t.Context(), engine.Request{SQL: fmt.Sprintf("SELECT i, repeat('x', %d) || i FROM range(%d) r(i)", width, rows)}, noColumns, func(cells [][]byte) error {
		if want := fmt.Sprint(n); string(cells[0]) != want || len(cells[1]) != width+len(want) {
			return fmt.Errorf("row %d is %s with a text of %d bytes", n, cells[0], len(cells[1]))
		}
		n++
		return nil
	})
	if err != nil || n != rows {
		t.Errorf("%d rows, %v; want %d", n, err, rows)
	}
	// Other tests' queries may have up to 256 MiB.
	if peak := process(t, "VmHWM") << 10; peak > rows*width*3/4 {
		t.Errorf("%d MiB of memory in use at most, for a result of %d MiB", peak>>20, rows*width>>20)
	}
}

// TestErrorAfterRows holds that rows have left before a later one fails.
func TestErrorAfterRows(t *testing.T) {
	rows := 0
	err := small.Query(t.Context(), engine.Request{SQL: "SELECT CASE WHEN i = 5000000 THEN error('too late') ELSE i END FROM range(10000000) r(i)"},
		noColumns, func([][]byte) error { rows++; return nil })
	var e *engine.Error
	if !errors.As(err, &e) || e.Msg != "too late" || rows == 0 || rows > 5_000_000 {
		t.Errorf("got %v after %d rows", err, rows)
	}
}

// TestErrorBeforeRows holds that a query whose first rows fail has no columns.
func TestErrorBeforeRows(t *testing.T) {
	got, err := ask(t.Context(), engine.Request{SQL: "SELECT CAST('x' || i AS INTEGER) FROM range(3) r(i)"})
	if err == nil || got.columns != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestCancelWhileReading ends the context of a query between rows, and while
// its reader stands still.
func TestCancelWhileReading(t *testing.T) {
	killed := errors.New("killed")
	for _, stands := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		rows := 0
		err := small.Query(ctx, engine.Request{SQL: endless}, noColumns, func([][]byte) error {
			if rows++; rows != 10_000 {
				return nil
			}
			if stands {
				time.AfterFunc(10*time.Millisecond, func() { cancel(killed) })
				<-ctx.Done()
				return context.Cause(ctx)
			}
			cancel(killed)
			return nil
		})
		if !errors.Is(err, killed) || rows > 20_000 {
			t.Errorf("got %v after %d rows", err, rows)
		}
	}
}

// TestNothingIsLeft runs queries that end in every way there is, and holds that
// neither memory nor threads nor files grow with their number.
func TestNothingIsLeft(t *testing.T) {
	gone := errors.New("gone")
	e := engine.New(engine.Config{Threads: 2, MemoryLimit: 256 << 20, TempDir: t.TempDir()})
	run := func() {
		for _, tt := range []struct {
			query string
			rows  int // after which the reader is gone
			fails bool
		}{
			{"SELECT * FROM range(10000)", 20_000, false}, {endless, 0, true}, {endless, 5000, true}, {"SELECT * FROM range(300000) r(i) ORDER BY hash(i)", 1, true},
			{"SELECT nothing", 0, true}, {"SELECT CAST('x' AS INTEGER)", 0, true}, {"SELECT 1 +", 0, true}, {"SELECT {'a': [i]}, MAP {i: 'x'}, 'b'::ENUM('a', 'b') FROM range(5000) r(i)", 6000, false},
		} {
			rows := 0
			err := e.Query(t.Context(), engine.Request{SQL: tt.query}, noColumns, func([][]byte) error {
				if rows++; rows > tt.rows {
					return gone
				}
				return nil
			})
			if (err != nil) != tt.fails {
				t.Fatalf("%s: %v", tt.query, err)
			}
		}
	}
	used := func() (memory, threads int64, files int) {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return process(t, "VmRSS") << 10, process(t, "Threads"), len(open)
	}
	const warm, more, slack = 3, 12, 64 << 20
	for range warm {
		run()
	}
	memory, threads, files := used()
	for range more {
		run()
	}
	memoryAfter, threadsAfter, filesAfter := used()
	if memoryAfter > memory+slack || threadsAfter > threads+4 || filesAfter > files {
		t.Errorf("before %d MiB, %d threads, %d files; after %d MiB, %d, %d", memory>>20, threads, files, memoryAfter>>20, threadsAfter, filesAfter)
	}
}
