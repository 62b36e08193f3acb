package cases

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"shoal/integration/cluster"
)

// limit is how long anything may take that should take seconds.
const limit = 2 * time.Minute

// atATime is how many cases run side by side: they wait most of the time.
const atATime = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", atATime)
	}
	code := m.Run()
	os.Exit(max(code, everyones.end(code != 0)))
}

// shoal is the Shoal that cases share, with room for the tasks of all of them.
var shoal = sync.OnceValue(func() *cluster.Process {
	return cluster.Start(everyones, "standalone", "--slots", "400")
})

// connect opens connections to the shared Shoal, closed with the test.
func connect(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+shoal().Ready.MySQL+")/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// suite is the test that processes belong to which outlive single cases.
type suite struct {
	testing.TB // nil: what is not defined here is not called
	mu         sync.Mutex
	cleanups   []func()
	folders    []string
	failed     bool
}

var everyones = &suite{}

// end runs the clean-ups and is the exit code: 1 if they find something wrong.
func (s *suite) end(failed bool) int {
	s.failed = failed
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
	for _, dir := range s.folders {
		os.RemoveAll(dir)
	}
	if s.failed {
		return 1
	}
	return 0
}

func (s *suite) Helper()      {}
func (s *suite) Failed() bool { return s.failed }

func (s *suite) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

func (s *suite) TempDir() string {
	dir, err := os.MkdirTemp("", "shoal-cases-")
	if err != nil {
		s.Fatal(err)
	}
	s.folders = append(s.folders, dir)
	return dir
}

func (s *suite) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (s *suite) Errorf(format string, args ...any) {
	s.failed = true
	s.Logf(format, args...)
}

func (s *suite) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func (s *suite) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
