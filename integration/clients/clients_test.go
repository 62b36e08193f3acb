package clients

import (
	"bytes"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testdeps"
)

// TestClients runs all clients against one frontend with one backend.
func TestClients(t *testing.T) {
	shoal := cluster.Start(t, "standalone")
	host, port, err := net.SplitHostPort(shoal.Ready.MySQL)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("mariadb", func(t *testing.T) { testShell(t, testdeps.Find(t, testdeps.MariaDB), host, port, shoal.DB()) })
	t.Run("mysql", func(t *testing.T) { testShell(t, testdeps.Find(t, testdeps.MySQL), host, port, shoal.DB()) })
	t.Run("PyMySQL", func(t *testing.T) {
		run(t, exec.Command(testdeps.Find(t, testdeps.PyMySQL), "testdata/client.py", host, port))
	})
	t.Run("Connector-J", func(t *testing.T) {
		classPath, classes := testdeps.Find(t, testdeps.ConnectorJ), t.TempDir()
		run(t, exec.Command("javac", "-cp", classPath, "-d", classes, "testdata/Client.java"))
		classPath += string(filepath.ListSeparator) + classes
		for _, options := range []string{"", "useServerPrepStmts=true", "useServerPrepStmts=true&useCursorFetch=true&defaultFetchSize=2"} {
			t.Run(options, func(t *testing.T) {
				run(t, exec.Command("java", "-cp", classPath, "Client", "jdbc:mysql://"+net.JoinHostPort(host, port)+"/", options))
			})
		}
	})
}

// run runs a client's program, which fails with what it found on stderr, and
// returns what it printed.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}
