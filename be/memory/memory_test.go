package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shoal/be/memory"
)

const mib = 1 << 20

// newBudget has 1000 MiB to hand out, and notes what Go may use.
func newBudget() (b *memory.Budget, forGo *int64) {
	forGo = new(int64)
	return memory.New((1000+128)*mib+memory.PipeBytes, func(bytes int64) { *forGo = bytes }), forGo
}

// TestTasks: one polls as long as there is room. What it got beyond that counts
// against all, and one that holds nothing gets some where nobody holds anything.
func TestTasks(t *testing.T) {
	b, _ := newBudget()
	one, other := b.Account(), b.Account()
	if err := one.Try(900 * mib); err != nil {
		t.Fatal(err)
	}
	if err := other.Try(200 * mib); err == nil || !strings.Contains(err.Error(), "of 1000 MiB that it divides, queries have 0 and loads 900") {
		t.Errorf("beyond the budget: %v", err)
	}
	if err := other.Try(100 * mib); err != nil {
		t.Errorf("the rest of the budget: %v", err)
	}
	other.Hold(300 * mib)
	if err := one.Try(901 * mib); err == nil {
		t.Error("there is room though more is held than there is")
	}
	if err := one.Try(50 * mib); err != nil {
		t.Errorf("less than it holds: %v", err)
	}
	one.Hold(0)
	other.Hold(0)
	if err := one.Try(1001 * mib); err != nil {
		t.Errorf("a task that is alone must be able to go on: %v", err)
	}
}

// TestQueries: two at a time, the third waits for one of them and gives up in the
// end; Go gets what they leave.
func TestQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, forGo := newBudget()
		all := *forGo
		first, err := b.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		second, err := b.Take(t.Context())
		if err != nil || *forGo != all-500*mib {
			t.Fatalf("a second query: %v, and Go has %d MiB", err, *forGo/mib)
		}
		began := time.Now()
		if _, err := b.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "queries have 500 (at most half)") || time.Since(began) > time.Minute {
			t.Errorf("a third query: %v after %v", err, time.Since(began))
		}
		time.AfterFunc(time.Second, first)
		third, err := b.Take(t.Context())
		if err != nil {
			t.Errorf("a query after another has ended: %v", err)
		}
		first() // again, which is nothing
		second()
		third()
		if *forGo != all {
			t.Errorf("without queries Go has %d MiB, not %d", *forGo/mib, all/mib)
		}
	})
}

// TestQueryBeforeTasks: tasks that poll all the time do not keep a query from its
// turn, and its context ends its wait.
func TestQueryBeforeTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBudget()
		one, other := b.Account(), b.Account()
		one.Hold(500 * mib)
		other.Hold(500 * mib)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("cancelled"))
		defer cancel()
		if _, err := b.Take(ctx); err == nil || err.Error() != "cancelled" {
			t.Errorf("a query that is cancelled: %v", err)
		}
		got := make(chan error, 1)
		go func() {
			_, err := b.Take(t.Context())
			got <- err
		}()
		synctest.Wait()
		one.Hold(400 * mib)
		if err := one.Try(500 * mib); err == nil {
			t.Error("a task takes what a query waits for")
		}
		one.Hold(0)
		if err := <-got; err != nil {
			t.Error(err)
		}
		if err := one.Try(250 * mib); err != nil {
			t.Errorf("after the query has what it waited for: %v", err)
		}
	})
}

// TestTasksBesideQueries: queries that wait for each other keep no task from its
// turn, however many there are.
func TestTasksBesideQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBudget()
		var release []func()
		for range 2 { // their half of the budget
			r, err := b.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			release = append(release, r)
		}
		third := make(chan func())
		go func() {
			r, err := b.Take(t.Context())
			if err != nil {
				t.Error(err)
			}
			third <- r
		}()
		synctest.Wait()
		if err := b.Account().Try(100 * mib); err != nil {
			t.Errorf("a task, while a query waits for the end of another: %v", err)
		}
		release[0]()
		release[1]()
		(<-third)()
	})
}

func TestLimit(t *testing.T) {
	for text, want := range map[string]int64{"2G": 2 << 30, "600M": 600 * mib, "1048576K": 1 << 30, "1073741824": 1 << 30} {
		if got, err := memory.Limit(text); got != want || err != nil {
			t.Errorf("%s = %d, %v", text, got, err)
		}
	}
	half, err := memory.Limit("50%")
	all, err2 := memory.Limit("100%")
	if err := errors.Join(err, err2); err != nil || all/2 != half {
		t.Errorf("50%% = %d, 100%% = %d, %v", half, all, err)
	}
	for text, want := range map[string]string{"": "neither", "x": "neither", "-1G": "neither", "0%": "no share", "101%": "no share", "NaN%": "no share",
		"511M": "needs 512 MiB", "9999999999999G": "neither", "G": "neither", "%": "no share"} {
		if _, err := memory.Limit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
