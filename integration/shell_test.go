package integration

import (
	"bytes"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// shoal runs a command of the binary and returns what it printed.
func shoal(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), cluster.Binary(t), args...).CombinedOutput()
	return string(out), err
}

// mustShoal is shoal for a command that must succeed.
func mustShoal(t *testing.T, args ...string) string {
	t.Helper()
	out, err := shoal(t, args...)
	if err != nil {
		t.Fatalf("shoal %v: %v\n%s", args, err, out)
	}
	return out
}

// TestAdmin: the admin API's commands and `shoal sql` do what SQL does, and say
// what a MySQL client would be told.
func TestAdmin(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	p := cluster.Start(t, "standalone")
	l := setUp(t, p.DB(), broker, options{partitions: 1, properties: map[string]string{"format": "json", "desired_concurrent_number": "2"}})
	l.produce(l.client(), 0, row(0, 0), row(1, 0))
	l.waitRows(2)
	fe := []string{"--fe", p.Ready.RPC}
	run := func(args ...string) string { t.Helper(); return mustShoal(t, append(args, fe...)...) }

	if out := run("sql", "SELECT id, name FROM "+l.table+" ORDER BY id"); !strings.Contains(out, "row 0") || !strings.Contains(out, "row 1") {
		t.Errorf("sql printed %q", out)
	}
	if out := run("sql", "SELECT count(*) AS n FROM t", "-D", l.database()); !strings.Contains(out, "2") {
		t.Errorf("sql in a database printed %q", out)
	}
	if out, err := shoal(t, append([]string{"sql", "SELECT * FROM no_db.nothing"}, fe...)...); err == nil || !strings.Contains(out, "ERROR 1049 (42000)") {
		t.Errorf("sql of a missing database: %v, %q; want MySQL's error and an exit code", err, out)
	}
	if out := run("admin", "jobs"); !strings.Contains(out, l.database()) || !strings.Contains(out, "RUNNING") {
		t.Errorf("jobs printed %q", out)
	}
	if out := run("admin", "tasks"); strings.Count(out, "\n") != 3 {
		t.Errorf("tasks printed %q, want a header and two tasks", out)
	}
	if out := run("admin", "nodes"); !strings.Contains(out, "follower") || !strings.Contains(out, "backend") {
		t.Errorf("nodes printed %q", out)
	}
	run("admin", "pause", "t", "-D", l.database())
	l.waitState("PAUSED")
	run("admin", "resume", "t", "-D", l.database())
	l.waitState("RUNNING")
	run("admin", "stop", "t", "-D", l.database())
	l.waitState("STOPPED")
	if _, err := shoal(t, append([]string{"admin", "pause", "t", "-D", l.database()}, fe...)...); err == nil {
		t.Error("pausing a stopped job succeeds")
	}
}

// TestHealth: the http port answers once the process serves.
func TestHealth(t *testing.T) {
	t.Parallel()
	p := cluster.Start(t, "standalone")
	resp, err := http.Get("http://" + p.Ready.HTTP + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("/health answers %s", resp.Status)
	}
}

// TestStartRefusals: a process that cannot or must not start says why.
func TestStartRefusals(t *testing.T) {
	t.Parallel()
	fe := cluster.Start(t, "fe", "--bootstrap")
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	for _, tt := range []struct {
		name string
		p    *cluster.Process
		want string
	}{
		{"no cluster", cluster.New(t, "fe"), "--bootstrap"},
		{"port taken", cluster.New(t, "fe", "--bootstrap", "--mysql-addr", lis.Addr().String()), "--mysql-addr"},
		{"another warehouse", cluster.New(t, "be", "--fe", fe.Ready.RPC, "--warehouse", "file:///somewhere/else"), "fixed at bootstrap"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.p.TryRun(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("started, or said %v; want %s", err, tt.want)
			}
		})
	}
	t.Run("wiped warehouse", func(t *testing.T) {
		p := cluster.Start(t, "standalone")
		p.Stop()
		p.RemoveAll("warehouse")
		if err := p.TryRun(); err == nil || !strings.Contains(err.Error(), "marker") {
			t.Errorf("started, or said %v; want the missing marker", err)
		}
	})
}

// TestDemo: the demo loads, ends cleanly on Ctrl-C, and goes on where it was.
func TestDemo(t *testing.T) {
	t.Parallel()
	mysqlAddr := cluster.FreeAddr(t)
	args := []string{"demo", "--data-dir", t.TempDir(), "--rate", "500", "--kafka-addr", cluster.FreeAddr(t), "--mysql-addr", mysqlAddr,
		"--http-addr", cluster.FreeAddr(t), "--rpc-addr", cluster.FreeAddr(t), "--raft-addr", cluster.FreeAddr(t)}
	db, err := sql.Open("mysql", "root@tcp("+mysqlAddr+")/")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var before int64
	for _, shows := range []string{"CREATE ROUTINE LOAD", "goes on where it was"} {
		var out bytes.Buffer
		cmd := exec.Command(cluster.Binary(t), args...)
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, limit, func() error {
			var n int64
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM demo.web_events").Scan(&n); err != nil {
				return err
			}
			if n <= before {
				return fmt.Errorf("%d rows, want more than %d", n, before)
			}
			before = n
			return nil
		})
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("after Ctrl-C: %v\n%s", err, out.String())
		}
		if !strings.Contains(out.String(), shows) || !strings.Contains(out.String(), mysqlPort(mysqlAddr)) {
			t.Errorf("the demo printed:\n%s\nwant %q and the MySQL port", out.String(), shows)
		}
	}
}

func mysqlPort(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
