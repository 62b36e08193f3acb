package integration

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"shoal/integration/cluster"
)

// TestFrontends: three processes with certificates, as on hosts of their own.
// They go on when the one that leads is killed or told to end; each comes back
// by its own command, and with an emptied folder as another frontend.
func TestFrontends(t *testing.T) {
	t.Parallel()
	certs := filepath.Join(t.TempDir(), "certs")
	mustShoal(t, "certs", "--out", certs, "--host", "127.0.0.1")
	fes := cluster.StartFrontends(t, 3, "--tls-dir", filepath.Join(certs, "127.0.0.1"))
	first := fes.Leader(t)
	statement(t, first, "CREATE DATABASE d1")
	first.Kill()
	killed := time.Now()
	second := fes.Leader(t)
	t.Logf("another frontend leads %v after the first was killed", time.Since(killed))
	statement(t, second, "CREATE DATABASE d2")
	first.Run()

	second.Signal(syscall.SIGTERM)
	ended := time.Now()
	if err := second.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	third := fes.Leader(t)
	t.Logf("another frontend leads %v after the second was told to end", time.Since(ended))
	statement(t, third, "CREATE DATABASE d3")
	second.RemoveAll("fe")
	second.Run()
	if ids := followers(t, third); len(ids) != 3 {
		t.Errorf("frontends are %v, want three", ids)
	}
	for _, fe := range fes {
		if fe != second && fe != third {
			fe.Kill()
		}
	}
	statement(t, second, "CREATE DATABASE d4") // of the two that are left it is needed
	rows, err := cluster.Rows(t.Context(), second.DB(), "SHOW DATABASES LIKE 'd%'")
	if err != nil || len(rows) != 4 {
		t.Errorf("databases are %v, %v", rows, err)
	}
}

// statement carries out a statement, which waits for a leader if it must.
func statement(t *testing.T, p *cluster.Process, text string) {
	t.Helper()
	if _, err := p.DB().Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// followers are the names of the frontends that are alive.
func followers(t *testing.T, p *cluster.Process) []string {
	t.Helper()
	var names []string
	cluster.Eventually(t, limit, func() error {
		rows, err := cluster.Rows(t.Context(), p.DB(), "SHOW FRONTENDS")
		names = nil
		for _, row := range rows {
			names = append(names, row["Name"])
			if row["Alive"] != "true" || row["Role"] != "FOLLOWER" {
				err = errors.Join(err, fmt.Errorf("a frontend is %v", row))
			}
		}
		return err
	})
	slices.Sort(names)
	return names
}
