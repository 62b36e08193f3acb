package raftstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shoal/fe/raftstore"
	"shoal/fe/state"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deadline bounds what takes milliseconds when all is well.
const deadline = 30 * time.Second

func open(t testing.TB, dir string) *raftstore.Store {
	t.Helper()
	s, err := tryOpen(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryOpen(dir string) (*raftstore.Store, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return raftstore.Open(raftstore.Config{Dir: dir, ID: "fe1", Listener: listener, Bootstrap: true, Logger: slog.New(slog.DiscardHandler)})
}

func closeStore(t testing.TB, s *raftstore.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// propose carries out a command as soon as s leads.
func propose(t testing.TB, s *raftstore.Store, cmd *raftlogv1.Command) state.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for {
		result, err := s.Propose(ctx, cmd)
		var follower *raftstore.NotLeaderError
		switch {
		case errors.As(err, &follower):
			time.Sleep(time.Millisecond) // an election has no event to wait for
		case err != nil:
			t.Fatalf("Propose(%v) = %v", cmd, err)
		default:
			return result
		}
	}
}

func bootstrap() *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}}
}

func createDatabase(name string) *raftlogv1.Command {
	return &raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: name}}}
}

// databases waits until s has applied what was committed before.
func databases(t testing.TB, s *raftstore.Store) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for {
		err := s.ReadIndex(ctx)
		var follower *raftstore.NotLeaderError
		if err == nil {
			break
		}
		if !errors.As(err, &follower) && !errors.Is(err, raftstore.ErrFateUnknown) {
			t.Fatalf("ReadIndex = %v", err)
		}
		time.Sleep(time.Millisecond) // an election has no event to wait for
	}
	var names []string
	s.View(func(st *state.State) {
		for _, d := range st.Databases() {
			names = append(names, d.Name)
		}
	})
	return strings.Join(names, " ")
}

func TestRestartRecoversEverything(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	propose(t, s, bootstrap())
	if r := propose(t, s, createDatabase("a")); r.Err != nil || r.ID == 0 {
		t.Fatalf("result = %+v", r)
	}
	if r := propose(t, s, createDatabase("a")); r.Err == nil {
		t.Error("the second database of a name was made")
	}
	var created int64
	s.View(func(st *state.State) { created = st.Database("a").CreatedMs })
	if age := time.Since(time.UnixMilli(created)); age < 0 || age > deadline {
		t.Errorf("the database is %v old", age)
	}
	closeStore(t, s)

	s = open(t, dir)
	if got := databases(t, s); got != "a" {
		t.Errorf("databases after a restart = %q, want a", got)
	}
	closeStore(t, s)
}

// TestSnapshotInPlaceOfTheLog: what is not in the log any more comes from the
// snapshot, after an orderly end and after a kill.
func TestSnapshotInPlaceOfTheLog(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	s := open(t, dir)
	propose(t, s, bootstrap())
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("d%02d", i))
		propose(t, s, createDatabase(want[i]))
	}
	before, applied := len(want), s.AppliedIndex()
	if err := s.TakeSnapshot(2); err != nil {
		t.Fatal(err)
	}
	if first, err := s.FirstIndex(); err != nil || first < applied-3 {
		t.Fatalf("the log still begins at %d (%v), %d are applied", first, err, applied)
	}
	want = append(want, "z")
	propose(t, s, createDatabase("z"))
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	for _, dir := range []string{dir, killed} {
		s := open(t, dir)
		if got := databases(t, s); got != strings.Join(want, " ") {
			t.Errorf("databases = %q, want %d from the snapshot and one from the log", got, before)
		}
		if r := propose(t, s, createDatabase("d00")); r.Err == nil {
			t.Error("a database of the snapshot was made again")
		}
		closeStore(t, s)
	}
}

// TestKilled opens a copy of the folder of a store that is still open: what a
// process leaves that is killed at that moment.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	propose(t, s, bootstrap())
	propose(t, s, createDatabase("a"))
	killed, torn := t.TempDir(), t.TempDir()
	for _, to := range []string{killed, torn} {
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)

	s = open(t, killed)
	if got := databases(t, s); got != "a" {
		t.Errorf("databases after a kill = %q, want a", got)
	}
	closeStore(t, s)

	tearLastEntry(t, torn)
	s = open(t, torn)
	if got := databases(t, s); got != "" {
		t.Errorf("databases after the last entry was torn = %q, want none", got)
	}
	propose(t, s, createDatabase("b"))
	closeStore(t, s)
	s = open(t, torn)
	if got := databases(t, s); got != "b" {
		t.Errorf("databases that were made after the tear = %q, want b", got)
	}
	closeStore(t, s)
}

// tearLastEntry damages the entry that made database a, as a power cut in the
// middle of its write does.
func tearLastEntry(t *testing.T, dir string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "log", "*.wal"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments %v: %v", segments, err)
	}
	data, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	end := len(strings.TrimRight(string(data), "\x00"))
	copy(data[end-12:end], "power cut...")
	if err := os.WriteFile(segments[0], data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFolderIsUsedOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := tryOpen(dir); !errors.Is(err, raftstore.ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second Open = %v, want ErrInUse with the folder", err)
	}
	closeStore(t, s)
}

