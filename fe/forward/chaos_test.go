package forward_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shoal/fe/errno"
	"shoal/fe/session"
	"shoal/fe/stmt"
)

// TestLeadersComeAndGo has a client at each frontend write and read, while the
// one that leads is ended, or cut off, again and again. What was answered is
// there, wherever it is looked for; what was surely not carried out is not; and
// nothing is carried out twice.
func TestLeadersComeAndGo(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, all: startThree(t), random: rand.New(rand.NewPCG(seed, 5)), done: map[string]bool{}, never: map[string]bool{}}
				for _, f := range w.all {
					w.current = append(w.current, seat{f.stmts, f.connect()})
				}
				stop := make(chan struct{})
				var clients, faults sync.WaitGroup
				for i := range w.all {
					clients.Go(func() { w.client(i) })
				}
				faults.Go(func() { w.faults(stop) })
				clients.Wait()
				close(stop)
				faults.Wait()
				w.check()
			})
		})
	}
}

// statements is how many statements each client writes.
const statements = 25

// A world is three frontends and what their clients were told.
type world struct {
	t      *testing.T
	all    []*frontend
	random *rand.Rand // of the faults

	mu          sync.Mutex
	current     []seat          // at each frontend that is there
	done, never map[string]bool // databases that exist, and that do not
	unknown     int
}

// A seat is where a client is connected.
type seat struct {
	stmts   *stmt.Executor
	session *session.Session
}

// client writes at one frontend and reads what it wrote.
func (w *world) client(i int) {
	for n := range statements {
		name := fmt.Sprintf("c%d_%d", i, n)
		err := w.execute(i, "CREATE DATABASE "+name, &printed{})
		w.note(name, err)
		shown := &printed{}
		if read := w.execute(i, "SHOW DATABASES", shown); read == nil && err == nil && !has(shown, name) {
			w.t.Errorf("client %d does not see %s, which it has written", i, name)
		}
		time.Sleep(300 * time.Millisecond) // virtual
	}
}

// execute carries out a statement at the frontend as it is there now.
func (w *world) execute(i int, text string, p *printed) error {
	w.mu.Lock()
	at := w.current[i]
	w.mu.Unlock()
	return at.stmts.Execute(w.t.Context(), at.session, text, nil, p)
}

func (w *world) note(name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.done[name] = true
	case errors.Is(err, errno.NotAvailable):
		w.never[name] = true
	case outcomeUnknown(err):
		w.unknown++
	default:
		w.t.Errorf("CREATE DATABASE %s: %v, a client cannot tell what became of it", name, err)
	}
}

// faults ends or cuts off the leader, and brings it back.
func (w *world) faults(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(w.random.IntN(4000)) * time.Millisecond):
		}
		f := leader(w.t, w.all...)
		away := time.Duration(1000+w.random.IntN(6000)) * time.Millisecond
		if w.random.IntN(2) == 0 {
			f.network.silence(f.id)
			time.Sleep(away) // virtual
			f.network.heal(f.id)
			continue
		}
		f.close()
		time.Sleep(away) // virtual
		f.open()
		w.mu.Lock()
		w.current[f.number-1] = seat{f.stmts, f.connect()}
		w.mu.Unlock()
	}
}

// check looks everywhere.
func (w *world) check() {
	for _, f := range w.all {
		shown := f.must("SHOW DATABASES")
		for name := range w.done {
			if !has(shown, name) {
				w.t.Errorf("%s was answered, and %s does not show it", name, f.id)
			}
		}
		for name := range w.never {
			if has(shown, name) {
				w.t.Errorf("%s was surely not carried out, and %s shows it", name, f.id)
			}
		}
	}
	if len(w.done) < statements {
		w.t.Errorf("of %d statements only %d were carried out, %d outcomes are unknown", 3*statements, len(w.done), w.unknown)
	}
	w.t.Logf("%d carried out, %d surely not, %d unknown", len(w.done), len(w.never), w.unknown)
}
