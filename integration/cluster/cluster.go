// Package cluster runs Shoal's real processes for tests: the binary is built
// once for a test binary, each role is a process of its own on loopback, and
// kill -9 is a method.
//
// A process keeps its ports and its data folder over restarts, as an
// operator's would. All processes end with the test, and with the test binary
// however that ends.
package cluster

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the client that DB uses
)

// StartTimeout is how long a process may take until it is ready: generous, for
// a busy machine.
const StartTimeout = 60 * time.Second

// Root is the module's folder.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
}

var build struct {
	sync.Once
	path string
	err  error
}

// Binary builds shoal with the race detector, once, and returns its path. With
// SHOAL_BINARY set, that one is used.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("SHOAL_BINARY"); path != "" {
		return path
	}
	root := Root(t)
	build.Do(func() {
		build.path = filepath.Join(root, ".cache", "shoal-race")
		cmd := exec.Command("go", "build", "-race", "-o", build.path, "./cmd/shoal")
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			build.err = fmt.Errorf("building shoal: %w\n%s", err, out)
		}
	})
	if build.err != nil {
		t.Fatal(build.err)
	}
	return build.path
}

// Ready is what a process logs once it serves.
type Ready struct {
	MySQL string `json:"mysql_addr"`
	HTTP  string `json:"http_addr"`
	RPC   string `json:"rpc_addr"`
	Raft  string `json:"raft_addr"`
}

// Process is one running role.
type Process struct {
	t      testing.TB
	name   string
	prefix []string
	args   []string
	env    []string
	log    string

	Ready Ready
	// Dir is its data folder.
	Dir string

	cmd    *exec.Cmd
	exited chan struct{}
}

// ClearEnv takes back what Setenv set.
func (p *Process) ClearEnv() { p.env = nil }

// Start runs `shoal role args…` in a data folder of its own and waits until it
// is ready. Ports that it is not given are chosen once and kept over restarts.
func Start(t testing.TB, role string, args ...string) *Process {
	t.Helper()
	p := New(t, role, args...)
	p.Run()
	return p
}

// New makes a process ready to Run, without starting it.
func New(t testing.TB, role string, args ...string) *Process {
	t.Helper()
	return NewIn(t, t.TempDir(), role, args...)
}

// NewIn is New with a data folder that is there, and stays.
func NewIn(t testing.TB, dir, role string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, name: role, Dir: dir, log: filepath.Join(dir, "process.log")}
	p.args = append([]string{role, "--data-dir", dir}, args...)
	flags := []string{"--rpc-addr", "--http-addr"}
	if role != "be" {
		flags = append(flags, "--mysql-addr", "--raft-addr")
	}
	for _, flag := range flags {
		if !slices.Contains(args, flag) {
			p.args = append(p.args, flag, FreeAddr(t))
		}
	}
	t.Cleanup(p.cleanup)
	return p
}

// Setenv adds an environment variable for the runs to come.
func (p *Process) Setenv(key, value string) { p.env = append(p.env, key+"="+value) }

// Prefix puts a command that runs another, such as nsenter, before the process's
// own for the runs to come.
func (p *Process) Prefix(command ...string) { p.prefix = command }

// taken are the ports that FreeAddr has given out.
var taken sync.Map

// FreeAddr is a loopback address with a port that is free now and given out only
// once. It is below those that the system takes for outgoing connections, so
// that a process that is down for a while finds it free again.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 5000+rand.IntN(10_000))
		if _, again := taken.LoadOrStore(addr, true); again {
			continue
		}
		if lis, err := net.Listen("tcp", addr); err == nil {
			lis.Close()
			return addr
		}
	}
	t.Fatal("no free port in a thousand draws")
	return ""
}

// Run starts the process and waits until it is ready.
func (p *Process) Run() {
	p.t.Helper()
	if err := p.TryRun(); err != nil {
		p.t.Fatal(err)
	}
}

// TryRun is Run with an error for a process that ends before it is ready.
func (p *Process) TryRun() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := slices.Concat(p.prefix, []string{Binary(p.t)}, p.args)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Stdout = log
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.exited = cmd, make(chan struct{})
	ready := make(chan Ready, 1)
	go func(exited chan struct{}) {
		defer close(exited)
		follow(stderr, p.log, ready)
		cmd.Wait()
	}(p.exited)
	select {
	case p.Ready = <-ready:
		return nil
	case <-p.exited:
		return fmt.Errorf("%s ended before it was ready:\n%s", p.name, p.Log())
	case <-time.After(StartTimeout):
		p.Kill()
		return fmt.Errorf("%s was not ready in %v:\n%s", p.name, StartTimeout, p.Log())
	}
}

// follow copies a process's stderr to its log and watches for the ready line.
func follow(stderr io.Reader, path string, ready chan<- Ready) {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer log.Close()
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadBytes('\n')
		log.Write(line)
		var entry struct {
			Msg string `json:"msg"`
			Ready
		}
		if json.Unmarshal(line, &entry) == nil && entry.Msg == "ready" {
			select {
			case ready <- entry.Ready:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

// Log is everything that the process has written, the last 200 lines of it.
func (p *Process) Log() string {
	text, _ := os.ReadFile(p.log)
	lines := strings.SplitAfter(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-200):], "")
}

// Running tells whether the process is up.
func (p *Process) Running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the process with SIGKILL and waits for its end.
func (p *Process) Kill() {
	if p.Running() {
		p.cmd.Process.Kill()
		<-p.exited
	}
}

// Signal sends sig to the process.
func (p *Process) Signal(sig os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// RemoveAll removes a file or folder below the process's data folder.
func (p *Process) RemoveAll(path string) {
	p.t.Helper()
	if err := os.RemoveAll(filepath.Join(p.Dir, path)); err != nil {
		p.t.Fatal(err)
	}
}

// Stop ends the process with SIGTERM and fails the test unless it exits with 0.
func (p *Process) Stop() {
	p.t.Helper()
	if err := p.TryStop(); err != nil {
		p.t.Errorf("%v", err)
	}
}

// TryStop is Stop with an error for a process that ends otherwise.
func (p *Process) TryStop() error {
	if !p.Running() {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.exited:
	case <-time.After(StartTimeout):
		p.dump()
		return fmt.Errorf("%s did not end in %v:\n%s", p.name, StartTimeout, p.Log())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s exited with %d, want 0:\n%s", p.name, code, p.Log())
	}
	return nil
}

// dump ends the process; its log has the stacks of all that it was doing.
func (p *Process) dump() {
	p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.exited:
	case <-time.After(StartTimeout):
		p.Kill()
	}
}

// Wait waits for a process that is expected to end by itself.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s goes on running: %w", p.name, ctx.Err())
	}
}

func (p *Process) cleanup() {
	p.Stop()
	if text, err := os.ReadFile(p.log); err == nil && strings.Contains(string(text), "WARNING: DATA RACE") {
		p.t.Errorf("data race in %s:\n%s", p.name, p.Log())
	}
	if p.t.Failed() {
		p.t.Logf("log of %s:\n%s", p.name, p.Log())
	}
}

// DB opens a connection pool to the process's MySQL port, closed with the test.
func (p *Process) DB() *sql.DB {
	p.t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+p.Ready.MySQL+")/")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { db.Close() })
	return db
}

// Eventually calls check until it returns nil, and fails the test with its last
// error after limit.
func Eventually(t testing.TB, limit time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(errors.Join(fmt.Errorf("not so after %v", limit), err))
		}
		<-tick.C
	}
}