// TestAddressChanges: every open takes another free port.
func TestAddressChanges(t *testing.T) {
	dir := t.TempDir()
	var last string
	for range 3 {
		s := open(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		led := make(chan uint64, 1)
		done := make(chan error, 1)
		go func() {
			done <- s.RunLeader(ctx, func(ctx context.Context, term uint64) error {
				_, addr := s.Leader()
				err := s.PutServer(ctx, raftstore.Server{ID: "fe1", Addr: addr, Voter: true})
				led <- term
				return err
			})
		}()
		select {
		case term := <-led:
			if term != s.Term() {
				t.Errorf("duties got term %d, it is %d", term, s.Term())
			}
		case <-time.After(deadline):
			t.Fatal("no leadership at the new address")
		}
		id, addr := s.Leader()
		servers, err := s.Servers()
		if id != "fe1" || addr == last || err != nil || len(servers) != 1 || servers[0].Addr != addr {
			t.Errorf("leader %s at %s, known to the cluster as %v (%v), last time at %s", id, addr, servers, err, last)
		}
		last = addr
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("RunLeader = %v, want its context's error", err)
		}
		closeStore(t, s)
	}
}

func TestStartIsQuick(t *testing.T) {
	dir := t.TempDir()
	start := time.Now()
	s := open(t, dir)
	propose(t, s, bootstrap())
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the first command took %v", took)
	}
	closeStore(t, s)
}

// raft-wal takes nothing after a failed write until it is opened again: a
// frontend that stayed would never lead again, and never say why.
func TestLogThatCannotBeWrittenEndsRunLeader(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	propose(t, s, bootstrap())
	propose(t, s, createDatabase("before"))
	done := make(chan error, 1)
	go func() {
		done <- s.RunLeader(t.Context(), func(ctx context.Context, _ uint64) error { <-ctx.Done(); return nil })
	}()
	if err := s.BreakLog(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if _, err := s.Propose(ctx, createDatabase("lost")); err == nil {
		t.Error("Propose = nil though nothing could be written")
	}
	select {
	case err := <-done:
		if !errors.Is(err, raftstore.ErrLog) {
			t.Errorf("RunLeader = %v, want that the log cannot be written", err)
		}
	case <-ctx.Done():
		t.Error("RunLeader goes on with a log that cannot be written")
	}
	closeStore(t, s)

	s = open(t, dir)
	defer closeStore(t, s)
	propose(t, s, createDatabase("after"))
	if got, want := databases(t, s), "after before"; got != want {
		t.Errorf("databases after a restart = %q, want %q", got, want)
	}
}

func TestDutiesThatFailEndRunLeader(t *testing.T) {
	s := open(t, t.TempDir())
	want := errors.New("duty failed")
	if err := s.RunLeader(t.Context(), func(context.Context, uint64) error { return want }); !errors.Is(err, want) {
		t.Errorf("RunLeader = %v, want %v", err, want)
	}
	closeStore(t, s)
}

func TestWatch(t *testing.T) {
	s := open(t, t.TempDir())
	propose(t, s, bootstrap())
	changed := s.Changed()
	select {
	case <-changed:
		t.Fatal("changed without a change")
	default:
	}
	before := s.AppliedIndex()
	waited := make(chan error, 1)
	go func() {
		waited <- s.Wait(t.Context(), func(st *state.State) bool { return st.Database("b") != nil })
	}()
	propose(t, s, createDatabase("a"))
	<-changed
	propose(t, s, createDatabase("b"))
	if err := <-waited; err != nil {
		t.Errorf("Wait = %v", err)
	}
	if after := s.AppliedIndex(); after != before+2 {
		t.Errorf("applied index went from %d to %d", before, after)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx, func(*state.State) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait for what never holds = %v", err)
	}
	if _, err := s.Propose(ctx, createDatabase("c")); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Propose without time = %v", err)
	}
	closeStore(t, s)
	if _, err := s.Propose(t.Context(), createDatabase("d")); !errors.Is(err, raftstore.ErrClosed) {
		t.Errorf("Propose after Close = %v, want ErrClosed", err)
	}
}

// An entry that the log could write and not read again would end every frontend
// that has it: what is too large is refused before.
func TestTooLargeACommand(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	propose(t, s, bootstrap())
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	result, err := s.Propose(ctx, createDatabase(strings.Repeat("x", 65<<20)))
	if err != nil || !errors.Is(result.Err, raftstore.ErrTooLarge) {
		t.Errorf("Propose of 65 MiB: %.100v, %.100v; want that it is refused", result.Err, err)
	}
	propose(t, s, createDatabase("after"))
	closeStore(t, s)

	s = open(t, dir)
	defer closeStore(t, s)
	if got, want := databases(t, s), "after"; got != want {
		t.Errorf("databases after a restart = %.100q, want %q", got, want)
	}
}

// TestReasonThatIsNoText: what a broker says of its trouble pauses a job whatever
// bytes are in it.
func TestReasonThatIsNoText(t *testing.T) {
	s := open(t, t.TempDir())
	propose(t, s, bootstrap())
	change := &raftlogv1.ChangeJobState{JobId: 1, Reason: "broker said \xff"}
	// There is no such job: what counts is that the state machine says so.
	if r := propose(t, s, &raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: change}}); !errors.Is(r.Err, jobs.ErrNoJob) {
		t.Errorf("Propose came to %v, want %v", r.Err, jobs.ErrNoJob)
	}
	closeStore(t, s)
}
