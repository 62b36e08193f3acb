package integration

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestRestore: the state of a cluster is saved, the load goes on, and its frontend
// is lost for good. A new one that is restored from the snapshot finds the backend,
// which never stopped, loads again what came after the snapshot, and nothing twice.
func TestRestore(t *testing.T) { inBothModes(t, restore) }

func restore(t *testing.T, mode string) {
	const before, after, later = 500, 300, 200
	broker := testkafka.Shared(t)
	fe, bes := startCluster(t, 1)
	l := setUp(t, fe.DB(), broker, options{partitions: 2, properties: map[string]string{"load_mode": mode, "format": "json", "desired_concurrent_number": "2"}})
	client, rows := l.client(), 0
	more := func(n int) {
		var values []string
		for range n {
			values = append(values, row(rows, 0))
			rows++
		}
		l.produce(client, 0, values...)
		l.waitRows(int64(rows))
	}
	more(before)
	file := filepath.Join(t.TempDir(), "snapshot")
	mustShoal(t, "admin", "snapshot", "save", file, "--fe", fe.Ready.RPC)
	more(after)
	fe.Kill()
	newer := filepath.Join(t.TempDir(), "newer")
	mustShoal(t, "admin", "snapshot", "save", newer, "--from-data-dir", fe.Dir)
	mustShoal(t, "admin", "snapshot", "restore", newer, "--data-dir", t.TempDir())

	next := cluster.New(t, "fe", "--warehouse", "file://"+filepath.Join(fe.Dir, "warehouse"))
	out := mustShoal(t, "admin", "snapshot", "restore", file, "--data-dir", next.Dir)
	if !strings.Contains(out, "restored cluster") {
		t.Errorf("restore says %q", out)
	}
	next.Run()
	l.db = next.DB()
	l.waitRows(int64(rows))
	more(later)
	l.checkIDs(int64(rows))
	cluster.Eventually(t, limit, func() error {
		for _, p := range l.ledger() {
			if p["Lag"] != "0" || p["Ranges"] != "0" {
				return fmt.Errorf("ledger %v: want no lag and no holes", p)
			}
		}
		return nil
	})
	l.checkLedger()
	if status := l.status(); status["State"] != "RUNNING" {
		t.Errorf("the job is %s: %s", status["State"], status["ReasonOfStateChanged"])
	}
	if !bes[0].Running() {
		t.Error("the backend did not survive")
	}
}
